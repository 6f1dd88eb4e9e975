/* SPDX-License-Identifier: MIT */
/* Conformal sets as the caller sees them: the rule of calibration rows, and what it says of others. */
#ifndef LLI_METRICS_SETS_H
#define LLI_METRICS_SETS_H

#include "base/hash.h"
#include "metrics/conformal.h"

struct ll_set_rule {
    ll_set_rule_info info;
    lli_conformal conformal;
    double *class_quantile;        /* [K] of the score; lac: 1 - p */
    char rows_hash[LLI_HASH_TEXT]; /* of the probabilities */
};

struct ll_sets {
    ll_sets_info info;
    uint8_t *set;
    int32_t *size;
    int64_t *size_n, *size_covered, *class_n, *class_covered; /* the first owns the memory of all four */
};

/* Outcomes that sets can be made of: checked, with probs, the calibration rows with truth too. `name` is what sentences call them. */
ll_status lli_sets_take(ll_outcome *out, ll_context *ctx, const ll_outcome *given, const char *name, bool truth) LL_CHECK_RESULT;
/* Of the share covered/n of the sets: Wilson, 95 %; none where n is 0. */
ll_interval lli_sets_interval(int64_t covered, int64_t n);
/* Hash of probs [n,K], as f64. */
ll_status lli_sets_hash(char out[LLI_HASH_TEXT], ll_context *ctx, const ll_array *probs) LL_CHECK_RESULT;
/* Refuses sets that another rule made. */
ll_status lli_sets_match(ll_context *ctx, const ll_set_rule *rule, const ll_sets *sets) LL_CHECK_RESULT;

#endif
