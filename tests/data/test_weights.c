/* SPDX-License-Identifier: MIT */
/* Weights of rows: what is taken, what is refused, how classes are balanced, and which rows are left. */
#include <math.h>

#include "check.h"
#include "data/dataset_select.h"
#include "data/weights.h"

enum { N = 6, D = 2, K = 4 };

static const float z[N * D] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
static const int64_t y[N] = {0, 1, 1, 2, 1, 0}; /* nobody is of class 3 */

typedef struct scene {
    ll_context *ctx;
    ll_dataset *data;
} scene;

static scene scene_new(bool labelled) {
    scene s = {.ctx = check_context(1)};
    ll_array labels = ll_array_view(y, LL_DTYPE_I64, 1, (int64_t[]){N});
    CHECK_OK(s.ctx, ll_dataset_new(&s.data, s.ctx, ll_array_view(z, LL_DTYPE_F32, 2, (int64_t[]){N, D}), labelled ? &labels : NULL,
                                   labelled ? K : 0));
    return s;
}

static void scene_free(scene *s) {
    ll_dataset_free(s->data);
    ll_context_free(s->ctx);
}

static ll_array view(const double *w, int64_t count) {
    return ll_array_view(w, LL_DTYPE_F64, 1, &count);
}

static void expect(const ll_dataset *data, const double *w) {
    double sum = 0;
    int64_t zeros = 0;
    for (int i = 0; i < N; i++) {
        CHECK_NEAR((double)ll_dataset_weights(data)[i], w[i], 1e-7);
        sum += w[i];
        zeros += w[i] == 0;
    }
    CHECK_NEAR(lli_dataset_weight(data), sum, 1e-6);
    assert_int_equal(data->weightless, zeros);
}

static void test_product(void **state) {
    (void)state;
    scene s = scene_new(true);
    const double rows[N] = {1, 2, 0.5, 0, 3, 4}, classes[K] = {2, 10, 7, 0};
    ll_array w = view(rows, N), c = view(classes, K);
    assert_null(ll_dataset_weights(s.data));
    CHECK_NEAR(lli_dataset_weight(s.data), N, 0);
    CHECK_OK(s.ctx, ll_dataset_weigh(s.ctx, s.data, &w, NULL));
    expect(s.data, rows);
    char hash[LLI_HASH_TEXT];
    memcpy(hash, s.data->weights_hash, sizeof hash);
    CHECK_OK(s.ctx, ll_dataset_weigh(s.ctx, s.data, NULL, &c)); /* in place of the others */
    expect(s.data, (double[]){2, 10, 10, 7, 10, 2});
    assert_string_not_equal(hash, s.data->weights_hash);
    CHECK_OK(s.ctx, ll_dataset_weigh(s.ctx, s.data, &w, &c));
    expect(s.data, (double[]){2, 20, 5, 0, 30, 8});
    const int32_t whole[N] = {1, 1, 2, 1, 0, 3};
    ll_array column = ll_array_view(whole, LL_DTYPE_I32, 2, (int64_t[]){N, 1});
    CHECK_OK(s.ctx, ll_dataset_weigh(s.ctx, s.data, &column, NULL));
    expect(s.data, (double[]){1, 1, 2, 1, 0, 3});
    scene_free(&s);
}

