/* SPDX-License-Identifier: MIT */
/* The tables of the paper, with a column of ours before each of its columns. */
#include "report/reproduction.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/table.h"

#define OOD(kind) {"ood", kind "_sr"}, {"ood", kind "_std"}, {"ood", kind "_hq"}, {"ood", "max_" kind}, {"ood", "ratio_" kind}

const lli_reproduced_metric lli_reproduced_metrics[LLI_REPRODUCED_METRICS] = {
    {"selective", "accuracy"},  {"selective", "ece"},      {"selective", "nll"}, {"selective", "aurc_sr"}, {"selective", "aurc_std"},
    {"selective", "min_aurc"},  {"selective", "ratio_aurc"}, OOD("auroc"), OOD("aupr_in"), OOD("aupr_out"),
};

static double ratio(const lli_reproduced_row *row, int m) {
    return row->ours[m] / row->paper[m];
}

static bool same_table(const lli_reproduced_row *a, const lli_reproduced_row *b) {
    return strcmp(a->task, b->task) == 0 && strcmp(a->protocol, b->protocol) == 0;
}

/* ---- Markdown ---- */

static const char *algorithm(char out[64], const lli_reproduced_row *row) {
    const char *name = strcmp(row->method, "point") == 0 ? "sgd-pe" : row->method;
    size_t length = strlen(name);
    memcpy(out, name, length + 1);
    if (strcmp(row->scope, "last") != 0) {
        out[length] = ' ';
        memcpy(out + length + 1, row->scope, strlen(row->scope) + 1);
    }
    return out;
}

static void number_cell(lli_table *table, double ours, double spread) {
    lli_text text;
    lli_text_init(&text, table->text.ctx);
    lli_table_number_text(&text, ours);
    if (!isnan(spread))
        lli_text_add(&text, " ± %.1g", spread);
    lli_table_cell(table, text.data ? text.data : "");
    lli_text_release(&text);
}

static void paper_cell(lli_table *table, double paper) {
    lli_text text;
    lli_text_init(&text, table->text.ctx);
    if (isnan(paper))
        lli_text_add(&text, "-");
    else
        lli_text_number(&text, paper);
    lli_table_cell(table, text.data ? text.data : "");
    lli_text_release(&text);
}

/* What was chosen: of several seeds the values where they agree. */
static void option_cell(lli_table *table, const lli_reproduced_row *row, double (*get)(const ll_trial *)) {
    lli_text text;
    lli_text_init(&text, table->text.ctx);
    for (int64_t s = 0; s < row->seeds; s++) {
        double value = get(row->trial[s]);
        if (isnan(value) || value == 0)
            continue;
        if (text.length)
            lli_text_add(&text, ", ");
        lli_text_number(&text, value);
    }
    lli_table_cell(table, text.data ? text.data : "");
    lli_text_release(&text);
}

static double samples_of(const ll_trial *t) {
    return (double)t->samples;
}

static double lr_of(const ll_trial *t) {
    return t->lr;
}

static double dropout_of(const ll_trial *t) {
    return t->dropout;
}

static const char *title_of(const char *key) {
    static const char *const titles[][2] = {
        {"accuracy", "accuracy"}, {"ece", "ECE"}, {"nll", "NLL"}, {"aurc_sr", "AURC sr"}, {"aurc_std", "AURC std"},
        {"min_aurc", "min AURC"}, {"ratio_aurc", "/ sgd-pe"},
    };
    for (size_t i = 0; i < LLI_COUNT(titles); i++)
        if (strcmp(titles[i][0], key) == 0)
            return titles[i][1];
    return strncmp(key, "max_", 4) == 0 ? "max" : strncmp(key, "ratio_", 6) == 0 ? "/ sgd-pe" : strrchr(key, '_') + 1;
}

static bool paper_has(const lli_reproduced_row *rows, int64_t count, int m) {
    for (int64_t i = 0; i < count; i++)
        if (!isnan(rows[i].paper[m]))
            return true;
    return false;
}

/* Columns of a table: the metrics of its task whose key contains `kind` (NULL = all); hq of AUROC only where the paper shows it, since the
 * maximum is over what is shown. */
static int columns_of(int out[LLI_REPRODUCED_METRICS], const lli_reproduced_row *rows, int64_t count, const char *kind) {
    int found = 0;
    for (int m = 0; m < LLI_REPRODUCED_METRICS; m++) {
        const char *key = lli_reproduced_metrics[m].key;
        bool shown = strcmp(key, "auroc_hq") != 0 || paper_has(rows, count, m);
        if (shown && strcmp(lli_reproduced_metrics[m].task, rows[0].task) == 0 && (!kind || strstr(key, kind)))
            out[found++] = m;
    }
    return found;
}

/* Without validation rows half of the test rows chose: then the trials have more rows than the table reports. */
static bool test_split(const lli_reproduced_row *rows, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        if (rows[i].seeds)
            return rows[i].trial[0]->score[LL_SPLIT_ALL].n > rows[i].trial[0]->score[LL_SPLIT_TEST].n;
    return false;
}

