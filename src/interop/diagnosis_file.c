/* SPDX-License-Identifier: MIT */
/* Reads back what lastlayer diagnose --json prints. */
#include "interop/diagnosis_file.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "formats/tree.h"

enum { TRACES_MAX = 16 };

/* A positive number, or null: NaN. */
static bool read_positive(double *out, const lli_tree *object, const char *key) {
    const lli_tree *value = lli_tree_get(object, key);
    *out = lli_tree_number(value);
    return lli_tree_is_null(value) || (*out > 0 && isfinite(*out));
}

static bool read_info(ll_diagnosis_info *i, const lli_tree *tree) {
    const lli_tree *rhat = lli_tree_get(tree, "rhat"), *bulk = lli_tree_get(tree, "bulk"), *tail = lli_tree_get(tree, "tail");
    *i = (ll_diagnosis_info){.method = lli_tree_text(lli_tree_get(tree, "method")),
                             .members = lli_tree_whole(lli_tree_get(tree, "members")),
                             .chains = lli_tree_whole(lli_tree_get(tree, "chains")),
                             .rows = lli_tree_whole(lli_tree_get(tree, "rows")),
                             .among = lli_tree_whole(lli_tree_get(tree, "among")),
                             .rhat_limit = lli_tree_number(lli_tree_get(tree, "rhat_limit")),
                             .above = lli_tree_whole(lli_tree_get(tree, "above")),
                             .apart = lli_tree_true(lli_tree_get(tree, "apart")),
                             .repeating = lli_tree_true(lli_tree_get(tree, "repeating"))};
    return i->method && i->chains > 0 && i->members <= LLI_MEMBERS_MAX && i->members / i->chains >= LLI_MIXING_DRAWS_MIN &&
           i->members % i->chains == 0 && i->rows > 0 && i->rows <= i->among && i->above >= 0 && i->above <= i->rows &&
           i->rhat_limit >= 1 && read_positive(&i->rhat_median, rhat, "median") && read_positive(&i->rhat_most, rhat, "most") &&
           read_positive(&i->bulk_median, bulk, "median") && read_positive(&i->bulk_least, bulk, "least") &&
           read_positive(&i->tail_median, tail, "median") && read_positive(&i->tail_least, tail, "least");
}

static bool read_draws(double *draws, int64_t members, const lli_tree *list) {
    bool whole = lli_tree_is_list(list) && lli_tree_count(list) == members;
    for (int64_t s = 0; whole && s < members; s++) {
        draws[s] = lli_tree_number(lli_tree_at(list, s));
        whole = draws[s] >= 0 && draws[s] <= 1;
    }
    return whole;
}

static ll_status read_traces(lli_diagnosis_traces *t, ll_context *ctx, const lli_tree *tree, bool *whole) {
    const lli_tree *worst = lli_tree_get(tree, "worst");
    *whole = read_info(&t->info, tree) && lli_tree_is_list(worst) && lli_tree_count(worst) <= TRACES_MAX;
    if (!*whole)
        return LL_OK;
    t->count = lli_tree_count(worst);
    LLI_TRY(lli_memory_text(ctx, &t->method, t->info.method));
    t->info.method = t->method;
    LLI_TRY(lli_memory_new(ctx, &t->row, t->count, sizeof *t->row));
    LLI_TRY(lli_memory_new(ctx, &t->draws, t->count * t->info.members, sizeof *t->draws));
    for (int64_t i = 0; *whole && i < t->count; i++) {
        t->row[i] = lli_tree_whole(lli_tree_get(lli_tree_at(worst, i), "row"));
        *whole = t->row[i] >= 0 &&
                 read_draws(t->draws + i * t->info.members, t->info.members, lli_tree_get(lli_tree_at(worst, i), "draws"));
    }
    return LL_OK;
}

ll_status lli_diagnosis_file_read(lli_diagnosis_traces **out, ll_context *ctx, const char *path, const char *json) {
    lli_diagnosis_traces *t = NULL;
    lli_tree *tree;
    bool whole;
    *out = NULL;
    LLI_TRY(json ? lli_tree_parse(&tree, ctx, json, strlen(json), path) : lli_tree_read(&tree, ctx, path));
    ll_status status = LL_OK;
    if (!lli_tree_get(tree, "rhat_limit"))
        goto done;
    LLI_DO(lli_memory_new(ctx, &t, 1, sizeof *t));
    LLI_DO(read_traces(t, ctx, tree, &whole));
    if (!whole)
        LLI_DO(lli_fail(ctx, LL_ERR_FORMAT, "%s is not a whole diagnosis; expected what lastlayer diagnose --json prints", path));
    *out = t;
    t = NULL;
done:
    lli_diagnosis_file_free(t);
    lli_tree_free(tree);
    return status;
}

void lli_diagnosis_file_free(lli_diagnosis_traces *t) {
    if (!t)
        return;
    lli_memory_free(t->method);
    lli_memory_free(t->row);
    lli_memory_free(t->draws);
    lli_memory_free(t);
}
