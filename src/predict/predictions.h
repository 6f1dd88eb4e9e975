/* SPDX-License-Identifier: MIT */
/* Predictions in memory: what metrics are made of. */
#ifndef LLI_PREDICT_PREDICTIONS_H
#define LLI_PREDICT_PREDICTIONS_H

#include "base/bundle.h"
#include "predict/extra.h"
#include "predict/predictor.h"

struct ll_predictions {
    ll_outcome view;
    int32_t *label, *vote, *truth;                /* [n], owned */
    double *confidence[LL_CONFIDENCE_COUNT];      /* [n], owned */
    double *extra[LLI_EXTRA_COUNT];               /* [n], owned */
    double *probs;                                /* [n,K], owned */
    float *mean;                                  /* [n,K], owned: probs of our own predictions */
    ll_bundle *held[2];                           /* files that views point into; owned */
};

ll_status lli_predictions_alloc(ll_predictions **out, ll_context *ctx, int64_t n, int64_t K) LL_CHECK_RESULT;
/* ll_predictions_new with the names of the two arrays in its sentences. */
ll_status lli_predictions_new(ll_predictions **out, ll_context *ctx, const char *name, ll_array array, bool logits, const char *labels_name,
                              const ll_array *labels) LL_CHECK_RESULT;
/* From the arrays of a predictions file whose names begin with `prefix`; takes the bundle over on success. */
ll_status lli_predictions_from_bundle(ll_predictions **out, ll_context *ctx, ll_bundle *bundle, const char *path,
                                      const char *prefix) LL_CHECK_RESULT;
/* The place of PREFIXname in the bundle, or -1. */
int64_t lli_predictions_find(const ll_bundle *bundle, const char *prefix, const char *name);
/* All rows of a data set, whose labels are the truth while it lives. `totals` as for lli_predict_stream. */
ll_status lli_predictions_collect(ll_predictions **out, ll_context *ctx, const ll_ensemble *ensemble, const ll_dataset *data,
                                  const lli_predict_request *request, lli_predict_totals *totals) LL_CHECK_RESULT;
/* A copy of some rows of what lli_predictions_collect made. */
ll_status lli_predictions_pick(ll_predictions **out, ll_context *ctx, const ll_predictions *from, const int64_t *rows,
                               /* [n] */ int64_t n) LL_CHECK_RESULT;
/* Sets or replaces the truth. Rows whose truth changes lose their log_true: it becomes NaN. */
ll_status lli_predictions_set_truth(ll_context *ctx, ll_predictions *p, const char *name, ll_array labels) LL_CHECK_RESULT;

#endif
