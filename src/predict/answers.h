/* SPDX-License-Identifier: MIT */
/* Answers by the certified cut of an ensemble, and what predictions say of where they come from. */
#ifndef LLI_PREDICT_ANSWERS_H
#define LLI_PREDICT_ANSWERS_H

#include "predict/predictions.h"

/* Entries of the record of predictions. */
#define LLI_ANSWERS_ROWS "rows_sha256"         /* of the features that were predicted */
#define LLI_ANSWERS_ENSEMBLE "ensemble_sha256" /* lli_ensemble_hash */
#define LLI_ANSWERS_LABEL "label_rule"         /* mean, votes or costs: how labels were decided */

/* The record of the ensemble, without its certificate and the names of its classes, and the entries above. */
ll_status lli_answers_describe(ll_context *ctx, lli_provenance *out, const ll_ensemble *ensemble, const ll_dataset *data,
                               const lli_predict_rule *rule) LL_CHECK_RESULT;
/* Takes the certified cut of the ensemble into a rule that has no threshold; `hash`: lli_ensemble_hash. */
ll_status lli_answers_certified(ll_context *ctx, lli_predict_rule *rule, const ll_ensemble *ensemble, const char *hash) LL_CHECK_RESULT;

#endif
