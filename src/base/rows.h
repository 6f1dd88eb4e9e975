/* SPDX-License-Identifier: MIT */
/* The row source: features in memory or in a mapped file, in place. */
#ifndef LLI_BASE_ROWS_H
#define LLI_BASE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lli_rows {
    const void *features; /* [N,D] */
    bool half;            /* f16, else f32 */
    int64_t N, D;
    void (*ahead)(const void *bytes, size_t count); /* says that these bytes come next; NULL when all is in memory */
    const float *padded; /* [N,ld] the same rows as the kernels use them in place, see data/padded.h; NULL: there are none */
} lli_rows;

#endif
