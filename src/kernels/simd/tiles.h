/* SPDX-License-Identifier: MIT */
/* How classes are cut into tiles: at most five, as even as they come (11 = 4 + 4 + 3). docs/kernels.md draws the tilings. */
#ifndef LLI_KERNELS_SIMD_TILES_H
#define LLI_KERNELS_SIMD_TILES_H

#include <stdint.h>

enum { TILE_CLASSES = 5 };

static inline int64_t tiles_count(int64_t K) {
    return (K + TILE_CLASSES - 1) / TILE_CLASSES;
}

/* First class of tile t of `count`; tile t ends where tile t + 1 starts. */
static inline int64_t tiles_start(int64_t t, int64_t count, int64_t K) {
    int64_t small = K / count, larger = K % count;
    return t * small + (t < larger ? t : larger);
}

/* The same, for loops in which a division is slow: the first `larger` tiles have small + 1 classes, the others small. */
typedef struct tiling {
    int64_t count, small, larger;
} tiling;

static inline tiling tiles_of(int64_t K, int64_t most) {
    const int64_t count = (K + most - 1) / most;
    return (tiling){count, K / count, K % count};
}

#endif
