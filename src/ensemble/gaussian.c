/* SPDX-License-Identifier: MIT */
/* The factors of a Gaussian: which structure has which, and how they lie in files. */
#include "ensemble/gaussian.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"

typedef struct kind {
    const char *name;
    bool has[LLI_GAUSSIAN_ARRAYS]; /* V U R P */
} kind;

static const kind kinds[] = {
    {"full", {false, false, false, true}},
    {"kfac", {true, true, true, false}},
    {"diagb", {true, false, true, false}},
    {"diag", {false, false, true, false}},
};

static const kind *find(const char *structure) {
    for (size_t i = 0; structure && i < LLI_COUNT(kinds); i++)
        if (strcmp(kinds[i].name, structure) == 0)
            return &kinds[i];
    return NULL;
}

const char *lli_gaussian_name(const char *structure) {
    const kind *k = find(structure);
    return k ? k->name : NULL;
}

bool lli_gaussian_has(const char *structure, int array) {
    const kind *k = find(structure);
    return k && k->has[array];
}

static ll_named_array shape_of(int array, int64_t K, int64_t D) {
    static const char *const names[LLI_GAUSSIAN_ARRAYS] = {"laplace_V", "laplace_U", "laplace_R", "laplace_P"};
    int64_t n = D + 1;
    const int64_t shapes[LLI_GAUSSIAN_ARRAYS][2] = {{n, n}, {K, K}, {K, n}, {K * n, K * n}};
    return (ll_named_array){names[array], ll_array_view(NULL, array == LLI_GAUSSIAN_P ? LL_DTYPE_F64 : LL_DTYPE_F32, 2, shapes[array])};
}

ll_status lli_gaussian_allocate(ll_context *ctx, lli_gaussian *g, int array, int64_t K, int64_t D) {
    ll_array a = shape_of(array, K, D).array;
    int64_t count;
    if (!lli_multiply(&count, a.shape[0], a.shape[1]))
        return lli_fail(ctx, LL_ERR_MEMORY, "a Gaussian of %" PRId64 " classes and %" PRId64 " features is too large", K, D);
    LLI_TRY(lli_memory_new(ctx, &g->owned[array], count, ll_dtype_size(a.dtype)));
    g->at[array] = g->owned[array];
    return LL_OK;
}

void lli_gaussian_release(lli_gaussian *g) {
    for (int i = 0; i < LLI_GAUSSIAN_ARRAYS; i++)
        lli_memory_free(g->owned[i]);
    *g = (lli_gaussian){0};
}

int64_t lli_gaussian_list(ll_named_array *out, const lli_gaussian *g, int64_t K, int64_t D) {
    int64_t count = 0;
    for (int i = 0; i < LLI_GAUSSIAN_ARRAYS; i++)
        if (lli_gaussian_has(g->structure, i)) {
            out[count] = shape_of(i, K, D);
            out[count++].array.data = g->at[i];
        }
    return count;
}

/* Finite; variances at least 0 too. */
static ll_status check(ll_context *ctx, const ll_named_array *a, bool variance, const char *path) {
    for (int64_t i = 0; i < lli_array_count(&a->array); i++) {
        double x = lli_array_real(&a->array, i);
        if (!isfinite(x) || (variance && x < 0))
            return lli_fail(ctx, LL_ERR_DATA, "%s: the array %s holds %g at place %" PRId64 "; expected a finite number%s", path, a->name,
                            x, i, variance ? " of at least 0" : "");
    }
    return LL_OK;
}

ll_status lli_gaussian_from(ll_context *ctx, lli_gaussian *g, const ll_bundle *bundle, const char *path, int64_t K, int64_t D) {
    const char *common = lli_bundle_meta(bundle, LLI_GAUSSIAN_COMMON);
    if (!find(g->structure))
        return lli_fail(ctx, LL_ERR_FORMAT,
                        "%s: the metadata entry " LLI_GAUSSIAN_STRUCTURE " is %.40s; expected one of " LLI_GAUSSIAN_NAMES, path,
                        g->structure);
    if (!common || (strcmp(common, "true") != 0 && strcmp(common, "false") != 0))
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the metadata entry " LLI_GAUSSIAN_COMMON " is %.40s; expected true or false", path,
                        common ? common : "missing");
    g->common = strcmp(common, "true") == 0;
    for (int i = 0; i < LLI_GAUSSIAN_ARRAYS; i++) {
        if (!lli_gaussian_has(g->structure, i))
            continue;
        ll_named_array expected = shape_of(i, K, D);
        int64_t at = ll_bundle_find(bundle, expected.name);
        if (at < 0)
            return lli_fail(ctx, LL_ERR_FORMAT, "%s: the array %s is missing, which an ensemble of draws from a Gaussian (%s) has", path,
                            expected.name, g->structure);
        ll_array a = ll_bundle_array(bundle, at);
        if (a.dtype != expected.array.dtype || a.rank != 2 || a.shape[0] != expected.array.shape[0] ||
            a.shape[1] != expected.array.shape[1]) {
            char found_text[LLI_ARRAY_TEXT], expected_text[LLI_ARRAY_TEXT];
            return lli_fail(ctx, LL_ERR_FORMAT, "%s: the array %s is %s; expected %s", path, expected.name, lli_array_text(found_text, &a),
                            lli_array_text(expected_text, &expected.array));
        }
        expected.array = a;
        LLI_TRY(check(ctx, &expected, i == LLI_GAUSSIAN_R, path));
        g->at[i] = a.data;
    }
    return LL_OK;
}
