/* SPDX-License-Identifier: MIT */
/* SHA-256, plainly. */
#include "base/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const uint32_t lli_hash_constant[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static inline uint32_t rotate(uint32_t x, int n) {
    return x >> n | x << (32 - n);
}

static void compress(uint32_t state[8], const unsigned char block[64]) {
    uint32_t w[64];
    for (int t = 0; t < 16; t++)
        w[t] = (uint32_t)block[4 * t] << 24 | (uint32_t)block[4 * t + 1] << 16 | (uint32_t)block[4 * t + 2] << 8 | block[4 * t + 3];
    for (int t = 16; t < 64; t++) {
        uint32_t s0 = rotate(w[t - 15], 7) ^ rotate(w[t - 15], 18) ^ w[t - 15] >> 3;
        uint32_t s1 = rotate(w[t - 2], 17) ^ rotate(w[t - 2], 19) ^ w[t - 2] >> 10;
        w[t] = w[t - 16] + s0 + w[t - 7] + s1;
    }
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6], h = state[7];
    for (int t = 0; t < 64; t++) {
        uint32_t t1 = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + lli_hash_constant[t] + w[t];
        uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

void lli_hash_compress(uint32_t state[8], const unsigned char *blocks, size_t count) {
    for (; count > 0; count--, blocks += 64)
        compress(state, blocks);
}

static void compress_blocks(lli_hash *hash, const unsigned char *blocks, size_t count) {
    (lli_hash_x86() ? lli_hash_compress_x86 : lli_hash_compress)(hash->state, blocks, count);
}

void lli_hash_init(lli_hash *hash) {
    *hash = (lli_hash){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void lli_hash_add(lli_hash *hash, const void *bytes, size_t count) {
    const unsigned char *p = bytes;
    size_t held = (size_t)(hash->bytes % 64);
    hash->bytes += count;
    if (held) {
        size_t take = count < 64 - held ? count : 64 - held;
        memcpy(hash->pending + held, p, take);
        p += take, count -= take;
        if (held + take < 64)
            return;
        compress_blocks(hash, hash->pending, 1);
    }
    compress_blocks(hash, p, count / 64);
    if (count % 64)
        memcpy(hash->pending, p + count / 64 * 64, count % 64);
}

/* The numbers that SHA-512 begins with: four lanes begin as the last four, and the others multiply. */
static const uint64_t lane_factor[LLI_HASH_LANES] = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1};
static const uint64_t lane_start[LLI_HASH_LANES] = {0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};

static inline void mix(uint64_t lane[LLI_HASH_LANES], const unsigned char *block) {
    for (int i = 0; i < LLI_HASH_LANES; i++) {
        uint64_t word[2];
        memcpy(word, block + 16 * i, sizeof word);
        unsigned __int128 product = (unsigned __int128)(lane[i] ^ word[0]) * (lane_factor[i] ^ word[1]);
        lane[i] = (uint64_t)product ^ (uint64_t)(product >> 64);
    }
}

void lli_hash_sum_init(uint64_t lane[LLI_HASH_LANES]) {
    memcpy(lane, lane_start, sizeof lane_start);
}

void lli_hash_sum_add(uint64_t out[LLI_HASH_LANES], const void *bytes, size_t count) {
    const unsigned char *p = bytes;
    unsigned char last[64] = {0};
    uint64_t lane[LLI_HASH_LANES];
    memcpy(lane, out, sizeof lane);
    for (size_t blocks = count / 64; blocks > 0; blocks--, p += 64)
        mix(lane, p);
    if (count % 64) {
        memcpy(last, p, count % 64);
        mix(lane, last);
    }
    memcpy(out, lane, sizeof lane);
}

/* The padding: the state is the hash then. */
static void end(lli_hash *hash) {
    uint64_t bits = hash->bytes * 8;
    unsigned char tail[72] = {0x80};
    size_t pad = (size_t)((119 - hash->bytes % 64) % 64 + 1); /* 0x80 and zeros up to 8 bytes before a block's end */
    for (int i = 0; i < 8; i++)
        tail[pad + (size_t)i] = (unsigned char)(bits >> (56 - 8 * i));
    lli_hash_add(hash, tail, pad + 8);
}

void lli_hash_bytes(lli_hash *hash, unsigned char out[LLI_HASH_BYTES]) {
    end(hash);
    for (int i = 0; i < LLI_HASH_BYTES; i++)
        out[i] = (unsigned char)(hash->state[i / 4] >> (24 - i % 4 * 8));
}

void lli_hash_text(lli_hash *hash, char out[LLI_HASH_TEXT]) {
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[LLI_HASH_BYTES];
    lli_hash_bytes(hash, bytes);
    for (int i = 0; i < LLI_HASH_BYTES; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[LLI_HASH_TEXT - 1] = 0;
}

uint64_t lli_hash_start(lli_hash *hash) {
    end(hash);
    return (uint64_t)hash->state[0] << 32 | hash->state[1];
}

void lli_hash_array(lli_hash *hash, ll_dtype dtype, int rank, const int64_t *shape) {
    char line[256];
    int length = snprintf(line, sizeof line, "%s", ll_dtype_name(dtype));
    for (int i = 0; i < rank; i++)
        length += snprintf(line + length, sizeof line - (size_t)length, " %" PRId64, shape[i]);
    lli_hash_init(hash);
    lli_hash_add(hash, line, (size_t)length + 1);
}
