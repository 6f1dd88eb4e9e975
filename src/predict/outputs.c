/* SPDX-License-Identifier: MIT */
/* Predictions from someone else's outputs. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/abi.h"
#include "base/array.h"
#include "base/memory.h"
#include "predict/moments.h"
#include "predict/predictions.h"

/* What a classifier put out: [N,K], or [S,N,K] for members. */
typedef struct outputs {
    const char *name; /* in sentences: its file */
    ll_array array;
    int64_t S, N, K;
    bool logits; /* else probabilities */
    double most; /* by which rows of probabilities may miss the sum of 1 */
    double miss; /* by which they do */
} outputs;

/* Values are written to a relative u, the unit roundoff of their type (f16 below its normal range to 2^-25), after a softmax that rounded
 * two or three times on its way: 4 u. And 1e-3 for those that were printed with three digits. */
static double sum_tolerance(ll_dtype dtype, int64_t K) {
    double unit = dtype == LL_DTYPE_F16 ? 0x1p-11 : dtype == LL_DTYPE_BF16 ? 0x1p-8 : 0;
    return 1e-3 + 4 * unit + (dtype == LL_DTYPE_F16 ? (double)K * 0x1p-25 : 0);
}

static void tell_tolerance(ll_context *ctx, const outputs *o) {
    char text[LLI_ARRAY_TEXT];
    if (!o->logits && (o->array.dtype == LL_DTYPE_F16 || o->array.dtype == LL_DTYPE_BF16))
        lli_log(ctx, LL_LOG_NOTE,
                "%s: %s; the sums of rows of probabilities differ from 1 by up to %.2g, and this type allows %.2g; confidences use them "
                "as given, NLL and Brier use p / sum p",
                o->name, lli_array_text(text, &o->array), o->miss, o->most);
}

/* Row i of one member, checked. */
static ll_status check_row(ll_context *ctx, outputs *o, const double *row, int64_t member, int64_t i) {
    double sum = 0, least = 0;
    for (int64_t k = 0; k < o->K; k++) {
        if (!isfinite(row[k]))
            return lli_fail(ctx, LL_ERR_DATA,
                            "%s: member %" PRId64 " holds %s at row %" PRId64 ", class %" PRId64 "; every value must be finite", o->name,
                            member, isnan(row[k]) ? "NaN" : "an infinite value", i, k);
        sum += row[k];
        least = fmin(least, row[k]);
    }
    if (o->logits)
        return LL_OK;
    o->miss = fmax(o->miss, fabs(sum - 1));
    if (least < 0 || o->miss > o->most)
        return lli_fail(ctx, LL_ERR_DATA,
                        "%s: row %" PRId64 " of member %" PRId64 " %s %g, so these are not probabilities; if they are logits, use "
                        "`logits`",
                        o->name, i, member, least < 0 ? "holds" : "sums to", least < 0 ? least : sum);
    return LL_OK;
}

/* A member's row of probabilities, as given. */
static void row_of_probs(lli_output *out, const double *row, int64_t K) {
    out->top = 0;
    for (int64_t k = 0; k < K; k++) {
        out->p[k] = out->r[k] = row[k];
        out->logp[k] = log(row[k]);
        if (row[k] > row[out->top])
            out->top = k;
    }
}

/* The same of logits, carried from 1: r of the top class is minus the sum of the others. */
static void row_of_logits(lli_output *out, const double *row, int64_t K) {
    int64_t best = out->top = lli_logmean_softmax(out->logp, &out->logtail, row, K);
    double others = 0;
    for (int64_t k = 0; k < K; k++)
        if (k != best)
            others += out->p[k] = exp(row[k] - row[best]);
    double total = 1 + others;
    for (int64_t k = 0; k < K; k++)
        out->r[k] = out->p[k] = k == best ? 1 / total : out->p[k] / total;
    out->r[best] = -others / total;
}

static ll_status outputs_init(ll_context *ctx, outputs *o, const char *name, ll_array array, bool logits) {
    char text[LLI_ARRAY_TEXT];
    bool members = array.rank == 3;
    lli_array_text(text, &array);
    if (array.rank != 2 && !members)
        return lli_fail(ctx, LL_ERR_DATA, "%s: the outputs are %s; expected [N,K], or [S,N,K] for members%s", name, text,
                        array.rank != 1 ? ""
                        : logits        ? "; numpy.stack([0 * f, f], -1) makes them of the logits of class 1 of two"
                                        : "; numpy.stack([1 - p, p], -1) makes them of the probabilities of class 1 of two");
    *o = (outputs){name, array, members ? array.shape[0] : 1, array.shape[members], array.shape[members + 1], logits, 0, 0};
    o->most = sum_tolerance(array.dtype, o->K);
    if (!lli_array_is_real(array.dtype))
        return lli_fail(ctx, LL_ERR_DATA, "%s: the outputs are %s; expected real numbers", name, text);
    if (o->S < 1 || o->N < 1 || o->K < 2)
        return lli_fail(ctx, LL_ERR_DATA, "%s: the outputs are %s; expected at least one row and two classes", name, text);
    return LL_OK;
}

