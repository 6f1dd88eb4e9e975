/* SPDX-License-Identifier: MIT */
/* Trials as lines of JSON, as the choice among them, and as the sorted table. */
#include "report/trials.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "metrics/trial_score.h"
#include "report/table.h"

/* ---- JSON ---- */

static void add_score(lli_text *out, const ll_score *score) {
    lli_text_add(out, "{\"n\":%" PRId64 ",\"errors\":%" PRId64, score->n, score->errors);
    for (size_t f = 0; f < lli_trial_score_field_count; f++) {
        const lli_trial_score_field *field = &lli_trial_score_fields[f];
        double values[LL_CONFIDENCE_COUNT];
        memcpy(values, (const char *)score + field->offset, (field->by_confidence ? LL_CONFIDENCE_COUNT : 1) * sizeof *values);
        lli_text_add(out, ",\"%s\":", field->key);
        if (!field->by_confidence) {
            lli_text_json_number(out, values[0]);
            continue;
        }
        for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++) {
            if (ll_confidence_needs_scores(c) && isnan(values[c]))
                continue;
            lli_text_add(out, "%s\"%s\":", c ? "," : "{", ll_confidence_name(c));
            lli_text_json_number(out, values[c]);
        }
        lli_text_append(out, "}", 1);
    }
    lli_text_append(out, "}", 1);
}

/* TEST and ALL are one unless the test rows were split. */
static bool split_apart(const ll_trial *trial) {
    return trial->score[LL_SPLIT_ALL].n != trial->score[LL_SPLIT_TEST].n;
}

static void add_whole(lli_text *out, const char *key, int64_t value) {
    lli_text_add(out, ",\"%s\":", key);
    if (value)
        lli_text_add(out, "%" PRId64, value);
    else
        lli_text_add(out, "null");
}

void lli_trials_json(lli_text *out, const ll_trial *t) {
    lli_text_add(out, "{\"trial\":");
    lli_text_json_string(out, t->name);
    lli_text_add(out, ",\"run\":");
    lli_text_json_string(out, t->run);
    lli_text_add(out, ",\"method\":");
    lli_text_json_string(out, t->method);
    add_whole(out, "samples", t->samples);
    add_whole(out, "batch_size", t->batch_size);
    add_whole(out, "epochs", t->epochs);
    lli_text_add(out, ",\"lr\":");
    lli_text_json_number(out, t->lr);
    lli_text_add(out, ",\"dropout\":");
    lli_text_json_number(out, t->dropout);
    lli_text_add(out, ",\"status\":\"%s\",\"seconds\":", t->diverged ? "diverged" : "ok");
    lli_text_json_number(out, t->seconds);
    for (ll_split split = 0; split < LL_SPLIT_COUNT && !t->diverged; split++) {
        if (split == LL_SPLIT_ALL && !split_apart(t))
            continue;
        lli_text_add(out, ",\"%s\":", ll_split_name(split));
        add_score(out, &t->score[split]);
    }
    lli_text_append(out, "}", 1);
}

/* The name of a split as the reader of a table knows it. */
static const char *split_word(ll_split split, const ll_trial *trials, int64_t count) {
    bool apart = false;
    for (int64_t i = 0; i < count; i++)
        apart = apart || (!trials[i].diverged && split_apart(&trials[i]));
    return ll_split_name(split == LL_SPLIT_ALL && !apart ? LL_SPLIT_TEST : split);
}

static const char *rule_word(const lli_selection *s) {
    static const char *const words[] = {"aurc", "aurc-hq", "auroc"};
    return words[s->rule];
}

