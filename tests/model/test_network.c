/* SPDX-License-Identifier: MIT */
/* Networks of dense layers: gradients against differences, bits, masks, memory, kinds of rows, texts. */
#include "base/half.h"
#include "kernels/kernels.h"
#include "summary.h"
#include "trial.h"

static void gradients_match_differences(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t D, K, n;
    } cases[] = {{"mlp:7,5", 9, 3, 10}, {"mlp:40,33", 19, 4, 200}, {"mlp:20", 600, 10, 33},
                 {"head:1", 12, 5, 20}, {"head:2", 17, 3, 31},     {"head:3", 10, 2, 8}};
    for (size_t c = 0; c < LLI_COUNT(cases); c++)
        for (int dropout = 0; dropout < 2; dropout++) {
            trial t = trial_new(cases[c].text, 1, 1, cases[c].D, cases[c].K, cases[c].n, 1);
            t.step.drop16 = dropout ? 20000 : 0;
            trial_differences(&t, 3, 0.02);
            trial_free(&t);
        }
}

enum { STREAM = 100 }; /* of the test data that makes the first tensor */

/* The weights of tests/oracle/network.py. */
static void load_weights(trial *t, float **tensors) {
    for (int i = 0; i < t->model->tensors; i++) {
        tensors[i] = trial_array(t, t->model->tensor[i].count, sizeof(float));
        for (int64_t k = 0; k < t->model->tensor[i].count; k++)
            tensors[i][k] = 0.25f * (float)(2 * check_uniform(STREAM + i, k) - 1);
    }
    t->model->ops->pack(t->model, t->theta, (const float *const *)tensors);
}

static void check_case(json_t *fixture, json_t *expected, trial *t) {
    const lli_model *m = t->model;
    int64_t n = t->step.n, F = m->features;
    float *tensors[LLI_TENSORS_MAX], *after[LLI_TENSORS_MAX], *z = trial_array(t, n * F, sizeof(float));
    float *work = trial_array(t, m->ops->represent_floats(m, n, 2), sizeof(float));
    double *features = fixture_reals(expected, "features", n * F);
    json_t *gradients = fixture_get(expected, "gradients"), *changes = fixture_get(expected, "changes");
    load_weights(t, tensors);
    for (int64_t i = 0; i < n; i++)
        t->list[i] = i;
    t->step.seed = (uint64_t)fixture_integer(fixture, "seed");
    t->step.member = fixture_integer(fixture, "member");
    t->step.step = fixture_integer(fixture, "step");
    t->step.lr = fixture_real(fixture, "lr");
    t->step.decay = fixture_real(fixture, "decay");
    t->step.drop16 = (uint32_t)fixture_integer(expected, "drop16");
    CHECK_OK(t->ctx, m->ops->represent(t->ctx, m, z, t->theta, work, &t->rows, 0, n, NULL));
    for (int64_t i = 0; i < n * F; i++)
        CHECK_NEAR((double)z[i], features[i], 1e-5 * (1 + fabs(features[i])));
    CHECK_NEAR(trial_gradient(t), fixture_real(expected, "nll"), 1e-5 * fixture_real(expected, "nll"));
    trial_descend(t, trial_move);
    for (int i = 0; i < m->tensors; i++)
        after[i] = trial_array(t, m->tensor[i].count, sizeof(float));
    m->ops->unpack(m, after, t->theta);
    for (int i = 0; i < m->tensors; i++) {
        for (int64_t k = 0; k < m->tensor[i].count; k++)
            after[i][k] -= tensors[i][k];
        assert_summary(json_array_get(changes, (size_t)i), after[i], m->tensor[i].count);
    }
    m->ops->unpack(m, after, t->gradient);
    for (int i = 0; i < m->tensors; i++) {
        assert_summary(json_array_get(gradients, (size_t)i), after[i], m->tensor[i].count);
        lli_memory_free(tensors[i]);
        lli_memory_free(after[i]);
    }
    lli_memory_free(z);
    lli_memory_free(work);
    free(features);
}

