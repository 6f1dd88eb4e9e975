/* SPDX-License-Identifier: MIT */
/* Array views and number types. */
#include "base/array.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/half.h"
#include "base/memory.h"

static const struct {
    const char *name;
    size_t size;
} types[] = {
    [LL_DTYPE_BOOL] = {"bool", 1}, [LL_DTYPE_I8] = {"i8", 1},   [LL_DTYPE_U8] = {"u8", 1},     [LL_DTYPE_I16] = {"i16", 2},
    [LL_DTYPE_U16] = {"u16", 2},   [LL_DTYPE_I32] = {"i32", 4}, [LL_DTYPE_U32] = {"u32", 4},   [LL_DTYPE_I64] = {"i64", 8},
    [LL_DTYPE_U64] = {"u64", 8},   [LL_DTYPE_F16] = {"f16", 2}, [LL_DTYPE_BF16] = {"bf16", 2}, [LL_DTYPE_F32] = {"f32", 4},
    [LL_DTYPE_F64] = {"f64", 8},
};

size_t ll_dtype_size(ll_dtype dtype) {
    return (unsigned)dtype < LLI_COUNT(types) ? types[dtype].size : 0;
}

const char *ll_dtype_name(ll_dtype dtype) {
    return (unsigned)dtype < LLI_COUNT(types) ? types[dtype].name : "none";
}

bool lli_array_dtype_parse(ll_dtype *out, const char *name) {
    for (size_t i = 0; i < LLI_COUNT(types); i++)
        if (strcmp(types[i].name, name) == 0) {
            *out = (ll_dtype)i;
            return true;
        }
    return false;
}

ll_array ll_array_view(const void *data, ll_dtype dtype, int rank, const int64_t *shape) {
    ll_array a = {.data = data, .dtype = dtype, .rank = shape || rank == 0 ? rank : -1}; /* -1: refused wherever it is used */
    for (int i = 0; i < a.rank && i < LL_ARRAY_RANK_MAX; i++)
        a.shape[i] = shape[i];
    return a;
}

ll_array ll_array_strided(const void *data, ll_dtype dtype, int rank, const int64_t *shape, const int64_t *strides) {
    ll_array a = ll_array_view(data, dtype, rank, shape);
    for (int i = 0; strides && i < a.rank && i < LL_ARRAY_RANK_MAX; i++)
        a.strides[i] = strides[i];
    return a;
}

/* Do all elements lie at distances that fit? */
static bool check_strides(const ll_array *a) {
    int64_t reach = 0, most = INT64_MAX / 2;
    for (int i = 0; i < a->rank; i++) {
        int64_t step = a->strides[i], far;
        if (step == INT64_MIN || (a->shape[i] > 1 && !lli_multiply(&far, step < 0 ? -step : step, a->shape[i] - 1)))
            return false;
        far = a->shape[i] > 1 ? (step < 0 ? -step : step) * (a->shape[i] - 1) : 0;
        if (far > most - reach)
            return false;
        reach += far;
    }
    return true;
}

ll_status lli_array_check(ll_context *ctx, const char *name, const ll_array *a) {
    int64_t count;
    if ((unsigned)a->dtype >= LLI_COUNT(types))
        return lli_fail(ctx, LL_ERR_USAGE, "%s: there is no number type %d; expected one of ll_dtype", name, (int)a->dtype);
    if (a->rank < 0 || a->rank > LL_ARRAY_RANK_MAX)
        return lli_fail(ctx, LL_ERR_USAGE, "%s: the rank is %d; expected 0 to %d, with a shape", name, a->rank, LL_ARRAY_RANK_MAX);
    char text[LLI_ARRAY_TEXT];
    if (!lli_array_count_checked(&count, a->rank, a->shape, types[a->dtype].size))
        return lli_fail(ctx, LL_ERR_USAGE, "%s: %s cannot be the shape of an array in memory", name, lli_array_text(text, a));
    if (!check_strides(a))
        return lli_fail(ctx, LL_ERR_USAGE, "%s: the strides of %s reach beyond memory", name, lli_array_text(text, a));
    if (count > 0 && !a->data)
        return lli_fail(ctx, LL_ERR_USAGE, "%s: the data of %s are NULL", name, lli_array_text(text, a));
    return LL_OK;
}

