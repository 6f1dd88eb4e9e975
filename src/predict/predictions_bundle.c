/* SPDX-License-Identifier: MIT */
/* Predictions from the arrays of a bundle: a file, whoever wrote it, or what a pass left in memory. */
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/text.h"
#include "data/dataset.h"
#include "predict/predictions.h"

/* One array of a bundle that is to become a field. */
typedef struct source {
    ll_bundle *bundle;
    const char *path, *prefix;
    char name[LLI_FIELD_NAME]; /* with its prefix */
    int64_t at;                /* in the bundle, -1 = absent */
} source;

static void find(source *s, const char *field) {
    size_t length = strlen(s->prefix);
    memcpy(s->name, s->prefix, length);
    memcpy(s->name + length, field, strlen(field) + 1);
    s->at = ll_bundle_find(s->bundle, s->name);
}

static int64_t *size_of(lli_schema_sizes *sizes, char letter) {
    return letter == 'N' ? &sizes->N : letter == 'K' ? &sizes->K : letter == 'S' ? &sizes->S : letter == 'R' ? &sizes->R : NULL;
}

/* Has it the axes of the schema? A size that was not known is known from now on. A vector may have further axes of 1. */
static bool fits(lli_schema_sizes *sizes, const lli_field *field, const ll_array *a) {
    lli_schema_sizes now = *sizes;
    int64_t shape[LLI_FIELD_AXES];
    int axes = lli_schema_shape(shape, field, sizes), at = 0;
    if (a->rank < 1 || (axes > 1 && a->rank != axes))
        return false;
    for (const char *c = field->info.shape + 1; *c; c += 2, at++) { /* [N,K] */
        int64_t found = axes > 1 ? a->shape[at] : lli_array_count(a), *size = size_of(&now, *c);
        if (shape[at] >= 0 ? found != shape[at] : found < 1 + (*c == 'K'))
            return false;
        if (size)
            *size = found;
    }
    *sizes = now;
    return true;
}

static ll_status refuse(ll_context *ctx, const lli_field *field, const source *s, const ll_array *a, lli_schema_sizes *sizes) {
    char text[LLI_ARRAY_TEXT];
    lli_text expected;
    lli_text_init(&expected, ctx);
    for (const char *c = field->info.shape; *c; c++) {
        const int64_t *size = size_of(sizes, *c);
        if (size && *size >= 0)
            lli_text_add(&expected, "%" PRId64, *size);
        else
            lli_text_add(&expected, "%c", *c);
    }
    ll_status status = expected.status;
    if (status == LL_OK)
        status = lli_fail(ctx, LL_ERR_DATA, "%s: the array %s is %s; expected %s", s->path, s->name, lli_array_text(text, a),
                          expected.data);
    lli_text_release(&expected);
    return status;
}

static ll_status take_classes(ll_context *ctx, ll_predictions *p, int f, const source *s, const ll_array *a) {
    int64_t largest, count = lli_array_count(a);
    lli_text where;
    lli_text_init(&where, ctx);
    lli_text_add(&where, "%s:%s", s->path, s->name);
    int32_t *classes = NULL;
    ll_status status = where.status;
    if (status == LL_OK)
        status = lli_dataset_labels(ctx, &classes, &largest, where.data, ll_array_view(a->data, a->dtype, 1, &count), count,
                                    LLI_MAX(p->sizes.K, 0));
    p->owned[f] = classes;
    lli_text_release(&where);
    return status;
}

/* In place where the bytes are what the schema says, else converted. A matrix of the outcome stays what it is. */
static ll_status take_numbers(ll_context *ctx, ll_predictions *p, int f, const source *s, const ll_array *a) {
    const lli_field *field = lli_schema_get(f);
    ll_dtype dtype = field->info.dtype;
    int64_t shape[LLI_FIELD_AXES];
    bool matrix = field->in_outcome && lli_schema_shape(shape, field, &p->sizes) == 2, real = lli_array_is_real(a->dtype);
    int64_t count = lli_array_count(a);
    char text[LLI_ARRAY_TEXT];
    if (matrix ? !real : real && !lli_array_is_real(dtype))
        return lli_fail(ctx, LL_ERR_DATA, "%s: the array %s is %s; expected %s numbers", s->path, s->name, lli_array_text(text, a),
                        matrix ? "real" : "whole");
    if (matrix || (a->dtype == dtype && (uintptr_t)a->data % ll_dtype_size(dtype) == 0))
        return LL_OK;
    LLI_TRY(lli_memory_new(ctx, &p->owned[f], count, ll_dtype_size(dtype)));
    if (dtype == LL_DTYPE_F64)
        lli_array_to_f64(p->owned[f], a, 0, count);
    for (int64_t i = 0; dtype != LL_DTYPE_F64 && i < count; i++)
        lli_array_store(p->owned[f], dtype, i, lli_array_real(a, i));
    return LL_OK;
}