/* Representation, loss, gradient and one step, with and without MC-Dropout. */
static void step_equals_pytorch(void **state) {
    (void)state;
    json_t *fixture = fixture_read("network"), *expected;
    size_t index;
    json_array_foreach(fixture_get(fixture, "cases"), index, expected) {
        trial t = trial_new(json_string_value(fixture_get(expected, "net")), fixture_integer(expected, "height"),
                            fixture_integer(expected, "width"), fixture_integer(expected, "channels"), fixture_integer(expected, "K"),
                            fixture_integer(expected, "N"), 2);
        check_case(fixture, expected, &t);
        trial_free(&t);
    }
    json_decref(fixture);
}

static void same_bits_on_any_number_of_threads(void **state) {
    (void)state;
    float *expected = NULL;
    double loss = 0;
    for (int threads = 1; threads <= 3; threads++) {
        trial t = trial_new("mlp:300,200", 1, 1, 520, 10, 130, threads);
        t.step.drop16 = 32768;
        double nll = 0;
        for (int s = 0; s < 3; s++, t.step.step++)
            nll = trial_descend(&t, trial_move);
        size_t bytes = (size_t)t.model->floats * sizeof(float);
        if (!expected) {
            assert_non_null(expected = malloc(bytes));
            memcpy(expected, t.theta, bytes);
            loss = nll;
        }
        assert_memory_equal(expected, t.theta, bytes);
        assert_true(loss == nll);
        trial_free(&t);
    }
    free(expected);
}

static void steps_allocate_nothing(void **state) {
    (void)state;
    trial t = trial_new("mlp:40,20", 1, 1, 64, 10, 32, 2);
    int64_t before = lli_memory_count(t.ctx);
    t.step.drop16 = 1000;
    trial_descend(&t, trial_move);
    assert_int_equal(lli_memory_count(t.ctx), before);
    trial_free(&t);
}

/* -log p(y) of the head on a representation, in f64. */
static double plain_nll(const float *z, const float *W, const float *b, int64_t F, int64_t K, int32_t label) {
    double logit[64], top = -1e300, total = 0;
    for (int64_t k = 0; k < K; k++) {
        logit[k] = (double)b[k];
        for (int64_t j = 0; j < F; j++)
            logit[k] += (double)W[k * F + j] * (double)z[j];
        top = fmax(top, logit[k]);
    }
    for (int64_t k = 0; k < K; k++)
        total += exp(logit[k] - top);
    return log(total) + top - logit[label];
}

/* A representation and its head together are the network; and a row's representation does not depend on its block, masks included. */
static void representation_and_head_are_the_network(void **state) {
    (void)state;
    static const char *const texts[] = {"mlp:33,20", "head:1", "head:3"};
    for (size_t c = 0; c < LLI_COUNT(texts); c++) {
        trial t = trial_new(texts[c], 1, 1, 21, 6, 40, 2);
        const lli_model *m = t.model;
        int64_t F = m->features, N = t.rows.N;
        float *z = trial_array(&t, N * F, sizeof(float)), *one = trial_array(&t, F, sizeof(float)), *tensors[LLI_TENSORS_MAX];
        float *work = trial_array(&t, m->ops->represent_floats(m, N, 2), sizeof(float));
        for (int i = 0; i < m->tensors; i++)
            tensors[i] = trial_array(&t, m->tensor[i].count, sizeof(float));
        m->ops->unpack(m, tensors, t.theta);
        CHECK_OK(t.ctx, m->ops->represent(t.ctx, m, z, t.theta, work, &t.rows, 0, N, NULL));
        double expected = 0, found = trial_gradient(&t);
        for (int64_t i = 0; i < t.step.n; i++)
            expected += plain_nll(z + t.list[i] * F, tensors[m->head_tensor], tensors[m->head_tensor + 1], F, m->K, t.labels[i]);
        CHECK_NEAR(found, expected, 1e-5 * expected);
        lli_pass pass = {.seed = 3, .pass = 4, .drop16 = 30000, .row = 100};
        CHECK_OK(t.ctx, m->ops->represent(t.ctx, m, z, t.theta, work, &t.rows, 0, N, &pass));
        for (int64_t i = 0; i < N; i++) {
            lli_pass alone = pass;
            alone.row += i;
            CHECK_OK(t.ctx, m->ops->represent(t.ctx, m, one, t.theta, work, &t.rows, i, 1, &alone));
            assert_memory_equal(one, z + i * F, (size_t)F * sizeof *z);
        }
        for (int i = 0; i < m->tensors; i++)
            lli_memory_free(tensors[i]);
        lli_memory_free(z);
        lli_memory_free(one);
        lli_memory_free(work);
        trial_free(&t);
    }
}