bool lli_array_count_checked(int64_t *out, int rank, const int64_t *shape, size_t size) {
    int64_t product = (int64_t)size; /* as if no axis were empty: parts of the shape are multiplied elsewhere */
    bool empty = false;
    for (int i = 0; i < rank; i++) {
        empty |= shape[i] == 0;
        if (!lli_multiply(&product, product, shape[i] ? shape[i] : 1))
            return false;
    }
    *out = empty ? 0 : product / (int64_t)size;
    return true;
}

int64_t lli_array_count(const ll_array *a) {
    int64_t count = 1;
    for (int i = 0; i < a->rank; i++)
        count *= a->shape[i];
    return count;
}

bool lli_array_is_real(ll_dtype dtype) {
    return dtype >= LL_DTYPE_F16;
}

bool lli_array_is_integer(ll_dtype dtype) {
    return dtype < LL_DTYPE_F16;
}

static bool has_strides(const ll_array *a) {
    for (int i = 0; i < a->rank; i++)
        if (a->strides[i])
            return true;
    return false;
}

bool lli_array_is_dense(const ll_array *a) {
    int64_t step = (int64_t)ll_dtype_size(a->dtype);
    bool dense = true;
    for (int i = a->rank - 1; i >= 0; i--) {
        dense = dense && (a->shape[i] < 2 || a->strides[i] == step);
        step *= a->shape[i];
    }
    return dense || !has_strides(a);
}

/* Where element i of the flat array lies. */
static const char *find(const ll_array *a, int64_t i) {
    const char *p = a->data;
    for (int axis = a->rank - 1; axis >= 0; axis--) {
        p += i % a->shape[axis] * a->strides[axis];
        i /= a->shape[axis];
    }
    return p;
}

void lli_array_copy(void *out, const ll_array *a, int64_t first, int64_t count) {
    size_t size = ll_dtype_size(a->dtype);
    bool dense = lli_array_is_dense(a);
    if (dense && count > 0)
        memcpy(out, (const char *)a->data + (size_t)first * size, (size_t)count * size);
    for (int64_t i = 0; !dense && i < count; i++)
        memcpy((char *)out + (size_t)i * size, find(a, first + i), size);
}

double lli_array_real(const ll_array *a, int64_t i) {
    const void *p = a->data;
    uint64_t element; /* a copy where the address may be any: of strides, and of arrays inside files */
    size_t size = ll_dtype_size(a->dtype);
    if (has_strides(a) || ((uintptr_t)a->data & (size - 1)) != 0) {
        memcpy(&element, has_strides(a) ? find(a, i) : (const char *)a->data + (size_t)i * size, size);
        p = &element;
        i = 0;
    }
    switch (a->dtype) {
    case LL_DTYPE_BOOL: return ((const uint8_t *)p)[i] != 0;
    case LL_DTYPE_I8: return ((const int8_t *)p)[i];
    case LL_DTYPE_U8: return ((const uint8_t *)p)[i];
    case LL_DTYPE_I16: return ((const int16_t *)p)[i];
    case LL_DTYPE_U16: return ((const uint16_t *)p)[i];
    case LL_DTYPE_I32: return ((const int32_t *)p)[i];
    case LL_DTYPE_U32: return ((const uint32_t *)p)[i];
    case LL_DTYPE_I64: return (double)((const int64_t *)p)[i];
    case LL_DTYPE_U64: return (double)((const uint64_t *)p)[i];
    case LL_DTYPE_F16: return (double)lli_half_to_float(((const uint16_t *)p)[i]);
    case LL_DTYPE_BF16: return (double)lli_half_from_bfloat(((const uint16_t *)p)[i]);
    case LL_DTYPE_F32: return (double)((const float *)p)[i];
    case LL_DTYPE_F64: return ((const double *)p)[i];
    }
    return NAN;
}

