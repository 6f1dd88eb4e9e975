/* SPDX-License-Identifier: MIT */
/* SHA-256 (FIPS 180-4), for the identity of data in provenance records. */
#ifndef LLI_BASE_HASH_H
#define LLI_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lastlayer.h"

typedef struct lli_hash {
    uint32_t state[8];
    uint64_t bytes;
    unsigned char pending[64];
} lli_hash;

enum { LLI_HASH_BYTES = 32, LLI_HASH_TEXT = 65 /* hexadecimal, with its NUL */ };

void lli_hash_init(lli_hash *hash);
void lli_hash_add(lli_hash *hash, const void *bytes, size_t count);
/* Each of these ends the hash. */
void lli_hash_bytes(lli_hash *hash, unsigned char out[LLI_HASH_BYTES]);
void lli_hash_text(lli_hash *hash, char out[LLI_HASH_TEXT]);
uint64_t lli_hash_start(lli_hash *hash); /* its first 64 bits as a number */

/* A sum of bytes at a hundredth of the price: whatever is damaged or mixed up changes it, but who wants other bytes with the same sum finds
 * some. Each call fills its last block of 64 bytes up with zeros. docs/math/certificates.md */
enum { LLI_HASH_LANES = 4 };
void lli_hash_sum_init(uint64_t lane[LLI_HASH_LANES]);
void lli_hash_sum_add(uint64_t lane[LLI_HASH_LANES], const void *bytes, size_t count);

/* What lli_hash_add is made of: `count` blocks of 64 bytes into the state, plainly and with the instructions of x86, where the processor
 * has them. */
extern const uint32_t lli_hash_constant[64];
void lli_hash_compress(uint32_t state[8], const unsigned char *blocks, size_t count);
void lli_hash_compress_x86(uint32_t state[8], const unsigned char *blocks, size_t count);
bool lli_hash_x86(void);

/* Starts the hash of an array: its type and shape; the little-endian elements follow through lli_hash_add. */
void lli_hash_array(lli_hash *hash, ll_dtype dtype, int rank, const int64_t *shape);

#endif
