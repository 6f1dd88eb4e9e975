/* SPDX-License-Identifier: MIT */
/* Images in memory: joined, measured, selected, divided by class; and the rows held out. */
#include <math.h>

#include "base/hash.h"
#include "check.h"
#include "data/classes.h"
#include "data/holdout.h"
#include "data/images.h"
#include "data/dataset_select.h"

enum { N = 40, H = 3, W = 2, C = 3, D = H * W * C };

static uint8_t pixel(int64_t i, int64_t y, int64_t x, int64_t c) {
    return (uint8_t)(check_uniform(1, ((i * H + y) * W + x) * C + c) * 256);
}

/* The same images as planes and as rasters. */
static void fill(uint8_t *planes, uint8_t *raster, int32_t *labels) {
    for (int64_t i = 0; i < N; i++) {
        labels[i] = (int32_t)(check_uniform(2, i) * 10);
        for (int64_t y = 0; y < H; y++)
            for (int64_t x = 0; x < W; x++)
                for (int64_t c = 0; c < C; c++) {
                    planes[((i * C + c) * H + y) * W + x] = pixel(i, y, x, c);
                    raster[((i * H + y) * W + x) * C + c] = pixel(i, y, x, c);
                }
    }
}

/* Two files, the first of 15 images as planes, the second as rasters. */
static ll_dataset *sample(ll_context *ctx, bool labelled) {
    static uint8_t planes[N * D], raster[N * D];
    static int32_t labels[N];
    fill(planes, raster, labels);
    const int64_t one[] = {15, C, H, W}, two[] = {N - 15, H, W, C};
    ll_array y[2] = {ll_array_view(labels, LL_DTYPE_I32, 1, one), ll_array_view(labels + 15, LL_DTYPE_I32, 1, two)};
    lli_images_file files[2] = {{"one", ll_array_view(planes, LL_DTYPE_U8, 4, one), labelled ? &y[0] : NULL},
                                {"two", ll_array_view(raster + 15 * D, LL_DTYPE_U8, 4, two), labelled ? &y[1] : NULL}};
    ll_dataset *data;
    CHECK_OK(ctx, lli_images_join(&data, ctx, files, 2, labelled ? 10 : 0));
    return data;
}

static void test_join_and_measure(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    ll_dataset *data = sample(ctx, true);
    assert_true(data->rows.N == N && data->rows.D == D && data->rows.bytes && data->K == 10);
    assert_true(data->rows.height == H && data->rows.width == W && data->rows.channels == C);
    const uint8_t *bytes = data->rows.features;
    double sum = 0, square = 0, shift, scale;
    for (int64_t i = 0; i < N * D; i++) {
        if (bytes[i] != pixel(i / D, i / C / W % H, i / C % W, i % C))
            fail_msg("byte %d", (int)i);
        sum += bytes[i];
    }
    for (int64_t i = 0; i < N * D; i++)
        square += (bytes[i] - sum / (N * D)) * (bytes[i] - sum / (N * D));
    lli_images_measure(&shift, &scale, data);
    CHECK_NEAR(shift, sum / (N * D), 1e-12 * shift);
    CHECK_NEAR(scale, 1 / (sqrt(square / (N * D)) + 1e-7), 1e-12 * scale);
    CHECK_OK(ctx, lli_images_seal(ctx, data, shift, scale));
    CHECK_NEAR(data->mean_square, D, 1e-5 * D); /* each pixel has variance 1 */
    const int64_t shape[] = {N, H, W, C};
    char text[LLI_HASH_TEXT];
    lli_hash hash;
    lli_hash_array(&hash, LL_DTYPE_U8, 4, shape);
    lli_hash_add(&hash, bytes, N * D);
    lli_hash_text(&hash, text);
    assert_string_equal(text, data->features_hash);
    ll_dataset_free(data);
    /* Grey: a byte in 255. */
    uint8_t grey[] = {0, 51, 255, 102};
    lli_images_file file = {"grey", ll_array_view(grey, LL_DTYPE_U8, 3, (const int64_t[]){2, 1, 2}), NULL};
    CHECK_OK(ctx, lli_images_join(&data, ctx, &file, 1, 0));
    lli_images_measure(&shift, &scale, data);
    assert_true(shift == 0 && scale == 1.0 / 255 && data->rows.channels == 1 && data->labels == NULL);
    ll_dataset_free(data);
    ll_context_free(ctx);
}

