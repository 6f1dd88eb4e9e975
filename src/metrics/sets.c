/* SPDX-License-Identifier: MIT */
/* Sets of new rows by a rule, and how they did where the true classes are known. */
#include "metrics/sets.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/abi.h"
#include "base/array.h"
#include "base/memory.h"
#include "metrics/interval.h"
#include "metrics/outcome.h"
#include "metrics/special.h"

ll_interval lli_sets_interval(int64_t covered, int64_t n) {
    return n > 0 ? lli_interval_wilson(covered, n, lli_special_normal_quantile((1 + 0.95) / 2)) : lli_interval_none;
}

ll_status lli_sets_take(ll_outcome *out, ll_context *ctx, const ll_outcome *given, const char *name, bool truth) {
    LLI_TRY(lli_outcome_take(out, ctx, given));
    LLI_TRY(lli_outcome_check(ctx, name, out));
    if (!out->probs.data)
        return lli_fail(ctx, LL_ERR_DATA, "%s have no probs, which sets are made of; predict them without `no-probs`", name);
    if (truth && !out->truth)
        return lli_fail(ctx, LL_ERR_DATA, "%s have no true classes; give their labels", name);
    return LL_OK;
}

ll_status lli_sets_hash(char out[LLI_HASH_TEXT], ll_context *ctx, const ll_array *probs) {
    enum { BLOCK = 1024 };
    double p[BLOCK];
    lli_hash hash;
    int64_t total = lli_array_count(probs);
    lli_hash_array(&hash, LL_DTYPE_F64, 2, probs->shape);
    for (int64_t first = 0; first < total; first += BLOCK) {
        int64_t count = LLI_MIN(total - first, (int64_t)BLOCK);
        LLI_TRY(lli_cancel_check(ctx));
        lli_array_to_f64(p, probs, first, count);
        lli_hash_add(&hash, p, (size_t)count * sizeof *p);
    }
    lli_hash_text(&hash, out);
    return LL_OK;
}

ll_status lli_sets_match(ll_context *ctx, const ll_set_rule *rule, const ll_sets *sets) {
    if (rule->info.classes != sets->info.classes)
        return lli_fail(ctx, LL_ERR_USAGE, "the rule is of %" PRId64 " classes and the sets of %" PRId64 "; expected those that it made",
                        rule->info.classes, sets->info.classes);
    return LL_OK;
}

void ll_sets_free(ll_sets *s) {
    if (!s)
        return;
    lli_memory_free(s->set);
    lli_memory_free(s->size);
    lli_memory_free(s->size_n);
    lli_memory_free(s);
}

const ll_sets_info *ll_sets_view(const ll_sets *s) {
    return s ? &s->info : NULL;
}

static ll_status make_room(ll_context *ctx, ll_sets *s, int64_t n, int64_t K) {
    s->info = (ll_sets_info){.n = n, .classes = K, .bytes = lli_conformal_bytes(K), .coverage = NAN, .interval = lli_interval_none};
    int64_t *counts;
    LLI_TRY(lli_memory_new(ctx, &s->set, n, (size_t)s->info.bytes));
    LLI_TRY(lli_memory_new(ctx, &s->size, n, sizeof *s->size));
    LLI_TRY(lli_memory_new(ctx, &counts, 4 * K + 2, sizeof *counts));
    s->size_n = counts;
    s->size_covered = counts + K + 1;
    s->class_n = counts + 2 * K + 2;
    s->class_covered = counts + 3 * K + 2;
    s->info.set = s->set;
    s->info.size = s->size;
    s->info.size_n = s->size_n;
    return LL_OK;
}

static void count(ll_sets *s, const int32_t *truth) {
    ll_sets_info *i = &s->info;
    int64_t total = 0;
    for (int64_t row = 0; row < i->n; row++) {
        s->size_n[s->size[row]]++;
        total += s->size[row];
        if (!truth)
            continue;
        bool in = lli_conformal_has(s->set + row * i->bytes, truth[row]);
        i->covered += in;
        s->size_covered[s->size[row]] += in;
        s->class_n[truth[row]]++;
        s->class_covered[truth[row]] += in;
    }
    i->mean_size = (double)total / (double)i->n;
    if (!truth)
        return;
    i->coverage = (double)i->covered / (double)i->n;
    i->interval = lli_sets_interval(i->covered, i->n);
    i->size_covered = s->size_covered;
    i->class_n = s->class_n;
    i->class_covered = s->class_covered;
}

/* Coverage of the very rows that the quantile comes from is what it is by construction. */
static ll_status warn_same_rows(ll_context *ctx, const ll_set_rule *rule, const ll_array *probs) {
    char hash[LLI_HASH_TEXT];
    LLI_TRY(lli_sets_hash(hash, ctx, probs));
    if (strcmp(hash, rule->rows_hash) == 0)
        lli_log(ctx, LL_LOG_WARNING, "the new rows are the calibration rows; coverage on them is no evidence for others");
    return LL_OK;
}

ll_status ll_sets_new(ll_sets **out, ll_context *ctx, const ll_set_rule *rule, const ll_outcome *given, int64_t row) {
    LLI_NEED(ctx, out, rule, given);
    *out = NULL;
    int64_t K = rule->info.classes;
    ll_outcome points = {0};
    LLI_TRY(lli_sets_take(&points, ctx, given, "the new rows", false));
    if (points.probs.shape[1] != K)
        return lli_fail(ctx, LL_ERR_DATA, "the new rows have %" PRId64 " classes and the calibration rows %" PRId64 "; expected the same",
                        points.probs.shape[1], K);
    if (row < 0 || row > INT64_MAX - points.n)
        return lli_fail(ctx, LL_ERR_USAGE, "the number of the first row is %" PRId64 "; expected 0 or more", row);
    ll_sets *s = NULL;
    ll_status status;
    LLI_DO(lli_memory_new(ctx, &s, 1, sizeof *s));
    LLI_DO(make_room(ctx, s, points.n, K));
    LLI_DO(lli_conformal_sets(ctx, &rule->conformal, &points.probs, row, s->set, s->size));
    LLI_DO(warn_same_rows(ctx, rule, &points.probs));
    count(s, points.truth);
    *out = s;
    s = NULL;
done:
    ll_sets_free(s);
    return status;
}
