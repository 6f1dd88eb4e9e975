/* SPDX-License-Identifier: MIT */
/* Predictions from someone else's outputs, and from the arrays of a predictions file. */
#include "predict/predictions.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

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
    void *blocks[] = {p->label, p->vote, p->truth, p->sr_tail, p->probs, p->mean};
    for (size_t i = 0; i < LLI_COUNT(blocks); i++)
        lli_memory_free(blocks[i]);
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++)
        lli_memory_free(p->confidence[c]);
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
} outputs;

/* Row i of one member, checked. */
static ll_status check_row(ll_context *ctx, const outputs *o, const double *row, int64_t member, int64_t i) {
    double sum = 0, least = 0;
    for (int64_t k = 0; k < o->K; k++) {
        if (!isfinite(row[k]))
            return lli_fail(ctx, LL_ERR_DATA,
                            "%s: member %" PRId64 " holds %s at row %" PRId64 ", class %" PRId64 "; every value must be finite", o->name,
                            member, isnan(row[k]) ? "NaN" : "an infinite value", i, k);
        sum += row[k];
        least = fmin(least, row[k]);
    }
    if (!o->logits && (least < 0 || fabs(sum - 1) > 1e-3))
        return lli_fail(ctx, LL_ERR_DATA,
                        "%s: row %" PRId64 " of member %" PRId64 " %s %g, so these are not probabilities; if they are logits, use "
                        "--logits", o->name, i,
                        member, least < 0 ? "holds" : "sums to", least < 0 ? least : sum);
    return LL_OK;
}

/* r, top and entropy of a row of probabilities as given: r = p. */
static void row_of_probs(double *r, int64_t *top, double *entropy, const double *row, int64_t K) {
    *top = 0;
    *entropy = 0;
    for (int64_t k = 0; k < K; k++) {
        r[k] = row[k];
        if (row[k] > row[*top])
            *top = k;
        if (row[k] > 0)
            *entropy -= row[k] * log(row[k]);
    }
}

/* The same for logits, carried from 1: r of the top class is minus the sum of the others. */
static void row_of_logits(double *r, int64_t *top, double *entropy, const double *row, int64_t K) {
    int64_t best = 0;
    for (int64_t k = 1; k < K; k++)
        if (row[k] > row[best])
            best = k;
    double others = 0;
    for (int64_t k = 0; k < K; k++)
        if (k != best)
            others += r[k] = exp(row[k] - row[best]);
    double total = 1 + others, tail = others / total, h = -(1 - tail) * log1p(-tail);
    for (int64_t k = 0; k < K; k++)
        if (k != best) {
            r[k] /= total;
            h -= r[k] > 0 ? r[k] * log(r[k]) : 0;
        }
    r[best] = -tail;
    *top = best;
    *entropy = h;
}

static ll_status outputs_init(ll_context *ctx, outputs *o, const char *name, ll_array array, bool logits) {
    char text[LLI_ARRAY_TEXT];
    bool members = array.rank == 3;
    lli_array_text(text, &array);
    if (array.rank != 2 && !members)
        return lli_fail(ctx, LL_ERR_DATA, "%s: the outputs are %s; expected [N,K], or [S,N,K] for members", name, text);
    *o = (outputs){name, array, members ? array.shape[0] : 1, array.shape[members], array.shape[members + 1], logits};
    if (!lli_array_is_real(array.dtype))
        return lli_fail(ctx, LL_ERR_DATA, "%s: the outputs are %s; expected real numbers", name, text);
    if (o->S < 1 || o->N < 1 || o->K < 2)
        return lli_fail(ctx, LL_ERR_DATA, "%s: the outputs are %s; expected at least one row and two classes", name, text);
    return LL_OK;
}

static ll_status run_row(ll_context *ctx, ll_prediction *out, lli_moments *m, double *row, double *r, const outputs *o, int64_t i) {
    lli_moments_clear(m);
    for (int64_t s = 0; s < o->S; s++) {
        int64_t top;
        double entropy;
        lli_array_to_f64(row, &o->array, (s * o->N + i) * o->K, o->K);
        LLI_TRY(check_row(ctx, o, row, s, i));
        (o->logits ? row_of_logits : row_of_probs)(r, &top, &entropy, row, o->K);
        lli_moments_add(m, r, top, entropy);
    }
    lli_verdict verdict = lli_moments_verdict(m);
    lli_verdict_write(out, i, &verdict);
    return LL_OK;
}

static ll_status fill(ll_context *ctx, ll_predictions *p, const outputs *o) {
    lli_moments m = {0};
    double *row = NULL, *r = NULL;
    ll_status status;
    LLI_DO(lli_moments_init(ctx, &m, o->K, o->logits));
    LLI_DO(lli_memory_new(ctx, &row, o->K, sizeof(double)));
    LLI_DO(lli_memory_new(ctx, &r, o->K, sizeof(double)));
    LLI_DO(lli_memory_new(ctx, &p->vote, o->N, sizeof(int32_t)));
    LLI_DO(lli_memory_new(ctx, &p->probs, o->N * o->K, sizeof(double)));
    if (o->logits)
        LLI_DO(lli_memory_new(ctx, &p->sr_tail, o->N, sizeof(double)));
    ll_prediction out = {.label = p->label, .vote = p->vote, .sr_tail = p->sr_tail};
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++) {
        if (o->S == 1 && ll_confidence_needs_members((ll_confidence)c))
            continue;
        LLI_DO(lli_memory_new(ctx, &p->confidence[c], o->N, sizeof(double)));
        out.confidence[c] = p->confidence[c];
        p->view.confidence[c] = p->confidence[c];
    }
    for (int64_t i = 0; i < o->N; i++) {
        LLI_DO(lli_cancel_check(ctx));
        LLI_DO(run_row(ctx, &out, &m, row, r, o, i));
        for (int64_t k = 0; k < o->K; k++)
            p->probs[i * o->K + k] = lli_moments_mean(&m, k);
        lli_progress(ctx, "reading outputs", (double)(i + 1), (double)o->N);
    }
    p->view.vote = p->vote;
    p->view.sr_tail = p->sr_tail;
    p->view.probs = ll_array_view(p->probs, LL_DTYPE_F64, 2, (int64_t[]){o->N, o->K});
done:
    lli_moments_release(&m);
    lli_memory_free(row);
    lli_memory_free(r);
    return status;
}

ll_status ll_predictions_new(ll_predictions **out, ll_context *ctx, ll_array array, bool logits, const ll_array *labels) {
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
    LLI_TRY(copy_reals(ctx, &p->sr_tail, bundle, path, find(bundle, prefix, "sr_tail"), n));
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++) {
        LLI_TRY(copy_reals(ctx, &p->confidence[c], bundle, path, find(bundle, prefix, ll_confidence_name((ll_confidence)c)), n));
        v->confidence[c] = p->confidence[c];
    }
    v->label = p->label;
    v->vote = p->vote;
    v->truth = p->truth;
    v->sr_tail = p->sr_tail;
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
