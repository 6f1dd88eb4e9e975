/* SPDX-License-Identifier: MIT */
/* Convolution, batch norm and max-pooling as layers: a narrow VGG-16 against PyTorch, gradients against differences, bits, memory. */
#include <math.h>

#include "kernels/kernels.h"
#include "model/layer.h"
#include "model/sequence.h"
#include "summary.h"
#include "trial.h"

#define NARROW "vgg16:width=0.125"

enum { SIDE = 32, STREAM = 200 };

/* The weights of tests/oracle/vgg.py, and its images in the order of the batch. */
static void load_problem(trial *t, json_t *fixture, float **tensors) {
    json_t *list = fixture_get(fixture, "tensors");
    assert_int_equal(json_array_size(list), t->model->tensors);
    for (int i = 0; i < t->model->tensors; i++) {
        const lli_tensor *tensor = &t->model->tensor[i];
        json_t *entry = json_array_get(list, (size_t)i), *shape = fixture_get(entry, "shape");
        const char *name = json_string_value(fixture_get(entry, "name"));
        assert_string_equal(tensor->name, name);
        assert_int_equal(tensor->rank, json_array_size(shape));
        for (int a = 0; a < tensor->rank; a++)
            assert_int_equal(tensor->shape[a], json_integer_value(json_array_get(shape, (size_t)a)));
        bool norm = tensor->role == LLI_ROLE_NORM || tensor->role == LLI_ROLE_STATISTIC;
        float limit = norm ? 0.5f : 0.25f, centre = norm && !strstr(name, "bias") && !strstr(name, "mean") ? 1 : 0;
        tensors[i] = trial_array(t, tensor->count, sizeof(float));
        for (int64_t k = 0; k < tensor->count; k++)
            tensors[i][k] = limit * (float)(2 * check_uniform(STREAM + i, k) - 1) + centre;
    }
    t->model->ops->pack(t->model, t->theta, (const float *const *)tensors);
    for (int64_t i = 0; i < t->step.n; i++)
        t->list[i] = i;
    t->step.seed = (uint64_t)fixture_integer(fixture, "seed");
    t->step.member = fixture_integer(fixture, "member");
    t->step.step = fixture_integer(fixture, "step");
}

static void free_tensors(trial *t, float **tensors) {
    for (int i = 0; i < t->model->tensors; i++)
        lli_memory_free(tensors[i]);
}

/* Loss, gradient and running statistics of one training pass, with the network's own dropout and with MC-Dropout. */
static void training_equals_pytorch(void **state) {
    (void)state;
    json_t *fixture = fixture_read("vgg"), *cases = fixture_get(fixture, "cases");
    for (size_t c = 0; c < json_array_size(cases); c++) {
        json_t *expected = json_array_get(cases, c), *entry;
        trial t = trial_new(NARROW, SIDE, SIDE, 3, fixture_integer(fixture, "K"), fixture_integer(fixture, "N"), 2);
        float *tensors[LLI_TENSORS_MAX];
        size_t index;
        load_problem(&t, fixture, tensors);
        t.step.drop16 = (uint32_t)fixture_integer(expected, "drop16");
        double nll = trial_gradient(&t);
        CHECK_NEAR(nll, fixture_real(expected, "nll"), 1e-5 * nll);
        t.model->ops->unpack(t.model, tensors, t.gradient);
        json_array_foreach(fixture_get(expected, "gradients"), index, entry) {
            int i = (int)fixture_integer(entry, "tensor");
            assert_summary(entry, tensors[i], t.model->tensor[i].count);
        }
        t.model->ops->unpack(t.model, tensors, t.theta);
        json_array_foreach(fixture_get(expected, "statistics"), index, entry) {
            int i = (int)fixture_integer(entry, "tensor");
            int64_t count = t.model->tensor[i].count;
            double *found = fixture_reals(entry, "found", count);
            for (int64_t k = 0; k < count; k++)
                CHECK_NEAR((double)tensors[i][k], found[k], 2e-6 * (1 + fabs(found[k])));
            free(found);
        }
        free_tensors(&t, tensors);
        trial_free(&t);
    }
    json_decref(fixture);
}

