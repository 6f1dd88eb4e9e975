/* SPDX-License-Identifier: MIT */
/* How a gradient moves theta: Adam, and SGD with momentum of two kinds. docs/math/optimisers.md */
#ifndef LLI_TRAIN_OPTIMISER_H
#define LLI_TRAIN_OPTIMISER_H

#include "base/context.h"
#include "kernels/kernels.h"
#include "model/model.h"

typedef struct lli_optimiser lli_optimiser;

/* One step under way, for all pieces of theta. */
typedef struct lli_descent {
    const lli_optimiser *optimiser;
    const lli_kernels *kernels;
    float *theta;          /* [floats] */
    float *slots;          /* [rule->slots,floats] moments, zero at the start */
    int64_t floats;
    union {                /* the numbers of this step, by the rule's prepare */
        lli_adam adam;
        lli_momentum momentum;
    } with;
} lli_descent;

/* One kind of optimiser: a row of the table in optimiser.c. */
typedef struct lli_rule {
    const char *name;
    int slots;             /* floats that it keeps beside each parameter */
    double lr, momentum;   /* what is usual */
    void (*prepare)(lli_descent *descent, double lr, int64_t step /* 0, 1, ... */);
    /* Moves parameters first .. first+count-1 by their gradient + decay theta. */
    void (*update)(const lli_descent *descent, int64_t first, int64_t count, const float *gradient, float decay);
} lli_rule;

extern const lli_rule lli_rule_adam, lli_rule_sgd, lli_rule_nesterov;

const lli_rule *lli_rule_find(const char *name); /* NULL if there is none */

struct lli_optimiser {
    const lli_rule *rule;
    double beta1, beta2, eps; /* adam */
    double momentum;          /* sgd, nesterov */
    double l2;                /* the loss has l2 |w|^2 of hidden kernels: their gradient 2 l2 w */
};

lli_optimiser lli_optimiser_default(const lli_rule *rule);

/* One step on the model's gradient, piece by piece while it is in the cache. Statistics of batch norm move by the pass itself. *nll as in
 * model.h. */
ll_status lli_optimiser_step(double *nll, ll_context *ctx, const lli_optimiser *optimiser, const lli_model *model, float *theta,
                             float *slots, float *work, const lli_rows *rows, const lli_step *step) LL_CHECK_RESULT;

#endif
