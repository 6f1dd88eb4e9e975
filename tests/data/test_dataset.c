/* SPDX-License-Identifier: MIT */
/* Every check on features and labels and the sentence it gives; which arrays are used in place. */
#include <math.h>

#include "base/array.h"
#include "base/half.h"
#include "check.h"
#include "data/dataset.h"

enum { N = 6, D = 3 };

static const float plain[N * D] = {0.5f, -1, 2, 3, 0.25f, -0.125f, 7, 8, -9, 1, 1, 1, 0, 0, 0, -2, -3, -4};
static const int64_t classes_of[N] = {0, 1, 2, 1, 0, 2};

static ll_array features_view(const float *z) {
    return ll_array_view(z, LL_DTYPE_F32, 2, (int64_t[]){N, D});
}

static ll_array labels_view(const int64_t *y) {
    return ll_array_view(y, LL_DTYPE_I64, 1, (int64_t[]){N});
}

static void refuse(ll_status expected, const char *words, ll_array features, const ll_array *labels, int64_t K) {
    ll_context *ctx = check_context(1);
    ll_dataset *data = (ll_dataset *)&data;
    CHECK_FAILS(ctx, expected, words, ll_dataset_new(&data, ctx, features, labels, K));
    assert_null(data);
    ll_context_free(ctx);
}

static void test_accepts(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    ll_array labels = labels_view(classes_of);
    ll_dataset *data;
    CHECK_OK(ctx, ll_dataset_new(&data, ctx, features_view(plain), &labels, 0));
    assert_int_equal(ll_dataset_rows(data), N);
    assert_int_equal(ll_dataset_features(data), D);
    assert_int_equal(ll_dataset_classes(data), 3);
    for (int i = 0; i < N; i++)
        assert_int_equal(ll_dataset_labels(data)[i], classes_of[i]);
    double square = 0;
    for (int i = 0; i < N * D; i++)
        square += (double)plain[i] * (double)plain[i];
    CHECK_NEAR(data->mean_square, square / N, 1e-12);
    CHECK_OK(ctx, lli_dataset_check_trainable(ctx, data, false));
    ll_dataset_free(data);

    CHECK_OK(ctx, ll_dataset_new(&data, ctx, features_view(plain), NULL, 0));
    assert_int_equal(ll_dataset_classes(data), 0);
    assert_null(ll_dataset_labels(data));
    CHECK_FAILS(ctx, LL_ERR_DATA, "no labels", lli_dataset_check_trainable(ctx, data, false));
    ll_dataset_free(data);
    ll_dataset_free(NULL);
    ll_context_free(ctx);
}

static void test_shapes(void **state) {
    (void)state;
    ll_array labels = labels_view(classes_of), wrong = labels;
    refuse(LL_ERR_DATA, "expected two axes [N,D]", ll_array_view(plain, LL_DTYPE_F32, 1, (int64_t[]){N * D}), &labels, 0);
    refuse(LL_ERR_DATA, "convert --flatten", ll_array_view(plain, LL_DTYPE_F32, 3, (int64_t[]){N / 2, D, 2}), &labels, 0);
    refuse(LL_ERR_DATA, "x.mean((2, 3))", ll_array_view(plain, LL_DTYPE_F32, 4, (int64_t[]){1, D, N / 2, 2}), &labels, 0);
    refuse(LL_ERR_DATA, "[0,3] f32; expected at least one row", ll_array_view(plain, LL_DTYPE_F32, 2, (int64_t[]){0, D}), &labels, 0);
    refuse(LL_ERR_DATA, "expected at least one row and one column", ll_array_view(plain, LL_DTYPE_F32, 2, (int64_t[]){N, 0}), &labels, 0);
    wrong.shape[0] = N - 1;
    refuse(LL_ERR_DATA, "5 labels for 6 rows", features_view(plain), &wrong, 0);
    wrong.shape[0] = N + 1;
    refuse(LL_ERR_DATA, "7 labels for 6 rows", features_view(plain), &wrong, 0);
    wrong = ll_array_view(classes_of, LL_DTYPE_I64, 2, (int64_t[]){3, 2});
    refuse(LL_ERR_DATA, "3 labels for 6 rows", features_view(plain), &wrong, 0);
    wrong = ll_array_view(classes_of, LL_DTYPE_I64, 0, (int64_t[]){0});
    refuse(LL_ERR_DATA, "expected one axis [N]", features_view(plain), &wrong, 0);
    for (ll_dtype dtype = LL_DTYPE_F16; dtype <= LL_DTYPE_F64; dtype++) {
        double room[N] = {0};
        for (int i = 0; i < N; i++)
            lli_array_store(room, dtype, i, i == 3 ? 1.5 : i % 2);
        wrong = ll_array_view(room, dtype, 1, (int64_t[]){N});
        refuse(LL_ERR_DATA, "the label at row 3 is 1.5; expected a whole number", features_view(plain), &wrong, 0);
        lli_array_store(room, dtype, 3, dtype == LL_DTYPE_F16 ? NAN : 1e30);
        refuse(LL_ERR_DATA, dtype == LL_DTYPE_F16 ? "is nan" : "too large for a class number", features_view(plain), &wrong, 0);
    }
    refuse(LL_ERR_USAGE, "number of classes is 1; expected at least 2", features_view(plain), &labels, 1);
    refuse(LL_ERR_USAGE, "number of classes is -2", features_view(plain), &labels, -2);
    refuse(LL_ERR_USAGE, "number of classes is 2147483648", features_view(plain), &labels, (int64_t)1 << 31);
}

