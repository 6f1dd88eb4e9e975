/* SPDX-License-Identifier: MIT */
/* The arrays of predictions by their schema: made, read, picked from, listed. */
#include "predict/predictions.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "data/dataset.h"

void ll_predictions_free(ll_predictions *p) {
    if (!p)
        return;
    for (int f = 0; f < LLI_FIELDS_MAX; f++)
        lli_memory_free(p->owned[f]);
    ll_predictions_free(p->out);
    ll_bundle_free(p->bundle);
    lli_memory_free(p);
}

const ll_outcome *ll_predictions_view(const ll_predictions *p) {
    return p ? &p->view : NULL;
}

const ll_predictions *ll_predictions_out(const ll_predictions *p) {
    return p ? p->out : NULL;
}

ll_array ll_predictions_array(const ll_predictions *p, const char *name) {
    int f = p && name ? lli_schema_find(name) : -1;
    return f >= 0 && p->field[f].data ? p->field[f] : (ll_array){.rank = -1};
}

int64_t ll_predictions_meta_count(const ll_predictions *p) {
    return p ? ll_bundle_meta_count(p->bundle) : 0;
}

const char *ll_predictions_meta_key(const ll_predictions *p, int64_t i) {
    return p ? ll_bundle_meta_key(p->bundle, i) : NULL;
}

const char *ll_predictions_meta_value(const ll_predictions *p, int64_t i) {
    return p ? ll_bundle_meta_value(p->bundle, i) : NULL;
}

void lli_predictions_set(ll_predictions *p, int f, ll_array array) {
    const lli_field *field = lli_schema_get(f);
    p->field[f] = array;
    if (field->in_outcome && array.rank == 2)
        memcpy((char *)&p->view + field->in_outcome, &array, sizeof array);
    else if (field->in_outcome)
        memcpy((char *)&p->view + field->in_outcome, &array.data, sizeof array.data);
}

static ll_status own_field(ll_context *ctx, ll_predictions *p, int f, ll_dtype dtype) {
    int64_t shape[LLI_FIELD_AXES];
    int rank = lli_schema_shape(shape, lli_schema_get(f), &p->sizes);
    LLI_TRY(lli_memory_new(ctx, &p->owned[f], rank == 2 ? shape[0] * shape[1] : shape[0], ll_dtype_size(dtype)));
    lli_predictions_set(p, f, ll_array_view(p->owned[f], dtype, rank, shape));
    return LL_OK;
}

ll_status lli_predictions_alloc(ll_predictions **out, ll_context *ctx, const lli_schema_sizes *sizes, const bool has[LLI_FIELDS_MAX]) {
    *out = NULL;
    ll_predictions *p;
    LLI_TRY(lli_memory_new(ctx, &p, 1, sizeof *p));
    ll_status status = LL_OK;
    p->sizes = *sizes;
    p->view.n = sizes->N;
    p->view.classes = sizes->K;
    for (int f = 0; f < lli_schema_count() && status == LL_OK; f++)
        if (has[f])
            status = own_field(ctx, p, f, lli_schema_get(f)->info.dtype);
    if (status == LL_OK)
        *out = p;
    else
        ll_predictions_free(p);
    return status;
}

ll_status lli_predictions_own(void **out, ll_context *ctx, ll_predictions *p, const char *name) {
    int f = lli_schema_find(name);
    LLI_TRY(own_field(ctx, p, f, lli_schema_get(f)->info.dtype));
    *out = p->owned[f];
    return LL_OK;
}

void *lli_predictions_memory(ll_predictions *p, const char *name) {
    return p->owned[lli_schema_find(name)];
}

ll_status lli_predictions_set_truth(ll_context *ctx, ll_predictions *p, const char *name, ll_array labels) {
    int32_t *truth;
    int64_t largest;
    int f = lli_schema_find("truth"), l = lli_schema_find("log_true");
    LLI_TRY(lli_dataset_labels(ctx, &truth, &largest, name, labels, p->view.n, p->view.classes));
    if (p->field[l].data) {
        const double *before = p->field[l].data;
        double *log_true;
        ll_status status = lli_memory_new(ctx, &log_true, p->view.n, sizeof *log_true);
        if (status != LL_OK) {
            lli_memory_free(truth);
            return status;
        }
        for (int64_t i = 0; i < p->view.n; i++)
            log_true[i] = p->view.truth && truth[i] == p->view.truth[i] ? before[i] : NAN;
        lli_memory_free(p->owned[l]);
        p->owned[l] = log_true;
        lli_predictions_set(p, l, ll_array_view(log_true, LL_DTYPE_F64, 1, &p->view.n));
    }
    lli_memory_free(p->owned[f]);
    p->owned[f] = truth;
    lli_predictions_set(p, f, ll_array_view(truth, LL_DTYPE_I32, 1, &p->view.n));
    return LL_OK;
}

ll_status lli_predictions_pick(ll_predictions **out, ll_context *ctx, const ll_predictions *from, const int64_t *rows, int64_t n) {
    const lli_schema_sizes sizes = {n, from->sizes.K, from->sizes.S, 0};
    const bool none[LLI_FIELDS_MAX] = {false};
    ll_predictions *p;
    ll_status status = LL_OK;
    *out = NULL;
    LLI_TRY(lli_predictions_alloc(&p, ctx, &sizes, none));
    for (int f = 0; f < lli_schema_count(); f++) {
        const ll_array *a = &from->field[f];
        if (!a->data || !lli_schema_by_row(lli_schema_get(f)))
            continue;
        LLI_DO(own_field(ctx, p, f, a->dtype)); /* probabilities of others may be f64 */
        size_t bytes = ll_dtype_size(a->dtype) * (size_t)(a->rank == 2 ? a->shape[1] : 1);
        for (int64_t i = 0; i < n; i++)
            memcpy((char *)p->owned[f] + (size_t)i * bytes, (const char *)a->data + (size_t)rows[i] * bytes, bytes);
    }
    *out = p;
    p = NULL;
done:
    ll_predictions_free(p);
    return status;
}

void lli_predictions_overwrite(ll_predictions *to, const int64_t *place, const ll_predictions *from) {
    for (int f = 0; f < lli_schema_count(); f++) {
        const ll_array *a = &from->field[f];
        if (!to->owned[f] || !a->data)
            continue;
        size_t bytes = ll_dtype_size(a->dtype) * (size_t)(a->rank == 2 ? a->shape[1] : 1);
        for (int64_t i = 0; i < from->view.n; i++)
            memcpy((char *)to->owned[f] + (size_t)place[i] * bytes, (const char *)a->data + (size_t)i * bytes, bytes);
    }
}

void lli_predictions_drop(ll_predictions *p, const char *name) {
    int f = lli_schema_find(name);
    lli_memory_free(p->owned[f]);
    p->owned[f] = NULL;
    lli_predictions_set(p, f, (ll_array){.rank = p->field[f].rank});
}

void lli_predictions_list(lli_schema_list *list, const ll_predictions *p, const char *prefix, bool by_row) {
    for (int f = 0; f < lli_schema_count(); f++) {
        const lli_field *field = lli_schema_get(f);
        bool unknown = *prefix && (field->when & LLI_WHEN_TRUTH); /* out-of-distribution rows have no class of these */
        if (p->field[f].data && !unknown && (!by_row || lli_schema_by_row(field)))
            lli_schema_add(list, prefix, field, p->field[f]);
    }
}