/* What reading outputs row by row needs. */
typedef struct reader {
    lli_moments moments;
    double *row; /* [K] */
    lli_output output;
    ll_prediction out; /* the arrays of the predictions */
    double *probs;     /* [N,K] */
} reader;

static ll_status run_row(ll_context *ctx, reader *rd, ll_predictions *p, outputs *o, int64_t i) {
    lli_moments_clear(&rd->moments);
    for (int64_t s = 0; s < o->S; s++) {
        lli_array_to_f64(rd->row, &o->array, (s * o->N + i) * o->K, o->K);
        LLI_TRY(check_row(ctx, o, rd->row, s, i));
        (o->logits ? row_of_logits : row_of_probs)(&rd->output, rd->row, o->K);
        lli_moments_add(&rd->moments, &rd->output);
    }
    lli_verdict verdict = lli_moments_verdict(&rd->moments);
    lli_verdict_write(&rd->out, i, &verdict);
    if (rd->out.log_true)
        rd->out.log_true[i] = lli_moments_log(&rd->moments, p->view.truth[i]);
    for (int64_t k = 0; k < o->K; k++)
        rd->probs[i * o->K + k] = lli_moments_mean(&rd->moments, k);
    return LL_OK;
}

/* Of probabilities the tails were lost when they were written, and NLL is made of them as they are. */
static ll_status make_room(ll_predictions **out, ll_context *ctx, const outputs *o, bool truth) {
    static const char *const of_logits[] = {"sr_tail", "sr_logtail", "margin_logtail", "log_true"};
    const lli_schema_sizes sizes = {o->N, o->K, o->S, 0};
    bool has[LLI_FIELDS_MAX] = {false};
    for (int f = 0; f < lli_schema_count(); f++) {
        unsigned when = lli_schema_get(f)->when;
        has[f] = lli_schema_get(f)->in_prediction && (when == 0 || (when == LLI_WHEN_MEMBERS && o->S > 1));
    }
    for (size_t i = 0; i < LLI_COUNT(of_logits); i++)
        has[lli_schema_find(of_logits[i])] = o->logits && (truth || i + 1 < LLI_COUNT(of_logits));
    return lli_predictions_alloc(out, ctx, &sizes, has);
}

/* Mean probabilities in f64, which outputs of others may have been. */
static ll_status make_probs(ll_context *ctx, ll_predictions *p) {
    int f = lli_schema_find("probs");
    LLI_TRY(lli_memory_new(ctx, &p->owned[f], p->view.n * p->view.classes, sizeof(double)));
    p->field[f] = ll_array_view(p->owned[f], LL_DTYPE_F64, 2, (int64_t[]){p->view.n, p->view.classes});
    p->view.probs = p->field[f];
    return LL_OK;
}

static ll_status fill(ll_context *ctx, ll_predictions *p, outputs *o) {
    reader rd = {.row = NULL};
    ll_status status;
    LLI_DO(lli_moments_init(ctx, &rd.moments, o->K, o->logits));
    LLI_DO(lli_memory_new(ctx, &rd.row, o->K, 4 * sizeof(double)));
    rd.output = (lli_output){.p = rd.row + o->K, .r = rd.row + 2 * o->K, .logp = rd.row + 3 * o->K};
    for (int f = 0; f < lli_schema_count(); f++)
        if (lli_schema_get(f)->in_prediction)
            memcpy((char *)&rd.out + lli_schema_get(f)->in_prediction, &p->owned[f], sizeof(void *));
    rd.probs = lli_predictions_memory(p, "probs");
    rd.out.probs = NULL;
    for (int64_t i = 0; i < o->N; i++) {
        LLI_DO(lli_cancel_check(ctx));
        LLI_DO(run_row(ctx, &rd, p, o, i));
        lli_progress(ctx, "reading outputs", (double)(i + 1), (double)o->N);
    }
    tell_tolerance(ctx, o);
done:
    lli_moments_release(&rd.moments);
    lli_memory_free(rd.row);
    return status;
}

ll_status ll_predictions_new(ll_predictions **out, ll_context *ctx, ll_array array, bool logits, const ll_array *labels) {
    LLI_NEED(ctx, out);
    *out = NULL;
    const char *name = logits ? "logits" : "probs";
    LLI_TRY(lli_array_check(ctx, name, &array));
    if (labels)
        LLI_TRY(lli_array_check(ctx, "labels", labels));
    return lli_predictions_new(out, ctx, name, array, logits, "labels", labels);
}

ll_status lli_predictions_new(ll_predictions **out, ll_context *ctx, const char *name, ll_array array, bool logits, const char *labels_name,
                              const ll_array *labels) {
    *out = NULL;
    outputs o;
    LLI_TRY(outputs_init(ctx, &o, name, array, logits));
    ll_predictions *p = NULL;
    ll_status status;
    LLI_DO(make_room(&p, ctx, &o, labels != NULL));
    LLI_DO(make_probs(ctx, p));
    if (labels)
        LLI_DO(lli_predictions_set_truth(ctx, p, labels_name, *labels));
    LLI_DO(fill(ctx, p, &o));
    *out = p;
    p = NULL;
done:
    ll_predictions_free(p);
    return status;
}