/* The features of a deep head under the mask: with W1 = identity and positive features, the representation shows each unit. */
static void masks_keep_their_rate(void **state) {
    (void)state;
    enum { D = 50, N = 400 };
    trial t = trial_new("head:2", 1, 1, D, 3, N, 1);
    const lli_model *m = t.model;
    float *tensors[4], *z = trial_array(&t, N * D, sizeof(float)),
                       *work = trial_array(&t, m->ops->represent_floats(m, N, 1), sizeof(float));
    for (int i = 0; i < 4; i++)
        tensors[i] = trial_array(&t, m->tensor[i].count, sizeof(float));
    for (int64_t j = 0; j < D; j++)
        tensors[0][j * D + j] = 1;
    m->ops->pack(m, t.theta, (const float *const *)tensors);
    for (int64_t i = 0; i < N * D; i++)
        t.features[i] = 1;
    lli_pass pass = {.seed = 3, .pass = 4, .drop16 = 19661};
    CHECK_OK(t.ctx, m->ops->represent(t.ctx, m, z, t.theta, work, &t.rows, 0, N, &pass));
    int64_t dropped = 0, repeats = 0;
    for (int64_t i = 0; i < N * D; i++) {
        if (z[i] > 0)
            CHECK_NEAR((double)z[i], 65536.0 / (65536 - 19661), 1e-6);
        dropped += !(z[i] > 0);
        repeats += i >= D && (z[i] > 0) == (z[i - D] > 0);
    }
    CHECK_NEAR((double)dropped / (N * D), 0.3, 0.015);        /* 4.6 standard deviations */
    CHECK_NEAR((double)repeats / ((N - 1) * D), 0.58, 0.017); /* .3^2 + .7^2: rows are independent */
    for (int i = 0; i < 4; i++)
        lli_memory_free(tensors[i]);
    lli_memory_free(z);
    lli_memory_free(work);
    trial_free(&t);
}

/* Each MC-Dropout place of an MLP is before a dense layer but the first; the pixels stay. */
static void places_of_an_mlp(void **state) {
    (void)state;
    trial t = trial_new("mlp:16", 1, 1, 8, 3, 4, 1);
    assert_int_equal(t.model->mask_layers, 1);
    float z[2][16], *work = trial_array(&t, t.model->ops->represent_floats(t.model, 1, 1), sizeof(float));
    CHECK_OK(t.ctx, t.model->ops->represent(t.ctx, t.model, z[0], t.theta, work, &t.rows, 0, 1, NULL));
    CHECK_OK(t.ctx, t.model->ops->represent(t.ctx, t.model, z[1], t.theta, work, &t.rows, 0, 1, &(lli_pass){.drop16 = 32768}));
    assert_memory_equal(z[0], z[1], sizeof z[0]); /* the mask before the last layer is the head's */
    lli_memory_free(work);
    trial_free(&t);
    t = trial_new("head:3", 1, 1, 8, 3, 4, 1);
    assert_int_equal(t.model->mask_layers, 3);
    trial_free(&t);
}

static void negate(float *image, const float *raw, int64_t h, int64_t w, int64_t c, uint64_t seed, int64_t epoch, int64_t index,
                   const void *options) {
    assert_int_equal(h, 4);
    assert_int_equal(w, 5);
    assert_int_equal(c, 3);
    assert_int_equal(seed, 5);
    assert_int_equal(epoch, 6);
    assert_string_equal(options, "options");
    for (int64_t i = 0; i < h * w * c; i++)
        image[i] = -raw[i] * (float)(1 + index % 2);
}

