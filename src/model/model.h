/* SPDX-License-Identifier: MIT */
/* What a method needs of anything it can train: a flat parameter vector theta, and one step on one batch.
 * A head on features is a model; so is a network on images. */
#ifndef LLI_MODEL_MODEL_H
#define LLI_MODEL_MODEL_H

#include "base/rng.h"
#include "base/rows.h"
#include "base/status.h"

typedef struct lli_model lli_model;
struct lli_team;

/* One step. With the rule of sgd and sgld: theta <- theta + lr ((1/n) sum w grad log p - tau theta / N) + noise xi. */
typedef struct lli_step {
    const int64_t *rows;   /* [n] of the row source */
    const int32_t *labels; /* [n] of those rows */
    const float *weights;  /* [n] w of those rows; NULL: all 1 */
    int64_t n;
    const int64_t *next; /* [next_n] rows of the steps that follow, some of which are fetched meanwhile; NULL where there is none */
    int64_t next_n;
    double lr;
    double decay;    /* tau / N */
    double noise;    /* sqrt(2 lr / N), 0 without */
    uint32_t drop16; /* dropout rate in 2^-16, 0 without */
    bool drop_own;   /* drop16 acts at the network's own dropout layers, not at the places of MC-Dropout */
    uint64_t seed;
    int64_t member, step; /* key the noise and the masks */
    int64_t epoch;        /* keys the augmentation */
} lli_step;

/* One pass of MC-Dropout: keys of the masks. */
typedef struct lli_pass {
    uint64_t seed;
    int64_t pass;
    uint32_t drop16;
    bool own;             /* at the network's own dropout layers */
    int64_t row;          /* index of the first row */
    const uint64_t *keys; /* [n] rows that have keys instead; NULL: they are numbered */
    float *unmasked;      /* [n,unmasked_units] for what comes before the first mask, which is the same in every pass; NULL: not kept */
    bool known;           /* it is there already, from an earlier pass over these rows */
} lli_pass;

/* The role of a parameter: what moves it, and whether it has a prior. */
typedef enum lli_role {
    LLI_ROLE_KERNEL,
    LLI_ROLE_BIAS,
    LLI_ROLE_NORM,     /* scale and shift of batch norm: noise, but no prior */
    LLI_ROLE_STATISTIC /* running mean and variance of batch norm: moved by training passes, no gradient */
} lli_role;

/* A run of theta. Parts do not overlap; what lies between them is padding, which is zero and stays so. Within a part there may be padding
 * too: its gradient is zero, and its value means nothing. */
typedef struct lli_part {
    int64_t first, count;
    lli_role role;
    bool hidden; /* not of the last layer: the L2 term of training acts on hidden kernels only */
} lli_part;

/* What becomes of a finished piece of the gradient, [count] from `first` of theta, all of one part: the update of an optimiser, the step
 * of sgd, a copy. Called once for each piece, by any worker; those parameters are not read again in this step. */
typedef void lli_apply_fn(void *arg, const lli_part *part, int64_t first, int64_t count, const float *gradient);

/* A tensor of the model as files see it. */
typedef struct lli_tensor {
    const char *name;
    int rank;
    int64_t shape[4];
    int64_t count; /* elements */
    lli_role role;
} lli_tensor;

typedef struct lli_model_ops {
    /* theta <-> tensors; theta may hold padding, tensors never do. */
    void (*pack)(const lli_model *model, float *theta, const float *const *tensors);
    void (*unpack)(const lli_model *model, float *const *tensors, const float *theta);
    /* Hands the gradient of the mean over the batch of -w log p to `apply` piece by piece, each of which may be applied to theta at
     * once; none at statistics, which move in theta. *nll = sum over the batch of -w log p(y|z) before the step; not finite when the
     * step failed numerically. A network's own dropout and the augmentation of rows are on; step->drop16 > 0 puts MC-Dropout in the
     * place of the former. Uses the workers of ctx where the step is long enough to be shared. work has descend_floats for batches of up
     * to B, on up to that many workers. */
    ll_status (*descend)(double *nll, ll_context *ctx, const lli_model *model, lli_apply_fn *apply, void *arg, float *theta, float *work,
                         const lli_rows *rows, const lli_step *step);
    int64_t (*descend_floats)(const lli_model *model, int64_t B, int workers);
    /* Gradient and the rule of sgd and sgld in one, faster; the same up to rounding. NULL: there is no such kernel. work has
     * step_floats. */
    ll_status (*step)(double *nll, ll_context *ctx, const lli_model *model, float *theta, float *work, const lli_rows *rows,
                      const lli_step *step);
    int64_t (*step_floats)(const lli_model *model, int64_t B, int workers);
    /* xi[i] = the normal of element first + i of theta, 0 in the padding; first and count are multiples of 16. NULL: the number in the
     * stream is the place in theta. */
    void (*normals)(const lli_model *model, float *xi, lli_stream stream, int64_t first, int64_t count);

    /* The following are NULL for the head, whose features are its representation. */

    /* Inference: z [n,features] of rows first .. first+n-1. pass != NULL: under the masks of MC-Dropout, all but that before the last
     * layer, which belongs to the head. work has represent_floats. */
    ll_status (*represent)(ll_context *ctx, const lli_model *model, float *z, const float *theta, float *work, const lli_rows *rows,
                           int64_t first, int64_t n, const lli_pass *pass);
    int64_t (*represent_floats)(const lli_model *model, int64_t n, int workers);
    int64_t (*unmasked_units)(const lli_model *model,
                              bool own); /* of lli_pass; 0: the first mask is on the input, there is nothing to keep */
} lli_model_ops;

enum { LLI_TENSORS_MAX = 128, LLI_PARTS_MAX = LLI_TENSORS_MAX };

struct lli_model {
    const lli_model_ops *ops;
    const struct lli_kernels *kernels;
    bool padded; /* steps are faster with padded rows */
    int64_t D, K;
    int64_t floats; /* of theta, padding included */
    int tensors;
    lli_tensor tensor[LLI_TENSORS_MAX];
    int parts;
    lli_part part[LLI_PARTS_MAX];
    int64_t features;      /* width of the representation: the input of the last dense layer */
    int head_tensor;       /* that layer's weight [K,features]; its bias is the next tensor */
    bool own_dropout;      /* has dropout layers of its own, besides the places of MC-Dropout */
    struct lli_team *team; /* ranks that divide the classes of a wide head: `floats` and the part are those here, from float `before` of
                              `whole` on, and all ranks take a step together; NULL: all classes are here */
    int64_t before, whole;
    int mask_layers; /* places of dropout; the mask before the last dense layer has number mask_layers - 1 */
};

/* Tensors one after the other in a block of so many floats. */
static inline int64_t lli_model_tensor_floats(const lli_model *model) {
    int64_t floats = 0;
    for (int i = 0; i < model->tensors; i++)
        floats += model->tensor[i].count;
    return floats;
}

static inline void lli_model_place_tensors(float *tensors[LLI_TENSORS_MAX], const lli_model *model, float *block) {
    for (int i = 0; i < model->tensors; block += model->tensor[i++].count)
        tensors[i] = block;
}

/* Of the tensors, in their order: the same whatever the layout of theta is. out has LLI_HASH_TEXT. */
ll_status lli_model_hash(ll_context *ctx, char *out, const lli_model *model, const float *theta) LL_CHECK_RESULT;

void lli_model_normals(const lli_model *model, float *xi, lli_stream stream, int64_t first, int64_t count);

#endif
