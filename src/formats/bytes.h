/* SPDX-License-Identifier: MIT */
/* Numbers in bytes of a given order, at any address. */
#ifndef LLI_FORMATS_BYTES_H
#define LLI_FORMATS_BYTES_H

#include <stddef.h>
#include <stdint.h>

#define LLI_BYTES_BIG_HOST (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

/* `count` little-endian bytes, at most 8. */
static inline uint64_t lli_bytes_little(const unsigned char *p, int count) {
    uint64_t x = 0;
    for (int i = count - 1; i >= 0; i--)
        x = x << 8 | p[i];
    return x;
}

static inline uint64_t lli_bytes_big(const unsigned char *p, int count) {
    uint64_t x = 0;
    for (int i = 0; i < count; i++)
        x = x << 8 | p[i];
    return x;
}

/* Stores `count` bytes and returns the place after them. */
static inline unsigned char *lli_bytes_put(unsigned char *p, uint64_t x, int count) {
    for (int i = 0; i < count; i++)
        p[i] = (unsigned char)(x >> (8 * i) & 0xff);
    return p + count;
}

static inline unsigned char *lli_bytes_put_big(unsigned char *p, uint64_t x, int count) {
    for (int i = 0; i < count; i++)
        p[i] = (unsigned char)(x >> (8 * (count - 1 - i)) & 0xff);
    return p + count;
}

/* Reverses each of `count` elements of `size` bytes; in and out may be one place. */
void lli_bytes_swap(void *out, const void *in, int64_t count, size_t size);

#endif
