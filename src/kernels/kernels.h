/* SPDX-License-Identifier: MIT */
/* The arithmetic of a softmax head, once per instruction set.
 *
 * Rows and parameters are augmented, so that the bias is one more column:
 *
 *     z row     = (z_1 .. z_D, 1, 0 .. 0)      ld floats
 *     theta row = (w_1 .. w_D, b, 0 .. 0)      ld floats      logit_k = <theta_k, z>
 *
 * ld = lli_kernels_stride(D) and ldk = lli_kernels_stride_classes(K) are multiples of 16 and never of 128, so that rows do not fall into
 * the same cache sets. The padding of z and theta stays zero; that of logits may be read, and holds anything.
 *
 * Each result is summed in an order that depends on shapes alone: logits of a row do not depend on its batch, an element of theta
 * sums the batch in row order. So bits are the same for any number of threads and any blocking, on each level.
 * ref/ is the plain version of each kernel and stays obvious; simd/ is one source, compiled per level; dispatch.c is the table. */
#ifndef LLI_KERNELS_KERNELS_H
#define LLI_KERNELS_KERNELS_H

#include "base/rng.h"
#include "base/rows.h"
#include "base/status.h"
#include "kernels/gemm.h"
#include "kernels/optimise.h"
#include "kernels/tally.h"

/* One step of sgd or sgld: theta <- shrink * theta - scale * sum_i g_i z_i' + noise * xi, g_i = w_i (p - 1{k = y_i}). */
typedef struct lli_update {
    float shrink;      /* 1 - lr tau / N */
    float scale;       /* lr / |batch| */
    float noise;       /* sqrt(2 lr / N), 0 for sgd */
    lli_stream stream; /* of xi: the normal of element (k,j) has index k * ld + j */
} lli_update;

/* Inverted dropout, see docs/math/dropout.md. Unit u of row r is dropped when its 16 random bits, read as a number, are below drop16. */
typedef struct lli_mask {
    lli_stream stream;
    int layer;
    uint32_t drop16; /* p in 2^-16, 1..65535 */
    uint64_t start;  /* added to the number of every block: the key of a row that has one, which then is row 0 */
} lli_mask;

/* Bits that a row takes of each bit plane, a whole word at least: unit u of row r has bit r * span + u. Short rows share a random block. */
static inline int64_t lli_mask_span(int64_t D) {
    return D <= 32 ? 32 : D <= 64 ? 64 : (D + 127) / 128 * 128;
}

/* The rows of one step, and of those after it. */
typedef struct lli_batch {
    const int64_t *rows;   /* [n] */
    const int32_t *labels; /* [n] */
    const float *weights;  /* [n] w of the rows; NULL: all 1 */
    int64_t n;
    const int64_t *next; /* [next_n] rows of the steps that follow, some of which are brought into the cache meanwhile; NULL: not known */
    int64_t next_n;
} lli_batch;

/* Members to predict with: stored heads, passes of one head under masks, or logits that the caller makes. */
typedef struct lli_members {
    const float *W;       /* [count,K,D]; with masks [K,D] */
    const float *b;       /* [count,K]; with masks [K] */
    const double *weight; /* [count] w */
    const int32_t *share; /* [count] u: the same as integers, whose sums are exact; over all members they may add up to 2^31 - 1 */
    int64_t count;        /* up to LLI_TALLY_CHUNK */
    const lli_mask *mask; /* of the first pass, the next ones have the steps after it; NULL: no masks */
    int64_t row;          /* index of the first row, for the masks */
    const uint64_t *keys; /* [n] rows that have keys instead, each its own; NULL: they are numbered */
    const int32_t *truth; /* [n] for the scores of p_hat after each member; NULL: none */
    void (*draw)(lli_tally *t, const struct lli_members *m); /* t->odds = the logits of the members, in place of W and b; NULL: there are */
    void *drawn;                                             /* what draw draws from */
    int64_t first_draw;                                      /* number of the first member */
} lli_members;