static void inference_equals_pytorch(void **state) {
    (void)state;
    json_t *fixture = fixture_read("vgg");
    trial t = trial_new(NARROW, SIDE, SIDE, 3, fixture_integer(fixture, "K"), fixture_integer(fixture, "N"), 2);
    float *tensors[LLI_TENSORS_MAX];
    load_problem(&t, fixture, tensors);
    int64_t n = t.step.n, F = t.model->features;
    float *z = trial_array(&t, n * F, sizeof *z), *work = trial_array(&t, t.model->ops->represent_floats(t.model, n, 2), sizeof *work);
    CHECK_OK(t.ctx, t.model->ops->represent(t.ctx, t.model, z, t.theta, work, &t.rows, 0, n, NULL));
    double *expected = fixture_reals(fixture, "features", n * F), size = 0;
    for (int64_t i = 0; i < n * F; i++)
        size = fmax(size, fabs(expected[i]));
    for (int64_t i = 0; i < n * F; i++)
        CHECK_NEAR((double)z[i], expected[i], 1e-5 * size);
    free(expected);
    lli_memory_free(z);
    lli_memory_free(work);
    free_tensors(&t, tensors);
    trial_free(&t);
    json_decref(fixture);
}

/* One layer on its own, with a loss that is linear in its output: sum of c y. */
typedef struct alone {
    trial t; /* for its context and its arrays */
    lli_layer layer;
    lli_run run;
    float *theta, *gradient, *x, *y, *c, *dy, *dx, *keep, *scratch, *shared;
    int64_t n, in, out, floats;
} alone;

static void take_gradient(void *arg, const lli_part *part, int64_t first, int64_t count, const float *gradient) {
    const alone *a = arg;
    assert_true(first >= part->first && first + count <= part->first + part->count);
    memcpy(a->gradient + first, gradient, (size_t)count * sizeof *gradient);
}

static void alone_new(alone *a, const char *kind, lli_extent in, int64_t units, bool gated, int64_t n, int threads) {
    static const lli_step step;
    *a = (alone){
        .t = {.ctx = check_context(threads)}, .layer = {.kind = lli_layer_kind_of(kind), .in = in, .units = units, .gated = gated}, .n = n};
    CHECK_OK(a->t.ctx, a->layer.kind->plan(a->t.ctx, &a->layer));
    for (int p = 0; p < a->layer.parts; p++) {
        a->layer.part[p].first = a->floats;
        a->floats += a->layer.part[p].count;
    }
    a->in = n * lli_extent_units(in);
    a->out = n * lli_extent_units(a->layer.out);
    int64_t keep = a->layer.kind->keep_floats ? a->layer.kind->keep_floats(&a->layer, n) : 0;
    int64_t scratch = a->layer.kind->scratch_floats ? (a->layer.kind->scratch_floats(&a->layer, n) + 15) / 16 * 16 : 0;
    int64_t shared = a->layer.kind->shared_floats ? a->layer.kind->shared_floats(&a->layer, n) : 0;
    struct {
        float **array;
        int64_t count;
    } list[] = {{&a->theta, a->floats}, {&a->gradient, a->floats}, {&a->x, a->in},
                {&a->dx, a->in},        {&a->y, a->out},           {&a->c, a->out},
                {&a->dy, a->out},       {&a->keep, keep},          {&a->scratch, threads * scratch},
                {&a->shared, shared}};
    for (size_t i = 0; i < LLI_COUNT(list); i++) {
        *list[i].array = trial_array(&a->t, list[i].count, sizeof(float));
        for (int64_t k = 0; k < list[i].count; k++)
            (*list[i].array)[k] = (float)(2 * check_uniform(200 + (int64_t)i, k) - 1);
    }
    a->run = (lli_run){a->t.ctx, lli_kernels_get(), n, a->theta, &step, NULL, take_gradient, a, a->scratch, scratch, a->shared};
}

static void alone_free(alone *a) {
    float *all[] = {a->theta, a->gradient, a->x, a->dx, a->y, a->c, a->dy, a->keep, a->scratch, a->shared};
    for (size_t i = 0; i < LLI_COUNT(all); i++)
        lli_memory_free(all[i]);
    ll_context_free(a->t.ctx);
}

static double alone_loss(alone *a) {
    double sum = 0;
    CHECK_OK(a->t.ctx, a->layer.kind->forward(&a->run, &a->layer, a->y, a->x, a->keep));
    for (int64_t i = 0; i < a->out; i++)
        sum += (double)a->y[i] * (double)a->c[i];
    return sum;
}