static void add_table(lli_text *out, const lli_reproduced_row *rows, int64_t count, const char *kind, const char *headline) {
    int columns[LLI_REPRODUCED_METRICS], found = columns_of(columns, rows, count, kind), width = 4;
    char align[LLI_TABLE_COLUMNS_MAX + 1] = "lrrr", name[64];
    for (int c = 0; c < found; c++) {
        bool beside = paper_has(rows, count, columns[c]), third = beside && strncmp(lli_reproduced_metrics[columns[c]].key, "m", 1) == 0;
        for (int k = 0; k < 1 + beside + third; k++)
            align[width++] = 'r';
    }
    align[width] = 0;
    lli_table table;
    lli_table_init(&table, out->ctx, align);
    lli_table_cell(&table, "algorithm");
    lli_table_cell(&table, "S");
    lli_table_cell(&table, "lr");
    lli_table_cell(&table, "p");
    for (int64_t i = -1; i < count; i++) {
        if (i >= 0) {
            lli_table_cell(&table, algorithm(name, &rows[i]));
            option_cell(&table, &rows[i], samples_of);
            option_cell(&table, &rows[i], lr_of);
            option_cell(&table, &rows[i], dropout_of);
        }
        for (int c = 0; c < found; c++) {
            int m = columns[c];
            bool beside = paper_has(rows, count, m), third = beside && lli_reproduced_metrics[m].key[0] == 'm';
            if (i < 0)
                lli_table_cell(&table, title_of(lli_reproduced_metrics[m].key));
            else
                number_cell(&table, rows[i].ours[m], rows[i].spread[m]);
            if (beside && i < 0)
                lli_table_cell(&table, "paper");
            else if (beside)
                paper_cell(&table, rows[i].paper[m]);
            if (third && i < 0)
                lli_table_cell(&table, "ours/paper");
            else if (third)
                number_cell(&table, ratio(&rows[i], m), NAN);
        }
    }
    lli_text_add(out, "\n%s\n\n", headline);
    lli_table_write(&table, out, LL_TEXT_MARKDOWN);
    lli_table_release(&table);
}

static void add_tables(lli_text *out, const lli_reproduced_row *rows, int64_t count) {
    bool paper = strcmp(rows[0].protocol, "paper") == 0;
    bool halves = test_split(rows, count);
    const char *rule = paper    ? "protocol paper: the test rows choose and report"
                       : halves ? "protocol honest: without validation rows, half of the test rows choose and the others report"
                                : "protocol honest: validation rows choose, test rows report";
    if (strcmp(rows[0].task, "selective") == 0) {
        lli_text_add(out, "\n## Selective classification, %s\n", rule);
        add_table(out, rows, count, NULL, "Chosen by the least AURC of sr and std; lower AURC is better.");
        return;
    }
    lli_text_add(out, "\n## Out of distribution: the other half of the classes, %s\n", rule);
    int columns[LLI_REPRODUCED_METRICS];
    bool hq = columns_of(columns, rows, count, "auroc") == 5;
    lli_text_add(out, "\nChosen by %s; higher is better; max is over the columns before it.\n",
                 paper && hq ? "the largest AUROC of sr, std and hq"
                 : paper     ? "the largest AUROC of sr and std"
                 : halves    ? "the least AURC of sr and std, on half of the test rows of the known classes"
                             : "the least AURC of sr and std, on validation rows of the known classes");
    add_table(out, rows, count, "auroc", "### AUROC");
    add_table(out, rows, count, "aupr_in", "### AUPR, known classes positive");
    add_table(out, rows, count, "aupr_out", "### AUPR, unknown classes positive");
}

static void add_markdown(lli_text *out, const lli_reproduction *r) {
    lli_text_add(out, "# %s\n\n%s\n", r->dataset, r->about ? r->about : "");
    for (int64_t first = 0, end; first < r->count; first = end) {
        for (end = first + 1; end < r->count && same_table(&r->rows[first], &r->rows[end]); end++)
            continue;
        add_tables(out, r->rows + first, end - first);
    }
}

/* ---- CSV and JSON ---- */

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
            lli_table_exact(&table, ratio(row, m));
        }
    }
    lli_table_write(&table, out, LL_TEXT_CSV);
    lli_table_release(&table);
}

static void add_pair(lli_text *out, const char *key, double value, const char *before) {
    lli_text_add(out, "%s\"%s\": ", before, key);
    lli_text_json_number(out, value);
}

static void add_row_json(lli_text *out, const lli_reproduced_row *row) {
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
        add_pair(out, "ratio", ratio(row, m), ", ");
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
        add_row_json(out, &r->rows[i]);
    }
    lli_text_add(out, "\n]\n}\n");
}

ll_status lli_reproduction_text(lli_text *out, const lli_reproduction *r, ll_text_form form) {
    if (form == LL_TEXT_JSON)
        add_json(out, r);
    else if (form == LL_TEXT_CSV)
        add_csv(out, r);
    else
        add_markdown(out, r);
    return out->status;
}
