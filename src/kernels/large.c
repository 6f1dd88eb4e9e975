/* SPDX-License-Identifier: MIT */
/* Theta in panels, and how the work of a step is cut: by shape alone. */
#include "kernels/large.h"

#include <string.h>

enum {
    TILE = LLI_LARGE_TILE,
    CLASSES = LLI_LARGE_CLASSES,
    ROWS = 128,   /* in a block of a batch of 256 or more, half of that else: many for one core, few for several cores to share */
    LENGTH = 288, /* at most: that much of a panel of theta stays in the first-level cache */
    Z = 24 << 10, /* floats of z in a part of theta, within the second-level cache */
    WIDTH = 96,   /* at most */
    PANELS = 64,  /* in a group, at most */
    STEP = 12     /* columns: whole tiles and whole quadruples of normals */
};

static int64_t divide_up(int64_t x, int64_t unit) {
    return (x + unit - 1) / unit;
}

static int64_t round_up(int64_t x, int64_t unit) {
    return divide_up(x, unit) * unit;
}

lli_large_shape lli_large_shape_of(int64_t n, int64_t K, int64_t D) {
    lli_large_shape s = {.D = D, .K = K, .n = n, .all = K, .ld = lli_kernels_stride(D)};
    s.panels = divide_up(K, CLASSES);
    s.columns = round_up(D + 1, STEP);
    s.rows = round_up(n, TILE) + 1; /* odd: the panels of a row lie in different cache sets */
    s.blocks = n >= 2 * ROWS ? (n + ROWS / 2) / ROWS : LLI_MAX(1, (n + ROWS / 4) / (ROWS / 2));
    s.length = round_up(divide_up(D + 1, divide_up(D + 1, LENGTH)), 16);
    s.width = LLI_MIN(WIDTH, LLI_MAX(STEP, Z / n / STEP * STEP));
    s.stride = (divide_up(n * TILE + 2, 16) | 1) * 16; /* likewise; the last store of a tile ends two floats beyond it */
    s.groups = divide_up(s.panels, PANELS);
    s.parts = divide_up(s.columns, s.width) * s.groups;
    /* No smaller n needs more: a block has at most 3/2 ROWS rows and a tile, a part beyond its z the padding of its tiles. */
    int64_t block = LLI_MIN(n + TILE, 3 * ROWS / 2 + TILE) * s.length + lli_kernels_stride_classes(K);
    int64_t part = LLI_MAX(Z + WIDTH / TILE * 48, STEP / TILE * s.stride) + WIDTH * CLASSES;
    s.scratch = round_up(LLI_MAX(block, part), 16) + 16; /* packing ends in a whole vector */
    return s;
}

lli_large_shape lli_large_shape_share(int64_t n, int64_t K, int64_t D, const lli_share *share) {
    int64_t panels = divide_up(K, CLASSES), first = LLI_MIN(lli_share_begin(share, panels) * CLASSES, K);
    lli_large_shape s = lli_large_shape_of(n, LLI_MIN(lli_share_end(share, panels) * CLASSES, K) - first, D);
    s.first = first;
    s.all = K;
    return s;
}

int64_t lli_large_floats(int64_t K, int64_t D) {
    return divide_up(K, CLASSES) * round_up(D + 1, STEP) * CLASSES;
}

static int64_t place(int64_t k, int64_t j, int64_t columns) {
    return (k / CLASSES * columns + j) * CLASSES + k % CLASSES;
}

void lli_large_pack(float *theta, const float *W, const float *b, int64_t K, int64_t D) {
    int64_t columns = round_up(D + 1, STEP);
    memset(theta, 0, (size_t)lli_large_floats(K, D) * sizeof *theta);
    for (int64_t k = 0; k < K; k++) {
        for (int64_t j = 0; j < D; j++)
            theta[place(k, j, columns)] = W[k * D + j];
        theta[place(k, D, columns)] = b[k];
    }
}

void lli_large_unpack_rows(float *out, const float *theta, int64_t first, int64_t count, int64_t D, bool bias) {
    int64_t columns = round_up(D + 1, STEP);
    for (int64_t k = 0; k < count; k++) {
        for (int64_t j = 0; j < D && !bias; j++)
            out[k * D + j] = theta[place(first + k, j, columns)];
        if (bias)
            out[k] = theta[place(first + k, D, columns)];
    }
}

void lli_large_unpack(float *W, float *b, const float *theta, int64_t K, int64_t D) {
    lli_large_unpack_rows(W, theta, 0, K, D, false);
    lli_large_unpack_rows(b, theta, 0, K, D, true);
}

static int64_t nll_floats(const lli_large_shape *s) {
    return round_up(2 * s->n, 16);
}

/* Of classes that are divided. */
static int64_t wide_floats(const lli_large_shape *s) {
    return s->K < s->all ? round_up(s->n, 16) + round_up(4 * s->n + 2, 16) : 0;
}

int64_t lli_large_work_floats(const lli_large_shape *s, int workers) {
    return nll_floats(s) + wide_floats(s) + s->n * s->ld + s->panels * s->rows * CLASSES + workers * s->scratch;
}

lli_large_work lli_large_work_of(float *work, const lli_large_shape *s) {
    lli_large_work w = {.nll = (double *)(void *)work};
    w.top = work + nll_floats(s);
    w.sums = (int64_t *)(void *)(w.top + round_up(s->n, 16));
    w.z = w.top + wide_floats(s);
    w.g = w.z + s->n * s->ld;
    w.scratch = w.g + s->panels * s->rows * CLASSES;
    return w;
}