static void add_choice(lli_text *out, const ll_trial *trials, const lli_selection_peers *peers, int64_t count, const lli_selection *s) {
    lli_text_add(out, "\"protocol\": \"%s\",\n\"chosen_on\": \"%s\",\n\"reported_on\": \"%s\",\n\"by\": \"%s\",\n\"best\": {",
                 s->chooses == LL_SPLIT_VAL ? "honest" : "paper", split_word(s->chooses, trials, count),
                 split_word(s->reports, trials, count), rule_word(s));
    bool more = false;
    for (int64_t i = 0; i < count; i++) {
        if (peers[i].first != i)
            continue;
        lli_text_add(out, "%s\n  ", more ? "," : "");
        lli_text_json_string(out, trials[i].method);
        lli_text_add(out, ": ");
        if (peers[i].best < 0)
            lli_text_add(out, "null");
        else
            lli_text_json_string(out, trials[peers[i].best].name);
        more = true;
    }
    lli_text_add(out, "\n}");
}

ll_status lli_trials_choice_json(lli_text *out, const ll_trial *trials, int64_t count, const lli_selection *s) {
    lli_selection_peers *peers;
    ll_status status;
    LLI_DO(lli_memory_new(out->ctx, &peers, count, sizeof *peers));
    LLI_DO(lli_selection_group(peers, out->ctx, s, trials, count));
    lli_text_add(out, "{\n");
    add_choice(out, trials, peers, count, s);
    lli_text_add(out, "\n}\n");
    LLI_DO(out->status);
done:
    lli_memory_free(peers);
    return status;
}

static void add_json(lli_text *out, const ll_trial *trials, const lli_selection_peers *peers, const int64_t *order, int64_t count,
                     const lli_selection *s) {
    lli_text_add(out, "{\n");
    add_choice(out, trials, peers, count, s);
    lli_text_add(out, ",\n\"trials\": [");
    for (int64_t i = 0; i < count; i++) {
        lli_text_add(out, "%s\n", i ? "," : "");
        lli_trials_json(out, &trials[order[i]]);
    }
    lli_text_add(out, "\n]\n}\n");
}

/* ---- the table ---- */

enum { COLUMNS = 17 };

static void add_option(lli_table *table, double value, bool present) {
    lli_text text;
    lli_text_init(&text, table->text.ctx);
    if (present)
        lli_text_number(&text, value);
    lli_table_cell(table, text.data ? text.data : "");
    lli_text_release(&text);
}

static void add_row(lli_table *table, const ll_trial *t, const lli_selection *s, bool best, double point, bool exact) {
    const ll_score *r = &t->score[s->reports];
    double value = lli_selection_value(s, t), least = lli_selection_aurc(r, s->rule == LLI_SELECTION_AURC_HQ);
    lli_table_cell(table, best ? "*" : "");
    lli_table_cell(table, t->method);
    lli_table_count(table, t->samples);
    add_option(table, t->lr, !isnan(t->lr));
    add_option(table, t->dropout, !isnan(t->dropout));
    add_option(table, (double)t->epochs, t->epochs > 0);
    add_option(table, (double)t->batch_size, t->batch_size > 0);
    if (t->diverged) {
        lli_table_cell(table, "diverged");
        for (int i = 8; i < table->columns; i++)
            lli_table_cell(table, exact ? "" : "-");
        return;
    }
    const double numbers[] = {fabs(value),
                              r->accuracy,
                              r->ece,
                              r->nll,
                              r->aurc[LL_CONFIDENCE_SR],
                              r->aurc[LL_CONFIDENCE_STD],
                              r->aurc[LL_CONFIDENCE_HQ],
                              least,
                              least / point,
                              lli_selection_largest(r->auroc, s->rule == LLI_SELECTION_AUROC_HQ)};
    for (int i = 0; i < table->columns - 7; i++)
        if (exact)
            lli_table_exact(table, numbers[i]);
        else
            lli_table_number(table, numbers[i]);
}

static bool knows_out(const ll_trial *trials, int64_t count, const lli_selection *s) {
    bool known = false;
    for (int64_t i = 0; i < count; i++)
        known = known || (!trials[i].diverged && !isnan(trials[i].score[s->reports].auroc[LL_CONFIDENCE_SR]));
    return known;
}

