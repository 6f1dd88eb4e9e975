/* SPDX-License-Identifier: MIT */
/* One run of one method: its options resolved, theta*, the rows, the store of its members. */
#ifndef LLI_METHODS_FIT_H
#define LLI_METHODS_FIT_H

#include "base/meter.h"
#include "base/share.h"
#include "ensemble/store.h"
#include "model/network.h"
#include "train/recipe.h"

/* theta*: where every method starts, what it is, and where it comes from. All of it is borrowed. */
typedef struct lli_theta_star {
    const lli_model *model;
    const float *theta;   /* [model->floats] */
    const char *init;     /* "head" "map" "adam" "network": how it was found */
    const char *hash;     /* of its tensors */
    double gradient_norm; /* that the MAP reached; NaN otherwise */
    bool is_map;          /* of the rows that are fitted, with the prior precision `map_precision` */
    double map_precision;
    const char *prior_by;                  /* of a head: what chose the prior precision; NULL: it was given */
    const struct lli_curvature *curvature; /* of a head, where it is known: as laplace takes it with `structure` kfac or diagb */
    /* of networks: */
    const lli_network *network; /* NULL: a head */
    lli_input_shape input;
    double scaling[2];        /* shift and scale of bytes */
    const lli_recipe *recipe; /* how it was trained, and how members of the method ensemble are */
    lli_augment_fn *augment;  /* NULL: rows are trained on as they are */
    const void *augment_options;
    const ll_meta *about; /* [about_count] more that decides the numbers, for the provenance */
    int64_t about_count;
} lli_theta_star;

typedef struct lli_fit {
    const struct lli_method *method;
    ll_fit_options options;
    const lli_theta_star *star;
    const ll_dataset *data;
    lli_store *store;
    lli_meter *meter;
    lli_share part; /* of its tasks; all of them unless set after lli_fit_init */
    int workers;
    void *prepared;  /* by method->prepare; an lli_chains, or a struct that begins with one, where the method trains */
    float **scratch; /* [workers] for the tensors of one member, one after the other; before that, for where it starts; of ranks that divide
                        a head for a piece of it */
} lli_fit;

/* Options with every default of the method and the data filled in; a note prints lr if it was chosen here. `network`: theta* will be a
 * network. */
ll_status lli_fit_resolve(ll_context *ctx, ll_fit_options *options, const ll_fit_options *given, const ll_dataset *data,
                          bool network) LL_CHECK_RESULT;

/* Does the provenance have this option, LLI_READS(..)? One that came later is left out where it changes nothing, so that files stay the
 * same. */
bool lli_fit_records(size_t option, const ll_fit_options *options);

double lli_fit_lr(const ll_fit_options *options, const ll_dataset *data, bool network); /* the value that an lr of 0 means */

/* Do the method and its options ask for steps that know the whole problem at theta*? train/around.h */
bool lli_fit_preconditions(const ll_fit_options *options);
bool lli_fit_controls(const ll_fit_options *options);
bool lli_fit_chooses_prior(const ll_fit_options *options); /* by evidence or validation, before theta* is used */

/* What the options say about the ensemble to come: shape, weights, provenance. */
ll_status lli_fit_plan(ll_context *ctx, lli_ensemble_plan *plan, const ll_fit_options *options, const ll_dataset *data,
                       const lli_theta_star *star) LL_CHECK_RESULT;

/* May ranks divide the classes of the head in the chains of this run? */
bool lli_fit_divides(const struct lli_method *method, const ll_fit_options *options, const lli_theta_star *star);

/* In how many groups ranks do so; 0: each rank does whole tasks. Says which it is, where there are more ranks than tasks. */
int64_t lli_fit_groups(ll_context *ctx, const struct lli_method *method, const ll_fit_options *options, const lli_theta_star *star);

/* Workspaces of a run; `fit` then holds everything its tasks need. */
ll_status lli_fit_init(ll_context *ctx, lli_fit *fit, const struct lli_method *method, const ll_fit_options *options,
                       const lli_theta_star *star, const ll_dataset *data, lli_store *store, lli_meter *meter) LL_CHECK_RESULT;
void lli_fit_release(lli_fit *fit);
int64_t lli_fit_floats(const struct lli_method *method, const lli_theta_star *star);          /* of a checkpoint */
ll_status lli_fit_task(ll_context *ctx, void *fit, int64_t task, int worker) LL_CHECK_RESULT; /* one of method->tasks */
ll_status lli_fit_run(ll_context *ctx, lli_fit *fit) LL_CHECK_RESULT;                         /* the tasks of its part, in parallel */
/* Of ranks that take the steps of a chain together, the first writes what the others send it, piece by piece. */
ll_status lli_fit_save(ll_context *ctx, lli_fit *fit, int64_t member, const float *theta, int worker) LL_CHECK_RESULT;
ll_status lli_fit_checkpoint(ll_context *ctx, lli_fit *fit, int64_t task, const lli_checkpoint *state, const float *floats,
                             /* [copies,model->floats] */ int64_t copies) LL_CHECK_RESULT;
int64_t lli_fit_piece_floats(const lli_model *model); /* of the scratch for it */

/* All of it, into memory. */
ll_status lli_fit_collect(ll_ensemble **out, ll_context *ctx, const ll_fit_options *options, const ll_dataset *data,
                          const lli_theta_star *star, const char *what) LL_CHECK_RESULT;

/* The MAP of the rows, with the classes of theta*. */
ll_status lli_fit_solve(ll_head **out, ll_context *ctx, const lli_fit *fit) LL_CHECK_RESULT;

/* 0 for "full" and "independent", the ROWS of "block:ROWS", -1 for anything else. */
int64_t lli_fit_block_rows(const char *shuffle);
void lli_fit_set_shuffle(lli_chain_options *chain, const char *shuffle); /* what it says, for a chain */

/* A dropout rate as the masks use it: rounded to 2^-16, never 0 or 1. */
uint32_t lli_fit_drop16(double p);

#endif
