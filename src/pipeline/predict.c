/* SPDX-License-Identifier: MIT */
/* From an ensemble and a data set to a predictions file, block by block. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "formats/format.h"
#include "pipeline/rows.h"
#include "predict/predictor.h"

ll_predict_options ll_predict_options_default(void) {
    return (ll_predict_options){.struct_size = sizeof(ll_predict_options), .classifier = "mean", .by = "sr", .threshold = NAN, .block = 256};
}

#define AT(member) offsetof(ll_predict_options, member)

static const ll_option table[] = {
    {"no-probs", 0, LL_OPTION_FLAG, AT(no_probs), NULL, NULL, 0, 0, false, false, NULL, "leave out probs [N,K]; nll and brier cannot be computed then"},
    {"classifier", 0, LL_OPTION_CHOICE, AT(classifier), "RULE", "mean|votes", 0, 0, false, false, "mean", "label = class of the largest mean probability, or of most votes"},
    {"by", 0, LL_OPTION_CHOICE, AT(by), "CONFIDENCE", "sr|std|hq|maxmin|entropy|mi|margin", 0, 0, false, false, "sr", "the confidence that --threshold cuts"},
    {"threshold", 0, LL_OPTION_REAL, AT(threshold), "C", NULL, -INFINITY, INFINITY, false, false, "none", "add abstain: true where the confidence is below C"},
    {"members", 0, LL_OPTION_TEXT, AT(members), "ROWS", NULL, 0, 0, false, false, "none", "rows like 0,5,10:20 whose answers are kept member by member"},
    {"row-offset", 0, LL_OPTION_INT, AT(row_offset), "ROW", NULL, 0, 1e15, false, false, "0", "index of the first row, which keys the masks of dropout"},
    {"block", 0, LL_OPTION_INT, AT(block), "ROWS", NULL, 1, 1 << 20, false, false, "256", "rows predicted at once; does not change a bit"},
};

const ll_option *ll_predict_options_table(size_t *count) {
    *count = LLI_COUNT(table);
    return table;
}

/* The arrays of the file, and where each block's rows come from. */
enum { ARRAYS_MAX = LL_CONFIDENCE_COUNT + 12 };

typedef struct writer {
    lli_sink *sink;
    ll_named_array specs[ARRAYS_MAX];
    int64_t count;
    int64_t probs, label, vote, sr_tail, truth, abstain, running, member_pmax, member_label, member_row; /* places in specs, -1 = absent */
    int64_t confidence[LL_CONFIDENCE_COUNT];
    const ll_dataset *data;
    bool by_votes;
    ll_confidence by;
    double threshold;
    uint8_t *flags; /* [block] */
    int64_t abstained;
} writer;

static int64_t add(writer *w, const char *name, ll_dtype dtype, int rank, int64_t rows, int64_t columns) {
    w->specs[w->count] = (ll_named_array){name, ll_array_view(NULL, dtype, rank, (int64_t[]){rows, columns})};
    return w->count++;
}

static void plan_arrays(writer *w, const ll_ensemble *e, const lli_predict_request *request, bool whole) {
    int64_t N = w->data->rows.N, S = e->plan.S;
    w->probs = request->probs ? add(w, "probs", LL_DTYPE_F32, 2, N, e->plan.K) : -1;
    w->label = add(w, "label", LL_DTYPE_I32, 1, N, 0);
    w->vote = add(w, "vote", LL_DTYPE_I32, 1, N, 0);
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++) {
        bool exists = S > 1 || !ll_confidence_needs_members((ll_confidence)c);
        w->confidence[c] = exists ? add(w, ll_confidence_name((ll_confidence)c), LL_DTYPE_F64, 1, N, 0) : -1;
    }
    w->sr_tail = add(w, "sr_tail", LL_DTYPE_F64, 1, N, 0);
    w->truth = w->data->labels ? add(w, "truth", LL_DTYPE_I32, 1, N, 0) : -1;
    w->abstain = isnan(w->threshold) ? -1 : add(w, "abstain", LL_DTYPE_BOOL, 1, N, 0);
    w->running = whole && request->running ? add(w, "running", LL_DTYPE_F64, 2, S, 3) : -1;
    w->member_pmax = whole && request->R ? add(w, "member_pmax", LL_DTYPE_F32, 2, request->R, S) : -1;
    w->member_label = whole && request->R ? add(w, "member_label", LL_DTYPE_I32, 2, request->R, S) : -1;
    w->member_row = whole && request->R ? add(w, "member_row", LL_DTYPE_I64, 1, request->R, 0) : -1;
}

static ll_status put(ll_context *ctx, writer *w, int64_t array, int64_t first, int64_t n, const void *data) {
    return array < 0 ? LL_OK : lli_sink_write(w->sink, ctx, array, first, n, data);
}

