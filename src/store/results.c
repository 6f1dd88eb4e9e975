/* SPDX-License-Identifier: MIT */
/* Reads runs.jsonl back, and asks the report room for the table. */
#include "store/results.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/abi.h"
#include "base/memory.h"
#include "base/text.h"
#include "store/journal.h"
#include "formats/tree.h"
#include "metrics/trial_score.h"
#include "report/trials.h"

/* ---- one line ---- */

/* False where the field has no such shape. A null is an undefined number. */
static bool read_number(double *out, const lli_tree *value) {
    *out = lli_tree_number(value);
    return value != NULL;
}

static bool read_score(ll_score *score, const lli_tree *tree) {
    score->n = lli_tree_whole(lli_tree_get(tree, "n"));
    score->errors = lli_tree_whole(lli_tree_get(tree, "errors"));
    bool ok = score->n > 0 && score->errors >= 0 && score->errors <= score->n;
    for (size_t f = 0; f < lli_trial_score_field_count && ok; f++) {
        const lli_trial_score_field *field = &lli_trial_score_fields[f];
        const lli_tree *value = lli_tree_get(tree, field->key);
        double values[LL_CONFIDENCE_COUNT];
        for (ll_confidence c = 0; c < (field->by_confidence ? LL_CONFIDENCE_COUNT : 1) && ok; c++)
            ok = read_number(&values[c], field->by_confidence ? lli_tree_get(value, ll_confidence_name(c)) : value) ||
                 (field->by_confidence && ll_confidence_needs_scores(c));
        memcpy((char *)score + field->offset, values, (field->by_confidence ? LL_CONFIDENCE_COUNT : 1) * sizeof *values);
    }
    return ok;
}

/* 0 where it is null, -1 where it is not a whole number. */
static int64_t read_whole(const lli_tree *value) {
    return value && isnan(lli_tree_number(value)) && !lli_tree_text(value) ? 0 : lli_tree_whole(value);
}

/* The texts stay in the tree. */
static bool read_trial(ll_trial *t, const lli_tree *tree) {
    *t = (ll_trial){.name = lli_tree_text(lli_tree_get(tree, "trial")),
                    .run = lli_tree_text(lli_tree_get(tree, "run")),
                    .method = lli_tree_text(lli_tree_get(tree, "method"))};
    const char *status = lli_tree_text(lli_tree_get(tree, "status"));
    if (!t->name || !t->run || !t->method || !status)
        return false;
    t->samples = read_whole(lli_tree_get(tree, "samples"));
    t->batch_size = read_whole(lli_tree_get(tree, "batch_size"));
    t->epochs = read_whole(lli_tree_get(tree, "epochs"));
    bool ok = t->samples > 0 && t->batch_size >= 0 && t->epochs >= 0 && read_number(&t->lr, lli_tree_get(tree, "lr")) &&
              read_number(&t->dropout, lli_tree_get(tree, "dropout")) && read_number(&t->seconds, lli_tree_get(tree, "seconds"));
    t->diverged = strcmp(status, "diverged") == 0;
    if (!ok || t->diverged)
        return ok;
    const lli_tree *all = lli_tree_get(tree, "all");
    return strcmp(status, "ok") == 0 && read_score(&t->score[LL_SPLIT_VAL], lli_tree_get(tree, "val")) &&
           read_score(&t->score[LL_SPLIT_TEST], lli_tree_get(tree, "test")) &&
           read_score(&t->score[LL_SPLIT_ALL], all ? all : lli_tree_get(tree, "test"));
}

/* ---- all lines ---- */

int64_t lli_results_find(const ll_results *r, const char *name) {
    for (int64_t i = 0; i < r->count; i++)
        if (strcmp(r->trials[i].name, name) == 0)
            return i;
    return -1;
}

