/* SPDX-License-Identifier: MIT */
/* From the stores of an experiment to its tables. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "formats/text_file.h"
#include "metrics/selection.h"
#include "paper/chosen.h"
#include "paper/paper.h"
#include "paper/paper_tables.h"
#include "paper/reproduce.h"
#include "store/results.h"

const char *const lli_tasks[LLI_TASKS] = {"selective", "ood"};

enum { ROWS_MAX = 80 };

typedef struct tables {
    const lli_reproduce *r;
    ll_results *results[LLI_SEEDS_MAX][LLI_TASKS][LLI_SCOPES_MAX];
    lli_reproduced_row rows[ROWS_MAX];
    char *stores[ROWS_MAX]; /* of the first trial of each row */
    int64_t count;
} tables;

static int task_count(const lli_reproduce *r) {
    return r->unknown ? LLI_TASKS : r->tasks;
}

/* The task whose stores hold the trials. */
static int trained_task(const lli_reproduce *r, int task) {
    return r->unknown ? LLI_TASK_SELECTIVE : task;
}

static int scope_count(const lli_reproduce *r) {
    return (int)r->layers + r->full;
}

static bool is_full(const lli_reproduce *r, int scope) {
    return scope >= r->layers;
}

const char *lli_reproduce_scope(const lli_reproduce *r, int64_t layers, bool full) {
    static const char *const names[] = {"layers-1", "layers-2", "layers-3"};
    return full ? "full" : r->experiment.layers > 1 ? names[layers - 1] : "last";
}

const char *lli_reproduce_suffix(const lli_reproduce *r) {
    static const char *const suffixes[] = {"", "-quick", "-given", "-quick-given"};
    return suffixes[r->options.quick + 2 * (r->options.network || r->options.features)];
}

static const char *scope_name(const lli_reproduce *r, int scope) {
    return lli_reproduce_scope(r, scope + 1, is_full(r, scope));
}

static ll_status store_of(char **out, ll_context *ctx, const lli_reproduce *r, int64_t seed, int task, int scope) {
    lli_text path;
    lli_text_init(&path, ctx);
    lli_text_add(&path, "%s/%s%s/seed-%" PRIu64 "/%s/%s", r->options.results, r->experiment.name, lli_reproduce_suffix(r), r->seeds[seed],
                 lli_tasks[trained_task(r, task)], scope_name(r, scope));
    return lli_text_take(&path, out);
}

static ll_status read_results(ll_context *ctx, tables *t) {
    const lli_reproduce *r = t->r;
    for (int64_t seed = 0; seed < r->seed_count; seed++)
        for (int task = 0; task < task_count(r); task++)
            for (int scope = 0; scope < scope_count(r); scope++) {
                char *path;
                LLI_TRY(store_of(&path, ctx, r, seed, task, scope));
                ll_status status = ll_results_read(&t->results[seed][task][scope], ctx, path);
                lli_memory_free(path);
                LLI_TRY(status);
                lli_results_keep(t->results[seed][task][scope], r->trials[seed][trained_task(r, task)][scope].data);
            }
    return LL_OK;
}

/* The scope whose point estimate the others are divided by: the last layer, on ImageNet two layers. */
static int reference_scope(const lli_reproduce *r) {
    return r->experiment.layers > 1 && r->layers > 1 ? 1 : 0;
}

/* Whether the paper's table of AUROC shows hq. */
static bool shows_hq(const lli_reproduce *r) {
    return !isnan(lli_paper_value(r->experiment.name, lli_tasks[LLI_TASK_OOD], "last", "dropout", "auroc_hq"));
}

static const ll_trial *chosen(const tables *t, int64_t seed, int task, int scope, const char *method, const char *protocol) {
    const ll_results *results = t->results[seed][task][scope];
    bool paper = strcmp(protocol, "paper") == 0, auroc = paper && task == LLI_TASK_OOD;
    const lli_selection selection = {!auroc           ? LLI_SELECTION_AURC
                                     : shows_hq(t->r) ? LLI_SELECTION_AUROC_HQ
                                                      : LLI_SELECTION_AUROC,
                                     paper ? LL_SPLIT_ALL : LL_SPLIT_VAL, paper ? LL_SPLIT_ALL : LL_SPLIT_TEST};
    int64_t best = lli_selection_best(&selection, results->trials, results->count, method);
    return best < 0 ? NULL : &results->trials[best];
}

/* Of one seed; the standard deviation says more about several. */
static ll_status add_intervals(ll_context *ctx, lli_reproduced_row *row, const char *store) {
    lli_chosen chosen = {0};
    if (row->seeds == 1)
        LLI_TRY(lli_chosen_read(&chosen, ctx, store, row->protocol, row->trial[0]));
    for (int m = 0; m < LLI_REPRODUCED_METRICS; m++)
        row->interval[m] = lli_chosen_interval(&chosen, lli_reproduced_metrics[m].key);
    lli_chosen_release(&chosen);
    return LL_OK;
}

