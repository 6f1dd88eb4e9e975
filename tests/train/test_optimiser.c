/* SPDX-License-Identifier: MIT */
/* Optimisers on a small network, step for step against PyTorch's (tests/oracle/optimisers.py); stops, restarts and threads. */
#include <math.h>

#include "check.h"
#include "data/dataset.h"
#include "fixture.h"
#include "model/network.h"
#include "train/chain.h"

enum { TENSORS = 4 };

typedef struct trial {
    ll_context *ctx;
    ll_dataset *data;
    lli_network *network;
    const lli_model *model;
    lli_chain *chain;
    lli_chain_options options;
    lli_optimiser optimiser;
    float *z, *start;
    float *tensors[TENSORS];
    int64_t *y;
} trial;

static float *to_floats(json_t *list) {
    float *out = calloc(json_array_size(list), sizeof *out);
    assert_non_null(out);
    for (size_t i = 0; i < json_array_size(list); i++)
        out[i] = (float)json_number_value(json_array_get(list, i));
    return out;
}

static void read_data(trial *t, json_t *root) {
    int64_t N = fixture_integer(root, "N"), D = fixture_integer(root, "D"), K = fixture_integer(root, "K");
    json_t *labels = fixture_get(root, "labels");
    t->z = to_floats(fixture_get(root, "features"));
    t->y = calloc((size_t)N, sizeof *t->y);
    for (int64_t i = 0; i < N; i++)
        t->y[i] = json_integer_value(json_array_get(labels, (size_t)i));
    ll_array y = ll_array_view(t->y, LL_DTYPE_I64, 1, &N);
    CHECK_OK(t->ctx, ll_dataset_new(&t->data, t->ctx, ll_array_view(t->z, LL_DTYPE_F32, 2, (int64_t[]){N, D}), &y, K));
    CHECK_OK(t->ctx, lli_network_new(&t->network, t->ctx, json_string_value(fixture_get(root, "net")), 1, 1, D, K));
    t->model = lli_network_model(t->network);
    assert_int_equal(t->model->tensors, TENSORS);
    for (int i = 0; i < TENSORS; i++) {
        assert_string_equal(t->model->tensor[i].name, json_string_value(json_array_get(fixture_get(root, "names"), (size_t)i)));
        t->tensors[i] = to_floats(json_array_get(fixture_get(root, "start"), (size_t)i));
    }
    t->start = calloc((size_t)t->model->floats, sizeof *t->start);
    t->model->ops->pack(t->model, t->start, (const float *const *)t->tensors);
}

/* In place: the chain points at the optimiser. */
static void trial_init(trial *t, json_t *root, json_t *c, int threads) {
    *t = (trial){.ctx = check_context(threads)};
    read_data(t, root);
    const lli_rule *rule = lli_optimiser_find(json_string_value(fixture_get(c, "optimiser")));
    assert_non_null(rule);
    t->optimiser = lli_optimiser_default(rule);
    t->optimiser.momentum = fixture_real(c, "momentum");
    t->optimiser.l2 = fixture_real(c, "l2");
    double decay = fixture_real(c, "decay");
    t->options = (lli_chain_options){
        .optimiser = &t->optimiser,
        .lr = fixture_real(c, "lr"),
        .lr_t0 = decay > 0 ? 1 / decay : 0,
        .lr_power = 1,
        .schedule = {.curve = lli_schedule_find("step"), .drop = fixture_real(c, "factor"), .every = fixture_integer(c, "every")},
        .batch_size = fixture_integer(root, "B"),
        .seed = (uint64_t)fixture_integer(c, "seed"),
    };
    CHECK_OK(t->ctx, lli_chain_new(&t->chain, t->ctx, t->model, t->data, rule, t->options.batch_size, 0, false));
    lli_chain_start(t->chain, &t->options, t->start);
}

static void trial_free(trial *t) {
    lli_chain_free(t->chain);
    lli_network_free(t->network);
    ll_dataset_free(t->data);
    for (int i = 0; i < TENSORS; i++)
        free(t->tensors[i]);
    free(t->z);
    free(t->y);
    free(t->start);
    ll_context_free(t->ctx);
}

