/* SPDX-License-Identifier: MIT */
/* S members: stored parameters, or one parameter vector and the masks that make members of it. */
#ifndef LLI_ENSEMBLE_ENSEMBLE_H
#define LLI_ENSEMBLE_ENSEMBLE_H

#include "base/bundle.h"
#include "base/text.h"
#include "model/network.h"

/* The provenance record: what decides the numbers, and nothing else. Key-value pairs in a fixed order. */
typedef struct lli_provenance {
    ll_meta *pairs;
    int64_t count, capacity;
} lli_provenance;

ll_status lli_provenance_add(ll_context *ctx, lli_provenance *p, const char *key, const char *value) LL_CHECK_RESULT;
const char *lli_provenance_get(const lli_provenance *p, const char *key); /* NULL if absent */
void lli_provenance_release(lli_provenance *p);

/* The metadata entry `format` of an ensemble's file. Another meaning of its arrays or entries is another number: 1 are heads, 2
 * networks. */
#define LLI_ENSEMBLE_FORMAT "lastlayer-ensemble-1"
#define LLI_ENSEMBLE_FORMAT_NETWORK "lastlayer-ensemble-2"

/* What a network takes in: images [height,width,channels], or plain features [1,1,D]. Bytes become (byte - shift) * scale. */
typedef struct lli_input_shape {
    int64_t height, width, channels;
} lli_input_shape;

/* The rows as a network with this input sees them: bytes with its own shift and scale. */
void lli_input_apply(lli_rows *rows, const lli_input_shape *input, const double scaling[2]);

/* What is known of an ensemble before its first member exists. */
typedef struct lli_ensemble_plan {
    const char *method;
    const lli_model *model; /* whose tensors a member is; borrowed in a plan, an ensemble has its own */
    int64_t S, K, D;
    int64_t stored;     /* parameter vectors kept: S, or 1 for dropout */
    uint32_t drop16;    /* dropout rate in 2^-16; 0 = members are stored */
    bool drop_own;      /* at the network's own dropout layers */
    uint64_t seed;      /* of the masks */
    double *weight;     /* [S] */
    const char *net;    /* text of the network, an entry of the provenance; NULL: members are heads */
    lli_input_shape input;    /* of the network */
    double scaling[2];  /* shift and scale of the input, as the file has them */
    lli_provenance provenance;
} lli_ensemble_plan;

void lli_ensemble_plan_release(lli_ensemble_plan *plan);

struct ll_ensemble {
    lli_ensemble_plan plan;
    const float *tensor[LLI_TENSORS_MAX]; /* [stored, shape of the model's tensor] each */
    float *owned[LLI_TENSORS_MAX];        /* NULL when the views point into a file */
    ll_bundle *held;
    lli_network *network; /* NULL for heads */
    lli_model head;       /* what plan.model is for a head: its tensors, and nothing that computes */
};

/* Takes the plan over (also on failure) and allocates room for its members. */
ll_status lli_ensemble_new(ll_ensemble **out, ll_context *ctx, lli_ensemble_plan *plan) LL_CHECK_RESULT;
/* The first S members, as a view that lives as long as `whole`: what fitting S members gives, bit for bit. Not to be freed or written. */
ll_ensemble lli_ensemble_prefix(const ll_ensemble *whole, int64_t S);
/* From a file's arrays and metadata; takes the bundle over on success. */
ll_status lli_ensemble_from(ll_ensemble **out, ll_context *ctx, ll_bundle *bundle, const char *path) LL_CHECK_RESULT;

/* The arrays of the file format: the model's tensors with a leading axis [stored], f32, then weight [S], f64. A head has W [stored,K,D] and
 * b [stored,K]. A network has `scaling` too: shift and scale of its input, [2] f64. Returns how many; the tensors' data are NULL. */
enum { LLI_ENSEMBLE_ARRAYS_MAX = LLI_TENSORS_MAX + 2 };
int64_t lli_ensemble_arrays(ll_named_array out[LLI_ENSEMBLE_ARRAYS_MAX], const lli_ensemble_plan *plan);

#endif