int64_t lli_array_integer(const ll_array *a, int64_t i, bool *fits) {
    uint64_t u;
    *fits = true;
    if (a->dtype == LL_DTYPE_I64 || a->dtype == LL_DTYPE_U64) {
        memcpy(&u, has_strides(a) ? find(a, i) : (const char *)a->data + i * (int64_t)sizeof u, sizeof u);
        *fits = a->dtype == LL_DTYPE_I64 || u <= INT64_MAX;
        return (int64_t)u;
    }
    return (int64_t)lli_array_real(a, i);
}

void lli_array_to_f32(float *out, const ll_array *a, int64_t first, int64_t count) {
    if (a->dtype == LL_DTYPE_F32) {
        lli_array_copy(out, a, first, count);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        out[i] = (float)lli_array_real(a, first + i);
}

void lli_array_to_f64(double *out, const ll_array *a, int64_t first, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        out[i] = lli_array_real(a, first + i);
}

static double clamp(double x, double lo, double hi) {
    return !(x > lo) ? lo : x < hi ? x : hi; /* NaN becomes lo */
}

void lli_array_store(void *data, ll_dtype dtype, int64_t i, double x) {
    switch (dtype) {
    case LL_DTYPE_BOOL: ((uint8_t *)data)[i] = x != 0; break;
    case LL_DTYPE_I8: ((int8_t *)data)[i] = (int8_t)clamp(x, INT8_MIN, INT8_MAX); break;
    case LL_DTYPE_U8: ((uint8_t *)data)[i] = (uint8_t)clamp(x, 0, UINT8_MAX); break;
    case LL_DTYPE_I16: ((int16_t *)data)[i] = (int16_t)clamp(x, INT16_MIN, INT16_MAX); break;
    case LL_DTYPE_U16: ((uint16_t *)data)[i] = (uint16_t)clamp(x, 0, UINT16_MAX); break;
    case LL_DTYPE_I32: ((int32_t *)data)[i] = (int32_t)clamp(x, INT32_MIN, INT32_MAX); break;
    case LL_DTYPE_U32: ((uint32_t *)data)[i] = (uint32_t)clamp(x, 0, UINT32_MAX); break;
    case LL_DTYPE_I64: ((int64_t *)data)[i] = x >= 0x1p63 ? INT64_MAX : (int64_t)clamp(x, -0x1p63, 0x1p63); break;
    case LL_DTYPE_U64: ((uint64_t *)data)[i] = x >= 0x1p64 ? UINT64_MAX : (uint64_t)clamp(x, 0, 0x1p64); break;
    case LL_DTYPE_F16: ((uint16_t *)data)[i] = lli_half_from_float((float)x); break;
    case LL_DTYPE_BF16: ((uint16_t *)data)[i] = lli_half_to_bfloat((float)x); break;
    case LL_DTYPE_F32: ((float *)data)[i] = (float)x; break;
    case LL_DTYPE_F64: ((double *)data)[i] = x; break;
    }
}

const char *lli_array_text(char out[LLI_ARRAY_TEXT], const ll_array *a) {
    int length = snprintf(out, LLI_ARRAY_TEXT, "[");
    for (int i = 0; i < a->rank; i++)
        length += snprintf(out + length, (size_t)(LLI_ARRAY_TEXT - length), "%s%" PRId64, i ? "," : "", a->shape[i]);
    snprintf(out + length, (size_t)(LLI_ARRAY_TEXT - length), "] %s", ll_dtype_name(a->dtype));
    return out;
}

enum { BLOCK = 64 }; /* numbers that are looked at as a whole, which takes a fifth of the instructions */

static bool block_is_finite(const float *x) {
    int outside = 0;
    for (int i = 0; i < BLOCK; i++)
        outside |= !isfinite(x[i]);
    return !outside;
}

int64_t lli_array_not_finite(const float *x, int64_t n) {
    int64_t i = 0;
    while (i + BLOCK <= n && block_is_finite(x + i))
        i += BLOCK;
    while (i < n && isfinite(x[i]))
        i++;
    return i;
}
