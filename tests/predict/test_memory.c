/* SPDX-License-Identifier: MIT */
/* The workspace of a predictor: below 2 MiB for heads up to that of ImageNet, whatever the number of members, and beside it the mean in
 * logarithms, which only saturated rows touch. */
#include "check.h"
#include "plain.h"
#include "predict/logmean.h"

ll_status __wrap_lli_memory_new(ll_context *ctx, void *out, int64_t count, size_t size);
ll_status __real_lli_memory_new(ll_context *ctx, void *out, int64_t count, size_t size);

static int64_t bytes;

ll_status __wrap_lli_memory_new(ll_context *ctx, void *out, int64_t count, size_t size) {
    bytes += count * (int64_t)size;
    return __real_lli_memory_new(ctx, out, count, size);
}

static void test_workspace(void **state) {
    (void)state;
    static const int64_t shapes[][2] = {{20, 10}, {512, 10}, {512, 100}, {1000, 1000}, {4032, 1000}}; /* D, K */
    ll_context *ctx = check_context(1);
    for (size_t i = 0; i < LLI_COUNT(shapes); i++)
        for (int64_t S = 1; S <= 2; S++) {
            ll_ensemble *e = plain_ensemble(ctx, S, shapes[i][1], shapes[i][0], 1, NULL, 0);
            ll_predictor *p;
            bytes = 0;
            CHECK_OK(ctx, ll_predictor_new(&p, ctx, e));
            print_message("# D %d K %d S %d: %.0f KiB\n", (int)shapes[i][0], (int)shapes[i][1], (int)S, (double)bytes / 1024);
            enum { ROWS = 64 }; /* of a block, at most 32 where K is large */
            int64_t logs = (shapes[i][1] < 1000 ? ROWS : ROWS / 2) * shapes[i][1] * LLI_LOGMEAN_DOUBLES * (int64_t)sizeof(double);
            assert_in_range(bytes, 1, (2 << 20) + logs);
            ll_predictor_free(p);
            ll_ensemble_free(e);
        }
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_workspace)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