/* N / (K n_k) as scikit-learn's compute_class_weight("balanced") has it: K is the number of classes that occur. */
static void test_balanced(void **state) {
    (void)state;
    scene s = scene_new(true);
    CHECK_OK(s.ctx, ll_dataset_balance(s.ctx, s.data));
    const double a = 6 / (3.0 * 2), b = 6 / (3.0 * 3), c = 6 / (3.0 * 1);
    expect(s.data, (double[]){a, b, b, c, b, a});
    /* of the rows that have a weight: the only one of class 2 has none, so that K = 2 and N = 5 */
    const double rows[N] = {1, 1, 2, 0, 1, 1}, d = 5 / (2.0 * 2), e = 5 / (2.0 * 3);
    ll_array w = view(rows, N);
    CHECK_OK(s.ctx, ll_dataset_weigh(s.ctx, s.data, &w, NULL));
    CHECK_OK(s.ctx, ll_dataset_balance(s.ctx, s.data));
    expect(s.data, (double[]){d, e, 2 * e, 0, e, d});
    const double large[N] = {1, 1, 1, 3e38, 1, 1}; /* class 2 is rare: times 2 */
    w = view(large, N);
    CHECK_OK(s.ctx, ll_dataset_weigh(s.ctx, s.data, &w, NULL));
    CHECK_FAILS(s.ctx, LL_ERR_DATA, "balanced classes: the weight of row 3 is 6e+38; expected a number that f32 can hold",
                ll_dataset_balance(s.ctx, s.data));
    scene_free(&s);
    scene bare = scene_new(false);
    CHECK_FAILS(bare.ctx, LL_ERR_DATA, "balanced by their labels", ll_dataset_balance(bare.ctx, bare.data));
    ll_array classes = view(rows, N);
    CHECK_FAILS(bare.ctx, LL_ERR_DATA, "class weights: class weights need labels", ll_dataset_weigh(bare.ctx, bare.data, NULL, &classes));
    scene_free(&bare);
}

static void test_refusals(void **state) {
    (void)state;
    static const struct {
        double x;
        const char *says;
    } bad[] = {{-1, "weights: the weight of row 4 is -1; expected a number of at least 0"},
               {NAN, "nan; expected a number of at least 0"},
               {INFINITY, "inf; expected a number that f32 can hold"},
               {1e200, "1e+200; expected a number that f32 can hold"},
               {1e-200, "1e-200; which f32 rounds to 0"}};
    scene s = scene_new(true);
    double rows[N] = {1, 1, 1, 1, 1, 1}, classes[K] = {1, 1, 1, 1};
    const double kept[N] = {1, 1, 1, 1, 1, 2};
    ll_array w = view(kept, N), c = view(classes, K);
    CHECK_OK(s.ctx, ll_dataset_weigh(s.ctx, s.data, &w, NULL));
    for (size_t i = 0; i < LLI_COUNT(bad); i++) {
        rows[4] = bad[i].x;
        w = view(rows, N);
        CHECK_FAILS(s.ctx, LL_ERR_DATA, bad[i].says, ll_dataset_weigh(s.ctx, s.data, &w, NULL));
        classes[3] = bad[i].x;
        CHECK_FAILS(s.ctx, LL_ERR_DATA, "class weights: the weight of class 3 is", ll_dataset_weigh(s.ctx, s.data, NULL, &c));
    }
    rows[4] = classes[3] = 1;
    rows[2] = classes[1] = 1e30;
    w = view(rows, N);
    CHECK_FAILS(s.ctx, LL_ERR_DATA, "weight of row 2 is 1e+60; expected a number that f32", ll_dataset_weigh(s.ctx, s.data, &w, &c));
    w = view(rows, N - 1);
    CHECK_FAILS(s.ctx, LL_ERR_DATA, "5 weights for 6 rows; expected one each", ll_dataset_weigh(s.ctx, s.data, &w, NULL));
    c = view(rows, 3);
    CHECK_FAILS(s.ctx, LL_ERR_DATA, "3 weights for 4 classes", ll_dataset_weigh(s.ctx, s.data, NULL, &c));
    w = ll_array_view(rows, LL_DTYPE_F64, 2, (int64_t[]){3, 2});
    CHECK_FAILS(s.ctx, LL_ERR_DATA, "[3,2] f64; expected one axis", ll_dataset_weigh(s.ctx, s.data, &w, NULL));
    const double none[N] = {0};
    w = view(none, N);
    CHECK_FAILS(s.ctx, LL_ERR_DATA, "all 6 rows have the weight 0", ll_dataset_weigh(s.ctx, s.data, &w, NULL));
    CHECK_FAILS(s.ctx, LL_ERR_USAGE, "data is NULL", ll_dataset_weigh(s.ctx, NULL, &w, NULL));
    CHECK_FAILS(s.ctx, LL_ERR_USAGE, "data is NULL", ll_dataset_balance(s.ctx, NULL));
    expect(s.data, kept); /* a failure leaves the weights that were there */
    scene_free(&s);
}