static void add_table(lli_text *out, ll_context *ctx, const ll_trial *trials, const lli_selection_peers *peers, const int64_t *order,
                      int64_t count, const lli_selection *s, ll_text_form form) {
    static const char *const heads[2][COLUMNS] = {
        {"", "method", "S", "lr", "p", "epochs", "B", "chosen by", "accuracy", "ECE", "NLL", "AURC sr", "AURC std", "AURC hq", "min AURC",
         "/ point", "AUROC"},
        {"best", "method", "samples", "lr", "dropout", "epochs", "batch_size", "chosen_by", "accuracy", "ece", "nll", "aurc_sr", "aurc_std",
         "aurc_hq", "min_aurc", "of_point", "auroc"},
    };
    bool exact = form == LL_TEXT_CSV;
    int64_t at = lli_selection_best(s, trials, count, "point");
    double point = at < 0 ? NAN : trials[at].score[s->reports].aurc[LL_CONFIDENCE_SR];
    lli_table table;
    lli_table_init(&table, ctx, knows_out(trials, count, s) ? "llrrrrrrrrrrrrrrr" : "llrrrrrrrrrrrrrr");
    for (int i = 0; i < table.columns; i++)
        lli_table_cell(&table, heads[exact][i]);
    for (int64_t i = 0; i < count; i++)
        add_row(&table, &trials[order[i]], s, peers[order[i]].best == order[i], point, exact);
    lli_table_write(&table, out, form);
    lli_table_release(&table);
}

static void add_rules(lli_text *out, const ll_trial *trials, const int64_t *order, int64_t count, const lli_selection *s) {
    static const char *const rules[] = {"least AURC of sr and std", "least AURC of sr, std and hq", "largest AUROC of sr and std",
                                        "largest AUROC of sr, std and hq"};
    const ll_trial *first = &trials[order[0]];
    if (first->diverged)
        return;
    lli_text_add(out,
                 "\n* best of its method. Chosen by the %s on %" PRId64 " %s rows; all numbers to the right of that are of %" PRId64
                 " %s rows.\n",
                 rules[s->rule], first->score[s->chooses].n, split_word(s->chooses, trials, count), first->score[s->reports].n,
                 split_word(s->reports, trials, count));
    if (s->chooses == s->reports)
        lli_text_add(out, "The rows that chose are the rows that are reported, as in the paper: expect somewhat worse on new ones.\n");
    if (s->chooses == LL_SPLIT_VAL && split_apart(first))
        lli_text_add(out, "No validation rows were given: half of the test rows, by the seed, chose, and the other half is reported.\n");
    lli_text_add(out, "/ point: min AURC divided by the AURC of sr of the point estimate; below 1 is better.\n");
}

ll_status lli_trials_text(char **out, ll_context *ctx, const ll_trial *trials, int64_t count, const lli_selection *s, ll_text_form form) {
    lli_text text;
    int64_t *order = NULL;
    lli_selection_peers *peers = NULL;
    ll_status status;
    *out = NULL;
    lli_text_init(&text, ctx);
    LLI_DO(lli_memory_new(ctx, &order, count, sizeof *order));
    LLI_DO(lli_memory_new(ctx, &peers, count, sizeof *peers));
    LLI_DO(lli_selection_order(order, ctx, s, trials, count));
    LLI_DO(lli_selection_group(peers, ctx, s, trials, count));
    if (form == LL_TEXT_JSON)
        add_json(&text, trials, peers, order, count, s);
    else
        add_table(&text, ctx, trials, peers, order, count, s, form);
    if (count > 0 && (form == LL_TEXT_PLAIN || form == LL_TEXT_MARKDOWN))
        add_rules(&text, trials, order, count, s);
    LLI_DO(lli_text_take(&text, out));
done:
    lli_text_release(&text);
    lli_memory_free(order);
    lli_memory_free(peers);
    return status;
}