static ll_status emit(ll_context *ctx, void *arg, int64_t first, int64_t n, const ll_prediction *block) {
    writer *w = arg;
    LLI_TRY(put(ctx, w, w->probs, first, n, block->probs));
    LLI_TRY(put(ctx, w, w->label, first, n, w->by_votes ? block->vote : block->label));
    LLI_TRY(put(ctx, w, w->vote, first, n, block->vote));
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++)
        LLI_TRY(put(ctx, w, w->confidence[c], first, n, block->confidence[c]));
    LLI_TRY(put(ctx, w, w->sr_tail, first, n, block->sr_tail));
    if (w->truth >= 0)
        LLI_TRY(put(ctx, w, w->truth, first, n, w->data->labels + first));
    if (w->abstain < 0)
        return LL_OK;
    for (int64_t i = 0; i < n; i++)
        w->abstained += w->flags[i] = block->confidence[w->by][i] < w->threshold;
    return put(ctx, w, w->abstain, first, n, w->flags);
}

static ll_confidence confidence_by_name(const char *name) {
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++)
        if (strcmp(ll_confidence_name((ll_confidence)c), name) == 0)
            return (ll_confidence)c;
    return LL_CONFIDENCE_SR;
}

static ll_status check(ll_context *ctx, const ll_ensemble *e, const ll_dataset *data, const ll_predict_options *o) {
    if (o->struct_size != sizeof *o)
        return lli_fail(ctx, LL_ERR_USAGE, "ll_predict_options has %zu bytes where %zu were expected: start from ll_predict_options_default()", o->struct_size, sizeof *o);
    LLI_TRY(ll_option_check(ctx, table, LLI_COUNT(table), o));
    if (!isnan(o->threshold) && e->plan.S == 1 && ll_confidence_needs_members(confidence_by_name(o->by)))
        return lli_fail(ctx, LL_ERR_USAGE, "--by %s needs at least two members and this ensemble has one; use --by sr", o->by);
    for (int64_t i = 0; data->K > e->plan.K && i < data->rows.N; i++)
        if (data->labels[i] >= e->plan.K)
            return lli_fail(ctx, LL_ERR_DATA, "the label at row %" PRId64 " is %d, but the ensemble has %" PRId64 " classes (0 to %" PRId64 ")", i, data->labels[i], e->plan.K,
                            e->plan.K - 1);
    return LL_OK;
}

static ll_status totals_init(ll_context *ctx, lli_predict_totals *t, const lli_predict_request *request, int64_t S) {
    LLI_TRY(lli_memory_new(ctx, &t->running, 3 * S, sizeof(double)));
    LLI_TRY(lli_memory_new(ctx, &t->member_pmax, request->R * S, sizeof(float)));
    return lli_memory_new(ctx, &t->member_label, request->R * S, sizeof(int32_t));
}

ll_status ll_predict_write(ll_context *ctx, const char *path, const ll_ensemble *e, const ll_dataset *data, const ll_predict_options *options) {
    ll_predict_options o = options ? *options : ll_predict_options_default();
    LLI_TRY(check(ctx, e, data, &o));
    int64_t *rows = NULL, R = 0, S = e->plan.S;
    lli_predict_totals totals = {0};
    writer w = {.data = data, .by_votes = strcmp(o.classifier, "votes") == 0, .by = confidence_by_name(o.by), .threshold = o.threshold};
    ll_status status;
    LLI_DO(lli_rows_parse(ctx, &rows, &R, o.members, data->rows.N));
    lli_predict_request request = {.probs = !o.no_probs, .running = data->labels != NULL, .row_offset = o.row_offset, .block = o.block, .rows = rows, .R = R};
    bool table_only = lli_sink_is_table(path);
    if (table_only) {
        request.running = false;
        if (R)
            LLI_DO(lli_fail(ctx, LL_ERR_USAGE, "%s: a table has no room for --members; write .npz", path));
    }
    LLI_DO(totals_init(ctx, &totals, &request, S));
    LLI_DO(lli_memory_new(ctx, &w.flags, o.block + LLI_PREDICT_TILE, sizeof *w.flags));
    plan_arrays(&w, e, &request, !table_only);
    LLI_DO(lli_sink_open(&w.sink, ctx, path, w.specs, w.count, e->plan.provenance.pairs, e->plan.provenance.count));
    LLI_DO(lli_predict_stream(ctx, e, data, &request, &totals, emit, &w));
    LLI_DO(put(ctx, &w, w.running, 0, S, totals.running));
    LLI_DO(put(ctx, &w, w.member_pmax, 0, R, totals.member_pmax));
    LLI_DO(put(ctx, &w, w.member_label, 0, R, totals.member_label));
    LLI_DO(put(ctx, &w, w.member_row, 0, R, rows));
    lli_sink *sink = w.sink;
    w.sink = NULL;
    LLI_DO(lli_sink_commit(sink, ctx));
    if (w.abstain >= 0)
        lli_log(ctx, LL_LOG_NOTE, "abstains on %" PRId64 " of %" PRId64 " rows (%.2f %%), where %s < %g", w.abstained, data->rows.N,
                100 * (double)w.abstained / (double)data->rows.N, o.by, o.threshold);
done:
    lli_sink_abandon(w.sink);
    lli_memory_free(rows);
    lli_memory_free(w.flags);
    lli_memory_free(totals.running);
    lli_memory_free(totals.member_pmax);
    lli_memory_free(totals.member_label);
    return status;
}