static void test_refused(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    ll_dataset *data;
    static const uint8_t bytes[600];
    ll_array labels = ll_array_view(bytes, LL_DTYPE_U8, 1, (const int64_t[]){5});
    static const struct {
        ll_dtype dtype;
        int rank;
        int64_t shape[4];
        const char *words;
    } cases[] = {
        {LL_DTYPE_F32, 3, {2, 5, 5}, "expected bytes 0 to 255"},
        {LL_DTYPE_U8, 2, {2, 9}, "expected [N,H,W]"},
        {LL_DTYPE_U8, 4, {2, 5, 5, 4}, "1 or 3 channels"},
        {LL_DTYPE_U8, 3, {0, 5, 5}, "at least one"},
        {LL_DTYPE_U8, 3, {2, 5, 0}, "at least one"},
    };
    for (size_t i = 0; i < LLI_COUNT(cases); i++) {
        lli_images_file file = {"it", ll_array_view(bytes, cases[i].dtype, cases[i].rank, cases[i].shape), NULL};
        CHECK_FAILS(ctx, LL_ERR_DATA, cases[i].words, lli_images_join(&data, ctx, &file, 1, 0));
        assert_true(strncmp(ctx->message, "it: ", 4) == 0);
    }
    lli_images_file two[2] = {{"one", ll_array_view(bytes, LL_DTYPE_U8, 3, (const int64_t[]){2, 5, 5}), NULL},
                              {"two", ll_array_view(bytes, LL_DTYPE_U8, 3, (const int64_t[]){2, 5, 4}), NULL}};
    CHECK_FAILS(ctx, LL_ERR_DATA, "two: the images are 5 x 4 x 1 but those of one 5 x 5 x 1", lli_images_join(&data, ctx, two, 2, 0));
    two[0].labels = &labels;
    CHECK_FAILS(ctx, LL_ERR_DATA, "5 labels for 2 rows", lli_images_join(&data, ctx, two, 1, 0));
    static const int32_t huge[2] = {0, 100000000};
    labels = ll_array_view(huge, LL_DTYPE_I32, 1, (const int64_t[]){2});
    CHECK_FAILS(ctx, LL_ERR_DATA, "one: the largest label is 100000000, which means 100000001 classes for 2 images; number them from 0",
                lli_images_join(&data, ctx, two, 1, 0));
    ll_context_free(ctx);
}

static void test_select(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    ll_dataset *data = sample(ctx, true), *some;
    CHECK_OK(ctx, lli_images_seal(ctx, data, 100, 0.02));
    const int64_t rows[] = {39, 0, 7, 7};
    CHECK_OK(ctx, lli_dataset_select(&some, ctx, data, rows, 4, NULL, 0));
    assert_true(some->rows.N == 4 && some->rows.bytes && some->rows.shift == 100 && some->rows.scale == 0.02f && some->rows.width == W &&
                some->K == 10);
    for (int i = 0; i < 4; i++) {
        assert_memory_equal((const uint8_t *)some->rows.features + i * D, (const uint8_t *)data->rows.features + rows[i] * D, D);
        assert_int_equal(some->labels[i], data->labels[rows[i]]);
    }
    ll_dataset_free(some);
    ll_dataset_free(data);
    /* Features too, in both types. */
    uint16_t half[6] = {0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600}; /* 1 to 6 */
    int64_t y[3] = {0, 1, 1}, shape[] = {3, 2};
    ll_array labels = ll_array_view(y, LL_DTYPE_I64, 1, shape);
    CHECK_OK(ctx, ll_dataset_new(&data, ctx, ll_array_view(half, LL_DTYPE_F16, 2, shape), &labels, 0));
    const int32_t map[] = {3, 5};
    CHECK_OK(ctx, lli_dataset_select(&some, ctx, data, (const int64_t[]){2, 0}, 2, map, 7));
    assert_true(some->rows.half && some->K == 7 && some->labels[0] == 5 && some->labels[1] == 3);
    assert_memory_equal(some->rows.features, ((const uint16_t[]){0x4500, 0x4600, 0x3c00, 0x4000}), 8);
    CHECK_NEAR(some->mean_square, (25 + 36 + 1 + 4) / 2.0, 1e-12);
    ll_dataset_free(some);
    ll_dataset_free(data);
    ll_context_free(ctx);
}

