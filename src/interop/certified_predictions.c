/* SPDX-License-Identifier: MIT */
/* Certificates of predictions that know where they come from. */
#include <string.h>

#include "base/abi.h"
#include "metrics/certificate.h"
#include "predict/answers.h"

static const char *meta(const ll_predictions *p, const char *key) {
    const char *value = p->bundle ? lli_bundle_meta(p->bundle, key) : NULL;
    return value ? value : "";
}

/* An entry that should be a hash; "" where it is none. */
static void take_hash(char out[LLI_HASH_TEXT], const char *text) {
    bool valid = strlen(text) == LLI_HASH_TEXT - 1 && text[strspn(text, "0123456789abcdef")] == 0;
    memcpy(out, valid ? text : "", valid ? LLI_HASH_TEXT : 1);
}

ll_status ll_certify_predictions(ll_certificate **out, ll_context *ctx, const ll_predictions *points, const ll_predictions *out_points,
                                 const ll_certify_options *options) {
    LLI_NEED(ctx, out, points);
    *out = NULL;
    const char *rows = meta(points, LLI_ANSWERS_ROWS), *rule = meta(points, LLI_ANSWERS_LABEL);
    if (*rows && strcmp(rows, meta(points, "calibration_features_sha256")) == 0)
        return lli_fail(ctx, LL_ERR_DATA,
                        "these are the rows that the ensemble was calibrated on, and a certificate from them would promise too much; use "
                        "other rows, or predict them with `no-calibration`");
    if (*rows && strcmp(rows, meta(points, "features_sha256")) == 0)
        lli_log(ctx, LL_LOG_WARNING, "these are the rows that the ensemble was fitted on: the promise does not hold for new points");
    LLI_TRY(ll_certify(out, ctx, &points->view, out_points ? &out_points->view : NULL, options));
    ll_certificate *c = *out;
    take_hash(c->features_hash, rows);
    take_hash(c->ensemble_hash, meta(points, LLI_ANSWERS_ENSEMBLE));
    if (*c->label_rule) /* decided by costs just now */
        return LL_OK;
    size_t length = LLI_MIN(strlen(rule), sizeof c->label_rule - 1);
    memcpy(c->label_rule, rule, length);
    c->label_rule[length] = 0;
    return LL_OK;
}
