/* SPDX-License-Identifier: MIT */
/* The arrays of a bundle, whoever made it, become predictions: types are converted, sizes agree, and an array that does not fit is named
 * with what was expected. */
#include <math.h>

#include "base/bundle.h"
#include "check.h"
#include "predict/predictions.h"
#include "problem.h"

enum { N = 4, K = 3, S = 2, R = 2 };

typedef struct item {
    const char *name;
    ll_dtype dtype;
    const void *data;
    int rank;
    int64_t shape[3];
} item;

static const float probs[N * K] = {0.5f, 0.25f, 0.25f, 0, 1, 0, 0.125f, 0.125f, 0.75f, 1, 0, 0}, sr[N] = {0.5f, 1, 0.75f, 1};
static const float pmax[R * S] = {0.5f, 0.75f, 1, 0.25f};
static const int64_t label[N] = {0, 1, 2, 0}, vote[N] = {0, 1, 1, 0}, member_label[R * S] = {0, 2, 1, 1};
static const double running[S * 3] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6};
static const int64_t member_row[R] = {3, 0};
static const double log_true[N] = {-1, -2, -3, -4};

static const item good[] = {
    {"probs", LL_DTYPE_F32, probs, 2, {N, K}},
    {"label", LL_DTYPE_I64, label, 1, {N}},
    {"vote", LL_DTYPE_I64, vote, 1, {N}},
    {"sr", LL_DTYPE_F32, sr, 1, {N}},
    {"log_true", LL_DTYPE_F64, log_true, 1, {N}},
    {"running", LL_DTYPE_F64, running, 2, {S, 3}},
    {"member_pmax", LL_DTYPE_F32, pmax, 2, {R, S}},
    {"member_label", LL_DTYPE_I64, member_label, 2, {R, S}},
    {"member_row", LL_DTYPE_I64, member_row, 1, {R}},
    {"out_label", LL_DTYPE_I64, label, 1, {N - 1}},
    {"out_probs", LL_DTYPE_F32, probs, 2, {N - 1, K}},
    {"stranger", LL_DTYPE_F32, sr, 1, {2}},
};
enum { GOOD = sizeof good / sizeof *good };

static ll_bundle *bundle_of(ll_context *ctx, const item *items, size_t count) {
    ll_bundle *bundle;
    CHECK_OK(ctx, lli_bundle_new(&bundle, ctx, "test"));
    for (size_t i = 0; i < count; i++)
        if (items[i].name)
            CHECK_OK(ctx,
                     lli_bundle_add(ctx, bundle, items[i].name,
                                    ll_array_view((void *)(uintptr_t)items[i].data, items[i].dtype, items[i].rank, items[i].shape), NULL));
    return bundle;
}

static item *find(item *items, const char *name) {
    for (int i = 0; i < GOOD; i++)
        if (strcmp(items[i].name, name) == 0)
            return &items[i];
    fail_msg("no %s", name);
    return NULL;
}

static void test_fields(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    ll_predictions *p;
    CHECK_OK(ctx, lli_predictions_from_bundle(&p, ctx, bundle_of(ctx, good, GOOD), "file", NULL));
    const ll_outcome *v = ll_predictions_view(p);
    assert_true(v->n == N && v->classes == K);
    assert_true(p->sizes.N == N && p->sizes.K == K && p->sizes.S == S && p->sizes.R == R);
    for (int i = 0; i < N; i++) {
        assert_true(v->label[i] == label[i] && v->vote[i] == vote[i]);
        CHECK_NEAR(v->confidence[LL_CONFIDENCE_SR][i], (double)sr[i], 0);
        CHECK_NEAR(v->log_true[i], log_true[i], 0);
    }
    assert_ptr_equal(v->probs.data, probs); /* in place */
    assert_ptr_equal(v->log_true, log_true);
    assert_null(v->truth);
    assert_null(v->confidence[LL_CONFIDENCE_STD]);
    ll_array classes = ll_predictions_array(p, "member_label");
    assert_true(classes.dtype == LL_DTYPE_I32 && classes.rank == 2 && classes.shape[0] == R && classes.shape[1] == S);
    for (int i = 0; i < R * S; i++)
        assert_int_equal(((const int32_t *)classes.data)[i], member_label[i]);
    const ll_outcome *out = ll_predictions_view(ll_predictions_out(p));
    assert_true(out && out->n == N - 1 && out->classes == K);
    assert_int_equal(out->label[2], label[2]);
    assert_ptr_equal(out->probs.data, probs);
    ll_predictions_free(p);
    ll_context_free(ctx);
}