/* Numbers are made here by the metrics room; rows that all diverged stay, without numbers. */
static ll_status add_row(ll_context *ctx, tables *t, int task, int scope, const char *method, const char *protocol) {
    const lli_reproduce *r = t->r;
    LLI_TRY(store_of(&t->stores[t->count], ctx, r, 0, task, scope));
    lli_reproduced_row *row = &t->rows[t->count++];
    const char *name = scope_name(r, scope);
    ll_split split = strcmp(protocol, "paper") == 0 ? LL_SPLIT_ALL : LL_SPLIT_TEST;
    *row = (lli_reproduced_row){.task = lli_tasks[task], .protocol = protocol, .scope = name, .method = method};
    const ll_trial *point[LLI_SEEDS_MAX];
    for (int64_t seed = 0; seed < r->seed_count; seed++) {
        const ll_trial *trial = chosen(t, seed, task, scope, method, protocol);
        point[row->seeds] = chosen(t, seed, task, reference_scope(r), "point", protocol);
        if (trial)
            row->trial[row->seeds++] = trial;
    }
    for (int m = 0; m < LLI_REPRODUCED_METRICS; m++) {
        double values[LLI_SEEDS_MAX];
        const char *key = lli_reproduced_metrics[m].key;
        for (int64_t s = 0; s < row->seeds; s++)
            values[s] = lli_selection_metric(key, &row->trial[s]->score[split], point[s] ? &point[s]->score[split] : NULL, shows_hq(r));
        lli_selection_spread(&row->ours[m], &row->spread[m], values, row->seeds);
        row->paper[m] = lli_paper_value(r->experiment.name, lli_tasks[task], name, method, key);
    }
    return add_intervals(ctx, row, t->stores[t->count - 1]);
}

static ll_status add_rows(ll_context *ctx, tables *t, int task, const char *protocol) {
    static const char *const methods[] = {"dropout", "bootstrap", "sgd", "sgld"};
    const lli_reproduce *r = t->r;
    bool by_layers = r->experiment.layers > 1;
    for (int scope = 0; by_layers && scope < scope_count(r); scope++) { /* as the paper's table of ImageNet */
        for (size_t m = 0; m < LLI_COUNT(methods); m++)
            LLI_TRY(add_row(ctx, t, task, scope, methods[m], protocol));
        LLI_TRY(add_row(ctx, t, task, scope, "point", protocol));
    }
    for (size_t m = 0; !by_layers && m < LLI_COUNT(methods); m++)
        for (int scope = 0; scope < scope_count(r); scope++)
            LLI_TRY(add_row(ctx, t, task, scope, methods[m], protocol));
    return by_layers ? LL_OK : add_row(ctx, t, task, 0, "point", protocol);
}

static double seconds_of(const tables *t, bool full) {
    double seconds = 0;
    for (int64_t seed = 0; seed < t->r->seed_count; seed++)
        for (int task = 0; task < t->r->tasks; task++)
            for (int scope = 0; scope < scope_count(t->r); scope++)
                for (int64_t i = 0; is_full(t->r, scope) == full && i < t->results[seed][task][scope]->count; i++)
                    seconds += t->results[seed][task][scope]->trials[i].seconds;
    return seconds;
}

static int64_t diverged(const tables *t, const char *method) {
    int64_t count = 0;
    for (int64_t seed = 0; seed < t->r->seed_count; seed++)
        for (int task = 0; task < t->r->tasks; task++)
            for (int scope = 0; scope < scope_count(t->r); scope++)
                for (int64_t i = 0; i < t->results[seed][task][scope]->count; i++) {
                    const ll_trial *trial = &t->results[seed][task][scope]->trials[i];
                    count += trial->diverged && strcmp(trial->method, method) == 0;
                }
    return count;
}

/* Its network, trained its way, on its images. */
static bool is_papers_task(const lli_reproduce *r) {
    const ll_reproduce_options *o = &r->options;
    return !o->quick && !o->features && !o->network && !o->net && !o->epochs;
}

