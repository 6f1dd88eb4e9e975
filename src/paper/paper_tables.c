/* SPDX-License-Identifier: MIT */
/* The tables of the paper, with a column of ours before each of its columns, as Markdown and as LaTeX. */
#include "paper/paper_tables.h"

#include <math.h>
#include <string.h>

#include "report/table.h"

/* A table under way. */
typedef struct columns {
    const lli_reproduction *made;
    const lli_reproduced_row *rows;
    int64_t count;
    int metric[LLI_REPRODUCED_METRICS], found;
} columns;

static bool same_table(const lli_reproduced_row *a, const lli_reproduced_row *b) {
    return strcmp(a->task, b->task) == 0 && strcmp(a->protocol, b->protocol) == 0;
}

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

static bool paper_has(const columns *c, int m) {
    for (int64_t i = 0; i < c->count; i++)
        if (!isnan(c->rows[i].paper[m]))
            return true;
    return false;
}

static bool has_ratio(const columns *c, int m) {
    return c->made->same_task && paper_has(c, m) && lli_reproduced_metrics[m].key[0] == 'm'; /* min_, max_ */
}

/* The metrics of its task whose key contains `kind` (NULL = all); hq of AUROC only where the paper shows it, since the maximum is over what
 * is shown. */
static void find_columns(columns *c, const char *kind) {
    c->found = 0;
    for (int m = 0; m < LLI_REPRODUCED_METRICS; m++) {
        const char *key = lli_reproduced_metrics[m].key;
        bool shown = strcmp(key, "auroc_hq") != 0 || paper_has(c, m);
        if (shown && strcmp(lli_reproduced_metrics[m].task, c->rows[0].task) == 0 && (!kind || strstr(key, kind)))
            c->metric[c->found++] = m;
    }
}

static double value(const lli_reproduced_row *row, int m, bool paper) {
    return paper ? row->paper[m] : row->ours[m];
}

/* Whether row i has the best number of the column; a column of one number has no best. */
static bool is_best(const columns *c, int64_t i, int m, bool paper) {
    const char *key = lli_reproduced_metrics[m].key;
    double sign = strstr(key, "aurc") || strcmp(key, "ece") == 0 || strcmp(key, "nll") == 0 ? -1 : 1;
    double own = sign * value(&c->rows[i], m, paper);
    int64_t others = 0;
    for (int64_t j = 0; j < c->count; j++) {
        double x = sign * value(&c->rows[j], m, paper);
        if (x > own)
            return false;
        others += x < own;
    }
    return others > 0;
}

static void end_number(lli_table *table, lli_text *text, bool best) {
    const char *cell = text->data ? text->data : "";
    if (table->text.status == LL_OK)
        table->text.status = text->status;
    if (best)
        lli_table_strong(table, cell);
    else
        lli_table_cell(table, cell);
    lli_text_release(text);
}

static void our_cell(lli_table *table, const columns *c, int64_t i, int m) {
    const lli_reproduced_row *row = &c->rows[i];
    lli_text text;
    lli_text_init(&text, table->text.ctx);
    lli_table_number_text(&text, row->ours[m]);
    if (!isnan(row->spread[m]))
        lli_text_add(&text, " ± %.1g", row->spread[m]);
    if (!isnan(row->interval[m].lo)) {
        lli_text_add(&text, " ");
        lli_table_interval_text(&text, row->interval[m]);
    }
    end_number(table, &text, is_best(c, i, m, false));
}

static void paper_cell(lli_table *table, const columns *c, int64_t i, int m) {
    lli_text text;
    lli_text_init(&text, table->text.ctx);
    if (isnan(c->rows[i].paper[m]))
        lli_text_add(&text, "-");
    else
        lli_text_number(&text, c->rows[i].paper[m]);
    end_number(table, &text, is_best(c, i, m, true));
}

/* What was chosen, seed by seed. */
static void option_cell(lli_table *table, const lli_reproduced_row *row, double (*get)(const ll_trial *)) {
    lli_text text;
    lli_text_init(&text, table->text.ctx);
    for (int64_t s = 0; s < row->seeds; s++) {
        double x = get(row->trial[s]);
        if (isnan(x) || x == 0)
            continue;
        if (text.length)
            lli_text_add(&text, ", ");
        lli_text_number(&text, x);
    }
    end_number(table, &text, false);
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
        {"accuracy", "accuracy"},   {"ece", "ECE"},           {"nll", "NLL"},
        {"aurc_sr", "AURC sr"},     {"aurc_std", "AURC std"}, {"min_aurc", "min AURC"},
        {"ratio_aurc", "/ sgd-pe"},
    };
    for (size_t i = 0; i < LLI_COUNT(titles); i++)
        if (strcmp(titles[i][0], key) == 0)
            return titles[i][1];
    return strncmp(key, "max_", 4) == 0 ? "max" : strncmp(key, "ratio_", 6) == 0 ? "/ sgd-pe" : strrchr(key, '_') + 1;
}

