/* SPDX-License-Identifier: MIT */
/* Tiles of sums of a convolution: how many rows and panels of outputs they have. */
#ifndef LLI_KERNELS_SIMD_CONV_TILE_H
#define LLI_KERNELS_SIMD_CONV_TILE_H

#include "kernels/conv.h"
#include "kernels/simd/level.h"
#include "kernels/simd/vector.h"

/* Rows and panels whose sums fit the registers. */
#if LLI_BYTES == 64
enum { TILE = 8, ACROSS = 2 };
#elif LLI_BYTES == 32
enum { TILE = 6, ACROSS = 1 };
#else
enum { TILE = 2, ACROSS = 1 };
#endif

enum { PANEL = LLI_CONV_PANEL, TAPS = LLI_CONV_TAPS, VECTORS = PANEL / W, SUMS = ACROSS * VECTORS };

/* Calls `what` with the number of rows of a tile as its last argument, which the compiler then knows. */
#define FOR_ROWS(rows, what, ...)       \
    switch (rows) {                     \
        ROWS_CASE(1, what, __VA_ARGS__) \
        ROWS_CASE(2, what, __VA_ARGS__) \
        ROWS_CASE(3, what, __VA_ARGS__) \
        ROWS_CASE(4, what, __VA_ARGS__) \
        ROWS_CASE(5, what, __VA_ARGS__) \
        ROWS_CASE(6, what, __VA_ARGS__) \
        ROWS_CASE(7, what, __VA_ARGS__) \
        ROWS_CASE(8, what, __VA_ARGS__) \
    }
#define ROWS_CASE(count, what, ...)   \
    case count:                       \
        if (count <= TILE)            \
            what(__VA_ARGS__, count); \
        break;

/* Rows of the next tile of what is left: full tiles, then two halves rather than a short one that waits for its own sums. */
INLINE int tile_next(int64_t left) {
    return (int)(left <= TILE ? left : LLI_MIN((left + 1) / 2, TILE));
}

void LEVEL(conv_turn)(float *turned, const float *dy, const lli_conv_shape *s, int64_t n, lli_range chunks);
void LEVEL(conv_weights)(float *dw, float *db, float *scratch, const float *x, const float *dy, const float *turned,
                         const lli_conv_shape *s, int64_t n, lli_range channels);

#endif