static void compare(trial *t, json_t *expected, const char *name, int64_t step) {
    t->model->ops->unpack(t->model, t->tensors, t->chain->theta);
    for (int i = 0; i < TENSORS; i++) {
        json_t *list = json_array_get(expected, (size_t)i);
        assert_int_equal(json_array_size(list), t->model->tensor[i].count);
        for (size_t j = 0; j < json_array_size(list); j++) {
            double want = json_number_value(json_array_get(list, j)), have = (double)t->tensors[i][j];
            if (!(fabs(want - have) <= 5e-6 * fmax(1, fabs(want))))
                fail_msg("%s: after %d steps %s[%d] is %.9g, PyTorch has %.9g", name, (int)step, t->model->tensor[i].name, (int)j, have,
                         want);
        }
    }
}

static void test_pytorch(void **state) {
    (void)state;
    json_t *root = fixture_read("optimisers"), *cases = fixture_get(root, "cases"), *steps = fixture_get(root, "steps"), *c;
    size_t i;
    assert_true(json_array_size(cases) >= 7);
    json_array_foreach(cases, i, c) {
        trial t;
        trial_init(&t, root, c, 1);
        for (size_t s = 0; s < json_array_size(steps); s++) {
            int64_t step = json_integer_value(json_array_get(steps, s));
            CHECK_OK(t.ctx, lli_chain_run(t.ctx, t.chain, step));
            compare(&t, json_array_get(fixture_get(c, "found"), s), json_string_value(fixture_get(c, "name")), step);
        }
        trial_free(&t);
    }
    json_decref(root);
}

/* Whole, in pieces, restored in the middle of an epoch, on several threads: the same bits, those of the moments too. */
static void test_pieces(void **state) {
    (void)state;
    json_t *root = fixture_read("optimisers"), *cases = fixture_get(root, "cases"), *c;
    size_t i;
    json_array_foreach(cases, i, c) {
        trial whole, parts, again;
        trial_init(&whole, root, c, 1);
        trial_init(&parts, root, c, 2);
        trial_init(&again, root, c, 3);
        CHECK_OK(whole.ctx, lli_chain_run(whole.ctx, whole.chain, 23));
        size_t bytes = (size_t)lli_chain_floats(whole.chain) * sizeof(float);
        assert_true(lli_chain_floats(whole.chain) > whole.model->floats);
        for (int64_t step = 1; step <= 23; step++) {
            CHECK_OK(parts.ctx, lli_chain_run(parts.ctx, parts.chain, step));
            if (step == 6) {
                memcpy(again.chain->theta, parts.chain->theta, bytes);
                again.chain->state = parts.chain->state;
            }
        }
        CHECK_OK(again.ctx, lli_chain_run(again.ctx, again.chain, 23));
        assert_memory_equal(parts.chain->theta, whole.chain->theta, bytes);
        assert_memory_equal(again.chain->theta, whole.chain->theta, bytes);
        /* started again, it has forgotten its moments */
        lli_chain_start(again.chain, &again.options, again.start);
        CHECK_OK(again.ctx, lli_chain_run(again.ctx, again.chain, 23));
        assert_memory_equal(again.chain->theta, whole.chain->theta, bytes);
        trial_free(&whole);
        trial_free(&parts);
        trial_free(&again);
    }
    json_decref(root);
}

static void test_memory(void **state) {
    (void)state;
    json_t *root = fixture_read("optimisers");
    trial t;
    trial_init(&t, root, json_array_get(fixture_get(root, "cases"), 0), 1);
    int64_t before = lli_memory_count(t.ctx);
    CHECK_OK(t.ctx, lli_chain_run(t.ctx, t.chain, 100));
    assert_int_equal(lli_memory_count(t.ctx), before);
    assert_true(t.chain->last_nll < t.chain->state.first_nll);
    assert_null(lli_optimiser_find("adamax"));
    trial_free(&t);
    json_decref(root);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pytorch),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