static void test_memory_runs_out(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    ll_dataset *data = sample(ctx, true), *kept = NULL, *rest = NULL;
    CHECK_OK(ctx, lli_images_seal(ctx, data, 100, 0.02));
    ll_status status = LL_ERR_MEMORY;
    int failures = 0;
    for (int64_t n = 1; status == LL_ERR_MEMORY && n < 100; n++) {
        lli_memory_fail_at(ctx, n);
        status = lli_classes_divide(&kept, &rest, ctx, data, (const int32_t[]){1, 2, 3}, 3);
        lli_memory_fail_at(ctx, 0);
        failures += status == LL_ERR_MEMORY;
    }
    CHECK_OK(ctx, status);
    assert_true(failures > 5);
    ll_dataset_free(kept);
    ll_dataset_free(rest);
    ll_dataset_free(data);
    ll_context_free(ctx);
}

static void check_classes(ll_context *ctx, const char *text, uint64_t seed, int64_t count, const int32_t *expected) {
    int32_t *found;
    int64_t n;
    CHECK_OK(ctx, lli_classes_parse(&found, &n, ctx, text, 10, false, seed));
    assert_int_equal(n, count);
    if (expected)
        assert_memory_equal(found, expected, (size_t)n * sizeof *found);
    for (int64_t i = 0; i < n; i++)
        assert_true(found[i] >= 0 && found[i] < 10 && (i == 0 || found[i - 1] != found[i]));
    lli_memory_free(found);
}

