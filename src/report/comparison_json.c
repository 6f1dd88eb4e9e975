/* SPDX-License-Identifier: MIT */
/* A comparison for programs. */
#include <inttypes.h>
#include <math.h>

#include "report/comparison_text.h"
#include "report/json.h"

static void add_number(lli_text *out, const char *key, double x) {
    lli_text_add(out, ", \"%s\": ", key);
    lli_text_json_number(out, x);
}

static void add_gap(lli_text *out, const lli_comparison_gap *gap, double level) {
    for (int m = 0; m < LL_METRIC_COUNT; m++) {
        const ll_difference *d = &gap->of[m];
        lli_text_add(out, "%s\"%s\": ", m ? ", " : "", ll_metric_name((ll_metric)m));
        if (isnan(d->value)) {
            lli_text_add(out, "null");
            continue;
        }
        lli_text_add(out, "{\"value\": ");
        lli_text_json_number(out, d->value);
        lli_text_add(out, ", \"interval\": ");
        lli_json_interval(out, d->interval);
        add_number(out, "p", d->p);
        add_number(out, "p_holm", d->p_adjusted);
        lli_text_add(out, ", \"word\": \"%s\"}", lli_contrast_word(d, level));
    }
}

static void add_name(lli_text *out, const char *key, const ll_compare_row *row) {
    lli_text name;
    lli_text_init(&name, out->ctx);
    lli_comparison_text_name(&name, row);
    lli_text_add(out, "\"%s\": ", key);
    lli_text_json_string(out, name.data ? name.data : "");
    lli_text_release(&name);
}

static void add_recommendation(lli_text *out, const ll_comparison *c) {
    const ll_recommendation *r = &c->recommendation;
    lli_text why;
    if (r->row < 0) {
        lli_text_add(out, "null");
        return;
    }
    const ll_compare_row *row = &c->rows[r->row];
    const ll_threshold *t = &row->threshold[LL_CONFIDENCE_SR];
    lli_text_init(&why, out->ctx);
    lli_comparison_text_why(&why, c);
    lli_text_add(out, "{");
    add_name(out, "name", row);
    lli_text_json_pair(out, ", ", "method", row->method);
    add_number(out, "temperature", row->temperature);
    lli_text_add(out, ", \"criterion\": \"%s\"", r->criterion);
    add_number(out, "value", r->value);
    lli_text_add(out, ", ");
    add_name(out, "best", &c->rows[r->best]);
    add_number(out, "best_value", r->best_value);
    add_number(out, "difference", r->difference);
    lli_text_add(out, ", \"interval\": ");
    lli_json_interval(out, r->interval);
    lli_text_add(out, ", \"rows\": %" PRId64 ", \"confidence\": \"sr\", \"threshold\": ", r->n);
    lli_json_threshold(out, t->found ? t : NULL);
    lli_text_add(out, ", \"text\": ");
    lli_text_json_string(out, why.data ? why.data : "");
    lli_text_add(out, "}");
    lli_text_release(&why);
}

void lli_comparison_json(lli_text *out, const ll_comparison *c) {
    lli_text_add(out, "{\n\"risk\": ");
    lli_text_json_number(out, c->risk);
    lli_text_add(out, ",\n\"interval\": ");
    lli_text_json_number(out, c->level);
    lli_text_add(out, ",\n\"protocol\": \"%s\",\n\"choosing\": {\"rows\": %" PRId64 ", \"from\": \"%s\"},\n\"methods\": [",
                 c->from == LLI_CHOOSING_SAME ? "paper" : "honest", c->choosing, lli_comparison_text_from(c->from));
    for (int64_t i = 0; i < c->count; i++) {
        lli_text_add(out, "%s\n{", i ? "," : "");
        add_name(out, "name", &c->rows[i]);
        lli_text_add(out, ", ");
        lli_json_compare_row(out, &c->rows[i]);
        lli_text_add(out, ",\n\"difference\": ");
        if (c->rows[i].diverged || i == 0 || c->rows[0].diverged)
            lli_text_add(out, "null}");
        else {
            lli_text_add(out, "{");
            add_gap(out, &c->differences[i], c->level);
            lli_text_add(out, "}}");
        }
    }
    lli_text_add(out, "\n],\n\"recommendation\": ");
    add_recommendation(out, c);
    lli_text_add(out, "\n}\n");
}
