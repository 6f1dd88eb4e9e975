/* SPDX-License-Identifier: MIT */
/* A page of predictions in memory: every allocation fails once. */
#include "check.h"

enum { N = 40, K = 3, SIDE = 2 };

static void memory_may_run_out(void **state) {
    (void)state;
    static const char *const names[K] = {"a", "b", "c"};
    static float logits[N * K];
    static int32_t labels[N];
    static unsigned char pixels[SIDE * SIDE * N];
    for (int i = 0; i < N * K; i++)
        logits[i] = (float)check_uniform(3, i);
    for (int i = 0; i < N; i++)
        labels[i] = i % K;
    ll_context *ctx = check_context(1);
    ll_array outputs = ll_array_view(logits, LL_DTYPE_F32, 2, (int64_t[]){N, K});
    ll_array truth = ll_array_view(labels, LL_DTYPE_I32, 1, (int64_t[]){N});
    ll_array images = ll_array_strided(pixels, LL_DTYPE_U8, 3, (int64_t[]){N, SIDE, SIDE}, (int64_t[]){1, SIDE * N, N});
    ll_predictions *points;
    CHECK_OK(ctx, ll_predictions_new(&points, ctx, outputs, true, &truth));
    const ll_report_input input = {.predictions = points};
    ll_report_options options = ll_report_options_default();
    options.class_list = names;
    options.class_count = K;
    options.image_array = &images;
    ll_status status = LL_ERR_MEMORY;
    int64_t failures = -1;
    char *page = NULL;
    size_t size = 0;
    for (; status != LL_OK; failures++) {
        lli_memory_fail_at(ctx, failures + 2);
        status = ll_report(&page, &size, ctx, &input, 1, &options);
        lli_memory_fail_at(ctx, 0);
        assert_int_equal(status, page ? LL_OK : LL_ERR_MEMORY);
    }
    assert_true(failures > 20);
    assert_int_equal(size, strlen(page));
    assert_non_null(strstr(page, "the predictions")); /* which have no other name */
    ll_text_free(page);
    ll_predictions_free(points);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(memory_may_run_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
