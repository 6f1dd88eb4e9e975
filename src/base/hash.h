/* SPDX-License-Identifier: MIT */
/* SHA-256 (FIPS 180-4), for the identity of data in provenance records. */
#ifndef LLI_BASE_HASH_H
#define LLI_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "lastlayer.h"

typedef struct lli_hash {
    uint32_t state[8];
    uint64_t bytes;
    unsigned char pending[64];
} lli_hash;

enum { LLI_HASH_TEXT = 65 }; /* hexadecimal, with its NUL */

void lli_hash_init(lli_hash *hash);
void lli_hash_add(lli_hash *hash, const void *bytes, size_t count);
void lli_hash_text(lli_hash *hash, char out[LLI_HASH_TEXT]); /* ends the hash */

/* Starts the hash of an array: its type and shape; the little-endian elements follow through lli_hash_add. */
void lli_hash_array(lli_hash *hash, ll_dtype dtype, int rank, const int64_t *shape);

#endif
