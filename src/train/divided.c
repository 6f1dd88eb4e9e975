/* SPDX-License-Identifier: MIT */
/* Which classes are here, and sums over all of them. */
#include "train/divided.h"

#include "base/memory.h"
#include "kernels/large.h"
#include "kernels/wide.h"

/* Whole panels, as chains divide them. */
static int64_t edge(int64_t K, int64_t rank, int64_t size) {
    const lli_large_shape s = lli_large_shape_share(1, K, 1, &(lli_share){rank, size});
    return s.first;
}

ll_status lli_divided_init(ll_context *ctx, lli_divided *c, int64_t K, lli_team *team) {
    *c = (lli_divided){.wide = K >= LLI_WIDE_CLASSES, .all = K, .count = K, .most = K};
    if (!c->wide)
        return LL_OK;
    if (team) {
        c->team = team;
        c->first = edge(K, team->rank, team->size);
        c->count = (team->rank + 1 < team->size ? edge(K, team->rank + 1, team->size) : K) - c->first;
        c->most = 0;
        for (int64_t r = 0; r < team->size; r++)
            c->most = LLI_MAX(c->most, (r + 1 < team->size ? edge(K, r + 1, team->size) : K) - edge(K, r, team->size));
    }
    LLI_TRY(lli_memory_new(ctx, &c->own, c->most, sizeof *c->own));
    return team ? lli_memory_new(ctx, &c->values, team->size * c->most, sizeof *c->values) : LL_OK;
}

void lli_divided_release(lli_divided *c) {
    lli_memory_free(c->own);
    lli_memory_free(c->values);
}

static double dot(const double *a, const double *b, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

ll_status lli_divided_dot(ll_context *ctx, lli_divided *c, double *sum, const double *a, const double *b, int64_t ld) {
    if (!c->wide) {
        *sum = dot(a, b, c->count * ld);
        return LL_OK;
    }
    for (int64_t k = 0; k < c->count; k++)
        c->own[k] = dot(a + k * ld, b + k * ld, ld);
    if (c->team)
        LLI_TRY(c->team->table->gather(c->team, ctx, c->values, c->own, c->most * (int64_t)sizeof *c->own));
    *sum = 0;
    for (int64_t r = 0, size = c->team ? c->team->size : 1; r < size; r++) {
        const double *values = c->team ? c->values + r * c->most : c->own;
        int64_t count = c->team ? (r + 1 < size ? edge(c->all, r + 1, size) : c->all) - edge(c->all, r, size) : c->count;
        for (int64_t k = 0; k < count; k++)
            *sum += values[k];
    }
    return LL_OK;
}

ll_status lli_divided_collect(ll_context *ctx, const lli_divided *c, float *rows, int64_t floats) {
    for (int64_t r = 0; c->team && r < c->team->size; r++) {
        int64_t first = edge(c->all, r, c->team->size), end = r + 1 < c->team->size ? edge(c->all, r + 1, c->team->size) : c->all;
        LLI_TRY(c->team->table->broadcast(c->team, ctx, rows + first * floats, (end - first) * floats * (int64_t)sizeof *rows, r));
    }
    return LL_OK;
}