static void test_labels_column(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    ll_array column = ll_array_view(classes_of, LL_DTYPE_I64, 2, (int64_t[]){N, 1});
    ll_dataset *data;
    CHECK_OK(ctx, ll_dataset_new(&data, ctx, features_view(plain), &column, 5));
    assert_int_equal(ll_dataset_classes(data), 5);
    assert_int_equal(ll_dataset_labels(data)[2], 2);
    ll_dataset_free(data);
    ll_context_free(ctx);
}

static void test_values(void **state) {
    (void)state;
    static const struct {
        float x;
        const char *says;
    } bad[] = {{NAN, "NaN"}, {INFINITY, "an infinite value"}, {-INFINITY, "an infinite value"}};
    for (size_t i = 0; i < LLI_COUNT(bad); i++)
        for (int at = 0; at < N * D; at++) {
            float z[N * D];
            uint16_t half[N * D];
            double wide[N * D];
            char words[100];
            memcpy(z, plain, sizeof z);
            z[at] = bad[i].x;
            for (int j = 0; j < N * D; j++) {
                half[j] = lli_half_from_float(z[j]);
                wide[j] = (double)z[j];
            }
            snprintf(words, sizeof words, "features: %s at row %d, column %d;", bad[i].says, at / D, at % D);
            refuse(LL_ERR_DATA, words, features_view(z), NULL, 0);
            refuse(LL_ERR_DATA, words, ll_array_view(half, LL_DTYPE_F16, 2, (int64_t[]){N, D}), NULL, 0);
            refuse(LL_ERR_DATA, words, ll_array_view(wide, LL_DTYPE_F64, 2, (int64_t[]){N, D}), NULL, 0);
        }
    double wide[N * D] = {[7] = 1e300}; /* finite, but not as f32 */
    refuse(LL_ERR_DATA, "1e+300 at row 2, column 1 is too large for f32", ll_array_view(wide, LL_DTYPE_F64, 2, (int64_t[]){N, D}), NULL, 0);
}

/* A bad value far behind the first chunk of the pass is found too, and told by its own row. */
static void test_values_far(void **state) {
    (void)state;
    enum { ROWS = 30000, COLUMNS = 7 };
    float *z = calloc(ROWS * COLUMNS, sizeof *z);
    z[29999 * COLUMNS + 6] = NAN;
    refuse(LL_ERR_DATA, "NaN at row 29999, column 6", ll_array_view(z, LL_DTYPE_F32, 2, (int64_t[]){ROWS, COLUMNS}), NULL, 0);
    z[12345 * COLUMNS + 2] = INFINITY;
    refuse(LL_ERR_DATA, "an infinite value at row 12345, column 2", ll_array_view(z, LL_DTYPE_F32, 2, (int64_t[]){ROWS, COLUMNS}), NULL, 0);
    free(z);
    uint16_t *half = calloc(ROWS * COLUMNS, sizeof *half);
    const ll_array halves = ll_array_view(half, LL_DTYPE_F16, 2, (int64_t[]){ROWS, COLUMNS});
    half[29998 * COLUMNS + 5] = 0xfc00;
    refuse(LL_ERR_DATA, "an infinite value at row 29998, column 5", halves, NULL, 0);
    half[9999 * COLUMNS + 3] = 0x7e00;
    refuse(LL_ERR_DATA, "NaN at row 9999, column 3", halves, NULL, 0);
    free(half);
}