static void test_class_texts(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    check_classes(ctx, NULL, 0, 10, (const int32_t[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    check_classes(ctx, "all", 0, 10, NULL);
    check_classes(ctx, "first:5", 0, 5, (const int32_t[]){0, 1, 2, 3, 4});
    check_classes(ctx, "last:3", 0, 3, (const int32_t[]){7, 8, 9});
    check_classes(ctx, "4,0,9", 0, 3, (const int32_t[]){4, 0, 9});
    static const char *const bad[] = {"first:1", "first:11", "first:", "first:5x", "half",     "",     "3",
                                      "1,1",     "1,10",     "1,,2",   "1,2,",     "random:0", "-1,2", "first: 5"};
    for (size_t i = 0; i < LLI_COUNT(bad); i++) {
        int32_t *found;
        int64_t n;
        CHECK_FAILS(ctx, LL_ERR_USAGE, "expected all, first:n, last:n, random:n with n from 2 to 10",
                    lli_classes_parse(&found, &n, ctx, bad[i], 10, false, 0));
        assert_null(found);
    }
    /* random:5 rises, is a function of the seed, and takes every class about half of the time. */
    int taken[10] = {0};
    for (uint64_t seed = 0; seed < 400; seed++) {
        int32_t *a, *b;
        int64_t n;
        CHECK_OK(ctx, lli_classes_parse(&a, &n, ctx, "random:5", 10, false, seed));
        CHECK_OK(ctx, lli_classes_parse(&b, &n, ctx, "random:5", 10, false, seed));
        assert_int_equal(n, 5);
        assert_memory_equal(a, b, 5 * sizeof *a);
        for (int i = 0; i < 5; i++) {
            assert_true(i == 0 || a[i - 1] < a[i]);
            taken[a[i]]++;
        }
        lli_memory_free(a);
        lli_memory_free(b);
    }
    for (int y = 0; y < 10; y++)
        CHECK_NEAR(taken[y], 200, 50); /* 5 standard deviations */
    int32_t *found;
    int64_t n;
    CHECK_OK(ctx, lli_classes_parse(&found, &n, ctx, "0,1,9", 8, true, 0)); /* these labels end at 7, the classes need not */
    assert_int_equal(n, 3);
    lli_memory_free(found);
    ll_context_free(ctx);
}

static void test_divide(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    ll_dataset *data = sample(ctx, true), *kept, *rest;
    CHECK_OK(ctx, lli_images_seal(ctx, data, 100, 0.02));
    const int32_t classes[] = {8, 2, 5};
    CHECK_OK(ctx, lli_classes_divide(&kept, &rest, ctx, data, classes, 3));
    assert_true(kept->K == 3 && rest->K == 0 && rest->labels == NULL && kept->rows.N + rest->rows.N == N);
    int64_t a = 0, b = 0;
    for (int64_t i = 0; i < N; i++) {
        int32_t y = data->labels[i], place = y == 8 ? 0 : y == 2 ? 1 : y == 5 ? 2 : -1;
        const ll_dataset *part = place < 0 ? rest : kept;
        int64_t row = place < 0 ? b++ : a++;
        if (place >= 0)
            assert_int_equal(kept->labels[row], place);
        assert_memory_equal((const uint8_t *)part->rows.features + row * D, (const uint8_t *)data->rows.features + i * D, D);
    }
    assert_true(a == kept->rows.N && b == rest->rows.N);
    ll_dataset_free(kept);
    ll_dataset_free(rest);
    ll_dataset_free(data);
    ll_context_free(ctx);
}

static void test_holdout(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    const int64_t sizes[] = {2, 9, 10, 1000, 1009};
    for (size_t s = 0; s < LLI_COUNT(sizes); s++) {
        int64_t *held, *kept, *again, *others, h, k, n = sizes[s];
        CHECK_OK(ctx, lli_holdout_new(&held, &h, &kept, &k, ctx, n, 5));
        assert_true(h == LLI_MAX(1, n / 10) && h + k == n);
        for (int64_t i = 0, a = 0, b = 0; i < n; i++) /* both rise, and each row is in one of them */
            assert_true((a < h && held[a] == i && ++a) || (b < k && kept[b] == i && ++b));
        CHECK_OK(ctx, lli_holdout_new(&again, &h, &others, &k, ctx, n, 5));
        assert_memory_equal(held, again, (size_t)h * sizeof *held);
        lli_memory_free(again);
        lli_memory_free(others);
        CHECK_OK(ctx, lli_holdout_new(&again, &h, &others, &k, ctx, n, 6));
        if (n >= 1000)
            assert_memory_not_equal(held, again, (size_t)h * sizeof *held);
        lli_memory_free(again);
        lli_memory_free(others);
        lli_memory_free(held);
        lli_memory_free(kept);
    }
    int64_t *held, *kept, h, k;
    CHECK_FAILS(ctx, LL_ERR_DATA, "expected at least 2", lli_holdout_new(&held, &h, &kept, &k, ctx, 1, 5));
    /* Over many seeds every row is held out one time in ten. */
    int counts[20] = {0};
    for (uint64_t seed = 0; seed < 2000; seed++) {
        CHECK_OK(ctx, lli_holdout_new(&held, &h, &kept, &k, ctx, 20, seed));
        counts[held[0]]++;
        counts[held[1]]++;
        lli_memory_free(held);
        lli_memory_free(kept);
    }
    for (int i = 0; i < 20; i++)
        CHECK_NEAR(counts[i], 200, 67); /* 5 standard deviations */
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_join_and_measure), cmocka_unit_test(test_refused),     cmocka_unit_test(test_select),
        cmocka_unit_test(test_memory_runs_out),  cmocka_unit_test(test_class_texts), cmocka_unit_test(test_divide),
        cmocka_unit_test(test_holdout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
