/* SPDX-License-Identifier: MIT */
/* Rows that a store brings give the bits of rows in memory, in all that goes through data: steps, the objective, the MAP, curvature, the
 * score. A store that fails is an error of the call. */
#include "check.h"
#include "kernels/kernels.h"
#include "model/head.h"
#include "model/network.h"
#include "problem.h"
#include "stored_rows.h"
#include "train/chain.h"
#include "train/curvature.h"
#include "train/score.h"
#include "train/solve.h"

enum { N = 300, D = 7, K = 3, M = D + 1, NUMBERS = 2000 };

typedef ll_status work(ll_context *ctx, const problem *p, const ll_dataset *data, double *out /* [NUMBERS] */);

static ll_status run_objective(ll_context *ctx, const problem *p, const ll_dataset *data, double *out) {
    double theta[K * 64];
    for (int i = 0; i < K * 64; i++)
        theta[i] = i % 64 <= D ? (double)problem_number(9, i) : 0;
    assert_true(lli_kernels_stride(D) <= 64);
    lli_objective *o;
    LLI_TRY(lli_objective_new(&o, ctx, data, p->K, 1));
    ll_status status = lli_objective_run(ctx, o, &out[0], out + 1, theta);
    lli_objective_free(o);
    return status;
}

static ll_status run_solve(ll_context *ctx, const problem *p, const ll_dataset *data, double *out) {
    (void)p;
    ll_head *head;
    LLI_TRY(ll_head_solve(&head, ctx, data, NULL));
    for (int i = 0; i < K * D; i++)
        out[i] = (double)((const float *)ll_head_weight_view(head).data)[i];
    ll_head_free(head);
    return LL_OK;
}

static ll_status run_curvature(ll_context *ctx, const problem *p, const ll_dataset *data, double *out) {
    const lli_curvature_head h = {K, p->head->W, p->head->b};
    for (int diagonal = 0; diagonal < 2; diagonal++) {
        lli_curvature c;
        LLI_TRY(lli_curvature_init(ctx, &c, data, &h, diagonal));
        memcpy(out + 100 * diagonal, c.a, M * sizeof *out);
        memcpy(out + 100 * diagonal + M, c.b, K * sizeof *out);
        lli_curvature_release(&c);
    }
    LLI_TRY(lli_curvature_diagonal(ctx, out + 200, data, &h));
    return lli_curvature_full(ctx, out + 300, data, &h);
}

static ll_status run_score(ll_context *ctx, const problem *p, const ll_dataset *data, double *out) {
    lli_network *network;
    lli_score *score;
    CHECK_OK(ctx, lli_network_new(&network, ctx, "mlp:4", 1, 1, D, K));
    float *theta = problem_room(lli_network_model(network)->floats, sizeof *theta);
    lli_network_start(network, theta, 1, 0);
    CHECK_OK(ctx, lli_score_new(&score, ctx, lli_network_model(network)));
    double unused;
    ll_status status = lli_score_run(&unused, &unused, ctx, score, theta, p->data); /* whose rows need less room */
    if (status == LL_OK)
        status = lli_score_run(&out[0], &out[1], ctx, score, theta, data);
    lli_score_free(score);
    lli_network_free(network);
    free(theta);
    return status;
}

static ll_status run_chain(ll_context *ctx, const ll_dataset *data, double *out, bool resampled, bool independent, int64_t block_rows) {
    lli_model model;
    lli_chain *chain;
    CHECK_OK(ctx, lli_head_model(ctx, &model, K, D));
    float *theta = problem_room(model.floats, sizeof *theta);
    const lli_chain_options o = {.optimiser = &lli_optimiser_sgld,
                                 .lr = 0.1,
                                 .batch_size = 32,
                                 .prior_precision = 1,
                                 .seed = 4,
                                 .resampled = resampled,
                                 .independent = independent,
                                 .block_rows = block_rows};
    CHECK_OK(ctx, lli_chain_new(&chain, ctx, &model, data, &lli_rule_langevin, 32, block_rows, resampled));
    lli_chain_start(chain, &o, theta);
    ll_status status = lli_chain_run(ctx, chain, 25); /* ten steps an epoch, the last one short */
    for (int64_t i = 0; i < model.floats; i++)
        out[i] = (double)chain->theta[i];
    lli_chain_free(chain);
    free(theta);
    return status;
}

