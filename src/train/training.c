/* SPDX-License-Identifier: MIT */
/* Epochs, their scores, and which one is kept. */
#include "train/training.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"

ll_status lli_training_new(lli_training **out, ll_context *ctx, const lli_recipe *recipe, const lli_model *model, const ll_dataset *data,
                           const ll_dataset *holdout) {
    *out = NULL;
    lli_training *t;
    LLI_TRY(lli_memory_new(ctx, &t, 1, sizeof *t));
    ll_status status;
    t->recipe = recipe;
    t->model = model;
    t->holdout = holdout;
    LLI_DO(lli_chain_new(&t->chain, ctx, model, data, recipe->optimiser.rule, recipe->options.batch_size, 0, false));
    LLI_DO(lli_memory_new(ctx, &t->epochs, recipe->options.epochs, sizeof *t->epochs));
    if (holdout)
        LLI_DO(lli_score_new(&t->score, ctx, model));
    if (holdout && strcmp(recipe->options.keep, "best") == 0)
        LLI_DO(lli_memory_new(ctx, &t->best_theta, model->floats, sizeof *t->best_theta));
    *out = t;
    t = NULL;
done:
    lli_training_free(t);
    return status;
}

void lli_training_free(lli_training *t) {
    if (!t)
        return;
    lli_chain_free(t->chain);
    lli_score_free(t->score);
    lli_memory_free(t->epochs);
    lli_memory_free(t->best_theta);
    lli_memory_free(t);
}

void lli_training_start(lli_training *t, const float *theta) {
    lli_chain_start(t->chain, &t->recipe->chain, theta);
    t->chain->state.first_nll = log((double)t->model->K); /* the NLL of equal probabilities: a first epoch far above it diverged too */
    t->state = (struct lli_training_state){0};
}

/* The higher held-out accuracy; of equals the lower NLL; of equals again the earlier epoch. */
static bool is_better(const ll_epoch *a, const ll_epoch *b) {
    return a->held_accuracy > b->held_accuracy || (a->held_accuracy == b->held_accuracy && a->held_nll < b->held_nll);
}

ll_status lli_training_epoch(ll_context *ctx, lli_training *t) {
    double start = lli_clock_seconds();
    int64_t e = t->state.done, first = e * t->recipe->steps;
    ll_epoch *epoch = &t->epochs[e];
    LLI_TRY(lli_chain_run(ctx, t->chain, first + t->recipe->steps));
    *epoch = (ll_epoch){
        .epoch = e + 1, .lr = lli_chain_lr(&t->recipe->chain, first), .nll = t->chain->last_nll, .held_nll = NAN, .held_accuracy = NAN};
    if (t->holdout)
        LLI_TRY(lli_score_run(&epoch->held_nll, &epoch->held_accuracy, ctx, t->score, t->chain->theta, t->holdout));
    if (t->best_theta && (e == 0 || is_better(epoch, &t->epochs[t->state.best]))) {
        t->state.best = e;
        memcpy(t->best_theta, t->chain->theta, (size_t)t->model->floats * sizeof *t->best_theta);
    }
    if (!t->best_theta)
        t->state.best = e;
    epoch->seconds = lli_clock_seconds() - start;
    t->state.done++;
    return LL_OK;
}

const float *lli_training_theta(const lli_training *t) {
    return t->best_theta ? t->best_theta : t->chain->theta;
}