/* Bytes, halves and augmented images give what the same floats give. */
static void kinds_of_rows(void **state) {
    (void)state;
    trial t = trial_new("mlp:20", 4, 5, 3, 6, 30, 2);
    int64_t count = t.rows.N * t.rows.D;
    uint8_t *bytes = trial_array(&t, count, 1);
    uint16_t *halves = trial_array(&t, count, 2);
    float *plain = t.features, *images = trial_array(&t, count, sizeof(float));
    for (int64_t i = 0; i < count; i++) {
        bytes[i] = (uint8_t)(check_uniform(9, i) * 256);
        plain[i] = ((float)bytes[i] - 100) * 0.015625f;
        halves[i] = lli_half_from_float(plain[i]);
        images[i] = -plain[i] / (float)(1 + i / t.rows.D % 2);
    }
    double expected = trial_gradient(&t);
    t.rows.features = bytes;
    t.rows.bytes = true;
    t.rows.shift = 100;
    t.rows.scale = 0.015625f;
    assert_true(trial_gradient(&t) == expected);
    t.rows.features = halves;
    t.rows.bytes = false;
    t.rows.half = true;
    assert_true(trial_gradient(&t) == expected);
    t.rows.features = images;
    t.rows.half = false;
    t.rows.augment = negate;
    t.rows.augment_options = "options";
    t.step.epoch = 6;
    assert_true(trial_gradient(&t) == expected);
    float z[2][20], *work = trial_array(&t, t.model->ops->represent_floats(t.model, 1, 2), sizeof(float));
    for (int augmented = 0; augmented < 2; augmented++) { /* never at prediction */
        t.rows.augment = augmented ? negate : NULL;
        CHECK_OK(t.ctx, t.model->ops->represent(t.ctx, t.model, z[augmented], t.theta, work, &t.rows, 0, 1, NULL));
    }
    assert_memory_equal(z[0], z[1], sizeof z[0]);
    lli_memory_free(work);
    lli_memory_free(bytes);
    lli_memory_free(halves);
    lli_memory_free(images);
    trial_free(&t);
}

static void tensors_have_names_and_shapes(void **state) {
    (void)state;
    trial t = trial_new("mlp:512,20", 28, 28, 1, 10, 4, 1);
    const lli_model *m = t.model;
    static const struct {
        const char *name;
        int64_t shape[2];
        bool hidden;
    } expected[] = {{"layers.0.weight", {512, 784}, true}, {"layers.0.bias", {512, 0}, true},    {"layers.1.weight", {20, 512}, true},
                    {"layers.1.bias", {20, 0}, true},      {"layers.2.weight", {10, 20}, false}, {"layers.2.bias", {10, 0}, false}};
    assert_int_equal(m->tensors, LLI_COUNT(expected));
    assert_int_equal(m->parts, LLI_COUNT(expected));
    assert_int_equal(m->features, 20);
    assert_int_equal(m->head_tensor, 4);
    assert_int_equal(m->mask_layers, 2);
    float *tensors[6], *again = trial_array(&t, m->floats, sizeof(float));
    for (int i = 0; i < m->tensors; i++) {
        assert_string_equal(m->tensor[i].name, expected[i].name);
        assert_int_equal(m->tensor[i].rank, expected[i].shape[1] ? 2 : 1);
        assert_memory_equal(m->tensor[i].shape, expected[i].shape, (size_t)m->tensor[i].rank * sizeof(int64_t));
        assert_int_equal(m->tensor[i].role, i % 2 ? LLI_ROLE_BIAS : LLI_ROLE_KERNEL);
        assert_int_equal(m->part[i].role, m->tensor[i].role);
        assert_int_equal(m->part[i].hidden, expected[i].hidden);
        tensors[i] = trial_array(&t, m->tensor[i].count, sizeof(float));
    }
    lli_network_start(t.net, t.theta, 7, 0);
    m->ops->unpack(m, tensors, t.theta);
    m->ops->pack(m, again, (const float *const *)tensors);
    assert_memory_equal(t.theta, again, (size_t)m->floats * sizeof *again);
    double square = 0, limit = sqrt(6.0 / (784 + 512)); /* Glorot: uniform, variance limit^2 / 3 */
    for (int64_t i = 0; i < m->tensor[0].count; i++) {
        assert_true(fabs((double)tensors[0][i]) <= limit);
        square += (double)tensors[0][i] * (double)tensors[0][i];
    }
    CHECK_NEAR(square / (double)m->tensor[0].count, limit * limit / 3, 0.01 * limit * limit);
    for (int i = 0; i < m->tensors; i++)
        lli_memory_free(tensors[i]);
    lli_memory_free(again);
    trial_free(&t);
}

