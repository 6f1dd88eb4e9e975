/* SPDX-License-Identifier: MIT */
/* One SGD trajectory, step for step, against PyTorch's autograd on the same batches (tests/oracle/trajectory.py); divergence. */
#include <math.h>

#include "check.h"
#include "data/dataset.h"
#include "fixture.h"
#include "kernels/kernels.h"
#include "model/head.h"
#include "train/chain.h"

typedef struct trial {
    ll_context *ctx;
    lli_model model;
    ll_dataset *data;
    lli_chain *chain;
    lli_chain_options options;
    float *z, *start; /* [N,D], [floats] */
    int64_t *y;
    int64_t N, D, K;
} trial;

static float *to_floats(json_t *object, const char *key, int64_t count) {
    double *list = fixture_reals(object, key, count);
    float *out = malloc((size_t)count * sizeof *out);
    assert_non_null(out);
    for (int64_t i = 0; i < count; i++)
        out[i] = (float)list[i];
    free(list);
    return out;
}

/* In place: the chain points at the model. */
static void trial_init(trial *t, json_t *c) {
    *t = (trial){.ctx = check_context(1), .N = fixture_integer(c, "N"), .D = fixture_integer(c, "D"), .K = fixture_integer(c, "K")};
    t->z = to_floats(c, "features", t->N * t->D);
    double *labels = fixture_reals(c, "labels", t->N);
    t->y = malloc((size_t)t->N * sizeof *t->y);
    for (int64_t i = 0; i < t->N; i++)
        t->y[i] = (int64_t)labels[i];
    free(labels);
    ll_array y = ll_array_view(t->y, LL_DTYPE_I64, 1, &t->N);
    CHECK_OK(t->ctx, ll_dataset_new(&t->data, t->ctx, ll_array_view(t->z, LL_DTYPE_F32, 2, (int64_t[]){t->N, t->D}), &y, t->K));
    if (json_object_get(c, "weights")) {
        double *w = fixture_reals(c, "weights", t->N);
        ll_array view = ll_array_view(w, LL_DTYPE_F64, 1, &t->N);
        CHECK_OK(t->ctx, ll_dataset_weigh(t->ctx, t->data, &view, NULL));
        free(w);
    }
    CHECK_OK(t->ctx, lli_head_model(t->ctx, &t->model, t->K, t->D));
    t->options = (lli_chain_options){
        .optimiser = &lli_optimiser_sgd,
        .lr = fixture_real(c, "lr"),
        .lr_t0 = fixture_real(c, "t0"),
        .lr_power = fixture_real(c, "power"),
        .batch_size = fixture_integer(c, "B"),
        .prior_precision = fixture_real(c, "tau"),
        .drop16 = (uint32_t)fixture_integer(c, "drop16"),
        .seed = (uint64_t)fixture_integer(c, "seed"),
        .member = fixture_integer(c, "member"),
        .resampled = json_is_true(fixture_get(c, "resampled")),
    };
    float *theta = to_floats(c, "start", t->K * (t->D + 1));
    int64_t ld = lli_kernels_stride(t->D);
    t->start = calloc((size_t)t->model.floats, sizeof *t->start);
    for (int64_t k = 0; k < t->K; k++)
        memcpy(t->start + k * ld, theta + k * (t->D + 1), (size_t)(t->D + 1) * sizeof *theta);
    free(theta);
    CHECK_OK(t->ctx, lli_chain_new(&t->chain, t->ctx, &t->model, t->data, &lli_rule_langevin, t->options.batch_size, t->options.block_rows,
                                   t->options.resampled));
    lli_chain_start(t->chain, &t->options, t->start);
}

static void trial_free(trial *t) {
    lli_chain_free(t->chain);
    ll_dataset_free(t->data);
    free(t->z);
    free(t->y);
    free(t->start);
    ll_context_free(t->ctx);
}

static void compare(const trial *t, json_t *expected, const char *name, int64_t step) {
    int64_t ld = lli_kernels_stride(t->D), P = t->D + 1;
    for (int64_t k = 0; k < t->K; k++)
        for (int64_t j = 0; j < P; j++) {
            double want = json_number_value(json_array_get(expected, (size_t)(k * P + j))), have = (double)t->chain->theta[k * ld + j];
            if (!(fabs(want - have) <= 1e-5))
                fail_msg("%s: after %d steps theta[%d,%d] is %.9g, PyTorch has %.9g", name, (int)step, (int)k, (int)j, have, want);
        }
}

