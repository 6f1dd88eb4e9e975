/* SPDX-License-Identifier: MIT */
/* The table of optimisers that train networks, and one step of any rule. */
#include "train/optimiser.h"

#include <string.h>

static const lli_rule *const rules[] = {&lli_rule_adam, &lli_rule_sgd, &lli_rule_nesterov};

const lli_rule *lli_optimiser_find(const char *name) {
    for (size_t i = 0; i < LLI_COUNT(rules); i++)
        if (strcmp(rules[i]->name, name) == 0)
            return rules[i];
    return NULL;
}

lli_optimiser lli_optimiser_default(const lli_rule *rule) {
    return (lli_optimiser){.rule = rule, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-7, .momentum = rule->momentum};
}

void lli_optimiser_apply(const lli_descent *d, const lli_part *part, int64_t first, int64_t count, const float *gradient) {
    double decay = part->role == LLI_ROLE_KERNEL && part->hidden ? 2 * d->optimiser->l2 : 0;
    if (part->role == LLI_ROLE_KERNEL || part->role == LLI_ROLE_BIAS)
        decay += d->step->decay;
    if (part->role != LLI_ROLE_STATISTIC)
        d->optimiser->rule->update(d, first, count, gradient, decay);
}

static void apply(void *arg, const lli_part *part, int64_t first, int64_t count, const float *gradient) {
    lli_optimiser_apply(arg, part, first, count, gradient);
}

static bool is_fused(const lli_rule *rule, const lli_model *model) {
    return rule->fused && model->ops->step;
}

int64_t lli_optimiser_work_floats(const lli_rule *rule, const lli_model *model, int64_t B, int workers) {
    return (is_fused(rule, model) ? model->ops->step_floats : model->ops->descend_floats)(model, B, workers);
}

ll_status lli_optimiser_step(double *nll, ll_context *ctx, const lli_optimiser *optimiser, const lli_model *model, float *theta,
                             float *slots, float *work, const lli_rows *rows, const lli_step *step) {
    if (is_fused(optimiser->rule, model))
        return model->ops->step(nll, ctx, model, theta, work, rows, step);
    lli_descent d = {.optimiser = optimiser, .model = model, .step = step, .theta = theta, .slots = slots};
    optimiser->rule->prepare(&d, step);
    return model->ops->descend(nll, ctx, model, apply, &d, theta, work, rows, step);
}
