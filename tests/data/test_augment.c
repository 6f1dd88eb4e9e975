/* SPDX-License-Identifier: MIT */
/* Augmentation: against scipy.ndimage, at its exact cases, and as a function of (seed, epoch, index). */
#include <math.h>

#include "data/augment.h"
#include "fixture.h"

static void test_against_scipy(void **state) {
    (void)state;
    json_t *root = fixture_read("augment"), *list = fixture_get(root, "cases");
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *one = json_array_get(list, i), *shape = fixture_get(one, "shape");
        int64_t h = json_integer_value(json_array_get(shape, 0)), w = json_integer_value(json_array_get(shape, 1));
        int64_t c = json_integer_value(json_array_get(shape, 2)), n = h * w * c;
        double *image = fixture_reals(one, "image", n), *result = fixture_reals(one, "result", n);
        float *raw = malloc((size_t)n * sizeof *raw), *out = malloc((size_t)n * sizeof *out);
        assert_true(raw && out);
        for (int64_t k = 0; k < n; k++)
            raw[k] = (float)image[k];
        lli_augment_move move = {fixture_real(one, "degrees") * acos(-1) / 180, fixture_real(one, "dy"), fixture_real(one, "dx"),
                                 json_is_true(fixture_get(one, "flip"))};
        lli_augment_apply(out, raw, h, w, c, &move);
        for (int64_t k = 0; k < n; k++)
            CHECK_NEAR(out[k], result[k], 2e-5);
        free(image);
        free(result);
        free(raw);
        free(out);
    }
    json_decref(root);
}

enum { H = 6, W = 5, C = 3, SIZE = H * W * C };

static void fill(float *raw, int64_t stream) {
    for (int64_t i = 0; i < SIZE; i++)
        raw[i] = (float)check_uniform(stream, i) * 3 - 1;
}

static void test_exact_cases(void **state) {
    (void)state;
    float raw[SIZE], out[SIZE];
    fill(raw, 1);
    lli_augment_apply(out, raw, H, W, C, &(lli_augment_move){0});
    assert_memory_equal(out, raw, sizeof raw);
    lli_augment_apply(out, raw, H, W, C, &(lli_augment_move){.flip = true});
    for (int i = 0; i < H; i++)
        for (int j = 0; j < W; j++)
            for (int c = 0; c < C; c++)
                assert_true(out[(i * W + j) * C + c] == raw[(i * W + W - 1 - j) * C + c]);
    lli_augment_apply(out, raw, H, W, C, &(lli_augment_move){.dy = 2, .dx = -1}); /* whole pixels, edges repeated */
    for (int i = 0; i < H; i++)
        for (int j = 0; j < W; j++)
            for (int c = 0; c < C; c++)
                assert_true(out[(i * W + j) * C + c] == raw[(LLI_MIN(i + 2, H - 1) * W + LLI_MAX(j - 1, 0)) * C + c]);
}

static void test_function_of_its_address(void **state) {
    (void)state;
    const lli_augment all = {15, 0.1, true};
    float raw[SIZE], a[SIZE], b[SIZE];
    fill(raw, 2);
    lli_augment_image(a, raw, H, W, C, 7, 3, 11, &all);
    lli_augment_image(b, raw, H, W, C, 7, 3, 12, &all);
    assert_memory_not_equal(a, b, sizeof a);
    lli_augment_image(b, raw, H, W, C, 7, 4, 11, &all);
    assert_memory_not_equal(a, b, sizeof a);
    lli_augment_image(b, raw, H, W, C, 8, 3, 11, &all);
    assert_memory_not_equal(a, b, sizeof a);
    lli_augment_image(b, raw, H, W, C, 7, 3, 11, &all);
    assert_memory_equal(a, b, sizeof a);
}

/* The moves fill their ranges evenly, and pixels stay between the smallest and the largest. */
static void test_ranges(void **state) {
    (void)state;
    const lli_augment all = {15, 0.1, true}, none = {0};
    enum { N = 20000 };
    double limit[3] = {15 * acos(-1) / 180, 0.1 * H, 0.1 * W}, sum[3] = {0}, square[3] = {0};
    int flips = 0;
    float raw[SIZE], out[SIZE], low = INFINITY, high = -INFINITY;
    fill(raw, 3);
    for (int i = 0; i < SIZE; i++) {
        low = fminf(low, raw[i]);
        high = fmaxf(high, raw[i]);
    }
    for (int64_t n = 0; n < N; n++) {
        lli_augment_move m = lli_augment_draw(&all, H, W, 5, n % 3, n);
        double part[3] = {m.angle, m.dy, m.dx};
        for (int k = 0; k < 3; k++) {
            assert_true(fabs(part[k]) <= limit[k]);
            sum[k] += part[k] / limit[k];
            square[k] += part[k] * part[k] / (limit[k] * limit[k]);
        }
        flips += m.flip;
        lli_augment_apply(out, raw, H, W, C, &m);
        for (int i = 0; i < SIZE; i++)
            if (!(out[i] >= low - 1e-6f && out[i] <= high + 1e-6f))
                fail_msg("pixel %d is %g, outside [%g, %g]", i, (double)out[i], (double)low, (double)high);
    }
    for (int k = 0; k < 3; k++) { /* uniform in [-1,1]: mean 0, variance 1/3; 5 standard errors */
        CHECK_NEAR(sum[k] / N, 0, 5 / sqrt(3.0 * N));
        CHECK_NEAR(square[k] / N, 1.0 / 3, 5 * sqrt(4.0 / 45 / N));
    }
    CHECK_NEAR(flips, N / 2, 5 * sqrt(N) / 2);
    lli_augment_image(out, raw, H, W, C, 1, 2, 3, &none);
    assert_memory_equal(out, raw, sizeof raw);
}

static void test_text(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    static const struct {
        const char *text, *shown;
        lli_augment value;
    } good[] = {
        {"rotate=15,shift=0.1,flip", "rotate=15,shift=0.1,flip", {15, 0.1, true}},
        {"flip", "flip", {0, 0, true}},
        {"none", "none", {0}},
        {"shift=.25,rotate=7.5", "rotate=7.5,shift=0.25", {7.5, 0.25, false}},
        {NULL, "none", {0}},
    };
    static const char *const bad[] = {"",        "flop",  "rotate",         "rotate=", "rotate=-3", "rotate=181",
                                      "shift=1", "flip,", "rotate=15;flip", "flipper", "shift=1e-1"};
    for (size_t i = 0; i < LLI_COUNT(good); i++) {
        lli_augment found;
        CHECK_OK(ctx, lli_augment_parse(&found, ctx, good[i].text));
        assert_true(found.rotate == good[i].value.rotate && found.shift == good[i].value.shift && found.flip == good[i].value.flip);
        lli_text text;
        lli_text_init(&text, ctx);
        lli_augment_text(&text, &found);
        assert_string_equal(text.data, good[i].shown);
        lli_text_release(&text);
    }
    for (size_t i = 0; i < LLI_COUNT(bad); i++) {
        lli_augment found;
        CHECK_FAILS(ctx, LL_ERR_USAGE, "rotate=15,shift=0.1,flip", lli_augment_parse(&found, ctx, bad[i]));
    }
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_scipy), cmocka_unit_test(test_exact_cases), cmocka_unit_test(test_function_of_its_address),
        cmocka_unit_test(test_ranges),        cmocka_unit_test(test_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
