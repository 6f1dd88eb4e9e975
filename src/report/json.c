/* SPDX-License-Identifier: MIT */
/* The keys are part of the interface of the command: they are documented and do not change. */
#include "report/json.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "report/metric_rule.h"

static void number(lli_text *out, const char *key, double value) {
    lli_text_add(out, "  \"%s\": ", key);
    lli_text_json_number(out, value);
    lli_text_add(out, ",\n");
}

/* {"sr": 0.1, "std": null, ...}: the member at `offset` of each of the structs of `size` bytes. */
static void by_confidence(lli_text *out, const char *key, const void *structs /* [LL_CONFIDENCE_COUNT] */, size_t size, size_t offset) {
    lli_text_add(out, "\"%s\": {", key);
    for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++) {
        double value;
        memcpy(&value, (const char *)structs + (size_t)c * size + offset, sizeof value);
        lli_text_add(out, "%s\"%s\": ", c ? ", " : "", ll_confidence_name(c));
        lli_text_json_number(out, value);
    }
    lli_text_add(out, "}");
}

static void selective(lli_text *out, const char *key, const ll_evaluation *e, size_t offset) {
    lli_text_add(out, "  ");
    by_confidence(out, key, e->selective, sizeof(ll_selective), offset);
    lli_text_add(out, ",\n");
}

static void bands(lli_text *out, const ll_evaluation *e) {
    lli_text_add(out, "  \"aurc_band\": {");
    for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++) {
        const ll_selective *s = &e->selective[c];
        lli_text_add(out, "%s\"%s\": ", c ? ", " : "", ll_confidence_name(c));
        if (!s->ties) {
            lli_text_add(out, "null");
            continue;
        }
        lli_text_add(out, "{\"best\": ");
        lli_text_json_number(out, s->best);
        lli_text_add(out, ", \"expected\": ");
        lli_text_json_number(out, s->expected);
        lli_text_add(out, ", \"worst\": ");
        lli_text_json_number(out, s->worst);
        lli_text_add(out, "}");
    }
    lli_text_add(out, "},\n");
}

static void bins(lli_text *out, const ll_evaluation *e) {
    lli_text_add(out, "  \"bins\": [");
    for (int64_t j = 0; j < e->bins; j++) {
        const ll_bin *bin = &e->bin[j];
        lli_text_add(out, "%s\n    {\"lo\": ", j ? "," : "");
        lli_text_json_number(out, bin->lo);
        lli_text_add(out, ", \"hi\": ");
        lli_text_json_number(out, bin->hi);
        lli_text_add(out, ", \"n\": %" PRId64 ", \"accuracy\": ", bin->n);
        lli_text_json_number(out, bin->accuracy);
        lli_text_add(out, ", \"confidence\": ");
        lli_text_json_number(out, bin->confidence);
        lli_text_add(out, "}");
    }
    lli_text_add(out, "%s],\n", e->bins ? "\n  " : "");
}

static void ood(lli_text *out, const ll_evaluation *e) {
    if (!e->has_ood) {
        lli_text_add(out, "  \"ood\": null,\n");
        return;
    }
    const struct {
        const char *key;
        size_t offset;
    } rows[] = {{"auroc", offsetof(ll_ood, auroc)},
                {"aupr_in", offsetof(ll_ood, aupr_in)},
                {"aupr_out", offsetof(ll_ood, aupr_out)},
                {"fpr95", offsetof(ll_ood, fpr95)}};
    lli_text_add(out, "  \"ood\": {\n");
    for (size_t i = 0; i < LLI_COUNT(rows); i++) {
        lli_text_add(out, "    ");
        by_confidence(out, rows[i].key, e->ood, sizeof(ll_ood), rows[i].offset);
        lli_text_add(out, ",\n");
    }
    lli_text_add(out, "    \"n\": %" PRId64 ",\n    \"base_rate\": ", e->n_out);
    lli_text_json_number(out, e->base_rate);
    lli_text_add(out, "\n  },\n");
}

static void calibration(lli_text *out, const ll_evaluation *e) {
    lli_text_add(out, "  \"calibration\": {\"ece_p\": ");
    lli_text_json_number(out, e->ece_p);
    lli_text_add(out, ", \"l2_debiased\": ");
    lli_text_json_number(out, e->l2_debiased);
    lli_text_add(out, "},\n  \"majority\": ");
    if (isnan(e->majority_accuracy)) {
        lli_text_add(out, "null,\n");
        return;
    }
    lli_text_add(out, "{\"class\": %" PRId64 ", \"accuracy\": ", e->majority);
    lli_text_json_number(out, e->majority_accuracy);
    lli_text_add(out, "},\n");
}

static void per_class(lli_text *out, const ll_evaluation *e) {
    if (!lli_metric_rule_applies(LLI_RULE_PER_CLASS, e)) {
        lli_text_add(out, "  \"per_class\": null,\n");
        return;
    }
    lli_text_add(out, "  \"per_class\": {\"by\": \"sr\", \"cut\": ");
    lli_text_json_number(out, e->class_cut);
    lli_text_add(out, ", \"classes\": [");
    for (int64_t k = 0; k < e->classes; k++) {
        const ll_class_score *s = &e->by_class[k];
        const struct {
            const char *key;
            double value;
        } shares[] = {{"precision", s->precision}, {"recall", s->recall}, {"coverage", s->coverage}, {"risk", s->risk}};
        lli_text_add(out,
                     "%s\n    {\"class\": %" PRId64 ", \"n\": %" PRId64 ", \"decided\": %" PRId64 ", \"right\": %" PRId64
                     ", \"answered\": %" PRId64 ", \"answered_right\": %" PRId64 ", \"answers\": %" PRId64,
                     k ? "," : "", k, s->n, s->decided, s->right, s->answered, s->answered_right, s->answers);
        for (size_t i = 0; i < LLI_COUNT(shares); i++) {
            lli_text_add(out, ", \"%s\": ", shares[i].key);
            lli_text_json_number(out, shares[i].value);
        }
        lli_text_add(out, "}");
    }
    lli_text_add(out, "\n  ]},\n");
}

