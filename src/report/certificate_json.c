/* SPDX-License-Identifier: MIT */
/* A certificate as the JSON that goes with what it promises. */
#include <inttypes.h>
#include <math.h>

#include "base/text.h"
#include "report/certificate_text.h"

static void number(lli_text *out, const char *before, const char *key, double x) {
    lli_text_add(out, "%s\"%s\": ", before, key);
    lli_text_json_number(out, x);
}

/* A text, or null where it is not known. */
static void known(lli_text *out, const char *key, const char *text) {
    if (*text)
        lli_text_json_pair(out, ",\n  ", key, text);
    else
        lli_text_add(out, ",\n  \"%s\": null", key);
}

/* The cut and its numbers: of all rows, or of those of a class. */
static void add_cut(lli_text *out, const ll_certificate_info *i, const lli_certify_result *r) {
    number(out, ", ", "cut", i->cut);
    if (!isnan(i->cut))
        lli_text_add(out, ", \"cut_hex\": \"%a\"", i->cut);
    lli_text_add(out, ", \"n\": %" PRId64 ", \"n_proposing\": %" PRId64 ", \"accepted\": %" PRId64 ", \"errors\": %" PRId64, i->n,
                 r->n_proposing, i->accepted, i->errors);
    lli_text_add(out, ", \"m\": %" PRId64 ", \"k\": %" PRId64, i->accepted, i->errors); /* as in the equations */
    number(out, ", ", "mean_cost", i->mean_cost);
    number(out, ", ", "p_value", i->p_value);
    number(out, ", ", "bound", i->bound);
    lli_text_add(out, ", \"needed\": %" PRId64, i->needed);
}

/* The tests in their order, with the losses they saw: errors, or with costs their sum, each cost as a loss in [0,1]. */
static void add_tests(lli_text *out, const lli_certify_result *r, bool costs) {
    lli_text_add(out, "\"tests\": [");
    for (int64_t t = 0; t < r->cuts; t++) {
        const lli_certify_test *test = &r->test[t];
        number(out, t ? ",\n    {" : "\n    {", "cut", test->cut);
        lli_text_add(out, ", \"tested\": %s, \"passed\": %s, \"accepted\": %" PRId64, test->tested ? "true" : "false",
                     test->passed ? "true" : "false", test->accepted);
        number(out, ", ", costs ? "loss" : "errors", test->loss);
        lli_text_add(out, "}");
    }
    lli_text_add(out, "]");
}

static void add_classes(lli_text *out, const ll_certificate *c) {
    lli_text_add(out, ",\n  \"per_class\": [");
    for (int64_t k = 0; k < c->info.classes; k++) {
        lli_text_add(out, "%s\n   {\"class\": %" PRId64 ", \"certified\": %s", k ? "," : "", k,
                     c->class_info[k].certified ? "true" : "false");
        add_cut(out, &c->class_info[k], &c->class_tests[k]);
        lli_text_add(out, ",\n    ");
        add_tests(out, &c->class_tests[k], c->costs);
        lli_text_add(out, "}");
    }
    lli_text_add(out, "]");
}

static void add_costs(lli_text *out, const ll_certificate *c) {
    lli_text_add(out, ",\n  \"costs\": [");
    for (int64_t i = 0; i < c->K * c->K; i++) {
        lli_text_add(out, i % c->K ? ", " : i ? "],\n   [" : "\n   [");
        lli_text_json_number(out, c->costs[i]);
    }
    lli_text_add(out, "]]");
}

void lli_certificate_json_add(lli_text *out, const ll_certificate *c) {
    const ll_certificate_info *i = &c->info;
    lli_text_add(out, "{\n  \"certified\": %s,\n  \"statement\": \"", i->certified ? "true" : "false");
    lli_certificate_text_statement(out, c);
    lli_text_add(out, "\",\n  \"by\": \"%s\"", ll_confidence_name(i->by));
    number(out, ",\n  ", "risk", i->risk);
    number(out, ", ", "coverage", i->coverage);
    number(out, ", ", "out_rate", i->out_rate);
    number(out, ", ", "confidence", i->confidence);
    add_cut(out, i, &c->result);
    lli_text_add(out, ",\n  \"n_out\": %" PRId64 ", \"accepted_out\": %" PRId64, i->n_out, i->accepted_out);
    lli_text_add(out, ",\n  \"rule\": \"%s\", \"rule_version\": %d, \"seed\": %" PRIu64,
                 c->promise.rule == LLI_CERTIFY_BONFERRONI ? "bonferroni" : "sequence", LLI_CERTIFICATE_RULE_VERSION, c->seed);
    if (c->costs)
        add_costs(out, c);
    else
        lli_text_add(out, ",\n  \"costs\": null");
    if (i->classes)
        add_classes(out, c);
    else
        lli_text_add(out, ",\n  \"per_class\": null");
    lli_text_add(out, ",\n  ");
    add_tests(out, &c->result, c->costs);
    lli_text_add(out, ",\n  \"sgr\": {\"found\": %s", c->sgr.found ? "true" : "false");
    number(out, ", ", "cut", c->sgr.found ? c->sgr.cut : NAN);
    lli_text_add(out, ", \"accepted\": %" PRId64 ", \"errors\": %" PRId64 "},\n  \"rows_sha256\": \"%s\",\n  \"labels_sha256\": \"%s\"",
                 c->sgr.accepted, c->sgr.errors, c->rows_hash, c->labels_hash);
    known(out, "features_sha256", c->features_hash);
    known(out, "ensemble_sha256", c->ensemble_hash);
    known(out, "label_rule", c->label_rule);
    number(out, ",\n  ", "uses_of_these_rows", c->uses ? (double)c->uses : NAN);
    lli_text_add(out, ",\n  \"conditions\": \"%s\"\n}\n", lli_certificate_text_conditions);
}