static ll_status take_field(ll_context *ctx, ll_predictions *p, int f, source *s) {
    const lli_field *field = lli_schema_get(f);
    find(s, field->info.name);
    if (s->at < 0)
        return LL_OK;
    ll_array a = ll_bundle_array(s->bundle, s->at);
    if (!fits(&p->sizes, field, &a))
        return refuse(ctx, field, s, &a, &p->sizes);
    LLI_TRY((field->classes ? take_classes : take_numbers)(ctx, p, f, s, &a));
    int64_t shape[LLI_FIELD_AXES];
    int rank = lli_schema_shape(shape, field, &p->sizes);
    bool converted = p->owned[f] != NULL;
    lli_predictions_set(p, f, ll_array_view(converted ? p->owned[f] : a.data, converted ? field->info.dtype : a.dtype, rank, shape));
    return LL_OK;
}

/* Rows of points that are named one by one must be there. */
static ll_status check_member_rows(ll_context *ctx, const ll_predictions *p, const char *path) {
    ll_array rows = ll_predictions_array(p, "member_row");
    for (int64_t r = 0; rows.rank == 1 && r < rows.shape[0]; r++) {
        int64_t row = ((const int64_t *)rows.data)[r];
        if (row < 0 || row >= p->sizes.N)
            return lli_fail(ctx, LL_ERR_DATA, "%s: member_row %" PRId64 " is not one of the %" PRId64 " rows", path, r, p->sizes.N);
    }
    return LL_OK;
}

static ll_status read_part(ll_predictions **out, ll_context *ctx, ll_bundle *bundle, const char *path, const char *prefix,
                           const lli_schema_sizes *known) {
    source s = {.bundle = bundle, .path = path, .prefix = prefix};
    find(&s, "label");
    ll_array label = s.at >= 0 ? ll_bundle_array(bundle, s.at) : (ll_array){0};
    find(&s, "set_size");
    if (label.rank < 1 && s.at >= 0)
        return lli_fail(ctx, LL_ERR_DATA,
                        "%s holds sets of classes, not predictions; lastlayer sets measures them when it makes them (`apply-labels`)",
                        path);
    if (label.rank < 1 || label.shape[0] < 1)
        return lli_fail(ctx, LL_ERR_DATA,
                        "%s holds no predictions (no array %slabel); make them with lastlayer predict, or use `probs` or `logits`", path,
                        prefix);
    ll_predictions *p;
    LLI_TRY(lli_memory_new(ctx, &p, 1, sizeof *p));
    ll_status status = LL_OK;
    p->sizes = *known;
    p->sizes.N = label.shape[0];
    for (int f = 0; f < lli_schema_count() && status == LL_OK; f++)
        if (!*prefix || lli_schema_by_row(lli_schema_get(f)))
            status = take_field(ctx, p, f, &s);
    if (status == LL_OK)
        status = check_member_rows(ctx, p, path);
    p->view.n = p->sizes.N;
    p->view.classes = LLI_MAX(p->sizes.K, 0);
    if (status == LL_OK)
        *out = p;
    else
        ll_predictions_free(p);
    return status;
}

ll_status lli_predictions_from_bundle(ll_predictions **out, ll_context *ctx, ll_bundle *bundle, const char *path,
                                      const lli_schema_sizes *sizes) {
    static const lli_schema_sizes unknown = {-1, -1, -1, -1};
    const lli_schema_sizes *known = sizes ? sizes : &unknown;
    *out = NULL;
    ll_predictions *p;
    LLI_TRY(read_part(&p, ctx, bundle, path, "", known));
    if (ll_bundle_find(bundle, LLI_SCHEMA_OUT "label") >= 0) {
        ll_status status = read_part(&p->out, ctx, bundle, path, LLI_SCHEMA_OUT, known);
        if (status != LL_OK) {
            ll_predictions_free(p);
            return status;
        }
    }
    p->bundle = bundle;
    *out = p;
    return LL_OK;
}
