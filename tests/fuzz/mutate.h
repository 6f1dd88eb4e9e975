/* SPDX-License-Identifier: MIT */
/* Mutations that know a format: they change what a file says and leave lengths, checksums and places right, so that a changed file gets
 * past the first check. Each takes `size` bytes in `data`, room for `most`, and returns the new size, or 0 where it could do nothing. */
#ifndef TESTS_FUZZ_MUTATE_H
#define TESTS_FUZZ_MUTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct mutation {
    uint64_t state; /* of the random numbers */
} mutation;

/* A number below n, which is above 0. */
size_t mutate_below(mutation *m, size_t n);
/* libFuzzer's own, for bytes of which nothing is known. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

size_t mutate_json(mutation *m, uint8_t *data, size_t size, size_t most);
size_t mutate_safetensors(mutation *m, uint8_t *data, size_t size, size_t most);
size_t mutate_zip(mutation *m, uint8_t *data, size_t size, size_t most);
size_t mutate_gzip(mutation *m, uint8_t *data, size_t size, size_t most);
size_t mutate_png(mutation *m, uint8_t *data, size_t size, size_t most);

/* ---- numbers in bytes ---- */

uint64_t mutate_little(const uint8_t *bytes, int count);
void mutate_put_little(uint8_t *bytes, uint64_t value, int count);

/* Replaces data[at .. at+old) by `count` bytes; false where there is no room. */
bool mutate_splice(uint8_t *data, size_t *size, size_t most, size_t at, size_t old, const void *bytes, size_t count);
/* zlib's inflate and deflate of at most `room` bytes, 0 on failure; `bits` as in inflateInit2. */
size_t mutate_inflate(uint8_t *out, size_t room, const uint8_t *in, size_t size, int bits);
size_t mutate_deflate(uint8_t *out, size_t room, const uint8_t *in, size_t size, int bits);

#endif
