/* SPDX-License-Identifier: MIT */
/* A chain on a head with many classes: shared by any number of threads it has the same bits, and theta of the plain head to rounding. */
#include <math.h>

#include "base/pool.h"
#include "model/head.h"
#include "model/large_head.h"
#include "problem.h"
#include "train/chain.h"

enum { N = 900, D = 1000, K = 130, B = 400, STEPS = 5 }; /* large enough for a step to be shared */

typedef struct kind {
    bool noise, resampled;
    uint32_t drop16;
} kind;

static const kind kinds[] = {{false, false, 0}, {true, false, 0}, {false, false, 19661}, {false, true, 0}};

typedef struct job {
    lli_chain *chain;
    int64_t until;
} job;

static ll_status run(ll_context *ctx, void *arg, int64_t task, int worker) {
    (void)task;
    assert_int_equal(worker, 0);
    job *j = arg;
    int64_t before = lli_memory_count(ctx);
    ll_status status = lli_chain_run(ctx, j->chain, j->until);
    assert_int_equal(lli_memory_count(ctx), before);
    return status;
}

/* W and b after STEPS steps, the last of an epoch short, inside the only task of a run, as methods do it. */
static float *train(kind k, int threads, bool rows) {
    ll_context *ctx = check_context(threads);
    problem p = problem_new(ctx, N, D, K);
    lli_model model;
    if (rows)
        CHECK_OK(ctx, lli_head_rows(ctx, &model, K, D));
    else
        CHECK_OK(ctx, lli_head_model(ctx, &model, K, D));
    assert_true(rows || !model.kernels->large || model.ops == &lli_large_head_ops);
    float *theta = problem_room(model.floats, sizeof *theta), *out = problem_room(K * (D + 1), sizeof *out);
    model.ops->pack(&model, theta, (const float *[]){p.head->W, p.head->b});
    lli_chain_options options = {.optimiser = k.noise ? &lli_optimiser_sgld : &lli_optimiser_sgd,
                                 .lr = 0.01,
                                 .batch_size = B,
                                 .prior_precision = 1,
                                 .drop16 = k.drop16,
                                 .seed = 7,
                                 .resampled = k.resampled};
    lli_chain *chain;
    CHECK_OK(ctx, lli_chain_new(&chain, ctx, &model, p.data, &lli_rule_langevin, B, 0, k.resampled));
    lli_chain_start(chain, &options, theta);
    job j = {chain, STEPS};
    CHECK_OK(ctx, lli_pool_run(ctx, run, &j, 1));
    model.ops->unpack(&model, (float *[]){out, out + K * D}, chain->theta);
    lli_chain_free(chain);
    free(theta);
    problem_free(&p);
    ll_context_free(ctx);
    return out;
}

static void threads_share_a_step(void **state) {
    (void)state;
    const size_t bytes = (size_t)(K * (D + 1)) * sizeof(float);
    for (size_t k = 0; k < LLI_COUNT(kinds); k++) {
        float *one = train(kinds[k], 1, false), *plain = train(kinds[k], 1, true);
        for (int64_t i = 0; i < K * (D + 1); i++)
            CHECK_NEAR((double)one[i], (double)plain[i], 2e-6);
        for (int threads = 2; threads <= 4; threads++) {
            float *several = train(kinds[k], threads, false);
            assert_memory_equal(several, one, bytes);
            free(several);
        }
        free(one);
        free(plain);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_share_a_step)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