/* In LaTeX the titles stand above their columns, and the second row says whose number it is. */
static void add_heading(lli_table *table, lli_text *groups, const columns *c, bool latex) {
    static const char *const first[] = {"algorithm", "S", "lr", "p"};
    for (size_t i = 0; i < LLI_COUNT(first); i++)
        lli_table_cell(table, first[i]);
    lli_text_add(groups, " & & &");
    for (int k = 0; k < c->found; k++) {
        int m = c->metric[k];
        const char *title = title_of(lli_reproduced_metrics[m].key);
        int width = 1 + paper_has(c, m) + has_ratio(c, m);
        lli_table_cell(table, latex ? "ours" : title);
        if (width > 1)
            lli_table_cell(table, "paper");
        if (width > 2)
            lli_table_cell(table, "ours/paper");
        lli_text_add(groups, " & \\multicolumn{%d}{c}{%s}", width, title);
    }
    lli_text_add(groups, " \\\\\n");
}

static void add_row(lli_table *table, const columns *c, int64_t i) {
    const lli_reproduced_row *row = &c->rows[i];
    char name[64];
    lli_table_cell(table, algorithm(name, row));
    option_cell(table, row, samples_of);
    option_cell(table, row, lr_of);
    option_cell(table, row, dropout_of);
    for (int k = 0; k < c->found; k++) {
        int m = c->metric[k];
        our_cell(table, c, i, m);
        if (paper_has(c, m))
            paper_cell(table, c, i, m);
        if (has_ratio(c, m))
            lli_table_number(table, row->ours[m] / row->paper[m]);
    }
}

static void add_table(lli_text *out, columns *c, const char *kind, const char *headline, bool latex) {
    int width = 4;
    char align[LLI_TABLE_COLUMNS_MAX + 1] = "lrrr";
    find_columns(c, kind);
    for (int k = 0; k < c->found; k++)
        for (int j = 0; j < 1 + paper_has(c, c->metric[k]) + has_ratio(c, c->metric[k]); j++)
            align[width++] = 'r';
    align[width] = 0;
    lli_table table;
    lli_text groups;
    lli_text_init(&groups, out->ctx);
    lli_table_init(&table, out->ctx, align);
    add_heading(&table, &groups, c, latex);
    for (int64_t i = 0; i < c->count; i++)
        add_row(&table, c, i);
    lli_text_add(out, latex ? "\n%% %s\n" : "\n%s\n\n", headline);
    if (latex && groups.status == LL_OK)
        lli_table_latex(&table, out, groups.data);
    else
        lli_table_write(&table, out, LL_TEXT_MARKDOWN);
    lli_table_release(&table);
    lli_text_release(&groups);
}

/* Without validation rows half of the test rows chose: then the trials have more rows than the table reports. */
static bool test_split(const columns *c) {
    for (int64_t i = 0; i < c->count; i++)
        if (c->rows[i].seeds)
            return c->rows[i].trial[0]->score[LL_SPLIT_ALL].n > c->rows[i].trial[0]->score[LL_SPLIT_TEST].n;
    return false;
}

static void add_tables(lli_text *out, columns *c, bool latex) {
    bool paper = strcmp(c->rows[0].protocol, "paper") == 0, halves = test_split(c);
    const char *mark = latex ? "%" : "##";
    const char *rule = paper    ? "protocol paper: the test rows choose and report"
                       : halves ? "protocol honest: without validation rows, half of the test rows choose and the others report"
                                : "protocol honest: validation rows choose, test rows report";
    if (strcmp(c->rows[0].task, "selective") == 0) {
        lli_text_add(out, "\n%s Selective classification, %s\n", mark, rule);
        add_table(out, c, NULL, "Chosen by the least AURC of sr and std; lower AURC is better.", latex);
        return;
    }
    find_columns(c, "auroc");
    bool hq = c->found == 5;
    lli_text_add(out, "\n%s Out of distribution: %s, %s\n", mark, c->made->unknown, rule);
    lli_text_add(out, "\n%sChosen by %s; higher is better; max is over the columns before it.\n", latex ? "% " : "",
                 paper && hq ? "the largest AUROC of sr, std and hq"
                 : paper     ? "the largest AUROC of sr and std"
                 : halves    ? "the least AURC of sr and std, on half of the test rows of the known classes"
                             : "the least AURC of sr and std, on validation rows of the known classes");
    add_table(out, c, "auroc", latex ? "AUROC" : "### AUROC", latex);
    add_table(out, c, "aupr_in", latex ? "AUPR, known classes positive" : "### AUPR, known classes positive", latex);
    add_table(out, c, "aupr_out", latex ? "AUPR, unknown classes positive" : "### AUPR, unknown classes positive", latex);
}

/* Lines of a comment. */
static void add_comment(lli_text *out, const char *text) {
    for (const char *line = text; *line;) {
        int length = (int)strcspn(line, "\n");
        lli_text_add(out, "%% %.*s\n", length, line);
        line += length + (line[length] != 0);
    }
}

void lli_paper_tables(lli_text *out, const lli_reproduction *r, bool latex) {
    lli_text_add(out, latex ? "%% %s. Needs \\usepackage{booktabs}.\n" : "# %s\n\n", r->dataset);
    if (latex)
        add_comment(out, r->about ? r->about : "");
    else
        lli_text_add(out, "%s\n", r->about ? r->about : "");
    for (int64_t first = 0, end; first < r->count; first = end) {
        for (end = first + 1; end < r->count && same_table(&r->rows[first], &r->rows[end]); end++)
            continue;
        columns c = {.made = r, .rows = r->rows + first, .count = end - first};
        add_tables(out, &c, latex);
    }
}
