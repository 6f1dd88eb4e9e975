/* SPDX-License-Identifier: MIT */
/* Room for the sums, and the verdict on a row made of them. The kernels do the adding. */
#include "predict/sums.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

/* An array of the tally: elements per row, times K where `by_class`, times the chunk where `by_member`. */
typedef struct array {
    void *at; /* T **, a member of the tally */
    size_t size;
    bool by_class, by_member, sum; /* sum: starts at zero */
} array;

enum { ARRAYS = 24 };

static void arrays_of(array out[ARRAYS], lli_tally *t) {
    const array all[ARRAYS] = {
        {&t->shift, sizeof(double), true, false, true},
        {&t->votes, sizeof(int32_t), true, false, true},
        {&t->square, sizeof(double), true, false, true},
        {&t->divergence, sizeof(double), false, false, true},
        {&t->overflow, sizeof(int32_t), false, false, true},
        {&t->extreme[0], sizeof(float), true, false, false},
        {&t->extreme[1], sizeof(float), true, false, false},
        {&t->extreme[2], sizeof(float), true, false, false},
        {&t->extreme[3], sizeof(float), true, false, false},
        {&t->first, sizeof(float), true, false, false},
        {&t->first_gap, sizeof(float), true, false, false},
        {&t->first_others, sizeof(float), false, false, false},
        {&t->first_inverse, sizeof(double), false, false, false},
        {&t->first_top, sizeof(int32_t), false, false, false},
        {&t->odds, sizeof(float), true, true, false},
        {&t->inverse, sizeof(double), false, true, false},
        {&t->top, sizeof(int32_t), false, true, false},
        {&t->nll, sizeof(double), false, true, false},
        {&t->brier, sizeof(double), false, true, false},
        {&t->correct, sizeof(int32_t), false, true, false},
        {&t->label, sizeof(int32_t), false, false, false},
        {&t->most, sizeof(double), false, false, false},
        {&t->second, sizeof(double), false, false, false},
        {&t->information, sizeof(double), false, false, false},
    };
    memcpy(out, all, sizeof all);
}

static int64_t per_row(const array *a, int64_t K, int64_t chunk) {
    return (a->by_class ? K : 1) * (a->by_member ? chunk : 1);
}

ll_status lli_sums_init(ll_context *ctx, lli_tally *t, int64_t rows, int64_t D, int64_t K, int64_t chunk) {
    *t = (lli_tally){.D = D, .K = K};
    array arrays[ARRAYS];
    arrays_of(arrays, t);
    rows = lli_tally_padded(rows);
    ll_status status;
    LLI_DO(lli_memory_new(ctx, &t->panels, rows * D, sizeof(float)));
    LLI_DO(lli_memory_new(ctx, &t->mixed, rows, sizeof(double)));
    for (int i = 0; i < ARRAYS; i++)
        LLI_DO(lli_memory_new(ctx, arrays[i].at, rows * per_row(&arrays[i], K, chunk), arrays[i].size));
done:
    if (status != LL_OK)
        lli_sums_release(t);
    return status;
}

void lli_sums_release(lli_tally *t) {
    array arrays[ARRAYS];
    arrays_of(arrays, t);
    lli_memory_free(t->panels);
    lli_memory_free(t->mixed);
    for (int i = 0; i < ARRAYS; i++)
        lli_memory_free(*(void **)arrays[i].at);
    *t = (lli_tally){0};
}

int64_t lli_sums_bytes(int64_t D, int64_t K, int64_t chunk) {
    lli_tally none = {0};
    array arrays[ARRAYS];
    arrays_of(arrays, &none);
    int64_t bytes = D * (int64_t)sizeof(float) + (int64_t)sizeof(double);
    for (int i = 0; i < ARRAYS; i++)
        bytes += per_row(&arrays[i], K, chunk) * (int64_t)arrays[i].size;
    return bytes;
}

void lli_sums_shares(int32_t *share, const double *weight, int64_t S) {
    double total = 0;
    for (int64_t s = 0; s < S; s++)
        total += weight[s];
    for (int64_t s = 0; s < S; s++)
        share[s] = (int32_t)fmax(1, rint(weight[s] / total * 0x1p30));
}

void lli_sums_clear(lli_tally *t, int64_t n) {
    array arrays[ARRAYS];
    arrays_of(arrays, t);
    t->n = n;
    t->members = 0;
    t->weight = 0;
    t->shares = 0;
    for (int i = 0; i < ARRAYS; i++)
        if (arrays[i].sum)
            memset(*(void **)arrays[i].at, 0, (size_t)(lli_tally_padded(n) * per_row(&arrays[i], t->K, 1)) * arrays[i].size);
}

/* Range over members of p of class k. A sign bit means "top", where p = 1 + r. */
static double range(const lli_tally *t, int64_t at) {
    double least = (double)t->extreme[LLI_EXTREME_LEAST][at] / LLI_TALLY_SCALE;
    double most = (double)t->extreme[LLI_EXTREME_MOST][at] / LLI_TALLY_SCALE;
    double top_most = (double)t->extreme[LLI_EXTREME_TOP_MOST][at] / LLI_TALLY_SCALE;
    double other_most = (double)t->extreme[LLI_EXTREME_OTHER_MOST][at] / LLI_TALLY_SCALE;
    if (signbit(least)) /* always top */
        return least - most;
    if (!signbit(most)) /* never */
        return most - least;
    return fmax(1 + top_most, other_most) - fmin(1 + most, least);
}

/* The members' own votes: all for one class, unless some left it. */
static void votes(lli_verdict *v, const lli_tally *t, int64_t i) {
    int64_t first = t->first_top[i];
    v->vote = first;
    if (t->votes[lli_tally_place(i, first, t->K)] == 0)
        return;
    double most = 0;
    int64_t entropy = 0;
    for (int64_t k = 0; k < t->K; k++) {
        double share = (double)(t->votes[lli_tally_place(i, k, t->K)] + (k == first ? t->shares : 0)) / (double)t->shares;
        if (share > most) {
            most = share;
            v->vote = k;
        }
        entropy += lli_verdict_vote_piece(share);
    }
    v->vote_entropy = (double)entropy * LLI_VERDICT_UNIT;
}

lli_verdict lli_sums_verdict(const lli_tally *t, int64_t i) {
    int64_t label = t->label[i], at = lli_tally_place(i, label, t->K);
    lli_verdict v = {.members = t->members, .label = label, .most = t->most[i], .second = t->second[i], .mixed = t->mixed[i]};
    double rest = lli_tally_rest(t, i, label);
    v.tail = label == t->first_top[i] ? -rest : 1 - rest;
    v.margin = v.most > v.second * LLI_TALLY_TIE ? v.most - v.second : 0;
    v.information = t->information[i];
    double shift = lli_tally_moved(t, i, label), scale = LLI_TALLY_SCALE;
    v.spread = sqrt(fmax(t->square[at] / scale / scale / t->weight - shift * shift, 0));
    v.range = range(t, at);
    votes(&v, t, i);
    return v;
}
