/* SPDX-License-Identifier: MIT */
/* An ensemble from the caller's own arrays: they become the bundle that a file would be, and pass the same checks. */
#include <inttypes.h>
#include <string.h>

#include "base/abi.h"
#include "base/array.h"
#include "base/memory.h"
#include "base/sink.h"
#include "ensemble/ensemble.h"

enum { W, B, WEIGHT, ARRAYS };

typedef struct given {
    const ll_array *arrays[ARRAYS]; /* NULL: the default */
    ll_named_array specs[ARRAYS];
    lli_provenance provenance;
} given;

static ll_status check_shapes(ll_context *ctx, const given *g) {
    static const char *const names[ARRAYS] = {"W", "b", "weight"};
    const ll_array *weight = g->arrays[W];
    char text[LLI_ARRAY_TEXT];
    for (int i = 0; i < ARRAYS; i++) {
        const ll_array *a = g->arrays[i];
        if (!a)
            continue;
        LLI_TRY(lli_array_check(ctx, names[i], a));
        if (!lli_array_is_real(a->dtype))
            return lli_fail(ctx, LL_ERR_DATA, "%s is %s; expected real numbers", names[i], lli_array_text(text, a));
    }
    if (weight->rank != 3 || weight->shape[0] < 1 || weight->shape[1] < 2 || weight->shape[2] < 1)
        return lli_fail(ctx, LL_ERR_DATA, "W is %s; expected [S,K,D] with a member, two classes and a feature at least",
                        lli_array_text(text, weight));
    const ll_array *b = g->arrays[B], *shares = g->arrays[WEIGHT];
    if (b && (b->rank != 2 || b->shape[0] != weight->shape[0] || b->shape[1] != weight->shape[1]))
        return lli_fail(ctx, LL_ERR_DATA, "b is %s; expected [%" PRId64 ",%" PRId64 "], as W has members and classes",
                        lli_array_text(text, b), weight->shape[0], weight->shape[1]);
    if (shares && (shares->rank != 1 || (shares->shape[0] != weight->shape[0] && weight->shape[0] != 1)))
        return lli_fail(ctx, LL_ERR_DATA, "weight is %s; expected [%" PRId64 "], one number per member", lli_array_text(text, shares),
                        weight->shape[0]);
    return LL_OK;
}

static ll_status record(ll_context *ctx, lli_provenance *p, const ll_meta *meta, int64_t count) {
    const char *method = "given";
    for (int64_t i = 0; i < count; i++) {
        if (!meta[i].key || !meta[i].value)
            return lli_fail(ctx, LL_ERR_USAGE, "pair %" PRId64 " of the provenance has a %s that is NULL", i,
                            meta[i].key ? "value" : "key");
        for (int64_t j = 0; j < i; j++)
            if (strcmp(meta[i].key, meta[j].key) == 0)
                return lli_fail(ctx, LL_ERR_USAGE, "two pairs of the provenance have the key \"%s\"", meta[i].key);
        if (strcmp(meta[i].key, "method") == 0)
            method = meta[i].value;
    }
    LLI_TRY(lli_provenance_add(ctx, p, "format", LLI_ENSEMBLE_FORMAT));
    LLI_TRY(lli_provenance_add(ctx, p, "method", method));
    for (int64_t i = 0; i < count; i++)
        if (strcmp(meta[i].key, "format") != 0 && strcmp(meta[i].key, "method") != 0)
            LLI_TRY(lli_provenance_add(ctx, p, meta[i].key, meta[i].value));
    return LL_OK;
}

/* Member by member into the sink, as the file has them: f32, and f64 for the weights. */
static ll_status put(ll_context *ctx, lli_sink *sink, const given *g, int i) {
    const ll_array *spec = &g->specs[i].array;
    int64_t rows = spec->shape[0], columns = lli_array_count(spec) / rows;
    void *row;
    LLI_TRY(lli_memory_new(ctx, &row, columns, ll_dtype_size(spec->dtype)));
    ll_status status = LL_OK;
    for (int64_t r = 0; r < rows && status == LL_OK; r++) {
        if (i == WEIGHT)
            *(double *)row = g->arrays[i] ? lli_array_real(g->arrays[i], r) : 1;
        else if (g->arrays[i])
            lli_array_to_f32(row, g->arrays[i], r * columns, columns);
        status = lli_sink_write(sink, ctx, i, r, 1, row);
    }
    lli_memory_free(row);
    return status;
}

ll_status ll_ensemble_new(ll_ensemble **out, ll_context *ctx, ll_array weight, const ll_array *bias, const ll_array *member_weight,
                          const ll_meta *provenance, int64_t count) {
    LLI_NEED(ctx, out);
    *out = NULL;
    given g = {.arrays = {&weight, bias, member_weight}};
    lli_sink *sink = NULL;
    ll_bundle *bundle = NULL;
    ll_status status;
    if (count < 0 || (count > 0 && !provenance))
        return lli_fail(ctx, LL_ERR_USAGE, "ll_ensemble_new: %" PRId64 " pairs of provenance are given%s", count,
                        count < 0 ? "; expected at least 0" : ", and NULL for them");
    LLI_TRY(check_shapes(ctx, &g));
    int64_t S = member_weight ? member_weight->shape[0] : weight.shape[0];
    g.specs[W] = (ll_named_array){"W", ll_array_view(NULL, LL_DTYPE_F32, 3, weight.shape)};
    g.specs[B] = (ll_named_array){"b", ll_array_view(NULL, LL_DTYPE_F32, 2, weight.shape)};
    g.specs[WEIGHT] = (ll_named_array){"weight", ll_array_view(NULL, LL_DTYPE_F64, 1, &S)};
    LLI_DO(record(ctx, &g.provenance, provenance, count));
    LLI_DO(lli_sink_memory(&sink, &bundle, ctx, g.specs, ARRAYS, g.provenance.pairs, g.provenance.count));
    for (int i = 0; i < ARRAYS; i++)
        LLI_DO(put(ctx, sink, &g, i));
    status = lli_sink_commit(sink, ctx);
    sink = NULL;
    if (status == LL_OK)
        status = lli_ensemble_from(out, ctx, bundle, "the ensemble");
    if (status == LL_OK)
        bundle = NULL;
done:
    lli_sink_abandon(sink);
    ll_bundle_free(bundle);
    lli_provenance_release(&g.provenance);
    return status;
}

ll_array ll_ensemble_member_weight_view(const ll_ensemble *e) {
    return e ? ll_array_view(e->plan.weight, LL_DTYPE_F64, 1, &e->plan.S) : (ll_array){.rank = -1};
}

int64_t ll_ensemble_meta_count(const ll_ensemble *e) {
    return e ? e->plan.provenance.count : 0;
}

const char *ll_ensemble_meta_key(const ll_ensemble *e, int64_t i) {
    return i >= 0 && i < ll_ensemble_meta_count(e) ? e->plan.provenance.pairs[i].key : NULL;
}

const char *ll_ensemble_meta_value(const ll_ensemble *e, int64_t i) {
    return i >= 0 && i < ll_ensemble_meta_count(e) ? e->plan.provenance.pairs[i].value : NULL;
}
