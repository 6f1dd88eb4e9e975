/* SPDX-License-Identifier: MIT */
/* Predictions from someone else's outputs, and from the arrays of a predictions file. */
#include "predict/predictions.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/abi.h"
#include "base/array.h"
#include "base/memory.h"
#include "base/text.h"
#include "data/dataset.h"
#include "predict/moments.h"

ll_status lli_predictions_alloc(ll_predictions **out, ll_context *ctx, int64_t n, int64_t K) {
    *out = NULL;
    ll_predictions *p;
    LLI_TRY(lli_memory_new(ctx, &p, 1, sizeof *p));
    ll_status status;
    p->view.n = n;
    p->view.classes = K;
    LLI_DO(lli_memory_new(ctx, &p->label, n, sizeof(int32_t)));
    p->view.label = p->label;
    *out = p;
    p = NULL;
done:
    ll_predictions_free(p);
    return status;
}

void ll_predictions_free(ll_predictions *p) {
    if (!p)
        return;
    void *blocks[] = {p->label, p->vote, p->truth, p->probs, p->mean};
    for (size_t i = 0; i < LLI_COUNT(blocks); i++)
        lli_memory_free(blocks[i]);
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++)
        lli_memory_free(p->confidence[c]);
    for (lli_extra x = 0; x < LLI_EXTRA_COUNT; x++)
        lli_memory_free(p->extra[x]);
    ll_bundle_free(p->held[0]);
    ll_bundle_free(p->held[1]);
    lli_memory_free(p);
}

const ll_outcome *ll_predictions_view(const ll_predictions *p) {
    return p ? &p->view : NULL;
}

ll_status lli_predictions_set_truth(ll_context *ctx, ll_predictions *p, const char *name, ll_array labels) {
    int32_t *truth;
    int64_t largest;
    LLI_TRY(lli_dataset_labels(ctx, &truth, &largest, name, labels, p->view.n, p->view.classes));
    double *log_true = p->extra[LLI_EXTRA_LOG_TRUE];
    for (int64_t i = 0; log_true && i < p->view.n; i++)
        if (!p->truth || truth[i] != p->truth[i])
            log_true[i] = NAN;
    lli_memory_free(p->truth);
    p->truth = truth;
    p->view.truth = truth;
    return LL_OK;
}

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
                "%s: %s; rows of probabilities miss the sum of 1 by up to %.2g, and this type may miss it by %.2g; confidences are taken "
                "as given, NLL and Brier of p / sum p", o->name, lli_array_text(text, &o->array), o->miss, o->most);
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
                        "--logits", o->name, i,
                        member, least < 0 ? "holds" : "sums to", least < 0 ? least : sum);
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
        return lli_fail(ctx, LL_ERR_DATA, "%s: the outputs are %s; expected [N,K], or [S,N,K] for members", name, text);
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
    ll_prediction out;
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
        rd->out.log_true[i] = lli_moments_log(&rd->moments, p->truth[i]);
    for (int64_t k = 0; k < o->K; k++)
        p->probs[i * o->K + k] = lli_moments_mean(&rd->moments, k);
    return LL_OK;
}

/* Of probabilities the tails were lost when they were written, and NLL is made of them as they are. */
static ll_status room(ll_context *ctx, ll_predictions *p, ll_prediction *out, const outputs *o) {
    LLI_TRY(lli_memory_new(ctx, &p->vote, o->N, sizeof(int32_t)));
    LLI_TRY(lli_memory_new(ctx, &p->probs, o->N * o->K, sizeof(double)));
    *out = (ll_prediction){.label = p->label, .vote = p->vote};
    for (lli_extra x = 0; o->logits && x < LLI_EXTRA_COUNT; x++) {
        if (x == LLI_EXTRA_LOG_TRUE && !p->truth)
            continue;
        LLI_TRY(lli_memory_new(ctx, &p->extra[x], o->N, sizeof(double)));
        *lli_extra_of(out, x) = p->extra[x];
        *lli_extra_in(&p->view, x) = p->extra[x];
    }
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++) {
        if (o->S == 1 && ll_confidence_needs_members((ll_confidence)c))
            continue;
        LLI_TRY(lli_memory_new(ctx, &p->confidence[c], o->N, sizeof(double)));
        out->confidence[c] = p->confidence[c];
        p->view.confidence[c] = p->confidence[c];
    }
    p->view.vote = p->vote;
    p->view.probs = ll_array_view(p->probs, LL_DTYPE_F64, 2, (int64_t[]){o->N, o->K});
    return LL_OK;
}

static ll_status fill(ll_context *ctx, ll_predictions *p, outputs *o) {
    reader rd = {.row = NULL};
    ll_status status;
    LLI_DO(lli_moments_init(ctx, &rd.moments, o->K, o->logits));
    LLI_DO(lli_memory_new(ctx, &rd.row, o->K, 4 * sizeof(double)));
    rd.output = (lli_output){.p = rd.row + o->K, .r = rd.row + 2 * o->K, .logp = rd.row + 3 * o->K};
    LLI_DO(room(ctx, p, &rd.out, o));
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
    LLI_TRY(lli_array_check(ctx, "the array", &array));
    if (labels)
        LLI_TRY(lli_array_check(ctx, "labels", labels));
    return lli_predictions_new(out, ctx, "the array", array, logits, "labels", labels);
}

