/* SPDX-License-Identifier: MIT */
/* The intervals of an evaluation: its own tree, with [lo, hi] where there is an interval and null where there is none. */
#include <math.h>

#include "metrics/interval.h"
#include "metrics/special.h"
#include "report/json.h"
#include "report/metric_rule.h"

void lli_json_interval(lli_text *out, ll_interval x) {
    if (isnan(x.lo) || isnan(x.hi)) {
        lli_text_add(out, "null");
        return;
    }
    lli_text_add(out, "[");
    lli_text_json_number(out, x.lo);
    lli_text_add(out, ", ");
    lli_text_json_number(out, x.hi);
    lli_text_add(out, "]");
}

static void by_confidence(lli_text *out, const char *key, const ll_interval *x /* [LL_CONFIDENCE_COUNT] or NULL: none */) {
    lli_text_add(out, "\"%s\": {", key);
    for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++) {
        lli_text_add(out, "%s\"%s\": ", c ? ", " : "", ll_confidence_name(c));
        lli_json_interval(out, x ? x[c] : (ll_interval){NAN, NAN});
    }
    lli_text_add(out, "}");
}

typedef struct entry {
    const char *key;
    const ll_interval *interval; /* NULL: null */
} entry;

static void singles(lli_text *out, const entry *entries, size_t count) {
    for (size_t i = 0; i < count; i++) {
        lli_text_add(out, "    \"%s\": ", entries[i].key);
        lli_json_interval(out, entries[i].interval ? *entries[i].interval : (ll_interval){NAN, NAN});
        lli_text_add(out, ",\n");
    }
}

static void families(lli_text *out, const char *indent, const entry *entries, size_t count, const char *end) {
    for (size_t i = 0; i < count; i++) {
        lli_text_add(out, "%s", indent);
        by_confidence(out, entries[i].key, entries[i].interval);
        lli_text_add(out, "%s\n", i + 1 < count ? "," : end);
    }
}

/* Wilson's, of a share of n points. */
static void share(lli_text *out, const char *key, int64_t count, int64_t n, double z) {
    lli_text_add(out, ", \"%s\": ", key);
    lli_json_interval(out, n > 0 ? lli_interval_wilson(count, n, z) : lli_interval_none);
}

static void bins(lli_text *out, const ll_evaluation *e, double z) {
    lli_text_add(out, "    \"bins\": [");
    for (int64_t j = 0; j < e->bins; j++) {
        const ll_bin *bin = &e->bin[j];
        lli_text_add(out, "%s\n      {\"lo\": null, \"hi\": null, \"n\": null", j ? "," : "");
        share(out, "accuracy", bin->n ? llround(bin->accuracy * (double)bin->n) : 0, bin->n, z);
        lli_text_add(out, ", \"confidence\": null}");
    }
    lli_text_add(out, "%s],\n", e->bins ? "\n    " : "");
}

static void bands(lli_text *out, const ll_evaluation *e) {
    lli_text_add(out, "    \"aurc_band\": {");
    for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++)
        lli_text_add(out, "%s\"%s\": %s", c ? ", " : "", ll_confidence_name(c),
                     e->selective[c].ties ? "{\"best\": null, \"expected\": null, \"worst\": null}" : "null");
    lli_text_add(out, "},\n");
}

static void per_class(lli_text *out, const ll_evaluation *e, double z) {
    if (!lli_metric_rule_applies(LLI_RULE_PER_CLASS, e)) {
        lli_text_add(out, "    \"per_class\": null,\n");
        return;
    }
    lli_text_add(out, "    \"per_class\": {\"by\": null, \"cut\": null, \"classes\": [");
    for (int64_t k = 0; k < e->classes; k++) {
        const ll_class_score *s = &e->by_class[k];
        lli_text_add(out,
                     "%s\n      {\"class\": null, \"n\": null, \"decided\": null, \"right\": null, \"answered\": null, "
                     "\"answered_right\": null, \"answers\": null",
                     k ? "," : "");
        share(out, "precision", s->right, s->decided, z);
        share(out, "recall", s->right, s->n, z);
        share(out, "coverage", s->answered, isnan(s->coverage) ? 0 : s->n, z);
        share(out, "risk", s->answered - s->answered_right, s->answered, z);
        lli_text_add(out, "}");
    }
    lli_text_add(out, "\n    ]},\n");
}

/* What has no interval, or one of its own for each bin and class. */
static void others(lli_text *out, const ll_evaluation *e) {
    double z = lli_special_normal_quantile((1 + e->rules.interval) / 2);
    bins(out, e, z);
    bands(out, e);
    lli_text_add(out, "    \"calibration\": {\"ece_p\": null, \"l2_debiased\": null},\n    \"majority\": %s,\n",
                 isnan(e->majority_accuracy) ? "null" : "{\"class\": null, \"accuracy\": null}");
    per_class(out, e, z);
}

void lli_json_intervals(lli_text *out, const ll_evaluation *e) {
    const ll_intervals *I = &e->intervals;
    const entry scores[] = {{"n", NULL},      {"errors", NULL}, {"accuracy", &I->accuracy}, {"nll", &I->nll}, {"brier", &I->brier},
                            {"ece", &I->ece}, {"mce", NULL},    {"min_aurc", NULL}};
    const entry sometimes[] = {{"classes", NULL}, {"cost", NULL}};
    const entry rankings[] = {{"aurc", I->aurc},
                              {"eaurc", I->eaurc},
                              {"augrc", I->augrc},
                              {"failure_auroc", I->failure_auroc},
                              {"coverage_at_risk", I->coverage_at_risk}};
    const entry far[] = {{"auroc", I->ood_auroc}, {"aupr_in", NULL}, {"aupr_out", NULL}, {"fpr95", I->ood_fpr95}};
    if (!(e->rules.interval > 0)) {
        lli_text_add(out, "  \"intervals\": null,\n");
        return;
    }
    lli_text_add(out, "  \"intervals\": {\n");
    singles(out, scores, LLI_COUNT(scores));
    if (e->classes > 0)
        singles(out, &sometimes[0], 1);
    if (lli_metric_rule_applies(LLI_RULE_COST, e))
        singles(out, &sometimes[1], 1);
    others(out, e);
    families(out, "    ", rankings, LLI_COUNT(rankings), ",");
    if (e->has_ood) {
        lli_text_add(out, "    \"ood\": {\n");
        families(out, "      ", far, LLI_COUNT(far), ",");
        lli_text_add(out, "      \"n\": null, \"base_rate\": null\n    }\n");
    } else
        lli_text_add(out, "    \"ood\": null\n");
    lli_text_add(out, "  },\n");
}
