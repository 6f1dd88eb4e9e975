/* SPDX-License-Identifier: MIT */
/* The layers of a network that another library saved: arrays of a file, put together by their names. */
#ifndef LLI_INTEROP_FOREIGN_H
#define LLI_INTEROP_FOREIGN_H

#include "base/bundle.h"

typedef enum lli_foreign_kind { LLI_FOREIGN_CONV, LLI_FOREIGN_DENSE, LLI_FOREIGN_NORM, LLI_FOREIGN_KINDS } lli_foreign_kind;
typedef enum lli_foreign_role {
    LLI_FOREIGN_WEIGHT,
    LLI_FOREIGN_BIAS,
    LLI_FOREIGN_MEAN,
    LLI_FOREIGN_VARIANCE,
    LLI_FOREIGN_ROLES
} lli_foreign_role;

typedef struct lli_foreign_layer {
    char *name; /* what its arrays have in common: /dense_1/dense_1, features.0 */
    lli_foreign_kind kind;
    bool keras; /* kernels are [in,out] and [height,width,in,out], else PyTorch's [out,in] and [out,in,height,width] */
    int64_t array[LLI_FOREIGN_ROLES]; /* index in the file, -1 if there is none */
    int64_t place;                    /* in the file's own list of layers, 0 without one */
} lli_foreign_layer;

typedef struct lli_foreign {
    lli_foreign_layer *layers; /* in the order in which data pass them, as far as the file tells */
    int64_t count, capacity;
    int64_t kinds[LLI_FOREIGN_KINDS]; /* how many of each */
    bool nested;                      /* holds a model of Keras inside another, and does not list their order */
} lli_foreign;

/* Arrays whose names say nothing known (counters, the state of an optimiser) are passed over. */
ll_status lli_foreign_read(lli_foreign *out, ll_context *ctx, const ll_bundle *bundle) LL_CHECK_RESULT;
void lli_foreign_release(lli_foreign *foreign);
/* The i-th layer of a kind, or NULL. */
const lli_foreign_layer *lli_foreign_find(const lli_foreign *foreign, lli_foreign_kind kind, int64_t i);
const char *lli_foreign_kind_name(lli_foreign_kind kind); /* "convolutions", ... */

/* The role that a name ends in: "layers.3.running_var" -> variance; *prefix is the length of what comes before. False for others. */
bool lli_foreign_role_of(lli_foreign_role *out, bool *keras, size_t *prefix, const char *name);

#endif
