/* SPDX-License-Identifier: MIT */
/* Heads with many classes, whose theta fits no cache: both products of a step are matrix products, and theta is always stored in the
 * order in which they read and write it. docs/kernels.md has the drawing.
 *
 *     panel q of theta   [columns][16]   classes 16 q .. 16 q + 15 of column 0, of column 1, ..; the bias is column D
 *     panel q of logits  [rows][16]      the same classes of row 0 of the batch, of row 1, ..
 *
 * What lies beyond class K or column D is zero in theta and stays zero. Work is cut by shape alone, into blocks of rows (gather, logits,
 * residual) and then into blocks of theta (update); blocks of either kind may run at once, each with a scratch of its own. A logit adds
 * its features in blocks of fixed length, an element of theta adds the batch in row order, so bits depend on nothing else. */
#ifndef LLI_KERNELS_LARGE_H
#define LLI_KERNELS_LARGE_H

#include "base/share.h"
#include "kernels/kernels.h"

enum {
    LLI_LARGE_CLASSES = 16, /* in a panel */
    LLI_LARGE_TILE = 6      /* rows or columns whose sums over a panel live in registers */
};

/* The shape of a head and of a step on n rows, and how the step is cut. */
typedef struct lli_large_shape {
    int64_t D, K, n;
    int64_t first, all; /* class of the first of them, and how many there are, where others have the rest; else 0 and K */
    int64_t ld;         /* of rows of z, as in kernels.h */
    int64_t panels;
    int64_t columns; /* of a panel of theta */
    int64_t rows;    /* of a panel of logits */
    int64_t blocks;  /* of rows */
    int64_t length;  /* features that a logit adds at a time */
    int64_t width;   /* columns in a part of theta */
    int64_t stride;  /* floats between two packed tiles of z in a part */
    int64_t groups;  /* of panels */
    int64_t parts;   /* of theta: every width of columns in every group of panels */
    int64_t scratch; /* floats that a block or part needs */
} lli_large_shape;

/* The memory of a step, cut from one piece of lli_large_work_floats. */
typedef struct lli_large_work {
    double *nll;    /* [n] -w_i log p(y_i) before the step; not finite if a logit is not */
    float *top;     /* [n] of divided classes: the largest logit */
    int64_t *sums;  /* [2 n + 1] likewise: sums of exponentials, the bits of f_y - top, and a place for the caller */
    float *z;       /* [n,ld] */
    float *g;       /* [panels,rows,16] logits, then w (p - 1{k = y}) */
    float *scratch; /* [workers,scratch] */
} lli_large_work;

typedef struct lli_large {
    /* Rows of one block: gathered to z, masked (NULL: no dropout), then their logits, g and nll. */
    void (*forward)(const lli_large_work *w, const float *theta, /* [panels,columns,16] */ const lli_rows *rows, const lli_batch *batch,
                    const lli_mask *mask, const lli_large_shape *s, int64_t block, int worker);
    /* The same in three steps, where classes are divided: top is made the largest of all between the first two, and sums that of all
     * between the last two. wide.h */
    void (*tops)(const lli_large_work *w, const float *theta, const lli_rows *rows, const lli_batch *batch, const lli_mask *mask,
                 const lli_large_shape *s, int64_t block, int worker);
    void (*sums)(const lli_large_work *w, const lli_batch *batch, const lli_large_shape *s, int64_t block, int worker);
    void (*residuals)(const lli_large_work *w, const lli_batch *batch, const lli_large_shape *s, int64_t block, int worker);
    /* The step of kernels.h on one part of theta, once every block is done. */
    void (*update)(float *theta, const lli_large_work *w, const lli_update *u, const lli_large_shape *s, int64_t part, int worker);
} lli_large;

lli_large_shape lli_large_shape_of(int64_t n, int64_t K, int64_t D);
lli_large_shape lli_large_shape_share(int64_t n, int64_t K, int64_t D, const lli_share *share); /* of the panels; their theta and work */
int64_t lli_large_floats(int64_t K, int64_t D);                                                 /* of theta */
void lli_large_pack(float *theta, /* [panels,columns,16] */ const float *W, /* [K,D] */ const float *b /* [K] */, int64_t K, int64_t D);
void lli_large_unpack(float *W, float *b, const float *theta, int64_t K, int64_t D);
/* Some classes: out [count,D] of W, or [count] of b where `bias`. */
void lli_large_unpack_rows(float *out, const float *theta, int64_t first, int64_t count, int64_t D, bool bias);

int64_t lli_large_work_floats(const lli_large_shape *most, int workers); /* for steps on up to most->n rows */
lli_large_work lli_large_work_of(float *work, const lli_large_shape *s);

/* First row of block `block`; a block ends where the next one starts. */
static inline int64_t lli_large_start(const lli_large_shape *s, int64_t block) {
    int64_t tiles = (s->n + LLI_LARGE_TILE - 1) / LLI_LARGE_TILE, start = block * tiles / s->blocks * LLI_LARGE_TILE;
    return start < s->n ? start : s->n;
}

#endif