static void alone_backward(alone *a) {
    alone_loss(a);
    memcpy(a->dy, a->c, (size_t)a->out * sizeof *a->dy);
    CHECK_OK(a->t.ctx, a->layer.kind->backward(&a->run, &a->layer, a->dx, a->dy, a->x, a->y, a->keep));
}

/* Central differences at `step`, every `stride`-th number. */
static void assert_slopes(alone *a, float *x, const float *slope, int64_t count, int64_t stride, double tolerance) {
    const float h = 0x1p-7f;
    for (int64_t i = 0; i < count; i += stride) {
        float was = x[i];
        x[i] = was + h;
        double above = alone_loss(a);
        x[i] = was - h;
        double below = alone_loss(a);
        x[i] = was;
        CHECK_NEAR((double)slope[i], (above - below) / (2 * (double)h), tolerance);
    }
}

static void gradients_match_differences(void **state) {
    (void)state;
    static const struct {
        const char *kind;
        lli_extent in;
        int64_t units;
    } cases[] = {{"conv", {5, 6, 3}, 8},       {"conv", {2, 2, 24}, 20},  {"conv", {11, 9, 8}, 3},  {"batchnorm", {3, 4, 5}, 0},
                 {"batchnorm", {1, 1, 17}, 0}, {"maxpool", {4, 6, 9}, 0}, {"maxpool", {5, 3, 8}, 0}};
    for (size_t c = 0; c < LLI_COUNT(cases); c++) {
        alone a;
        alone_new(&a, cases[c].kind, cases[c].in, cases[c].units, false, 13, 2);
        for (int64_t i = 0; strcmp(cases[c].kind, "maxpool") == 0 && i < a.in; i++) /* no ties, and gaps wider than the differences */
            a.x[i] = (float)((i * 7919) % a.in) * 0x1p-4f;
        alone_backward(&a);
        assert_slopes(&a, a.x, a.dx, a.in, 7, 2e-3);
        for (int p = 0; p < a.layer.parts; p++)
            if (a.layer.part[p].role != LLI_ROLE_STATISTIC)
                for (int64_t i = 0; i < a.layer.part[p].count; i += 3) /* beyond the last output of a panel: both are zero */
                    assert_slopes(&a, a.theta + a.layer.part[p].first + i, a.gradient + a.layer.part[p].first + i, 1, 1, 2e-3);
        alone_free(&a);
    }
}

/* Batch norm that does the backward of the ReLU before it: the same, and 0 where its input is not positive. */
static void norm_gates(void **state) {
    (void)state;
    alone plain, gated;
    alone_new(&plain, "batchnorm", (lli_extent){3, 4, 5}, 0, false, 13, 2);
    alone_new(&gated, "batchnorm", (lli_extent){3, 4, 5}, 0, true, 13, 2);
    for (int64_t i = 0; i < plain.in; i++)
        plain.x[i] = gated.x[i] = plain.x[i] > 0 ? plain.x[i] : 0;
    alone_backward(&plain);
    alone_backward(&gated);
    for (int64_t i = 0; i < plain.in; i++)
        assert_true(gated.dx[i] == (plain.x[i] > 0 ? plain.dx[i] : 0));
    assert_memory_equal(plain.gradient, gated.gradient, (size_t)(10 * sizeof(float)));
    alone_free(&plain);
    alone_free(&gated);
}

static void same_bits_on_any_number_of_threads(void **state) {
    (void)state;
    float *expected = NULL;
    for (int threads = 1; threads <= 3; threads++) {
        trial t = trial_new(NARROW, 35, SIDE, 3, 10, 19, threads);
        for (int s = 0; s < 2; s++, t.step.step++)
            trial_descend(&t, trial_move);
        size_t bytes = (size_t)t.model->floats * sizeof(float);
        if (!expected) {
            assert_non_null(expected = malloc(bytes));
            memcpy(expected, t.theta, bytes);
        }
        assert_memory_equal(expected, t.theta, bytes);
        trial_free(&t);
    }
    free(expected);
}

