/* SPDX-License-Identifier: MIT */
/* What a layer type must be able to do. A type is one file with one lli_layer_kind and one row in layers.c; only that file knows how its
 * parameters lie in theta. Activations and their gradients are contiguous [n,H,W,C]; a vector of features is H = W = 1. */
#ifndef LLI_MODEL_LAYER_H
#define LLI_MODEL_LAYER_H

#include "base/context.h"
#include "kernels/kernels.h"
#include "model/model.h"

typedef struct lli_extent {
    int64_t H, W, C;
} lli_extent;

static inline int64_t lli_extent_units(lli_extent e) {
    return e.H * e.W * e.C;
}

enum { LLI_LAYER_PARTS_MAX = 4 };

typedef struct lli_layer_kind lli_layer_kind;

typedef struct lli_layer {
    const lli_layer_kind *kind;
    /* asked for by the text of the network */
    int64_t units;   /* dense: outputs. conv: channels. Else 0 */
    uint32_t drop16; /* dropout: the network's own rate, 0 where it has none */
    bool place;      /* dropout: a place of MC-Dropout */
    int mask;        /* dropout: number of its mask */
    bool hidden;     /* not the last dense layer */
    bool fused;      /* the layer also does the ReLU after it */
    bool gated;      /* the layer also does the backward of the ReLU before it */
    bool first;      /* nothing before it has parameters: the gradient of its input is not needed */
    /* set by the network, then by kind->plan */
    lli_extent in, out;
    int parts;
    lli_part part[LLI_LAYER_PARTS_MAX];     /* first: of theta */
    lli_tensor tensor[LLI_LAYER_PARTS_MAX]; /* one for each part; name = what stands behind layers.<i>. */
    const struct lli_conv_kernels *conv;    /* conv: what does the work */
    int64_t ld;                             /* floats between rows of the output: its units, but for the logits */
} lli_layer;

/* One pass over the layers. */
typedef struct lli_run {
    ll_context *ctx;
    const lli_kernels *kernels;
    int64_t n;            /* rows */
    float *theta;         /* written only at statistics, while training; and by apply */
    const lli_step *step; /* training: its keys and rates; NULL = inference */
    const lli_pass *pass; /* inference under the masks of MC-Dropout; NULL = none */
    lli_apply_fn *apply;  /* takes the gradient of parameters */
    void *arg;
    float *scratch; /* [workers,scratch_floats] */
    int64_t scratch_floats;
    float *shared; /* for all workers of a call */
} lli_run;

struct lli_layer_kind {
    const char *name;
    bool fuses;    /* does the ReLU that follows on the way, where layer->fused */
    bool gates;    /* does the backward of the ReLU before it on the way, where layer->gated */
    bool in_place; /* forward may have y = x, backward dx = dy: then the network calls it so. Such a layer may follow any other, so
                    * backward must not rely on what forward left in y, unless the change does no harm (as for ReLU). */
    /* Fills out, parts (first = 0, only count and role) and tensors. LL_ERR_USAGE where the input does not suit. */
    ll_status (*plan)(ll_context *ctx, lli_layer *layer);
    /* The functions below may be NULL where a type has no parameters, keeps nothing, needs no scratch. theta is the whole vector. */
    void (*start)(const lli_layer *layer, float *theta, lli_stream stream);
    void (*pack)(const lli_layer *layer, float *theta, const float *const *tensors);
    void (*unpack)(const lli_layer *layer, float *const *tensors, const float *theta);
    int64_t (*keep_floats)(const lli_layer *layer, int64_t n);    /* kept from forward to backward of a training pass, besides x and y */
    int64_t (*scratch_floats)(const lli_layer *layer, int64_t n); /* of a worker, during a call */
    int64_t (*shared_floats)(const lli_layer *layer, int64_t n);  /* of all workers together, during a call */
    /* y [n,out] of x [n,in]. Training where run->step; keep is NULL otherwise. */
    ll_status (*forward)(const lli_run *run, const lli_layer *layer, float *y, const float *x, float *keep);
    /* dx [n,in] of dy [n,out], NULL: not needed; then hands the gradient of its parameters to lli_layer_apply. dy may be changed. */
    ll_status (*backward)(const lli_run *run, const lli_layer *layer, float *dx, float *dy, const float *x, const float *y, float *keep);
};

/* NULL: there is no such type. */
const lli_layer_kind *lli_layer_kind_of(const char *name);

/* The gradient of part `part` of the layer, from place `at` of it on. */
static inline void lli_layer_apply(const lli_run *run, const lli_layer *layer, int part, int64_t at, int64_t count, const float *gradient) {
    run->apply(run->arg, &layer->part[part], layer->part[part].first + at, count, gradient);
}

static inline float *lli_layer_scratch(const lli_run *run, int worker) {
    return run->scratch + worker * run->scratch_floats;
}

/* Uniform in +-limit, for kernels at the start: number `index` of the stream, which is the element's place in its tensor. */
static inline float lli_layer_uniform(int64_t index, float limit, lli_stream stream) {
    uint32_t word = lli_rng_block(stream, (uint64_t)index / 4).lane[index % 4];
    return limit * (float)((double)word * 0x1p-31 - 1);
}

#endif