/* Files and flags say how large the input is: neither nothing nor what overflows a product may get through. */
static void inputs_that_no_network_reads(void **state) {
    (void)state;
    static const int64_t extents[][4] = {{1, 1, 0, 2},
                                         {0, 32, 3, 2},
                                         {1, 1, 5, 0},
                                         {-1, -1, 1, 2},
                                         {1, 1, INT64_MAX, 2},
                                         {1, 1, 5, INT64_MAX},
                                         {1, 1 << 15, 1 << 15, 2},
                                         {1 << 24, 1 << 24, 1 << 24, 2}};
    ll_context *ctx = check_context(1);
    for (size_t i = 0; i < LLI_COUNT(extents); i++) {
        const int64_t *e = extents[i];
        lli_network *net;
        CHECK_FAILS(ctx, LL_ERR_DATA, "expected 1 to", lli_network_new(&net, ctx, "head:2", e[0], e[1], e[2], e[3]));
        assert_null(net);
    }
    ll_context_free(ctx);
}

static void texts_that_tell_no_network(void **state) {
    (void)state;
    static const char *const texts[] = {"",
                                        "mlp",
                                        "mlp:",
                                        "mlp:0",
                                        "mlp:5,",
                                        "mlp:,5",
                                        "mlp:5,x",
                                        "mlp:-3",
                                        "mlp:99999999999",
                                        "head:",
                                        "head:0",
                                        "head:9",
                                        "head:2,2",
                                        "vgg",
                                        "vgg16:",
                                        "vgg16:0.25",
                                        "vgg16:width=",
                                        "vgg16:width=0",
                                        "MLP:5",
                                        "mlp 5",
                                        "head",
                                        "vgg16:width=9",
                                        "mlp:1.5",
                                        "vgg16:w",
                                        "vgg16:width=0.2.5",
                                        "vgg16:dropout=1.01",
                                        "vgg16:dropout=",
                                        "vgg16:dropout=-1",
                                        "vgg16:width=0.5,",
                                        "vgg16:dropout=0.5,dropout=0.5",
                                        "vgg16:,dropout=0",
                                        "vgg16:width=0.5,width=1",
                                        "vgg16:width=0.5dropout=0",
                                        "vgg16:width=.,dropout=0",
                                        "vgg16:dropout=0,width=0",
                                        "mlp:5,dropout=0"};
    ll_context *ctx = check_context(1);
    for (size_t i = 0; i < LLI_COUNT(texts); i++) {
        lli_network *net;
        CHECK_FAILS(ctx, LL_ERR_USAGE, "expected mlp:", lli_network_new(&net, ctx, texts[i], 32, 32, 3, 10));
        assert_null(net);
    }
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_match_differences),
        cmocka_unit_test(step_equals_pytorch),
        cmocka_unit_test(same_bits_on_any_number_of_threads),
        cmocka_unit_test(steps_allocate_nothing),
        cmocka_unit_test(representation_and_head_are_the_network),
        cmocka_unit_test(masks_keep_their_rate),
        cmocka_unit_test(places_of_an_mlp),
        cmocka_unit_test(kinds_of_rows),
        cmocka_unit_test(tensors_have_names_and_shapes),
        cmocka_unit_test(texts_that_tell_no_network),
        cmocka_unit_test(inputs_that_no_network_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
