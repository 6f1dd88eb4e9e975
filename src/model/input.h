/* SPDX-License-Identifier: MIT */
/* Rows of any kind to the floats that the first layer reads. */
#ifndef LLI_MODEL_INPUT_H
#define LLI_MODEL_INPUT_H

#include "kernels/kernels.h"

/* Which rows: list[i], or first + i where list is NULL. augment: with rows->augment, keyed by seed and epoch. */
typedef struct lli_input {
    const lli_kernels *kernels;
    const lli_rows *rows;
    const int64_t *list;
    int64_t first;
    bool augment;
    uint64_t seed;
    int64_t epoch;
} lli_input;

int64_t lli_input_floats(int64_t D); /* of scratch */
/* x [n,D]: rows i .. i + n - 1 of the input. */
void lli_input_read(float *x, const lli_input *input, int64_t i, int64_t n, float *scratch);

#endif