ll_status lli_predictions_new(ll_predictions **out, ll_context *ctx, const char *name, ll_array array, bool logits, const char *labels_name,
                              const ll_array *labels) {
    *out = NULL;
    outputs o;
    LLI_TRY(outputs_init(ctx, &o, name, array, logits));
    ll_predictions *p = NULL;
    ll_status status;
    LLI_DO(lli_predictions_alloc(&p, ctx, o.N, o.K));
    if (labels)
        LLI_DO(lli_predictions_set_truth(ctx, p, labels_name, *labels));
    LLI_DO(fill(ctx, p, &o));
    *out = p;
    p = NULL;
done:
    ll_predictions_free(p);
    return status;
}

/* One array of a predictions file. */
typedef struct entry {
    char name[24]; /* with its prefix */
    int64_t at;    /* in the bundle, -1 = absent */
} entry;

static entry find(const ll_bundle *bundle, const char *prefix, const char *name) {
    entry e = {.at = -1};
    size_t length = strlen(prefix);
    if (length + strlen(name) >= sizeof e.name)
        return e;
    memcpy(e.name, prefix, length);
    memcpy(e.name + length, name, strlen(name) + 1);
    e.at = ll_bundle_find(bundle, e.name);
    return e;
}

int64_t lli_predictions_find(const ll_bundle *bundle, const char *prefix, const char *name) {
    return find(bundle, prefix, name).at;
}

/* Copies a [n] array of class numbers below K. */
static ll_status copy_classes(ll_context *ctx, int32_t **out, const ll_bundle *bundle, const char *path, entry e, int64_t n, int64_t K) {
    int64_t largest;
    if (e.at < 0)
        return LL_OK;
    lli_text where;
    lli_text_init(&where, ctx);
    lli_text_add(&where, "%s:%s", path, e.name);
    ll_status status = where.status != LL_OK ? where.status
                                             : lli_dataset_labels(ctx, out, &largest, where.data, ll_bundle_array(bundle, e.at), n, K);
    lli_text_release(&where);
    return status;
}

static ll_status copy_reals(ll_context *ctx, double **out, const ll_bundle *bundle, const char *path, entry e, int64_t n) {
    if (e.at < 0)
        return LL_OK;
    ll_array a = ll_bundle_array(bundle, e.at);
    char text[LLI_ARRAY_TEXT];
    if (lli_array_count(&a) != n || a.rank < 1)
        return lli_fail(ctx, LL_ERR_DATA, "%s: the array %s is %s; expected [%" PRId64 "]", path, e.name, lli_array_text(text, &a), n);
    LLI_TRY(lli_memory_new(ctx, out, n, sizeof(double)));
    lli_array_to_f64(*out, &a, 0, n);
    return LL_OK;
}

static ll_status fill_from_bundle(ll_context *ctx, ll_predictions *p, const ll_bundle *bundle, const char *path, const char *prefix) {
    ll_outcome *v = &p->view;
    int64_t n = v->n, probs = lli_predictions_find(bundle, prefix, "probs");
    if (probs >= 0) {
        char text[LLI_ARRAY_TEXT];
        v->probs = ll_bundle_array(bundle, probs);
        if (v->probs.rank != 2 || v->probs.shape[0] != n || v->probs.shape[1] < 2 || !lli_array_is_real(v->probs.dtype))
            return lli_fail(ctx, LL_ERR_DATA, "%s: the array %sprobs is %s; expected [%" PRId64 ",K] reals", path, prefix,
                            lli_array_text(text, &v->probs), n);
        v->classes = v->probs.shape[1];
    }
    LLI_TRY(copy_classes(ctx, &p->label, bundle, path, find(bundle, prefix, "label"), n, v->classes));
    LLI_TRY(copy_classes(ctx, &p->vote, bundle, path, find(bundle, prefix, "vote"), n, v->classes));
    LLI_TRY(copy_classes(ctx, &p->truth, bundle, path, find(bundle, prefix, "truth"), n, v->classes));
    for (lli_extra x = 0; x < LLI_EXTRA_COUNT; x++) {
        LLI_TRY(copy_reals(ctx, &p->extra[x], bundle, path, find(bundle, prefix, lli_extra_name(x)), n));
        *lli_extra_in(v, x) = p->extra[x];
    }
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++) {
        LLI_TRY(copy_reals(ctx, &p->confidence[c], bundle, path, find(bundle, prefix, ll_confidence_name((ll_confidence)c)), n));
        v->confidence[c] = p->confidence[c];
    }
    v->label = p->label;
    v->vote = p->vote;
    v->truth = p->truth;
    return LL_OK;
}

ll_status lli_predictions_from_bundle(ll_predictions **out, ll_context *ctx, ll_bundle *bundle, const char *path, const char *prefix) {
    *out = NULL;
    int64_t at = lli_predictions_find(bundle, prefix, "label");
    ll_array label = at >= 0 ? ll_bundle_array(bundle, at) : (ll_array){0};
    if (at < 0 || label.rank < 1 || label.shape[0] < 1)
        return lli_fail(ctx, LL_ERR_DATA,
                        "%s holds no predictions (no array %slabel); make them with lastlayer predict, or use --probs or --logits", path,
                        prefix);
    ll_predictions *p;
    LLI_TRY(lli_memory_new(ctx, &p, 1, sizeof *p));
    p->view.n = label.shape[0];
    ll_status status = fill_from_bundle(ctx, p, bundle, path, prefix);
    if (status != LL_OK) {
        ll_predictions_free(p);
        return status;
    }
    p->held[0] = bundle;
    *out = p;
    return LL_OK;
}