static void test_label_values(void **state) {
    (void)state;
    int64_t y[N];
    memcpy(y, classes_of, sizeof y);
    ll_array labels = labels_view(y);
    y[4] = -1;
    refuse(LL_ERR_DATA, "labels: the label at row 4 is -1; expected 0 to", features_view(plain), &labels, 0);
    refuse(LL_ERR_DATA, "the label at row 4 is -1; expected 0 to 2", features_view(plain), &labels, 3);
    y[4] = 3;
    refuse(LL_ERR_DATA, "the label at row 4 is 3; expected 0 to 2 (classes count from 0; for labels from 1 save y - 1)",
           features_view(plain), &labels, 3);
    y[4] = 1000;
    refuse(LL_ERR_DATA, "the label at row 4 is 1000; expected 0 to 2", features_view(plain), &labels, 3);
    y[4] = INT64_MIN;
    refuse(LL_ERR_DATA, "the label at row 4 is -9223372036854775808", features_view(plain), &labels, 0);
    y[4] = INT32_MAX;
    refuse(LL_ERR_DATA, "the label at row 4 is 2147483647", features_view(plain), &labels, 0);
    uint64_t large[N] = {0, 1, 0, UINT64_MAX, 0, 0};
    labels = ll_array_view(large, LL_DTYPE_U64, 1, (int64_t[]){N});
    refuse(LL_ERR_DATA, "the label at row 3 is too large for a class number", features_view(plain), &labels, 0);
    int8_t bytes[N] = {0, 1, -128, 0, 0, 0};
    labels = ll_array_view(bytes, LL_DTYPE_I8, 1, (int64_t[]){N});
    refuse(LL_ERR_DATA, "the label at row 2 is -128", features_view(plain), &labels, 0);
}

static void test_trainable(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    int64_t one[N] = {2, 2, 2, 2, 2, 2}, many[N] = {0, 1, 2, 3, 4, N};
    ll_array labels = labels_view(one);
    ll_dataset *data;
    CHECK_OK(ctx, ll_dataset_new(&data, ctx, features_view(plain), &labels, 0)); /* a test set may be so */
    CHECK_FAILS(ctx, LL_ERR_DATA, "all 6 labels are class 2; at least two classes", lli_dataset_check_trainable(ctx, data, false));
    CHECK_FAILS(ctx, LL_ERR_DATA, "all 6 labels are class 2", lli_dataset_check_trainable(ctx, data, true));
    ll_dataset_free(data);

    int32_t none = 0;
    const ll_dataset empty = {.labels = &none, .K = 2, .one_class = true};
    CHECK_FAILS(ctx, LL_ERR_DATA, "no rows to learn from", lli_dataset_check_trainable(ctx, &empty, true));

    labels = labels_view(many);
    CHECK_OK(ctx, ll_dataset_new(&data, ctx, features_view(plain), &labels, 0));
    assert_int_equal(ll_dataset_classes(data), N + 1);
    CHECK_FAILS(ctx, LL_ERR_DATA, "the largest label is 6, which means 7 classes for 6 rows; if that is right, give classes=7",
                lli_dataset_check_trainable(ctx, data, false));
    CHECK_OK(ctx, lli_dataset_check_trainable(ctx, data, true)); /* K comes from the head */
    ll_dataset_free(data);
    CHECK_OK(ctx, ll_dataset_new(&data, ctx, features_view(plain), &labels, N + 1));
    CHECK_OK(ctx, lli_dataset_check_trainable(ctx, data, false));
    ll_dataset_free(data);
    many[5] = N - 1; /* K = N is fine */
    CHECK_OK(ctx, ll_dataset_new(&data, ctx, features_view(plain), &labels, 0));
    CHECK_OK(ctx, lli_dataset_check_trainable(ctx, data, false));
    ll_dataset_free(data);
    ll_context_free(ctx);
}

static void test_in_place(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    ll_dataset *data;
    CHECK_OK(ctx, ll_dataset_new(&data, ctx, features_view(plain), NULL, 0));
    assert_ptr_equal(data->rows.features, plain);
    assert_false(data->rows.half);
    char f32_hash[LLI_HASH_TEXT];
    memcpy(f32_hash, data->features_hash, sizeof f32_hash);
    double mean_square = data->mean_square;
    ll_dataset_free(data);

    uint16_t half[N * D];
    for (int i = 0; i < N * D; i++)
        half[i] = lli_half_from_float(plain[i]);
    CHECK_OK(ctx, ll_dataset_new(&data, ctx, ll_array_view(half, LL_DTYPE_F16, 2, (int64_t[]){N, D}), NULL, 0));
    assert_ptr_equal(data->rows.features, half);
    assert_true(data->rows.half);
    assert_null(data->converted);
    CHECK_NEAR(data->mean_square, mean_square, 0);
    assert_string_not_equal(data->features_hash, f32_hash); /* the type is part of what data are */
    ll_dataset_free(data);
    ll_context_free(ctx);
}

