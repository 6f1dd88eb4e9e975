/* SPDX-License-Identifier: MIT */
/* libFuzzer's custom mutator: the mutation that fits what the bytes are. */
#include "mutate.h"

#include <string.h>
#include <zlib.h>

size_t mutate_below(mutation *m, size_t n) {
    m->state = m->state * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(m->state >> 33) % n;
}

uint64_t mutate_little(const uint8_t *bytes, int count) {
    uint64_t value = 0;
    for (int i = count; i-- > 0;)
        value = value << 8 | bytes[i];
    return value;
}

void mutate_put_little(uint8_t *bytes, uint64_t value, int count) {
    for (int i = 0; i < count; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
}

bool mutate_splice(uint8_t *data, size_t *size, size_t most, size_t at, size_t old, const void *bytes, size_t count) {
    if (at + old > *size || *size - old + count > most)
        return false;
    memmove(data + at + count, data + at + old, *size - at - old);
    if (count)
        memcpy(data + at, bytes, count);
    *size = *size - old + count;
    return true;
}

size_t mutate_inflate(uint8_t *out, size_t room, const uint8_t *in, size_t size, int bits) {
    z_stream z = {.next_in = (uint8_t *)(uintptr_t)in, .avail_in = (unsigned)size, .next_out = out, .avail_out = (unsigned)room};
    if (inflateInit2(&z, bits) != Z_OK)
        return 0;
    int end = inflate(&z, Z_FINISH);
    size_t made = room - z.avail_out;
    inflateEnd(&z);
    return end == Z_STREAM_END ? made : 0;
}

size_t mutate_deflate(uint8_t *out, size_t room, const uint8_t *in, size_t size, int bits) {
    z_stream z = {.next_in = (uint8_t *)(uintptr_t)in, .avail_in = (unsigned)size, .next_out = out, .avail_out = (unsigned)room};
    if (deflateInit2(&z, 1, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return 0;
    int end = deflate(&z, Z_FINISH);
    size_t made = room - z.avail_out;
    deflateEnd(&z);
    return end == Z_STREAM_END ? made : 0;
}

static size_t mutate_known(mutation *m, uint8_t *data, size_t size, size_t most) {
    if (size >= 4 && memcmp(data, "PK\3\4", 4) == 0)
        return mutate_zip(m, data, size, most);
    if (size >= 8 && memcmp(data, "\x89PNG", 4) == 0)
        return mutate_png(m, data, size, most);
    if (size >= 2 && memcmp(data, "\x1f\x8b", 2) == 0)
        return mutate_gzip(m, data, size, most);
    if (size > 10 && data[8] == '{' && mutate_little(data, 8) <= size - 8)
        return mutate_safetensors(m, data, size, most);
    return size > 2 && (data[0] == '{' || data[0] == '[') ? mutate_json(m, data, size, most) : 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    mutation m = {.state = seed};
    size_t made = 0;
    if (mutate_below(&m, 5) > 0) {
        made = mutate_known(&m, data, size, most);
        if (!made && size > 1) { /* targets whose first byte is a choice of their own */
            made = mutate_known(&m, data + 1, size - 1, most - 1);
            made += made > 0;
        }
    }
    return made ? made : LLVMFuzzerMutate(data, size, most);
}