static void test_trajectory(void **state) {
    (void)state;
    json_t *root = fixture_read("trajectory"), *cases = fixture_get(root, "cases"), *c;
    size_t i;
    assert_true(json_array_size(cases) >= 8);
    json_array_foreach(cases, i, c) {
        trial t;
        trial_init(&t, c);
        json_t *steps = fixture_get(c, "steps");
        for (size_t s = 0; s < json_array_size(steps); s++) {
            int64_t step = json_integer_value(json_array_get(steps, s));
            CHECK_OK(t.ctx, lli_chain_run(t.ctx, t.chain, step));
            assert_int_equal(t.chain->state.step, step);
            compare(&t, json_array_get(fixture_get(c, "f64"), s), json_string_value(fixture_get(c, "name")), step);
            compare(&t, json_array_get(fixture_get(c, "f32"), s), json_string_value(fixture_get(c, "name")), step);
        }
        trial_free(&t);
    }
    json_decref(root);
}

/* Where a run is cut does not change a bit: step by step, all at once, or restored from a checkpoint in the middle of an epoch. */
static void test_pieces(void **state) {
    (void)state;
    json_t *root = fixture_read("trajectory"), *cases = fixture_get(root, "cases"), *c;
    size_t i;
    json_array_foreach(cases, i, c) {
        trial whole, parts, again;
        trial_init(&whole, c);
        trial_init(&parts, c);
        trial_init(&again, c);
        whole.options.optimiser = parts.options.optimiser = again.options.optimiser = &lli_optimiser_sgld;
        lli_chain_start(whole.chain, &whole.options, whole.start);
        lli_chain_start(parts.chain, &parts.options, parts.start);
        lli_chain_start(again.chain, &again.options, again.start);
        CHECK_OK(whole.ctx, lli_chain_run(whole.ctx, whole.chain, 23));
        for (int64_t step = 1; step <= 23; step++) {
            CHECK_OK(parts.ctx, lli_chain_run(parts.ctx, parts.chain, step));
            if (step == 6) {
                memcpy(again.chain->theta, parts.chain->theta, (size_t)parts.model.floats * sizeof(float));
                again.chain->state = parts.chain->state;
            }
        }
        CHECK_OK(again.ctx, lli_chain_run(again.ctx, again.chain, 23));
        assert_memory_equal(parts.chain->theta, whole.chain->theta, (size_t)whole.model.floats * sizeof(float));
        assert_memory_equal(again.chain->theta, whole.chain->theta, (size_t)whole.model.floats * sizeof(float));
        trial_free(&whole);
        trial_free(&parts);
        trial_free(&again);
    }
    json_decref(root);
}

/* The padding of theta stays zero, so that what is hashed and stored has one form. */
static void test_padding(void **state) {
    (void)state;
    json_t *root = fixture_read("trajectory");
    trial t;
    trial_init(&t, json_array_get(fixture_get(root, "cases"), 0));
    t.options.optimiser = &lli_optimiser_sgld;
    lli_chain_start(t.chain, &t.options, t.start);
    CHECK_OK(t.ctx, lli_chain_run(t.ctx, t.chain, 20));
    int64_t ld = lli_kernels_stride(t.D);
    for (int64_t k = 0; k < t.K; k++)
        for (int64_t j = t.D + 1; j < ld; j++)
            CHECK_NEAR((double)t.chain->theta[k * ld + j], 0, 0);
    trial_free(&t);
    json_decref(root);
}

enum { AHEAD_MAX = 64 };
static struct {
    const char *from[AHEAD_MAX];
    size_t bytes[AHEAD_MAX];
    int count;
} asked;

static void note_ahead(const void *bytes, size_t count) {
    assert_true(asked.count < AHEAD_MAX);
    asked.from[asked.count] = bytes;
    asked.bytes[asked.count++] = count;
}

