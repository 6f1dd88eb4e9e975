/* SPDX-License-Identifier: MIT */
/* What a method needs of anything it can train: a flat parameter vector theta, and one step on one batch.
 * A head on features is a model; so is a network on images. */
#ifndef LLI_MODEL_MODEL_H
#define LLI_MODEL_MODEL_H

#include "base/rng.h"
#include "base/rows.h"
#include "base/status.h"

typedef struct lli_model lli_model;

/* One step: theta <- theta + lr (mean grad log p - tau theta / N) + noise xi. */
typedef struct lli_step {
    const int64_t *rows;   /* [n] of the row source */
    const int32_t *labels; /* [n] of those rows */
    int64_t n;
    const int64_t *next;   /* [next_n] rows of the following step, to be fetched meanwhile; NULL where there is none */
    int64_t next_n;
    double lr;
    double decay;          /* tau / N */
    double noise;          /* sqrt(2 lr / N), 0 without */
    uint32_t drop16;       /* dropout rate in 2^-16, 0 without */
    uint64_t seed;
    int64_t member, step;  /* key the noise and the masks */
} lli_step;

/* A tensor of the model as files see it. */
typedef struct lli_tensor {
    const char *name;
    int rank;
    int64_t shape[4];
    int64_t count; /* elements */
} lli_tensor;

typedef struct lli_model_ops {
    /* theta <-> tensors; theta may hold padding, tensors never do. */
    void (*pack)(const lli_model *model, float *theta, const float *const *tensors);
    void (*unpack)(const lli_model *model, float *const *tensors, const float *theta);
    int64_t (*work_floats)(const lli_model *model, int64_t B, int workers); /* workspace of step for batches of up to B, on up to so many workers */
    /* *nll = sum over the batch of -log p(y|z) before the step; not finite when the step failed numerically. Uses the workers of ctx where
     * the step is long enough to be shared. */
    ll_status (*step)(double *nll, ll_context *ctx, const lli_model *model, float *theta, float *work, const lli_rows *rows, const lli_step *step);
} lli_model_ops;

enum { LLI_TENSORS_MAX = 64 };

struct lli_model {
    const lli_model_ops *ops;
    const struct lli_kernels *kernels;
    bool padded;    /* steps are faster with padded rows */
    int64_t D, K;
    int64_t floats; /* of theta, padding included */
    int tensors;
    lli_tensor tensor[LLI_TENSORS_MAX];
};

#endif
