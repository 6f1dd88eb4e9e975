/* SPDX-License-Identifier: MIT */
/* Predictions in memory: what metrics are made of. */
#ifndef LLI_PREDICT_PREDICTIONS_H
#define LLI_PREDICT_PREDICTIONS_H

#include "base/bundle.h"
#include "base/sink.h"
#include "predict/predictor.h"

struct ll_predictions {
    ll_outcome view;
    lli_schema_sizes sizes;
    ll_array field[LLI_FIELDS_MAX]; /* by the rows of the schema; data NULL: not there */
    void *owned[LLI_FIELDS_MAX];    /* of fields that do not lie in `bundle` */
    ll_bundle *bundle;              /* what the others lie in; its metadata are the provenance. NULL: there is none */
    ll_predictions *out;            /* out-of-distribution rows, or NULL; they may lie in `bundle` too */
};

/* Zeroed predictions with room for the fields that `has` says. */
ll_status lli_predictions_alloc(ll_predictions **out, ll_context *ctx, const lli_schema_sizes *sizes,
                                const bool has[LLI_FIELDS_MAX]) LL_CHECK_RESULT;
/* Adds a field that is not there yet, zeroed, of the sizes of `p`; *out is its array, to be filled. */
ll_status lli_predictions_own(void **out, ll_context *ctx, ll_predictions *p, const char *name) LL_CHECK_RESULT;
/* The array of a field, to be filled; NULL where it is not there. */
void *lli_predictions_memory(ll_predictions *p, const char *name);
/* ll_predictions_new with the names of the two arrays in its sentences. */
ll_status lli_predictions_new(ll_predictions **out, ll_context *ctx, const char *name, ll_array array, bool logits, const char *labels_name,
                              const ll_array *labels) LL_CHECK_RESULT;
/* Puts an array, owned or held, into its place and into the outcome. */
void lli_predictions_set(ll_predictions *p, int field, ll_array array);
/* From the arrays of a predictions file, or of a sink in memory: all that the schema knows; takes the bundle over on success. `sizes`: what
 * is known of them already, or NULL. */
ll_status lli_predictions_from_bundle(ll_predictions **out, ll_context *ctx, ll_bundle *bundle, const char *path,
                                      const lli_schema_sizes *sizes) LL_CHECK_RESULT;
/* A copy of some rows; of what is not by row, nothing. */
ll_status lli_predictions_pick(ll_predictions **out, ll_context *ctx, const ll_predictions *from, const int64_t *rows,
                               /* [n] */ int64_t n) LL_CHECK_RESULT;
/* Row i of `from` becomes row place[i] of `to`, whose arrays are its own; both have the same arrays by row. */
void lli_predictions_overwrite(ll_predictions *to, const int64_t *place, /* [n of from] */ const ll_predictions *from);
void lli_predictions_drop(ll_predictions *p, const char *name); /* an array of its own that nobody needs any more */
/* Sets or replaces the truth. Rows whose truth changes lose their log_true: it becomes NaN. */
ll_status lli_predictions_set_truth(ll_context *ctx, ll_predictions *p, const char *name, ll_array labels) LL_CHECK_RESULT;
/* The arrays under their names in files, with `prefix` before; by_row: those with an entry per row alone. */
void lli_predictions_list(lli_schema_list *list, const ll_predictions *p, const char *prefix, bool by_row);

/* ---- the one pass over a data set ---- */

/* Which arrays `data`, and out-of-distribution rows beside it (NULL: none), will have. */
typedef struct lli_predict_plan {
    const ll_ensemble *ensemble;
    const ll_dataset *data, *out;
    const lli_predict_request *request; /* borrowed */
    const lli_provenance *provenance;   /* of the predictions, borrowed; at first that of the ensemble */
    lli_schema_list list;               /* what the sink is to be opened with */
    int64_t place[2][LLI_FIELDS_MAX];   /* in the list; -1: absent. [1] of `out` */
    int64_t abstained[2];               /* rows, after the pass */
} lli_predict_plan;

/* `table`: only what has an entry per row. */
void lli_predict_plan_init(lli_predict_plan *plan, const ll_ensemble *ensemble, const ll_dataset *data, const ll_dataset *out,
                           const lli_predict_request *request, bool table);
/* All of it into a sink of plan->list, in order of rows; commits nothing. */
ll_status lli_predict_into(ll_context *ctx, lli_predict_plan *plan, lli_sink *sink) LL_CHECK_RESULT;
/* The pass into memory. */
ll_status lli_predict_collect(ll_predictions **out, ll_context *ctx, lli_predict_plan *plan) LL_CHECK_RESULT;
/* The same for rows of one data set. */
ll_status lli_predictions_collect(ll_predictions **out, ll_context *ctx, const ll_ensemble *ensemble, const ll_dataset *data,
                                  const lli_predict_request *request) LL_CHECK_RESULT;

#endif
