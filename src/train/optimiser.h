/* SPDX-License-Identifier: MIT */
/* How a gradient moves theta. A rule updates each parameter and the floats that it keeps for it, its slots: Adam, SGD with momentum of
 * two kinds, the Langevin step of sgd and sgld, which has none, that of sghmc, which has a velocity, and that of psgld, which knows
 * the size of the gradient. docs/math/optimisers.md,
 * docs/math/sgld.md */
#ifndef LLI_TRAIN_OPTIMISER_H
#define LLI_TRAIN_OPTIMISER_H

#include "base/context.h"
#include "kernels/kernels.h"
#include "model/model.h"

typedef struct lli_optimiser lli_optimiser;

typedef struct lli_langevin {
    double lr;
    float noise;       /* 0: none */
    lli_stream stream; /* of xi */
} lli_langevin;

/* One step under way, for all pieces of theta. */
typedef struct lli_descent {
    const lli_optimiser *optimiser;
    const lli_model *model;
    const lli_step *step;
    float *theta; /* [floats] */
    float *slots; /* [rule->slots,floats], zero at the start */
    union {       /* the numbers of this step, by the rule's prepare */
        lli_adam adam;
        lli_momentum momentum;
        lli_langevin langevin;
    } with;
} lli_descent;

/* One kind of step. All its state is in the slots, so a chain continues from a checkpoint to the same bits. */
typedef struct lli_rule {
    const char *name;
    int slots;           /* floats that it keeps for each parameter */
    bool fused;          /* it is what lli_model_ops.step does in one go with the gradient, where a model can */
    bool rests;          /* theta stays where it is in the first epoch, in which the rule measures gradients */
    double lr, momentum; /* what is usual */
    void (*prepare)(lli_descent *descent, const lli_step *step);
    /* Moves parameters first .. first+count-1 by their gradient + decay theta. */
    void (*update)(const lli_descent *descent, int64_t first, int64_t count, const float *gradient, double decay);
} lli_rule;

extern const lli_rule lli_rule_adam, lli_rule_sgd, lli_rule_nesterov, lli_rule_langevin, lli_rule_friction, lli_rule_swag, lli_rule_scaled;

const lli_rule *lli_optimiser_find(const char *name); /* of those that train networks; NULL if there is none */

/* A rule and its constants. */
struct lli_optimiser {
    const lli_rule *rule;
    double beta1, beta2, eps; /* adam */
    double momentum;          /* sgd, nesterov */
    double l2;                /* the loss has l2 |w|^2 of hidden kernels: their gradient 2 l2 w */
    bool noise;               /* that of Langevin dynamics; else lli_step.noise is 0 */
    double friction;          /* sghmc: the share of the velocity that a step loses */
};

/* Of the methods. */
extern const lli_optimiser lli_optimiser_sgd, lli_optimiser_sgld, lli_optimiser_sghmc, lli_optimiser_swag, lli_optimiser_psgld;
enum { LLI_OPTIMISER_SWAG_SLOTS = 22 }; /* which the method fills between steps */

lli_optimiser lli_optimiser_default(const lli_rule *rule);

/* A piece of the gradient through the rule, with the prior where the part has one. */
void lli_optimiser_apply(const lli_descent *descent, const lli_part *part, int64_t first, int64_t count, const float *gradient);

/* One step on the model's gradient, piece by piece while it is in the cache, or by the model's fused step where that is the rule. The
 * prior pulls at kernels and biases. Statistics of batch norm move by the pass itself. *nll as in model.h. */
ll_status lli_optimiser_step(double *nll, ll_context *ctx, const lli_optimiser *optimiser, const lli_model *model, float *theta,
                             float *slots, float *work, const lli_rows *rows, const lli_step *step) LL_CHECK_RESULT;
int64_t lli_optimiser_work_floats(const lli_rule *rule, const lli_model *model, int64_t B, int workers); /* that such steps need */

#endif
