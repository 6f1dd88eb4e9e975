/* SPDX-License-Identifier: MIT */
/* The intervals of an evaluation: its own tree, with [lo, hi] where there is an interval and null where there is none. */
#include <math.h>

#include "report/json.h"

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

void lli_json_intervals(lli_text *out, const ll_evaluation *e) {
    const ll_intervals *I = &e->intervals;
    const entry scores[] = {{"n", NULL},      {"errors", NULL},     {"classes", NULL}, {"accuracy", &I->accuracy},
                            {"nll", &I->nll}, {"brier", &I->brier}, {"ece", &I->ece},  {"mce", NULL},
                            {"cost", NULL},   {"bins", NULL},       {"min_aurc", NULL}};
    const entry rankings[] = {{"aurc", I->aurc},
                              {"aurc_band", NULL},
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
    families(out, "    ", rankings, LLI_COUNT(rankings), ",");
    if (e->has_ood) {
        lli_text_add(out, "    \"ood\": {\n");
        families(out, "      ", far, LLI_COUNT(far), ",");
        lli_text_add(out, "      \"n\": null, \"base_rate\": null\n    }\n");
    } else
        lli_text_add(out, "    \"ood\": null\n");
    lli_text_add(out, "  },\n");
}