/* Columns [N,1] are vectors, whole numbers may come as other integers, numbers as other reals. */
static void test_other_forms(void **state) {
    (void)state;
    static const uint8_t bytes[N] = {0, 1, 2, 0};
    static const int32_t rows[R] = {3, 0};
    static const double wide[N] = {0.5, 1, 0.75, 1};
    ll_context *ctx = check_context(1);
    item items[GOOD];
    memcpy(items, good, sizeof good);
    *find(items, "label") = (item){"label", LL_DTYPE_U8, bytes, 2, {N, 1}};
    *find(items, "sr") = (item){"sr", LL_DTYPE_F64, wide, 3, {N, 1, 1}};
    *find(items, "member_row") = (item){"member_row", LL_DTYPE_I32, rows, 1, {R}};
    ll_predictions *p;
    CHECK_OK(ctx, lli_predictions_from_bundle(&p, ctx, bundle_of(ctx, items, GOOD), "file", NULL));
    const ll_outcome *v = ll_predictions_view(p);
    assert_int_equal(v->label[2], 2);
    assert_ptr_equal(v->confidence[LL_CONFIDENCE_SR], wide);
    ll_array r = ll_predictions_array(p, "member_row");
    assert_true(r.dtype == LL_DTYPE_I64 && ((const int64_t *)r.data)[0] == 3 && ((const int64_t *)r.data)[1] == 0);
    ll_predictions_free(p);
    /* numbers that lie askew are copied */
    static char askew[1 + sizeof log_true];
    memcpy(askew + 1, log_true, sizeof log_true);
    memcpy(items, good, sizeof good);
    find(items, "log_true")->data = askew + 1;
    CHECK_OK(ctx, lli_predictions_from_bundle(&p, ctx, bundle_of(ctx, items, GOOD), "file", NULL));
    v = ll_predictions_view(p);
    assert_true((const void *)v->log_true != askew + 1);
    CHECK_NEAR(v->log_true[3], -4, 0);
    ll_predictions_free(p);
    /* labels alone: the number of classes is not known */
    CHECK_OK(ctx, lli_predictions_from_bundle(&p, ctx, bundle_of(ctx, &good[1], 1), "file", NULL));
    assert_true(ll_predictions_view(p)->n == N && ll_predictions_view(p)->classes == 0);
    assert_null(ll_predictions_out(p));
    ll_predictions_free(p);
    ll_context_free(ctx);
}