typedef struct lli_kernels {
    const char *name;
    bool fused;        /* a multiply-add rounds once */
    bool on_request;   /* only LASTLAYER_ISA takes this level */
    const char *needs; /* instructions that some processors of this kind do not have; NULL: none */

    /* One whole step: gather, mask (NULL: no dropout), logits, residual, update. Returns the sum of -w_i log p(y_i) before the step, not
     * finite if a logit is not. work has step_floats(B, D, K) floats, aligned to 64 bytes, for batches of up to B. The bits do not depend
     * on `next`, nor on whether rows->padded exists. */
    double (*step)(float *theta, /* [K,ld] */ float *work, const lli_rows *rows, const lli_batch *batch, const lli_update *u,
                   const lli_mask *mask, int64_t K);
    int64_t (*step_floats)(int64_t B, int64_t D, int64_t K);

    /* z[i] = augmented row rows[i] (first + i where rows is NULL) of features [N,D], f32 or f16. */
    void (*gather)(float *z, /* [n,ld] */ const void *features, bool half, const int64_t *rows, int64_t first, int64_t n, int64_t D,
                   int64_t ld);

    /* out = z with dropped units at 0 and the others scaled by 1/(1-p); the bias column is never dropped. Row i has index first + i.
     * out may be z. */
    void (*mask)(float *out, const float *z, const lli_mask *mask, int64_t first, int64_t n, int64_t D, int64_t ld);

    /* logits[i,k] = <theta_k, z_i>; columns K..ldk-1 are left alone. */
    void (*logits)(float *logits, /* [n,ldk] */ const float *theta, /* [K,ld] */ const float *z, /* [n,ld] */ int64_t n, int64_t K,
                   int64_t ld, int64_t ldk);

    /* In place: logits -> w_i (p - 1{k = y_i}), columns K..ldk-1 -> 0. Returns sum_i -w_i log p(y_i); not finite if a logit is not. With
     * weights of 1 the bits in place are those without weights. */
    double (*residual)(float *logits, /* [n,ldk] */ const int32_t *labels, /* [n] */ const float *weights, /* [n], NULL: all 1 */ int64_t n,
                       int64_t K, int64_t ldk);

    /* The step above, in place. */
    void (*update)(float *theta, /* [K,ld] */ const float *g, /* [n,ldk] */ const float *z, /* [n,ld] */ const lli_update *u, int64_t n,
                   int64_t K, int64_t D, int64_t ld, int64_t ldk);

    /* gradient[k,j] += sum_i g[i,k] z[i,j]: the sum over the block in f32, in row order, then added in f64. */
    void (*gradient)(double *gradient, /* [K,ld] */ const float *g, const float *z, int64_t n, int64_t K, int64_t ld, int64_t ldk);

    /* Draws number first .. first+count-1 of the stream, 64 bits each, two to a block, the i-th as lli_rng_below has it for n + i grow. */
    void (*below)(uint64_t *out, lli_stream stream, int64_t first, int64_t count, uint64_t n, uint64_t grow);

    /* Standard normals number first .. first+count-1 of the stream (Box-Muller on the four lanes of a block). */
    void (*normals)(float *out, lli_stream stream, int64_t first, int64_t count);

    /* Prediction: t->panels = rows first .. first+n-1 of features [N,D], times scale (that of the masks, else 1). */
    void (*panels)(lli_tally *t, const void *features, bool half, int64_t first, float scale);
    /* t->odds = the logits of the members. */
    void (*member_logits)(lli_tally *t, const lli_members *m);
    /* These, and the sums they make. Everything about a row depends on that row and the members alone. */
    void (*predict)(lli_tally *t, const lli_members *m);
    void (*tally)(lli_tally *t, const lli_members *m); /* the same, the logits being there */
    /* label, most, second, mixed and information from the sums. */
    void (*finish)(lli_tally *t);

    /* One step of an optimiser on `count` parameters, their gradient and moments; an element's bits depend on that element alone. */
    void (*adam)(float *theta, float *m, float *v, const float *gradient, const lli_adam *a, float decay, int64_t count);
    void (*momentum)(float *theta, float *velocity, const float *gradient, const lli_momentum *o, float decay, int64_t count);

    /* The matrix product of networks, gemm.h: tiles first .. end - 1 of a [m,k] to their places in `packed`, of lli_gemm_packed_floats; and
     * the product, with a workspace of lli_gemm_floats. */
    void (*gemm_pack)(float *packed, lli_matrix a, int64_t m, int64_t k, int64_t first, int64_t end);
    void (*gemm)(const lli_gemm *product, float *work);

    const struct lli_wide *wide; /* residual of very many classes, in steps: wide.h */

    /* The step of heads with many classes, large.h. NULL where the level has none. */
    const struct lli_large *large;

    const struct lli_conv_kernels *conv;     /* conv.h */
    const struct lli_norm_kernels *norm;     /* norm.h */
    const struct lli_linear_kernels *linear; /* matrix64.h */
} lli_kernels;

/* The level of this process: the best one the processor has, or what LASTLAYER_ISA asks for. NULL if that is unknown or not supported. */
const lli_kernels *lli_kernels_get(void);
const lli_kernels *lli_kernels_level(const char *name); /* NULL likewise */
const lli_kernels *lli_kernels_at(size_t i);            /* level i of this build, from the plainest to the fastest; NULL after the last */
bool lli_kernels_supported(const lli_kernels *level);   /* this processor has the instructions */
const lli_kernels *lli_kernels_known(const char *name); /* this build's, whatever the processor; NULL: it has none of that name */
const char *lli_kernels_names(void);                    /* "ref|base|v3|v4", for messages */

/* A multiple of 16 that is none of 128: rows start in different cache sets. */
static inline int64_t lli_kernels_pad(int64_t count) {
    int64_t padded = (count + 15) / 16 * 16;
    return padded % 128 ? padded : padded + 16;
}

static inline int64_t lli_kernels_stride(int64_t D) {
    return lli_kernels_pad(D + 1);
}

static inline int64_t lli_kernels_stride_classes(int64_t K) {
    return lli_kernels_pad(K);
}

#endif
