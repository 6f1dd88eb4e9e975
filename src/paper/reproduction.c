/* SPDX-License-Identifier: MIT */
/* Our numbers beside the paper's for machines: CSV and JSON. */
#include "paper/reproduction.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "paper/paper_tables.h"
#include "report/table.h"

#define OOD(kind)                                                                           \
    {"ood", kind "_sr"}, {"ood", kind "_std"}, {"ood", kind "_hq"}, {"ood", "max_" kind}, { \
        "ood", "ratio_" kind                                                                \
    }

const lli_reproduced_metric lli_reproduced_metrics[LLI_REPRODUCED_METRICS] = {
    {"selective", "accuracy"}, {"selective", "ece"},        {"selective", "nll"}, {"selective", "aurc_sr"}, {"selective", "aurc_std"},
    {"selective", "min_aurc"}, {"selective", "ratio_aurc"}, OOD("auroc"),         OOD("aupr_in"),           OOD("aupr_out"),
};

/* Only of the same task: another network or other rows have no ratio to the paper's. */
static double ratio(const lli_reproduction *r, const lli_reproduced_row *row, int m) {
    return r->same_task ? row->ours[m] / row->paper[m] : NAN;
}

static void add_csv(lli_text *out, const lli_reproduction *r) {
    static const char *const heads[] = {"task", "protocol", "scope", "method", "metric", "ours", "spread", "seeds", "paper", "ratio"};
    lli_table table;
    lli_table_init(&table, out->ctx, "lllllrrrrr");
    for (size_t i = 0; i < LLI_COUNT(heads); i++)
        lli_table_cell(&table, heads[i]);
    for (int64_t i = 0; i < r->count; i++) {
        const lli_reproduced_row *row = &r->rows[i];
        for (int m = 0; m < LLI_REPRODUCED_METRICS; m++) {
            if (strcmp(lli_reproduced_metrics[m].task, row->task) != 0 || (isnan(row->ours[m]) && isnan(row->paper[m])))
                continue;
            const char *const words[] = {row->task, row->protocol, row->scope, row->method, lli_reproduced_metrics[m].key};
            for (size_t w = 0; w < LLI_COUNT(words); w++)
                lli_table_cell(&table, words[w]);
            lli_table_exact(&table, row->ours[m]);
            lli_table_exact(&table, row->spread[m]);
            lli_table_count(&table, row->seeds);
            lli_table_exact(&table, row->paper[m]);
            lli_table_exact(&table, ratio(r, row, m));
        }
    }
    lli_table_write(&table, out, LL_TEXT_CSV);
    lli_table_release(&table);
}

static void add_pair(lli_text *out, const char *key, double value, const char *before) {
    lli_text_add(out, "%s\"%s\": ", before, key);
    lli_text_json_number(out, value);
}

static void add_interval(lli_text *out, ll_interval interval) {
    if (isnan(interval.lo))
        return;
    add_pair(out, "lo", interval.lo, ", ");
    add_pair(out, "hi", interval.hi, ", ");
}

static void add_row_json(lli_text *out, const lli_reproduction *r, const lli_reproduced_row *row) {
    lli_text_json_pair(out, "{", "task", row->task);
    lli_text_json_pair(out, ", ", "protocol", row->protocol);
    lli_text_json_pair(out, ", ", "scope", row->scope);
    lli_text_json_pair(out, ", ", "method", row->method);
    lli_text_add(out, ", \"trials\": [");
    for (int64_t s = 0; s < row->seeds; s++) {
        lli_text_add(out, "%s", s ? ", " : "");
        lli_text_json_string(out, row->trial[s]->name);
    }
    lli_text_add(out, "], \"metrics\": {");
    bool more = false;
    for (int m = 0; m < LLI_REPRODUCED_METRICS; m++) {
        if (strcmp(lli_reproduced_metrics[m].task, row->task) != 0)
            continue;
        lli_text_add(out, "%s\n  \"%s\": {", more ? "," : "", lli_reproduced_metrics[m].key);
        add_pair(out, "ours", row->ours[m], "");
        add_pair(out, "spread", row->spread[m], ", ");
        add_pair(out, "paper", row->paper[m], ", ");
        add_pair(out, "ratio", ratio(r, row, m), ", ");
        add_interval(out, row->interval[m]);
        lli_text_add(out, "}");
        more = true;
    }
    lli_text_add(out, "}}");
}

static void add_json(lli_text *out, const lli_reproduction *r) {
    lli_text_json_pair(out, "{\n", "dataset", r->dataset);
    lli_text_json_pair(out, ",\n", "version", LL_VERSION);
    lli_text_json_pair(out, ",\n", "isa", ll_isa());
    lli_text_add(out, ",\n\"seeds\": [");
    for (int64_t s = 0; s < r->seed_count; s++)
        lli_text_add(out, "%s%" PRIu64, s ? ", " : "", r->seeds[s]);
    lli_text_add(out, "],\n\"rows\": [");
    for (int64_t i = 0; i < r->count; i++) {
        lli_text_add(out, "%s\n", i ? "," : "");
        add_row_json(out, r, &r->rows[i]);
    }
    lli_text_add(out, "\n]\n}\n");
}

ll_status lli_reproduction_text(lli_text *out, const lli_reproduction *r, ll_text_form form) {
    if (form == LL_TEXT_JSON)
        add_json(out, r);
    else if (form == LL_TEXT_CSV)
        add_csv(out, r);
    else
        lli_paper_tables(out, r, false);
    return out->status;
}