static void test_misfits(void **state) {
    (void)state;
    static const int64_t high[N] = {0, 1, 3, 0}, low[N] = {0, -1, 2, 0}, beyond[R] = {3, 4}, before[R] = {-1, 0};
    static const struct {
        item instead;
        const char *words;
    } cases[] = {
        {{"probs", LL_DTYPE_F32, probs, 2, {N - 1, K}}, "file: the array probs is [3,3] f32; expected [4,K]"},
        {{"probs", LL_DTYPE_F32, probs, 2, {N, 1}}, "file: the array probs is [4,1] f32; expected [4,K]"},
        {{"probs", LL_DTYPE_F32, probs, 1, {N}}, "file: the array probs is [4] f32; expected [4,K]"},
        {{"probs", LL_DTYPE_F32, probs, 3, {N, 1, K}}, "file: the array probs is [4,1,3] f32; expected [4,K]"},
        {{"probs", LL_DTYPE_I64, label, 2, {N, 0}}, "file: the array probs is [4,0] i64; expected [4,K]"},
        {{"vote", LL_DTYPE_I64, vote, 1, {N - 1}}, "file: the array vote is [3] i64; expected [4]"},
        {{"vote", LL_DTYPE_I64, high, 1, {N}}, "file:vote: the label at row 2 is 3; expected 0 to 2"},
        {{"label", LL_DTYPE_I64, low, 1, {N}}, "file:label: the label at row 1 is -1"},
        {{"sr", LL_DTYPE_F32, probs, 2, {N, 2}}, "file: the array sr is [4,2] f32; expected [4]"},
        {{"running", LL_DTYPE_F64, running, 2, {3, 2}}, "file: the array running is [3,2] f64; expected [S,3]"},
        {{"member_pmax", LL_DTYPE_F32, pmax, 2, {1, 4}}, "file: the array member_pmax is [1,4] f32; expected [R,2]"},
        {{"member_label", LL_DTYPE_I64, member_label, 2, {1, 2}}, "file: the array member_label is [1,2] i64; expected [2,2]"},
        {{"member_row", LL_DTYPE_F32, sr, 1, {R}}, "file: the array member_row is [2] f32; expected whole numbers"},
        {{"member_row", LL_DTYPE_I64, beyond, 1, {R}}, "file: member_row 1 is not one of the 4 rows"},
        {{"member_row", LL_DTYPE_I64, before, 1, {R}}, "file: member_row 0 is not one of the 4 rows"},
        {{"out_probs", LL_DTYPE_F32, probs, 2, {N, K}}, "file: the array out_probs is [4,3] f32; expected [3,K]"},
        {{"label", LL_DTYPE_I64, label, 0, {0}}, "file holds no predictions (no array label); make them with lastlayer predict"},
        {{"label", LL_DTYPE_I64, label, 1, {0}}, "file holds no predictions (no array label)"},
        {{"out_label", LL_DTYPE_I64, label, 1, {0}}, "file holds no predictions (no array out_label)"},
    };
    ll_context *ctx = check_context(1);
    ll_predictions *p;
    item items[GOOD];
    for (size_t i = 0; i < LLI_COUNT(cases); i++) {
        memcpy(items, good, sizeof good);
        *find(items, cases[i].instead.name) = cases[i].instead;
        ll_bundle *bundle = bundle_of(ctx, items, GOOD);
        CHECK_FAILS(ctx, LL_ERR_DATA, cases[i].words, lli_predictions_from_bundle(&p, ctx, bundle, "file", NULL));
        assert_null(p);
        ll_bundle_free(bundle); /* still the caller's */
    }
    static const int32_t whole[N * K] = {0};
    memcpy(items, good, sizeof good);
    *find(items, "probs") = (item){"probs", LL_DTYPE_I32, whole, 2, {N, K}};
    ll_bundle *bundle = bundle_of(ctx, items, GOOD);
    CHECK_FAILS(ctx, LL_ERR_DATA, "file: the array probs is [4,3] i32; expected real numbers",
                lli_predictions_from_bundle(&p, ctx, bundle, "file", NULL));
    ll_bundle_free(bundle);
    /* sizes that are known beforehand */
    const lli_schema_sizes sizes = {-1, K, S + 1, R};
    bundle = bundle_of(ctx, good, GOOD);
    CHECK_FAILS(ctx, LL_ERR_DATA, "file: the array running is [2,3] f64; expected [3,3]",
                lli_predictions_from_bundle(&p, ctx, bundle, "file", &sizes));
    for (int64_t i = 1;; i++) { /* whichever allocation fails */
        lli_memory_fail_at(ctx, i);
        ll_status status = lli_predictions_from_bundle(&p, ctx, bundle, "file", NULL);
        if (status == LL_OK)
            break;
        assert_int_equal(status, LL_ERR_MEMORY);
    }
    lli_memory_fail_at(ctx, 0);
    ll_predictions_free(p);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fields), cmocka_unit_test(test_other_forms), cmocka_unit_test(test_misfits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