static ll_status describe(lli_text *out, const tables *t) {
    const lli_reproduce *r = t->r;
    const ll_reproduce_options *o = &r->options;
    bool changed = r->full && (o->full_lr || o->full_samples || o->full_epochs || o->full_dropout);
    lli_text_add(out, "lastlayer %s (%s kernels), %s, seed%s", LL_VERSION, ll_isa(),
                 o->quick  ? "the short version, not for comparison with the paper"
                 : changed ? "the paper's grid on the last layer, another on the full network"
                           : "the paper's grids",
                 r->seed_count > 1 ? "s" : "");
    for (int64_t s = 0; s < r->seed_count; s++)
        lli_text_add(out, "%s %" PRIu64, s ? "," : "", r->seeds[s]);
    lli_text_add(out, ".\n");
    const char *given = r->options.features ? r->options.features : r->options.network;
    lli_text_add(out, r->options.features ? "On given features: " : "Network: ");
    lli_text_foreign(out, given ? given : r->experiment.net);
    lli_text_add(out, "%s.\n", given ? "" : ", trained here; a tenth of the training rows chooses");
    lli_text_add(out, "Grid of the last layer: lr %s, S %s, epochs %s, p %s, batches of %s.\n", r->experiment.last.lr,
                 r->experiment.last.samples, r->experiment.last.epochs, r->experiment.last.dropout, r->experiment.batch_size);
    if (r->full)
        lli_text_add(out, "Grid of the full network: lr %s, S %s, epochs %s, p %s.\n", r->experiment.full.lr, r->experiment.full.samples,
                     r->experiment.full.epochs, r->experiment.full.dropout);
    if (r->layers > 1)
        lli_text_add(out, "theta* of several layers: %" PRId64 " epochs of Adam with batches of %s, as the last one left it.\n",
                     ll_train_options_default("head:2").epochs, r->experiment.batch_size);
    lli_text_add(out, "Seconds of workers in all trials: %.0f last layer", seconds_of(t, false));
    if (r->full)
        lli_text_add(out, ", %.0f full network", seconds_of(t, true));
    lli_text_add(out, ". Trials that diverged:");
    for (size_t m = 0; m < ll_method_count(); m++)
        lli_text_add(out, "%s %s %" PRId64, m ? "," : "", ll_method_get(m)->name, diverged(t, ll_method_get(m)->name));
    lli_text_add(out, ".\n/ sgd-pe divides by sgd-pe%s. Bold: the best number of its column, within noise or not. %s",
                 reference_scope(r) ? " of two layers" : "",
                 r->seed_count == 1 ? "Brackets: 95 % intervals over the rows that report."
                 : given            ? "± is the standard deviation over chains on one network; it says nothing about other networks."
                                    : "± is the standard deviation over networks, each with chains of its own.");
    if (!is_papers_task(r))
        lli_text_add(out, "\nNot the paper's task: its network or its training was another, so there is no ratio to its numbers.");
    lli_text_add(out, "\nThe paper says \"equally spaced\" learning rates without naming them; the grid is our reading.");
    return out->status;
}

static ll_status write_form(char **kept, ll_context *ctx, const lli_reproduce *r, const lli_reproduction *made, const char *ending,
                            ll_text_form form, bool latex) {
    lli_text text, path;
    ll_status status;
    lli_text_init(&text, ctx);
    lli_text_init(&path, ctx);
    lli_text_add(&path, "%s/%s%s/tables.%s", r->options.results, r->experiment.name, lli_reproduce_suffix(r), ending);
    LLI_DO(path.status);
    if (latex)
        lli_paper_tables(&text, made, true);
    else
        LLI_DO(lli_reproduction_text(&text, made, form));
    LLI_DO(lli_text_file_write(ctx, path.data, &text));
    if (kept)
        LLI_DO(lli_text_take(&text, kept));
done:
    lli_text_release(&text);
    lli_text_release(&path);
    return status;
}

ll_status lli_reproduce_tables(char **out, ll_context *ctx, const lli_reproduce *r) {
    tables *t;
    lli_text about;
    ll_status status;
    lli_text_init(&about, ctx);
    LLI_TRY(lli_memory_new(ctx, &t, 1, sizeof *t));
    t->r = r;
    LLI_DO(read_results(ctx, t));
    for (int task = 0; task < task_count(r); task++) {
        LLI_DO(add_rows(ctx, t, task, "honest"));
        LLI_DO(add_rows(ctx, t, task, "paper"));
    }
    LLI_DO(describe(&about, t));
    const lli_reproduction made = {.dataset = r->experiment.name,
                                   .about = about.data,
                                   .seeds = r->seeds,
                                   .seed_count = r->seed_count,
                                   .rows = t->rows,
                                   .count = t->count,
                                   .same_task = is_papers_task(r),
                                   .unknown = r->unknown ? "the rows of features_out" : "the other half of the classes"};
    LLI_DO(write_form(NULL, ctx, r, &made, "csv", LL_TEXT_CSV, false));
    LLI_DO(write_form(NULL, ctx, r, &made, "json", LL_TEXT_JSON, false));
    LLI_DO(lli_reproduce_figures(ctx, r, t->rows, (const char *const *)t->stores, t->count));
    LLI_DO(write_form(r->options.latex ? out : NULL, ctx, r, &made, "tex", LL_TEXT_PLAIN, true));
    LLI_DO(write_form(r->options.latex ? NULL : out, ctx, r, &made, "md", LL_TEXT_MARKDOWN, false));
done:
    for (int64_t i = 0; i < t->count; i++)
        lli_memory_free(t->stores[i]);
    for (int64_t seed = 0; seed < LLI_SEEDS_MAX; seed++)
        for (int task = 0; task < LLI_TASKS; task++)
            for (int scope = 0; scope < LLI_SCOPES_MAX; scope++)
                ll_results_free(t->results[seed][task][scope]);
    lli_text_release(&about);
    lli_memory_free(t);
    return status;
}
