/* SPDX-License-Identifier: MIT */
/* From an ensemble and a data set to a predictions file, block by block. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/abi.h"
#include "base/memory.h"
#include "base/option.h"
#include "formats/format.h"
#include "pipeline/rows.h"
#include "predict/extra.h"
#include "predict/predictor.h"

void ll_predict_options_init(ll_predict_options *options, size_t struct_size) {
    const ll_predict_options defaults = {.classifier = "mean", .by = "sr", .threshold = NAN};
    lli_abi_give(options, struct_size, &defaults, sizeof defaults);
}

#define AT(member) offsetof(ll_predict_options, member)

static const ll_option table[] = {
    {"no-probs", 0, LL_OPTION_FLAG, AT(no_probs), NULL, NULL, 0, 0, false, false, NULL,
     "leave out probs [N,K]; nll and brier cannot be computed then"},
    {"classifier", 0, LL_OPTION_CHOICE, AT(classifier), "RULE", "mean|votes", 0, 0, false, false, "mean",
     "label = class of the largest mean probability, or of most votes"},
    {"by", 0, LL_OPTION_CHOICE, AT(by), "CONFIDENCE", "sr|std|hq|maxmin|entropy|mi|margin", 0, 0, false, false, "sr",
     "the confidence that --threshold cuts"},
    {"threshold", 0, LL_OPTION_REAL, AT(threshold), "C", NULL, -INFINITY, INFINITY, false, false, "none",
     "add abstain: true where the confidence is below C"},
    {"members", 0, LL_OPTION_TEXT, AT(members), "ROWS", NULL, 0, 0, false, false, "none",
     "rows like 0,5,10:20 whose answers are kept member by member"},
    {"row-offset", 0, LL_OPTION_INT, AT(row_offset), "ROW", NULL, 0, 1e15, false, false, "0",
     "index of the first row, which keys the masks of dropout"},
    {"block", 0, LL_OPTION_INT, AT(block), "ROWS", NULL, 0, 1 << 20, false, false, "256, networks 32 to 1024",
     "rows predicted at once; does not change a bit"},
};

const ll_option *ll_predict_options_table(size_t *count) {
    if (count)
        *count = LLI_COUNT(table);
    return table;
}

/* The arrays of the file, and where each block's rows come from. */
enum { ROW_ARRAYS = LL_CONFIDENCE_COUNT + LLI_EXTRA_COUNT + 5, ARRAYS_MAX = 2 * ROW_ARRAYS + 4, NAME_MAX_BYTES = 24 };

/* The arrays with one entry per row of one data set; places in specs, -1 = absent. */
typedef struct part {
    struct writer *writer;
    const ll_dataset *data;
    const char *prefix;
    int64_t probs, label, vote, truth, abstain, confidence[LL_CONFIDENCE_COUNT], extra[LLI_EXTRA_COUNT];
    int64_t abstained;
} part;

typedef struct writer {
    lli_sink *sink;
    ll_named_array specs[ARRAYS_MAX];
    char names[ARRAYS_MAX][NAME_MAX_BYTES];
    int64_t count;
    int64_t running, member_pmax, member_label, member_row; /* places in specs, -1 = absent */
    bool by_votes;
    ll_confidence by;
    double threshold;
    uint8_t *flags; /* [block] */
} writer;

static int64_t add(writer *w, const char *prefix, const char *name, ll_dtype dtype, int rank, int64_t rows, int64_t columns) {
    char *full = w->names[w->count];
    size_t length = strlen(prefix);
    memcpy(full, prefix, length);
    memcpy(full + length, name, strlen(name) + 1);
    w->specs[w->count] = (ll_named_array){full, ll_array_view(NULL, dtype, rank, (int64_t[]){rows, columns})};
    return w->count++;
}

