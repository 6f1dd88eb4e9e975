/* SPDX-License-Identifier: MIT */
/* A method turns (model, dataset, theta*) into members. One file each, one row in table.c. */
#ifndef LLI_METHODS_METHOD_H
#define LLI_METHODS_METHOD_H

#include "base/meter.h"
#include "ensemble/store.h"
#include "model/network.h"
#include "train/recipe.h"

/* theta*: where every method starts, what it is, and where it comes from. All of it is borrowed. */
typedef struct lli_origin {
    const lli_model *model;
    const float *theta;         /* [model->floats] */
    const char *init;           /* "head" "map" "adam" "network": how it was found */
    const char *hash;           /* of its tensors */
    double gradient_norm;       /* that the MAP reached; NaN otherwise */
    /* of networks: */
    const lli_network *network; /* NULL: a head */
    lli_input_shape input;
    double scaling[2];          /* shift and scale of bytes */
    const lli_recipe *recipe;   /* how it was trained, and how members of the method ensemble are */
    lli_augment_fn *augment;    /* NULL: rows are trained on as they are */
    const void *augment_options;
    const ll_meta *about;       /* [about_count] more that decides the numbers, for the provenance */
    int64_t about_count;
} lli_origin;

/* One run of one method, all options resolved. */
typedef struct lli_fit {
    const struct lli_method *method;
    ll_fit_options options;
    const lli_origin *origin;
    const ll_dataset *data;
    lli_store *store;
    lli_meter *meter;
    int workers;
    lli_chain **chains;  /* [workers] */
    float *padded;       /* [N,ld] rows for the steps of all chains, or NULL; data/padded.h */
    float **room;        /* [workers] for the tensors of one member, one after the other; before that, for where it starts */
} lli_fit;

typedef struct lli_method {
    ll_method_info info;
    const char *uses;    /* the options it reads: " lr batch-size ... " */
    bool networks_only;  /* there is nothing to it on a single last layer */
    int64_t (*stored)(const ll_fit_options *options);  /* parameter vectors it keeps */
    int64_t (*tasks)(const ll_fit_options *options);   /* independent pieces of work */
    int64_t (*steps)(const lli_fit *fit);              /* in all, for progress */
    ll_status (*run)(ll_context *ctx, lli_fit *fit, int64_t task, int worker);
} lli_method;

extern const lli_method lli_method_point, lli_method_sgd, lli_method_sgld, lli_method_bootstrap, lli_method_dropout, lli_method_ensemble;

const lli_method *lli_method_find(const char *name); /* NULL if there is none */

/* Options with every default of the method and the data filled in; a note tells lr when it was chosen. `network`: theta* will be one. */
ll_status lli_fit_resolve(ll_context *ctx, ll_fit_options *options, const ll_fit_options *given, const ll_dataset *data,
                          bool network) LL_CHECK_RESULT;

double lli_fit_lr(const ll_dataset *data, bool network); /* that --lr auto stands for */

/* What the options say about the ensemble to come: shape, weights, provenance. */
ll_status lli_fit_plan(ll_context *ctx, lli_ensemble_plan *plan, const ll_fit_options *options, const ll_dataset *data,
                       const lli_origin *origin) LL_CHECK_RESULT;

/* Workspaces of a run; `fit` then holds everything its tasks need. */
ll_status lli_fit_init(ll_context *ctx, lli_fit *fit, const ll_fit_options *options, const lli_origin *origin, const ll_dataset *data,
                       lli_store *store, lli_meter *meter) LL_CHECK_RESULT;
int64_t lli_fit_floats(const ll_fit_options *options,
                       const lli_origin *origin); /* of a checkpoint: theta, and what an optimiser keeps beside it */
void lli_fit_release(lli_fit *fit);
ll_status lli_fit_task(ll_context *ctx, void *fit, int64_t task, int worker) LL_CHECK_RESULT; /* one of method->tasks */
ll_status lli_fit_run(ll_context *ctx, lli_fit *fit) LL_CHECK_RESULT; /* all tasks, in parallel */

/* 0 for "full" and "independent", the ROWS of "block:ROWS", -1 for anything else. */
int64_t lli_fit_block_rows(const char *shuffle);
void lli_fit_set_shuffle(lli_chain_options *chain, const char *shuffle); /* what it says, for a chain */

/* A dropout rate as the masks use it: rounded to 2^-16, never 0 or 1. */
uint32_t lli_fit_drop16(double p);

/* For the methods: chain options, saving, the schedule of samples. */
lli_chain_options lli_fit_chain_options(const lli_fit *fit, int64_t member);
ll_status lli_fit_save(ll_context *ctx, lli_fit *fit, int64_t member, const float *theta, int worker) LL_CHECK_RESULT;
ll_status lli_fit_checkpoint(ll_context *ctx, lli_fit *fit, int64_t task, const lli_chain *chain) LL_CHECK_RESULT;
ll_status lli_fit_restore(ll_context *ctx, lli_fit *fit, int64_t task, lli_chain *chain) LL_CHECK_RESULT;
/* A task that is one member: `epochs` of training from `start`, a checkpoint after each, then the member is saved. */
ll_status lli_fit_train(ll_context *ctx, lli_fit *fit, int64_t task, const lli_chain_options *options, const float *start, int64_t epochs,
                        int worker) LL_CHECK_RESULT;

/* sgd and sgld are one chain with thinning; they differ in the noise. */
ll_status lli_method_run_chain(ll_context *ctx, lli_fit *fit, bool noise, int worker) LL_CHECK_RESULT;
int64_t lli_method_chain_steps(const lli_fit *fit);
int64_t lli_method_one(const ll_fit_options *options);
int64_t lli_method_all(const ll_fit_options *options); /* S */
bool lli_method_optimises(const lli_method *method);   /* by the recipe of the origin, not by its own steps */

#endif
