/* SPDX-License-Identifier: MIT */
/* The one pass over a data set: every array of the schema that is wanted, into a sink. Memory and files differ in the sink alone. */
#include "base/memory.h"
#include "predict/predictions.h"

enum { INSIDE, OUTSIDE };

static int64_t tiles_of(int64_t rows) {
    return (rows + LLI_PREDICT_TILE - 1) / LLI_PREDICT_TILE;
}

static void plan_part(lli_predict_plan *plan, int part, const ll_dataset *data, const lli_predict_request *request, bool by_row) {
    const lli_ensemble_plan *e = &plan->ensemble->plan;
    int64_t begin, N = lli_predict_range(&begin, request, data->rows.N);
    const lli_schema_sizes sizes = {N, e->K, e->S, request->R};
    unsigned when = lli_predict_when(request, plan->ensemble, data);
    if (part == OUTSIDE)
        when &= ~(unsigned)LLI_WHEN_TRUTH; /* their classes are none of the ensemble's */
    for (int f = 0; f < lli_schema_count(); f++) {
        const lli_field *field = lli_schema_get(f);
        int64_t shape[LLI_FIELD_AXES];
        if ((field->when & ~when) || (by_row && !lli_schema_by_row(field)))
            continue;
        int rank = lli_schema_shape(shape, field, &sizes);
        ll_array array = ll_array_view(NULL, field->info.dtype, rank, shape);
        if (request->part.count && field->when & LLI_WHEN_RUNNING)
            array = ll_array_view(NULL, field->info.dtype, 3, (int64_t[]){tiles_of(N), shape[0], shape[1]});
        plan->place[part][f] = lli_schema_add(&plan->list, part == OUTSIDE ? LLI_SCHEMA_OUT : "", field, array);
    }
}

void lli_predict_plan_init(lli_predict_plan *plan, const ll_ensemble *ensemble, const ll_dataset *data, const ll_dataset *out,
                           const lli_predict_request *request, bool table) {
    *plan = (lli_predict_plan){
        .ensemble = ensemble, .data = data, .out = out, .request = request, .provenance = &ensemble->plan.provenance};
    for (int f = 0; f < LLI_FIELDS_MAX; f++)
        plan->place[INSIDE][f] = plan->place[OUTSIDE][f] = -1;
    plan_part(plan, INSIDE, data, request, table);
    if (out)
        plan_part(plan, OUTSIDE, out, request, true);
}

/* Blocks of one part on their way into the sink. */
typedef struct passage {
    lli_predict_plan *plan;
    lli_sink *sink;
    int part, abstain;
} passage;

static ll_status emit(ll_context *ctx, void *arg, int64_t first, int64_t n, void *const fields[LLI_FIELDS_MAX]) {
    const passage *to = arg;
    const int64_t *place = to->plan->place[to->part];
    for (int f = 0; f < lli_schema_count(); f++)
        if (place[f] >= 0 && fields[f])
            LLI_TRY(lli_sink_write(to->sink, ctx, place[f], first, n, fields[f]));
    for (int64_t i = 0; fields[to->abstain] && i < n; i++)
        to->plan->abstained[to->part] += ((const uint8_t *)fields[to->abstain])[i];
    return LL_OK;
}

static ll_status put(ll_context *ctx, const lli_predict_plan *plan, lli_sink *sink, const char *name, int64_t rows, const void *data) {
    int64_t place = plan->place[INSIDE][lli_schema_find(name)];
    return place < 0 || rows == 0 ? LL_OK : lli_sink_write(sink, ctx, place, 0, rows, data);
}

static ll_status run_inside(ll_context *ctx, lli_predict_plan *plan, lli_sink *sink) {
    const lli_predict_request *r = plan->request;
    int64_t S = plan->ensemble->plan.S, begin, N = lli_predict_range(&begin, r, plan->data->rows.N);
    int64_t sums = r->part.count ? tiles_of(N) : 1; /* of a part each tile has its own */
    lli_predict_totals totals = {0};
    passage inside = {plan, sink, INSIDE, lli_schema_find("abstain")};
    ll_status status;
    LLI_DO(lli_memory_new(ctx, &totals.running, sums * 3 * S, sizeof *totals.running));
    LLI_DO(lli_memory_new(ctx, &totals.member_pmax, r->R * S, sizeof *totals.member_pmax));
    LLI_DO(lli_memory_new(ctx, &totals.member_label, r->R * S, sizeof *totals.member_label));
    LLI_DO(lli_predict_stream(ctx, plan->ensemble, plan->data, r, &totals, emit, &inside));
    LLI_DO(put(ctx, plan, sink, "running", r->part.count ? sums : S, totals.running));
    LLI_DO(put(ctx, plan, sink, "member_pmax", r->R, totals.member_pmax));
    LLI_DO(put(ctx, plan, sink, "member_label", r->R, totals.member_label));
    LLI_DO(put(ctx, plan, sink, "member_row", r->R, r->rows));
done:
    lli_memory_free(totals.running);
    lli_memory_free(totals.member_pmax);
    lli_memory_free(totals.member_label);
    return status;
}

ll_status lli_predict_into(ll_context *ctx, lli_predict_plan *plan, lli_sink *sink) {
    LLI_TRY(run_inside(ctx, plan, sink));
    if (!plan->out)
        return LL_OK;
    passage outside = {plan, sink, OUTSIDE, lli_schema_find("abstain")};
    lli_predict_request without_members = *plan->request;
    without_members.running = false;
    without_members.rows = NULL;
    without_members.R = 0;
    ll_dataset unknown = *plan->out;
    unknown.labels = NULL;
    return lli_predict_stream(ctx, plan->ensemble, &unknown, &without_members, &(lli_predict_totals){0}, emit, &outside);
}

ll_status lli_predict_collect(ll_predictions **out, ll_context *ctx, lli_predict_plan *plan) {
    const lli_ensemble_plan *e = &plan->ensemble->plan;
    const lli_schema_sizes sizes = {-1, e->K, e->S, plan->request->R};
    lli_sink *sink = NULL;
    ll_bundle *bundle = NULL;
    ll_status status;
    *out = NULL;
    LLI_DO(lli_sink_memory(&sink, &bundle, ctx, plan->list.arrays, plan->list.count, plan->provenance->pairs, plan->provenance->count));
    LLI_DO(lli_predict_into(ctx, plan, sink));
    status = lli_sink_commit(sink, ctx);
    sink = NULL;
    if (status == LL_OK)
        status = lli_predictions_from_bundle(out, ctx, bundle, "the predictions", &sizes);
    if (status == LL_OK)
        bundle = NULL;
done:
    lli_sink_abandon(sink);
    ll_bundle_free(bundle);
    return status;
}

ll_status lli_predictions_collect(ll_predictions **out, ll_context *ctx, const ll_ensemble *ensemble, const ll_dataset *data,
                                  const lli_predict_request *request) {
    lli_predict_plan *plan;
    *out = NULL;
    LLI_TRY(lli_memory_new(ctx, &plan, 1, sizeof *plan));
    lli_predict_plan_init(plan, ensemble, data, NULL, request, false);
    ll_status status = lli_predict_collect(out, ctx, plan);
    lli_memory_free(plan);
    return status;
}