/* In blocks, every row of a mapped file is asked for once an epoch: always the block that a step begins in, and the one after it. */
static void test_read_ahead(void **state) {
    (void)state;
    json_t *root = fixture_read("trajectory");
    trial t;
    trial_init(&t, json_array_get(fixture_get(root, "cases"), 0));
    lli_chain_free(t.chain);
    t.options.block_rows = 3;
    t.options.batch_size = 2;
    t.options.resampled = false;
    t.data->rows.ahead = note_ahead;
    CHECK_OK(t.ctx, lli_chain_new(&t.chain, t.ctx, &t.model, t.data, &lli_rule_langevin, 2, 3, false));
    lli_chain_start(t.chain, &t.options, t.start);
    int64_t steps = lli_chain_epoch_steps(t.N, 2), row = t.D * (int64_t)sizeof(float);
    assert_true(t.N > 9 && t.N < 3 * AHEAD_MAX);
    int *times = calloc((size_t)t.N, sizeof *times);
    asked.count = 0;
    for (int64_t s = 0; s < steps; s++) {
        int seen = asked.count;
        CHECK_OK(t.ctx, lli_chain_run(t.ctx, t.chain, s + 1));
        for (int i = seen; i < asked.count; i++)
            for (int64_t r = 0; r < (int64_t)asked.bytes[i] / row; r++)
                times[(asked.from[i] - (const char *)t.z) / row + r]++;
        assert_int_equal(asked.count, LLI_MIN(2 * s / 3 + 2, (t.N + 2) / 3));
    }
    for (int64_t r = 0; r < t.N; r++)
        assert_int_equal(times[r], 1);
    free(times);
    trial_free(&t);
    json_decref(root);
}

static void test_schedule(void **state) {
    (void)state;
    lli_chain_options o = {.lr = 0.5, .lr_t0 = 0, .lr_power = 0.55};
    CHECK_NEAR(lli_chain_lr(&o, 0), 0.5, 0);
    CHECK_NEAR(lli_chain_lr(&o, 1000000), 0.5, 0);
    o.lr_t0 = 10;
    CHECK_NEAR(lli_chain_lr(&o, 0), 0.5, 0);
    CHECK_NEAR(lli_chain_lr(&o, 10), 0.5 * exp2(-0.55), 1e-15);
    CHECK_NEAR(lli_chain_lr(&o, 990), 0.5 * pow(100, -0.55), 1e-15);
    o.lr_power = 0;
    CHECK_NEAR(lli_chain_lr(&o, 990), 0.5, 0);
    assert_int_equal(lli_chain_epoch_steps(100, 10), 10);
    assert_int_equal(lli_chain_epoch_steps(101, 10), 11);
    assert_int_equal(lli_chain_epoch_steps(1, 10), 1);
}

static void test_divergence(void **state) {
    (void)state;
    json_t *root = fixture_read("trajectory");
    /* one batch = one step per epoch: the first epoch's loss is that of the start, the second's that after one enormous step */
    trial t;
    trial_init(&t, json_array_get(fixture_get(root, "cases"), 6));
    assert_true(t.options.batch_size > t.N);
    t.options.lr = 5e5;
    lli_chain_start(t.chain, &t.options, t.start);
    CHECK_FAILS(t.ctx, LL_ERR_DIVERGED, ", lr 500000): the mean training NLL", lli_chain_run(t.ctx, t.chain, 100));
    assert_in_range(t.chain->state.step, 1, 5);
    /* steps so large that numbers overflow */
    t.options.lr = 1e38;
    lli_chain_start(t.chain, &t.options, t.start);
    CHECK_FAILS(t.ctx, LL_ERR_DIVERGED, "lr 1e+38): ", lli_chain_run(t.ctx, t.chain, 100));
    assert_true(t.chain->state.step < 10);
    /* a start that is already lost is told at its first step */
    t.options.lr = 0.1;
    t.start[0] = NAN;
    lli_chain_start(t.chain, &t.options, t.start);
    CHECK_FAILS(t.ctx, LL_ERR_DIVERGED, "diverged at step 0 (epoch 1, lr 0.1): the loss is not finite", lli_chain_run(t.ctx, t.chain, 100));
    trial_free(&t);
    json_decref(root);
}