/* Rows of weight 0 go, K and the hashes of what was given stay. */
static void test_select(void **state) {
    (void)state;
    scene s = scene_new(true);
    const double rows[N] = {0, 2, 0.5, 0, 3, 4};
    ll_array w = view(rows, N);
    ll_dataset *some;
    CHECK_OK(s.ctx, lli_dataset_select_weighted(&some, s.ctx, s.data));
    assert_null(some);
    CHECK_OK(s.ctx, ll_dataset_weigh(s.ctx, s.data, &w, NULL));
    CHECK_OK(s.ctx, lli_dataset_select_weighted(&some, s.ctx, s.data));
    assert_int_equal(ll_dataset_rows(some), 4);
    assert_int_equal(ll_dataset_classes(some), K);
    static const int from[] = {1, 2, 4, 5};
    for (int i = 0; i < 4; i++) {
        CHECK_NEAR((double)some->weights[i], rows[from[i]], 0);
        assert_int_equal(some->labels[i], y[from[i]]);
        assert_memory_equal((const float *)some->rows.features + i * D, z + from[i] * D, D * sizeof *z);
    }
    assert_int_equal(some->weightless, 0);
    CHECK_NEAR(lli_dataset_weight(some), 9.5, 0);
    assert_string_equal(some->features_hash, s.data->features_hash);
    assert_string_equal(some->labels_hash, s.data->labels_hash);
    assert_string_equal(some->weights_hash, s.data->weights_hash);
    ll_dataset_free(some);
    const int64_t held[] = {0, 3};
    CHECK_OK(s.ctx, lli_dataset_select(&some, s.ctx, s.data, held, 2, NULL, 0));
    ll_dataset *none;
    CHECK_FAILS(s.ctx, LL_ERR_DATA, "all 2 rows to learn from have the weight 0", lli_dataset_select_weighted(&none, s.ctx, some));
    assert_null(none);
    ll_dataset_free(some);
    scene_free(&s);
}

typedef struct notes {
    int count;
    char last[1000];
} notes;

static void take_note(void *user, ll_log_level level, const char *sentence) {
    notes *n = user;
    n->count += level == LL_LOG_WARNING;
    snprintf(n->last, sizeof n->last, "%s", sentence);
}

/* Weights that sum to 1 are a common mistake: the prior would drown the data. */
static void test_scale_warning(void **state) {
    (void)state;
    notes n = {0};
    ll_context_options options = ll_context_options_default();
    options.log = take_note;
    options.user = &n;
    ll_context *ctx;
    assert_int_equal(ll_context_new(&ctx, &options), LL_OK);
    scene s = scene_new(true);
    const double fair[N] = {0.2, 0.2, 0, 0.2, 9, 9}, small[N] = {0.01, 0.01, 0.01, 0.01, 0.01, 0};
    ll_array w = view(fair, N);
    CHECK_OK(ctx, ll_dataset_weigh(ctx, s.data, &w, NULL));
    assert_int_equal(n.count, 0);
    w = view(small, N);
    CHECK_OK(ctx, ll_dataset_weigh(ctx, s.data, &w, NULL));
    assert_int_equal(n.count, 1);
    assert_non_null(strstr(n.last, "mean 0.01: relative to the prior the 5 rows count as 0.05"));
    ll_context_free(ctx);
    scene_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_product), cmocka_unit_test(test_balanced),      cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_select),  cmocka_unit_test(test_scale_warning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