/* By method in the order of the table, then by options, the largest lr first. */
static int compare(const ll_trial *a, const ll_trial *b) {
    const double keys[][2] = {{(double)a->batch_size, (double)b->batch_size},
                              {(double)a->epochs, (double)b->epochs},
                              {isnan(a->dropout) ? 0 : a->dropout, isnan(b->dropout) ? 0 : b->dropout},
                              {isnan(b->lr) ? 0 : b->lr, isnan(a->lr) ? 0 : a->lr},
                              {(double)a->samples, (double)b->samples}};
    size_t ranks[2] = {0, 0};
    const char *methods[2] = {a->method, b->method};
    for (int i = 0; i < 2; i++)
        while (ranks[i] < ll_method_count() && strcmp(ll_method_get(ranks[i])->name, methods[i]) != 0)
            ranks[i]++;
    if (ranks[0] != ranks[1])
        return ranks[0] < ranks[1] ? -1 : 1;
    for (size_t i = 0; i < LLI_COUNT(keys); i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* A copy of the trial behind the others. */
static ll_status append(ll_context *ctx, ll_results *r, const ll_trial *trial) {
    if (r->count == r->capacity) {
        int64_t capacity = LLI_MAX(64, 2 * r->capacity);
        LLI_TRY(lli_memory_grow(ctx, &r->trials, r->capacity, capacity, sizeof *r->trials));
        r->capacity = capacity;
    }
    ll_trial copy = *trial;
    char *texts[3] = {NULL, NULL, NULL};
    ll_status status;
    LLI_DO(lli_memory_text(ctx, &texts[0], trial->name));
    LLI_DO(lli_memory_text(ctx, &texts[1], trial->run));
    LLI_DO(lli_memory_text(ctx, &texts[2], trial->method));
    copy.name = texts[0];
    copy.run = texts[1];
    copy.method = texts[2];
    r->trials[r->count++] = copy;
    return LL_OK;
done:
    for (int i = 0; i < 3; i++)
        lli_memory_free(texts[i]);
    return status;
}

ll_status lli_results_add(ll_context *ctx, ll_results *r, const ll_trial *trial) {
    LLI_TRY(append(ctx, r, trial));
    int64_t at = r->count - 1;
    ll_trial added = r->trials[at];
    for (; at > 0 && compare(&r->trials[at - 1], &added) > 0; at--)
        r->trials[at] = r->trials[at - 1];
    r->trials[at] = added;
    return LL_OK;
}

static void trial_release(ll_trial *t) {
    const char *const texts[] = {t->name, t->run, t->method};
    for (size_t i = 0; i < LLI_COUNT(texts); i++)
        lli_memory_free((void *)(uintptr_t)texts[i]);
}

static int by_place(const void *a, const void *b) {
    return compare(a, b);
}

/* Of trials of one name the older one, which stands first in memory. */
static int by_name(const void *a, const void *b) {
    const ll_trial *one = *(ll_trial *const *)a, *other = *(ll_trial *const *)b;
    int order = strcmp(one->name, other->name);
    return order ? order : one < other ? -1 : 1;
}

/* Of each name the first trial, all in their order. */
static ll_status settle(ll_context *ctx, ll_results *r) {
    ll_trial **named;
    if (r->count == 0)
        return LL_OK;
    LLI_TRY(lli_memory_new(ctx, &named, r->count, sizeof *named));
    for (int64_t i = 0; i < r->count; i++)
        named[i] = &r->trials[i];
    qsort(named, (size_t)r->count, sizeof *named, by_name);
    const ll_trial *first = NULL;
    for (int64_t i = 0; i < r->count; i++) {
        if (!first || strcmp(first->name, named[i]->name) != 0) {
            first = named[i];
            continue;
        }
        trial_release(named[i]);
        *named[i] = (ll_trial){0};
    }
    lli_memory_free(named);
    int64_t kept = 0;
    for (int64_t i = 0; i < r->count; i++)
        if (r->trials[i].name)
            r->trials[kept++] = r->trials[i];
    r->count = kept;
    qsort(r->trials, (size_t)kept, sizeof *r->trials, by_place);
    return LL_OK;
}

/* A line that is no trial is reported and skipped: its trial counts as not run. Running out of memory is a failure instead. */
static ll_status read_line(ll_context *ctx, ll_results *r, const char *path, int64_t number, const char *line, size_t size) {
    lli_text place;
    lli_tree *tree = NULL;
    ll_trial trial;
    ll_status status;
    lli_text_init(&place, ctx);
    lli_text_add(&place, "%s, line %" PRId64, path, number);
    LLI_DO(place.status);
    status = lli_tree_parse(&tree, ctx, line, size, place.data);
    if (status == LL_ERR_FORMAT) {
        lli_log(ctx, LL_LOG_WARNING, "%s; the line is skipped", ctx->message);
        status = LL_OK;
        goto done;
    }
    LLI_DO(status);
    if (read_trial(&trial, tree))
        LLI_DO(append(ctx, r, &trial));
    else
        lli_log(ctx, LL_LOG_WARNING, "%s: not a finished trial; the line is skipped", place.data);
done:
    lli_tree_free(tree);
    lli_text_release(&place);
    return status;
}

ll_status ll_results_read(ll_results **out, ll_context *ctx, const char *store) {
    LLI_NEED(ctx, out, store);
    *out = NULL;
    ll_results *r = NULL;
    char *lines = NULL;
    lli_budget budget = NULL;
    lli_text path;
    ll_status status;
    lli_text_init(&path, ctx);
    lli_text_add(&path, "%s/runs.jsonl", store);
    LLI_DO(path.status);
    LLI_DO(lli_memory_new(ctx, &r, 1, sizeof *r));
    int64_t size, number = 1;
    LLI_DO(lli_journal_read(&lines, &size, ctx, path.data));
    LLI_DO(lli_memory_budget_begin(&budget, ctx, path.data, (size_t)size));
    for (const char *p = lines, *end = lines + size, *next; p < end; p = next, number++) {
        next = (const char *)memchr(p, '\n', (size_t)(end - p)) + 1;
        LLI_DO(read_line(ctx, r, path.data, number, p, (size_t)(next - p)));
    }
    LLI_DO(settle(ctx, r));
    *out = r;
    r = NULL;
done:
    ll_results_free(r);
    lli_memory_budget_end(&budget, ctx);
    lli_memory_free(lines);
    lli_text_release(&path);
    return status;
}

static bool names_it(const char *names, const char *name) {
    size_t length = strlen(name);
    for (const char *p = names; (p = strstr(p, name)); p++)
        if (p > names && p[-1] == '\n' && p[length] == '\n')
            return true;
    return false;
}

void lli_results_keep(ll_results *r, const char *names) {
    int64_t kept = 0;
    for (int64_t i = 0; i < r->count; i++) {
        if (names_it(names, r->trials[i].name))
            r->trials[kept++] = r->trials[i];
        else
            trial_release(&r->trials[i]);
    }
    r->count = kept;
}

void ll_results_free(ll_results *r) {
    for (int64_t i = 0; r && i < r->count; i++)
        trial_release(&r->trials[i]);
    if (r)
        lli_memory_free(r->trials);
    lli_memory_free(r);
}

int64_t ll_results_count(const ll_results *r) {
    return r ? r->count : 0;
}

const ll_trial *ll_results_trial(const ll_results *r, int64_t i) {
    return i >= 0 && i < ll_results_count(r) ? &r->trials[i] : NULL;
}

int64_t ll_results_best(const ll_results *r, const char *method, const char *protocol, const char *by) {
    ll_context words = {0}; /* only for the sentence, which nobody reads */
    lli_selection selection;
    return r && lli_selection_parse(&selection, &words, protocol, by) == LL_OK ? lli_selection_best(&selection, r->trials, r->count, method)
                                                                               : -1;
}

ll_status ll_results_text(char **out, ll_context *ctx, const ll_results *results, const char *protocol, const char *by, ll_text_form form) {
    LLI_NEED(ctx, out, results);
    LLI_TRY(lli_need_form(ctx, form));
    *out = NULL;
    lli_selection selection;
    LLI_TRY(lli_selection_parse(&selection, ctx, protocol, by));
    return lli_trials_text(out, ctx, results->trials, results->count, &selection, form);
}