/* The limit is 2 ln K above the first epoch's mean NLL: an epoch just below it passes, just above it stops. */
static void test_divergence_limit(void **state) {
    (void)state;
    json_t *root = fixture_read("trajectory");
    trial t;
    trial_init(&t, json_array_get(fixture_get(root, "cases"), 0));
    CHECK_OK(t.ctx, lli_chain_run(t.ctx, t.chain, 4));
    lli_chain_state end = t.chain->state;
    CHECK_NEAR(end.epoch_nll, 0, 0);
    assert_true(end.first_nll > 0.1 && end.first_nll < 10);
    for (int above = 0; above < 2; above++) {
        /* the first epoch again, held against another "first one" */
        lli_chain_start(t.chain, &t.options, t.start);
        t.chain->state.first_nll = end.first_nll - 2 * log((double)t.K) + (above ? -1e-9 : 1e-9);
        assert_int_equal(lli_chain_run(t.ctx, t.chain, 4), above ? LL_ERR_DIVERGED : LL_OK);
    }
    trial_free(&t);
    json_decref(root);
}

/* The loss of an epoch is the mean by weight of the rows it visits, whatever the scale of the weights. */
static void test_weighted_loss(void **state) {
    (void)state;
    json_t *root = fixture_read("trajectory"), *cases = fixture_get(root, "cases"), *c;
    size_t number;
    json_array_foreach(cases, number, c) {
        if (!json_object_get(c, "weights") || fixture_integer(c, "drop16"))
            continue;
        trial t;
        trial_init(&t, c);
        t.options.lr = 0; /* theta stays */
        lli_chain_start(t.chain, &t.options, t.start);
        CHECK_OK(t.ctx, lli_chain_run(t.ctx, t.chain, lli_chain_epoch_steps(t.N, t.options.batch_size)));
        double sum = 0, weight = 0;
        for (int64_t i = 0, ld = lli_kernels_stride(t.D); i < t.N; i++) {
            int64_t row = t.options.resampled ? t.chain->list[i] : i;
            double total = 0, w = json_number_value(json_array_get(fixture_get(c, "weights"), (size_t)row)), own = 0;
            for (int64_t k = 0; k < t.K; k++) {
                double a = (double)t.start[k * ld + t.D];
                for (int64_t j = 0; j < t.D; j++)
                    a += (double)t.start[k * ld + j] * (double)t.z[row * t.D + j];
                total += exp(a);
                own = k == t.y[row] ? a : own;
            }
            sum += w * (log(total) - own);
            weight += w;
        }
        CHECK_NEAR(t.chain->last_nll, sum / weight, 1e-6);
        trial_free(&t);
    }
    json_decref(root);
}

static void test_cancel_and_memory(void **state) {
    (void)state;
    json_t *root = fixture_read("trajectory");
    trial t;
    trial_init(&t, json_array_get(fixture_get(root, "cases"), 5));
    int64_t before = lli_memory_count(t.ctx);
    CHECK_OK(t.ctx, lli_chain_run(t.ctx, t.chain, 500));
    assert_int_equal(lli_memory_count(t.ctx), before);
    for (int64_t n = 1;; n++) {
        lli_memory_fail_at(t.ctx, n);
        lli_chain *chain;
        ll_status status = lli_chain_new(&chain, t.ctx, &t.model, t.data, &lli_rule_langevin, 8, 0, true);
        if (status == LL_OK) {
            assert_true(n > 5);
            lli_chain_free(chain);
            break;
        }
        assert_int_equal(status, LL_ERR_MEMORY);
        assert_null(chain);
    }
    ll_context_cancel(t.ctx);
    CHECK_FAILS(t.ctx, LL_ERR_CANCELLED, "interrupted", lli_chain_run(t.ctx, t.chain, 501));
    assert_int_equal(t.chain->state.step, 500);
    trial_free(&t);
    json_decref(root);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trajectory),        cmocka_unit_test(test_weighted_loss),    cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_padding),           cmocka_unit_test(test_schedule),         cmocka_unit_test(test_divergence),
        cmocka_unit_test(test_cancel_and_memory), cmocka_unit_test(test_divergence_limit), cmocka_unit_test(test_read_ahead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