static void options(lli_text *out, const ll_evaluation *e) {
    const ll_rules *o = &e->rules;
    lli_text_add(out, "  \"options\": {\"bins\": %" PRId64, o->bins);
    lli_text_json_pair(out, ", ", "edges", o->edges);
    lli_text_json_pair(out, ", ", "aupr", o->aupr);
    lli_text_json_pair(out, ", ", "classifier", o->classifier);
    lli_text_json_pair(out, ", ", "compat", o->compat);
    lli_text_add(out, ", \"costs\": %s, \"interval\": ", o->costs ? "true" : "false");
    lli_text_json_number(out, o->interval);
    lli_text_add(out, ", \"risk\": ");
    lli_text_json_number(out, o->risk);
    lli_text_add(out, ", \"seed\": %" PRIu64 ", \"per_class\": %s},\n", o->seed, o->per_class ? "true" : "false");
}

static void rules(lli_text *out, const ll_evaluation *e) {
    bool first = true;
    lli_text_add(out, "  \"rules\": {");
    for (lli_metric_rule rule = 0; rule < LLI_RULE_COUNT; rule++) {
        if (!lli_metric_rule_applies(rule, e))
            continue;
        lli_text sentence;
        lli_text_init(&sentence, out->ctx);
        lli_metric_rule_text(&sentence, rule, e);
        if (sentence.status != LL_OK)
            out->status = sentence.status;
        lli_text_add(out, "%s\n    \"%s\": ", first ? "" : ",", lli_metric_rule_key(rule));
        lli_text_json_string(out, sentence.data ? sentence.data : "");
        lli_text_release(&sentence);
        first = false;
    }
    lli_text_add(out, "\n  }\n");
}

void lli_json_evaluation(lli_text *out, const ll_evaluation *e) {
    lli_text_add(out, "{\n  \"n\": %" PRId64 ",\n  \"errors\": %" PRId64 ",\n", e->n, e->errors);
    if (e->classes > 0)
        lli_text_add(out, "  \"classes\": %" PRId64 ",\n", e->classes);
    number(out, "accuracy", e->accuracy);
    number(out, "nll", e->nll);
    number(out, "brier", e->brier);
    number(out, "ece", e->ece);
    number(out, "mce", e->mce);
    if (lli_metric_rule_applies(LLI_RULE_COST, e))
        number(out, "cost", e->cost);
    bins(out, e);
    selective(out, "aurc", e, offsetof(ll_selective, aurc));
    bands(out, e);
    selective(out, "eaurc", e, offsetof(ll_selective, eaurc));
    selective(out, "augrc", e, offsetof(ll_selective, augrc));
    selective(out, "failure_auroc", e, offsetof(ll_selective, failure_auroc));
    lli_text_add(out, "  ");
    by_confidence(out, "coverage_at_risk", e->coverage_at_risk, sizeof(double), 0);
    lli_text_add(out, ",\n");
    number(out, "min_aurc", e->min_aurc);
    calibration(out, e);
    per_class(out, e);
    ood(out, e);
    lli_json_intervals(out, e);
    options(out, e);
    rules(out, e);
    lli_text_add(out, "}");
}

static void thresholds(lli_text *out, const ll_compare_row *row) {
    for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++) {
        lli_text_add(out, "%s\"%s\": ", c ? ", " : "", ll_confidence_name(c));
        lli_json_threshold(out, row->threshold[c].found ? &row->threshold[c] : NULL);
    }
}

void lli_json_threshold(lli_text *out, const ll_threshold *t) {
    if (!t) {
        lli_text_add(out, "null");
        return;
    }
    lli_text_add(out, "{\"cut\": ");
    lli_text_json_number(out, t->cut);
    lli_text_add(out, ", \"coverage\": ");
    lli_text_json_number(out, t->coverage);
    lli_text_add(out, ", \"risk\": ");
    lli_text_json_number(out, t->risk);
    lli_text_add(out, ", \"accepted\": %" PRId64 ", \"accepted_errors\": %" PRId64 "}", t->accepted, t->accepted_errors);
}

void lli_json_compare_row(lli_text *out, const ll_compare_row *row) {
    lli_text_json_pair(out, "", "method", row->method);
    lli_text_json_pair(out, ", ", "group", row->group);
    lli_text_add(out, ", \"samples\": %" PRId64 ", \"diverged\": %s, \"seconds_fit\": ", row->samples, row->diverged ? "true" : "false");
    lli_text_json_number(out, row->seconds_fit);
    lli_text_add(out, ", \"seconds_predict\": ");
    lli_text_json_number(out, row->seconds_predict);
    lli_text_add(out, ", \"seconds_per_thousand\": ");
    lli_text_json_number(out, row->seconds_per_thousand);
    lli_text_add(out, ", \"bytes\": %" PRId64 ", \"temperature\": ", row->bytes);
    lli_text_json_number(out, row->temperature);
    if (row->diverged) {
        lli_text_add(out, ", \"threshold\": null, \"evaluation\": null");
        return;
    }
    lli_text_add(out, ",\n\"threshold\": {");
    thresholds(out, row);
    lli_text_add(out, "},\n\"evaluation\": ");
    lli_json_evaluation(out, row->evaluation);
}