/* Every other type is converted to f32, with its values. */
static void test_converted(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    static const ll_dtype types[] = {LL_DTYPE_BOOL, LL_DTYPE_I8,  LL_DTYPE_U8,  LL_DTYPE_I16,  LL_DTYPE_U16, LL_DTYPE_I32,
                                     LL_DTYPE_U32,  LL_DTYPE_I64, LL_DTYPE_U64, LL_DTYPE_BF16, LL_DTYPE_F64};
    for (size_t t = 0; t < LLI_COUNT(types); t++) {
        uint64_t room[N * D] = {0};
        for (int i = 0; i < N * D; i++)
            lli_array_store(room, types[t], i, types[t] == LL_DTYPE_BOOL ? i % 2 : i);
        ll_dataset *data;
        CHECK_OK(ctx, ll_dataset_new(&data, ctx, ll_array_view(room, types[t], 2, (int64_t[]){N, D}), NULL, 0));
        assert_false(data->rows.half);
        assert_ptr_not_equal(data->rows.features, room);
        for (int i = 0; i < N * D; i++)
            CHECK_NEAR((double)((const float *)data->rows.features)[i], types[t] == LL_DTYPE_BOOL ? i % 2 : i, 0);
        ll_dataset_free(data);
    }
    ll_context_free(ctx);
}

static void test_label_types(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    for (ll_dtype dtype = LL_DTYPE_BOOL; dtype <= LL_DTYPE_U64; dtype++) {
        uint64_t room[N] = {0};
        for (int i = 0; i < N; i++)
            lli_array_store(room, dtype, i, (double)(dtype == LL_DTYPE_BOOL ? i % 2 : classes_of[i]));
        ll_array labels = ll_array_view(room, dtype, 1, (int64_t[]){N});
        ll_dataset *data;
        CHECK_OK(ctx, ll_dataset_new(&data, ctx, features_view(plain), &labels, 0));
        for (int i = 0; i < N; i++)
            assert_int_equal(ll_dataset_labels(data)[i], dtype == LL_DTYPE_BOOL ? i % 2 : classes_of[i]);
        ll_dataset_free(data);
    }
    ll_context_free(ctx);
}

/* The identity of data: any value, the shape and the type change it. */
static void test_hash(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    float z[N * D];
    char first[LLI_HASH_TEXT], first_labels[LLI_HASH_TEXT];
    int64_t y[N];
    memcpy(z, plain, sizeof z);
    memcpy(y, classes_of, sizeof y);
    for (int trial = 0; trial < 5; trial++) {
        z[17] = trial == 1 ? nextafterf(plain[17], 0) : plain[17];
        y[5] = trial == 4 ? 1 : classes_of[5];
        ll_array labels = labels_view(y);
        int64_t rows = trial == 2 ? N / 2 : N;
        labels.shape[0] = rows;
        ll_dataset *data;
        CHECK_OK(ctx, ll_dataset_new(&data, ctx, ll_array_view(z, LL_DTYPE_F32, 2, (int64_t[]){rows, N * D / rows}), &labels, 0));
        if (trial == 0) {
            memcpy(first, data->features_hash, sizeof first);
            memcpy(first_labels, data->labels_hash, sizeof first_labels);
        }
        assert_int_equal(strcmp(first, data->features_hash) == 0, trial == 0 || trial >= 3);
        assert_int_equal(strcmp(first_labels, data->labels_hash) == 0, trial == 0 || trial == 1 || trial == 3);
        ll_dataset_free(data);
    }
    ll_context_free(ctx);
}

static void test_out_of_memory(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    double wide[N * D] = {0};
    ll_array labels = labels_view(classes_of);
    int64_t n = 1;
    for (;; n++) {
        lli_memory_fail_at(ctx, n);
        ll_dataset *data;
        ll_status status = ll_dataset_new(&data, ctx, ll_array_view(wide, LL_DTYPE_F64, 2, (int64_t[]){N, D}), &labels, 0);
        if (status == LL_OK) {
            ll_dataset_free(data);
            break;
        }
        assert_int_equal(status, LL_ERR_MEMORY);
        assert_null(data);
    }
    assert_int_equal(n, 4); /* the data set, its converted features, its labels */
    ll_context_free(ctx);
}

static void test_cancel(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    ll_dataset *data;
    ll_context_cancel(ctx);
    CHECK_FAILS(ctx, LL_ERR_CANCELLED, "interrupted", ll_dataset_new(&data, ctx, features_view(plain), NULL, 0));
    assert_null(data);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepts),     cmocka_unit_test(test_shapes),     cmocka_unit_test(test_labels_column),
        cmocka_unit_test(test_values),      cmocka_unit_test(test_values_far), cmocka_unit_test(test_label_values),
        cmocka_unit_test(test_trainable),   cmocka_unit_test(test_in_place),   cmocka_unit_test(test_converted),
        cmocka_unit_test(test_label_types), cmocka_unit_test(test_hash),       cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_cancel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