static ll_status run_shuffled(ll_context *ctx, const problem *p, const ll_dataset *data, double *out) {
    (void)p;
    return run_chain(ctx, data, out, false, false, 0);
}

static ll_status run_resampled(ll_context *ctx, const problem *p, const ll_dataset *data, double *out) {
    (void)p;
    return run_chain(ctx, data, out, true, false, 0);
}

static ll_status run_independent(ll_context *ctx, const problem *p, const ll_dataset *data, double *out) {
    (void)p;
    return run_chain(ctx, data, out, false, true, 0);
}

static ll_status run_blocks(ll_context *ctx, const problem *p, const ll_dataset *data, double *out) {
    (void)p;
    return run_chain(ctx, data, out, false, false, 100);
}

static ll_status run_resampled_blocks(ll_context *ctx, const problem *p, const ll_dataset *data, double *out) {
    (void)p;
    return run_chain(ctx, data, out, true, false, 100);
}

static work *const all[] = {run_objective, run_solve,       run_curvature, run_score,           run_shuffled,
                            run_resampled, run_independent, run_blocks,    run_resampled_blocks};

static void test_same_bits(void **state) {
    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        ll_context *ctx = check_context(threads);
        problem p = problem_new(ctx, N, D, K);
        stored_rows s;
        ll_dataset *stored = stored_rows_dataset(ctx, &s, &p);
        for (size_t i = 0; i < LLI_COUNT(all); i++) {
            double *here = problem_room(NUMBERS, sizeof *here), *there = problem_room(NUMBERS, sizeof *there);
            CHECK_OK(ctx, all[i](ctx, &p, p.data, here));
            int64_t before = s.reads;
            CHECK_OK(ctx, all[i](ctx, &p, stored, there));
            assert_true(s.reads > before);
            assert_memory_equal(here, there, NUMBERS * sizeof *here);
            free(here);
            free(there);
        }
        ll_dataset_free(stored);
        assert_int_equal(s.released, 1);
        problem_free(&p);
        ll_context_free(ctx);
    }
}

/* Whichever read fails: its sentence, and nothing leaks. */
static void test_failing(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    problem p = problem_new(ctx, N, D, K);
    stored_rows s;
    ll_dataset *stored = stored_rows_dataset(ctx, &s, &p);
    double *out = problem_room(NUMBERS, sizeof *out);
    for (size_t i = 0; i < LLI_COUNT(all); i++) {
        s.reads = s.fail_at = 0;
        CHECK_OK(ctx, all[i](ctx, &p, stored, out));
        int64_t reads = s.reads;
        for (int64_t at = 1; at <= reads; at += 1 + reads / 20) {
            s.reads = 0;
            s.fail_at = at;
            CHECK_FAILS(ctx, LL_ERR_READ, "the disk is gone", all[i](ctx, &p, stored, out));
        }
    }
    free(out);
    ll_dataset_free(stored);
    problem_free(&p);
    ll_context_free(ctx);
}

/* In blocks, each row of an epoch is announced once, also where the rows are a resample. */
static void test_ahead(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    problem p = problem_new(ctx, N, D, K);
    stored_rows s;
    ll_dataset *stored = stored_rows_dataset(ctx, &s, &p);
    double *out = problem_room(NUMBERS, sizeof *out);
    CHECK_OK(ctx, run_shuffled(ctx, &p, stored, out));
    assert_int_equal(s.ahead_calls, 0);
    CHECK_OK(ctx, run_blocks(ctx, &p, stored, out)); /* two epochs, and half of a third, which has announced all three blocks */
    assert_int_equal(s.ahead_calls, 9);
    assert_int_equal(s.ahead_bytes, 3 * s.size);
    s.ahead_calls = s.ahead_bytes = 0;
    CHECK_OK(ctx, run_resampled_blocks(ctx, &p, stored, out)); /* from the first row of a block of the sorted resample to its last */
    assert_int_equal(s.ahead_calls, 9);
    assert_true(s.ahead_bytes <= 3 * s.size && s.ahead_bytes > 3 * s.size * 9 / 10);
    free(out);
    ll_dataset_free(stored);
    problem_free(&p);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_bits), cmocka_unit_test(test_failing), cmocka_unit_test(test_ahead)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