static part plan_part(writer *w, const char *prefix, const ll_ensemble *e, const ll_dataset *data, bool probs) {
    int64_t N = data->rows.N, S = e->plan.S;
    part p = {.writer = w, .data = data, .prefix = prefix};
    p.probs = probs ? add(w, prefix, "probs", LL_DTYPE_F32, 2, N, e->plan.K) : -1;
    p.label = add(w, prefix, "label", LL_DTYPE_I32, 1, N, 0);
    p.vote = add(w, prefix, "vote", LL_DTYPE_I32, 1, N, 0);
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++) {
        bool exists = S > 1 || !ll_confidence_needs_members((ll_confidence)c);
        p.confidence[c] = exists ? add(w, prefix, ll_confidence_name((ll_confidence)c), LL_DTYPE_F64, 1, N, 0) : -1;
    }
    bool truth = data->labels && !*prefix;
    for (lli_extra x = 0; x < LLI_EXTRA_COUNT; x++)
        p.extra[x] = x != LLI_EXTRA_LOG_TRUE || truth ? add(w, prefix, lli_extra_name(x), LL_DTYPE_F64, 1, N, 0) : -1;
    p.truth = truth ? add(w, prefix, "truth", LL_DTYPE_I32, 1, N, 0) : -1;
    p.abstain = isnan(w->threshold) ? -1 : add(w, prefix, "abstain", LL_DTYPE_BOOL, 1, N, 0);
    return p;
}

static void plan_whole(writer *w, int64_t S, const lli_predict_request *request, bool whole) {
    bool members = whole && request->R > 0;
    w->running = whole && request->running ? add(w, "", "running", LL_DTYPE_F64, 2, S, 3) : -1;
    w->member_pmax = members ? add(w, "", "member_pmax", LL_DTYPE_F32, 2, request->R, S) : -1;
    w->member_label = members ? add(w, "", "member_label", LL_DTYPE_I32, 2, request->R, S) : -1;
    w->member_row = members ? add(w, "", "member_row", LL_DTYPE_I64, 1, request->R, 0) : -1;
}

static ll_status put(ll_context *ctx, writer *w, int64_t array, int64_t first, int64_t n, const void *data) {
    return array < 0 ? LL_OK : lli_sink_write(w->sink, ctx, array, first, n, data);
}

static ll_status emit(ll_context *ctx, void *arg, int64_t first, int64_t n, const ll_prediction *block) {
    part *p = arg;
    writer *w = p->writer;
    ll_prediction from = *block;
    LLI_TRY(put(ctx, w, p->probs, first, n, block->probs));
    LLI_TRY(put(ctx, w, p->label, first, n, w->by_votes ? block->vote : block->label));
    LLI_TRY(put(ctx, w, p->vote, first, n, block->vote));
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++)
        LLI_TRY(put(ctx, w, p->confidence[c], first, n, block->confidence[c]));
    for (lli_extra x = 0; x < LLI_EXTRA_COUNT; x++)
        LLI_TRY(put(ctx, w, p->extra[x], first, n, *lli_extra_of(&from, x)));
    if (p->truth >= 0)
        LLI_TRY(put(ctx, w, p->truth, first, n, p->data->labels + first));
    if (p->abstain < 0)
        return LL_OK;
    for (int64_t i = 0; i < n; i++)
        p->abstained += w->flags[i] = block->confidence[w->by][i] < w->threshold;
    return put(ctx, w, p->abstain, first, n, w->flags);
}

static void tell_abstained(ll_context *ctx, const part *p, const ll_predict_options *o) {
    if (p->abstain >= 0)
        lli_log(ctx, LL_LOG_NOTE, "abstains on %" PRId64 " of %" PRId64 " %srows (%.2f %%), where %s < %g", p->abstained, p->data->rows.N,
                *p->prefix ? "out-of-distribution " : "", 100 * (double)p->abstained / (double)p->data->rows.N, o->by, o->threshold);
}

static ll_status check(ll_context *ctx, const ll_ensemble *e, const ll_dataset *data, const ll_predict_options *o) {
    if (!isnan(o->threshold) && e->plan.S == 1 && ll_confidence_needs_members(ll_confidence_find(o->by)))
        return lli_fail(ctx, LL_ERR_USAGE, "--by %s needs at least two members and this ensemble has one; use --by sr", o->by);
    LLI_TRY(lli_predict_check_rows(ctx, e, &data->rows));
    for (int64_t i = 0; data->K > e->plan.K && i < data->rows.N; i++)
        if (data->labels[i] >= e->plan.K)
            return lli_fail(ctx, LL_ERR_DATA,
                            "the label at row %" PRId64 " is %d, but the ensemble has %" PRId64 " classes (0 to %" PRId64 ")", i,
                            data->labels[i], e->plan.K, e->plan.K - 1);
    return LL_OK;
}

