/* SPDX-License-Identifier: MIT */
/* PNG by its chunks: one is changed, removed or doubled; the sums of all are put right. */
#include <string.h>
#include <zlib.h>

#include "mutate.h"

enum { CHUNKS_MAX = 32, CONTENT_MAX = 8192 };

static uint32_t big(const uint8_t *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void put_big(uint8_t *bytes, uint32_t value) {
    for (int i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(value >> (24 - 8 * i));
}

/* Writes a chunk at *at; false where there is no room. */
static bool put_chunk(uint8_t *out, size_t most, size_t *at, const uint8_t kind[4], const uint8_t *content, size_t size) {
    if (*at + 12 + size > most)
        return false;
    put_big(out + *at, (uint32_t)size);
    memcpy(out + *at + 4, kind, 4);
    memcpy(out + *at + 8, content, size);
    put_big(out + *at + 8 + size, (uint32_t)crc32(0, out + *at + 4, (unsigned)size + 4));
    *at += 12 + size;
    return true;
}

/* The content of a chunk, changed; pixels are changed before they are compressed. */
static size_t change(mutation *m, uint8_t out[CONTENT_MAX], const uint8_t *chunk, size_t size) {
    static uint8_t pixels[CONTENT_MAX];
    size_t inside = 0;
    if (memcmp(chunk + 4, "IDAT", 4) == 0 && mutate_below(m, 2))
        inside = mutate_inflate(pixels, sizeof pixels, chunk + 8, size, 15);
    if (inside)
        return mutate_deflate(out, CONTENT_MAX, pixels, LLVMFuzzerMutate(pixels, inside, sizeof pixels), 15);
    memcpy(out, chunk + 8, size);
    return LLVMFuzzerMutate(out, size, CONTENT_MAX);
}

size_t mutate_png(mutation *m, uint8_t *data, size_t size, size_t most) {
    static uint8_t old[1 << 16], content[CONTENT_MAX];
    size_t chunks[CHUNKS_MAX], count = 0, at = 8;
    if (size > sizeof old)
        return 0;
    memcpy(old, data, size);
    for (; count < CHUNKS_MAX && at + 12 <= size && big(old + at) <= size - at - 12 && big(old + at) <= CONTENT_MAX; count++) {
        chunks[count] = at;
        at += 12 + big(old + at);
    }
    if (count == 0)
        return 0;
    size_t chosen = mutate_below(m, count), kind = mutate_below(m, 8);
    at = 8;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *chunk = old + chunks[i];
        size_t length = big(chunk);
        if (i == chosen && kind == 0)
            continue;
        bool changed = i == chosen && kind > 1;
        size_t n = changed ? change(m, content, chunk, length) : length;
        for (int copies = i == chosen && kind == 1 ? 2 : 1; copies > 0; copies--)
            if (!put_chunk(data, most, &at, chunk + 4, changed ? content : chunk + 8, n))
                return 0;
    }
    return at;
}