/* A row has the same features alone and among others, with and without masks. */
static void rows_do_not_depend_on_their_block(void **state) {
    (void)state;
    enum { N = 9 };
    trial t = trial_new(NARROW, SIDE, SIDE, 3, 4, N, 2);
    int64_t F = t.model->features;
    float *z = trial_array(&t, N * F, sizeof *z), *one = trial_array(&t, F, sizeof *one);
    float *work = trial_array(&t, t.model->ops->represent_floats(t.model, N, 2), sizeof *work);
    for (int masked = 0; masked < 2; masked++) {
        lli_pass pass = {.seed = 3, .pass = 4, .drop16 = 20000, .row = 50};
        CHECK_OK(t.ctx, t.model->ops->represent(t.ctx, t.model, z, t.theta, work, &t.rows, 0, N, masked ? &pass : NULL));
        for (int64_t i = 0; i < N; i++) {
            lli_pass single = pass;
            single.row += i;
            CHECK_OK(t.ctx, t.model->ops->represent(t.ctx, t.model, one, t.theta, work, &t.rows, i, 1, masked ? &single : NULL));
            assert_memory_equal(one, z + i * F, (size_t)F * sizeof *z);
        }
    }
    lli_memory_free(z);
    lli_memory_free(one);
    lli_memory_free(work);
    trial_free(&t);
}

static void steps_allocate_nothing(void **state) {
    (void)state;
    trial t = trial_new(NARROW, SIDE, SIDE, 3, 10, 8, 2);
    int64_t before = lli_memory_count(t.ctx);
    trial_descend(&t, trial_move);
    assert_int_equal(lli_memory_count(t.ctx), before);
    trial_free(&t);
}

/* Widths, names, places of dropout; images that are too small. */
static void shapes_of_vgg(void **state) {
    (void)state;
    trial t = trial_new("vgg16:width=0.25", SIDE, SIDE, 3, 10, 1, 1);
    const lli_model *m = t.model;
    assert_int_equal(m->features, 128);
    assert_int_equal(m->mask_layers, 14); /* eight own ones between convolutions, five after max-pooling, one before the last layer */
    assert_int_equal(m->tensors, 13 * 6 + 6 + 2);
    assert_string_equal(m->tensor[m->head_tensor].name, "layers.28.weight");
    assert_int_equal(m->tensor[6].shape[0], 16);
    trial_free(&t);
    ll_context *ctx = check_context(1);
    lli_network *net;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "too small", lli_network_new(&net, ctx, "vgg16", 28, 28, 1, 10));
    ll_context_free(ctx);
}

/* dropout=F: each of the paper's rates times F, at the same places. */
static void own_dropout_is_scaled(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double factor;
    } texts[] = {{"vgg16", 1},
                 {"vgg16:dropout=1", 1},
                 {"vgg16:dropout=0.3,width=.125", 0.3},
                 {"vgg16:width=0.5,dropout=.25", 0.25},
                 {"vgg16:width=0.5,dropout=0", 0}};
    static const double paper[14] = {0.3, 0, 0.4, 0, 0.4, 0.4, 0, 0.4, 0.4, 0, 0.4, 0.4, 0.5, 0.5};
    ll_context *ctx = check_context(1);
    for (size_t i = 0; i < LLI_COUNT(texts); i++) {
        lli_sequence s;
        int at = 0;
        CHECK_OK(ctx, lli_sequence_parse(ctx, &s, texts[i].text, (lli_extent){SIDE, SIDE, 3}, 10));
        for (int l = 0; l < s.count; l++)
            if (strcmp(s.layer[l].kind->name, "dropout") == 0) {
                assert_int_equal(s.layer[l].mask, at);
                assert_int_equal(s.layer[l].drop16, lround(paper[at] * texts[i].factor * 65536));
                at++;
            }
        assert_int_equal(at, 14);
    }
    lli_network *net;
    CHECK_OK(ctx, lli_network_new(&net, ctx, NARROW ",dropout=0", SIDE, SIDE, 3, 10));
    assert_false(lli_network_model(net)->own_dropout);
    lli_network_free(net);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_equals_pytorch),
        cmocka_unit_test(inference_equals_pytorch),
        cmocka_unit_test(gradients_match_differences),
        cmocka_unit_test(norm_gates),
        cmocka_unit_test(same_bits_on_any_number_of_threads),
        cmocka_unit_test(rows_do_not_depend_on_their_block),
        cmocka_unit_test(steps_allocate_nothing),
        cmocka_unit_test(shapes_of_vgg),
        cmocka_unit_test(own_dropout_is_scaled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