static ll_status totals_init(ll_context *ctx, lli_predict_totals *t, const lli_predict_request *request, int64_t S) {
    LLI_TRY(lli_memory_new(ctx, &t->running, 3 * S, sizeof(double)));
    LLI_TRY(lli_memory_new(ctx, &t->member_pmax, request->R * S, sizeof(float)));
    return lli_memory_new(ctx, &t->member_label, request->R * S, sizeof(int32_t));
}

ll_status ll_predict_write(ll_context *ctx, const char *path, const ll_ensemble *ensemble, const ll_dataset *data,
                           const ll_predict_options *options) {
    LLI_NEED(ctx, path, ensemble, data);
    const ll_ensemble *e = ensemble;
    ll_predict_options o = ll_predict_options_default();
    LLI_TRY(LLI_OPTION_TAKE(ctx, ll_predict_options, &o, options, table, LLI_COUNT(table)));
    LLI_TRY(check(ctx, e, data, &o));
    int64_t *rows = NULL, R = 0, S = e->plan.S;
    lli_predict_totals totals = {0};
    writer w = {.by_votes = strcmp(o.classifier, "votes") == 0, .by = ll_confidence_find(o.by), .threshold = o.threshold};
    ll_status status;
    if (!o.block)
        o.block = lli_predict_block(e);
    LLI_DO(lli_rows_parse(ctx, &rows, &R, o.members, data->rows.N));
    lli_predict_request request = {
        .probs = !o.no_probs, .running = data->labels != NULL, .row_offset = o.row_offset, .block = o.block, .rows = rows, .R = R};
    bool table_only = lli_sink_is_table(path);
    if (table_only) {
        request.running = false;
        if (R)
            LLI_DO(lli_fail(ctx, LL_ERR_USAGE, "%s: a table has no room for --members; write .npz", path));
        if (o.out)
            lli_log(ctx, LL_LOG_NOTE, "%s is a table and has no room for out-of-distribution rows; write .npz to keep them", path);
        o.out = NULL;
    }
    LLI_DO(totals_init(ctx, &totals, &request, S));
    LLI_DO(lli_memory_new(ctx, &w.flags, o.block + LLI_PREDICT_TILE, sizeof *w.flags));
    part inside = plan_part(&w, "", e, data, request.probs), outside = {.data = NULL};
    plan_whole(&w, S, &request, !table_only);
    if (o.out)
        outside = plan_part(&w, "out_", e, o.out, request.probs);
    LLI_DO(lli_sink_open(&w.sink, ctx, path, w.specs, w.count, e->plan.provenance.pairs, e->plan.provenance.count));
    LLI_DO(lli_predict_stream(ctx, e, data, &request, &totals, emit, &inside));
    LLI_DO(put(ctx, &w, w.running, 0, S, totals.running));
    LLI_DO(put(ctx, &w, w.member_pmax, 0, R, totals.member_pmax));
    LLI_DO(put(ctx, &w, w.member_label, 0, R, totals.member_label));
    LLI_DO(put(ctx, &w, w.member_row, 0, R, rows));
    if (o.out) {
        const lli_predict_request rest = {.probs = request.probs, .row_offset = o.row_offset, .block = o.block};
        LLI_DO(lli_predict_stream(ctx, e, o.out, &rest, &(lli_predict_totals){0}, emit, &outside));
    }
    lli_sink *sink = w.sink;
    w.sink = NULL;
    LLI_DO(lli_sink_commit(sink, ctx));
    tell_abstained(ctx, &inside, &o);
    if (o.out)
        tell_abstained(ctx, &outside, &o);
done:
    lli_sink_abandon(w.sink);
    lli_memory_free(rows);
    lli_memory_free(w.flags);
    lli_memory_free(totals.running);
    lli_memory_free(totals.member_pmax);
    lli_memory_free(totals.member_label);
    return status;
}
