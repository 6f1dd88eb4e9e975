/* SPDX-License-Identifier: MIT */
/* What weights of rows mean to every method, on heads and deep heads: 1 is nothing, 0 is a row less, a factor is a factor; any number of
 * threads, and after an interruption. */
#include "capability.h"
#include "check.h"
#include "data/dataset.h"
#include "ensemble/ensemble.h"
#include "folder.h"
#include "problem.h"

enum { MEMBERS = 3, ROWS = 200 };

static ll_fit_options options_for(const char *method, int64_t layers) {
    ll_fit_options o = ll_fit_options_default();
    o.method = method;
    o.samples = MEMBERS;
    o.batch_size = 32;
    o.epochs = 2;
    o.seed = 3;
    o.layers = layers;
    return o;
}

static void weigh(ll_context *ctx, problem *p, double (*of)(int64_t row)) {
    double *w = problem_room(p->N, sizeof *w);
    for (int64_t i = 0; i < p->N; i++)
        w[i] = of(i);
    ll_array view = ll_array_view(w, LL_DTYPE_F64, 1, &p->N);
    CHECK_OK(ctx, ll_dataset_weigh(ctx, p->data, &view, NULL));
    free(w);
}

static double one(int64_t row) {
    (void)row;
    return 1;
}

static double two(int64_t row) {
    (void)row;
    return 2;
}

static double uneven(int64_t row) {
    return 0.25 + 2 * check_uniform(21, row);
}

static double uneven_with_zeros(int64_t row) {
    return row % 7 == 3 ? 0 : uneven(row);
}

static ll_ensemble *fit(ll_context *ctx, const problem *p, const ll_head *head, const ll_fit_options *o) {
    ll_ensemble *e;
    CHECK_OK(ctx, ll_fit(&e, ctx, p->data, head, o));
    return e;
}

static bool same_members(const ll_ensemble *a, const ll_ensemble *b) {
    assert_true(a->plan.stored == b->plan.stored && a->plan.model->tensors == b->plan.model->tensors);
    for (int i = 0; i < a->plan.model->tensors; i++)
        if (memcmp(a->tensor[i], b->tensor[i], (size_t)(a->plan.stored * a->plan.model->tensor[i].count) * sizeof(float)) != 0)
            return false;
    return true;
}

static bool has_weights(const ll_ensemble *e) {
    return lli_provenance_get(&e->plan.provenance, "weights_sha256") != NULL;
}

typedef void one_method(ll_context *ctx, problem *p, const ll_fit_options *o);

static void each_method(one_method *check, int threads) {
    for (size_t i = 0; i < ll_method_count(); i++)
        for (int64_t layers = 1; layers <= 2; layers++) {
            const char *method = ll_method_get(i)->name;
            if (!applies(method, layers == 1 ? LLI_PLACE_HEAD : LLI_PLACE_DEEP_HEAD))
                continue;
            ll_context *ctx = check_context(threads);
            problem p = problem_new(ctx, ROWS, 6, 3);
            ll_fit_options o = options_for(method, layers);
            check(ctx, &p, &o);
            problem_free(&p);
            ll_context_free(ctx);
        }
}

/* The same members, and the same provenance but for the hash of the weights. */
static void check_ones(ll_context *ctx, problem *p, const ll_fit_options *o) {
    ll_ensemble *plain = fit(ctx, p, NULL, o);
    weigh(ctx, p, one);
    ll_ensemble *weighed = fit(ctx, p, NULL, o);
    assert_true(same_members(plain, weighed));
    assert_false(has_weights(plain));
    assert_true(has_weights(weighed));
    const lli_provenance *a = &plain->plan.provenance, *b = &weighed->plan.provenance;
    assert_int_equal(b->count, a->count + 1);
    for (int64_t i = 0; i < a->count; i++)
        assert_string_equal(a->pairs[i].value, lli_provenance_get(b, a->pairs[i].key));
    ll_ensemble_free(plain);
    ll_ensemble_free(weighed);
}

static void test_ones(void **state) {
    (void)state;
    each_method(check_ones, 1);
}

/* Rows of weight 0 are rows that are not there, down to the default learning rate and theta*. */
static void check_zeros(ll_context *ctx, problem *p, const ll_fit_options *o) {
    float *z = problem_room(p->N * p->D, sizeof *z);
    int64_t *y = problem_room(p->N, sizeof *y), n = 0;
    double *w = problem_room(p->N, sizeof *w);
    for (int64_t i = 0; i < p->N; i++)
        if (uneven_with_zeros(i) > 0) {
            memcpy(z + n * p->D, p->z + i * p->D, (size_t)p->D * sizeof *z);
            w[n] = uneven_with_zeros(i);
            y[n++] = p->y[i];
        }
    assert_true(n < p->N);
    ll_array labels = ll_array_view(y, LL_DTYPE_I64, 1, &n), weights = ll_array_view(w, LL_DTYPE_F64, 1, &n);
    problem fewer = {.N = n, .D = p->D, .K = p->K};
    CHECK_OK(ctx, ll_dataset_new(&fewer.data, ctx, ll_array_view(z, LL_DTYPE_F32, 2, (int64_t[]){n, p->D}), &labels, p->K));
    CHECK_OK(ctx, ll_dataset_weigh(ctx, fewer.data, &weights, NULL));
    ll_ensemble *plain = fit(ctx, p, NULL, o), *removed = fit(ctx, &fewer, NULL, o);
    weigh(ctx, p, uneven_with_zeros);
    ll_ensemble *weighed = fit(ctx, p, NULL, o);
    assert_true(same_members(weighed, removed));
    assert_false(same_members(weighed, plain));
    ll_ensemble_free(plain);
    ll_ensemble_free(removed);
    ll_ensemble_free(weighed);
    ll_dataset_free(fewer.data);
    free(z);
    free(y);
    free(w);
}

static void test_zeros(void **state) {
    (void)state;
    each_method(check_zeros, 1);
}

/* Twice the weights and the prior at half the learning rate is the same step, bit for bit, where there is no noise. */
static void check_factor(ll_context *ctx, problem *p, const ll_fit_options *given) {
    if (given->layers > 1 || !has_chains(given->method) || is_noisy(given->method))
        return;
    ll_fit_options o = *given;
    o.lr = 0.125;
    ll_ensemble *plain = fit(ctx, p, p->head, &o);
    weigh(ctx, p, two);
    o.lr /= 2;
    o.prior_precision *= 2;
    ll_ensemble *weighed = fit(ctx, p, p->head, &o);
    assert_true(same_members(plain, weighed));
    ll_ensemble_free(plain);
    ll_ensemble_free(weighed);
}

static void test_factor(void **state) {
    (void)state;
    each_method(check_factor, 1);
}

static void check_threads(ll_context *ctx, problem *p, const ll_fit_options *o) {
    weigh(ctx, p, uneven);
    ll_ensemble *three = fit(ctx, p, NULL, o);
    ll_context *alone = check_context(1);
    ll_ensemble *single = fit(alone, p, NULL, o);
    assert_true(same_members(three, single));
    ll_ensemble_free(three);
    ll_ensemble_free(single);
    ll_context_free(alone);
}

static void test_threads(void **state) {
    (void)state;
    each_method(check_threads, 3);
}

/* Every look at the clock is a second later, so that all progress is told. */
double __wrap_lli_clock_seconds(void);
double __wrap_lli_clock_seconds(void) {
    static _Atomic int64_t seconds;
    return (double)++seconds;
}

typedef struct cut {
    ll_context *ctx;
    double after;
} cut;

static void on_progress(void *user, const char *what, double done, double total) {
    cut *c = user;
    if (strncmp(what, "checking", 8) != 0 && total > 2 && done >= c->after)
        ll_context_cancel(c->ctx);
}

/* A run goes on with its own weights, to the same bytes, and with no others. */
static void test_resume(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    problem p = problem_new(ctx, ROWS, 6, 3);
    ll_fit_options o = options_for("sgd", 1);
    o.samples = 400;
    weigh(ctx, &p, uneven_with_zeros);
    CHECK_OK(ctx, ll_fit_write(NULL, ctx, folder_path("whole"), p.data, p.head, &o, false));
    folder_bytes whole = folder_read("whole");
    cut c = {.after = 200};
    ll_context_options options = ll_context_options_default();
    options.threads = 1;
    options.progress = on_progress;
    options.user = &c;
    assert_int_equal(ll_context_new(&c.ctx, &options), LL_OK);
    assert_int_equal(ll_fit_write(NULL, c.ctx, folder_path("run"), p.data, p.head, &o, false), LL_ERR_CANCELLED);
    ll_context_free(c.ctx);
    assert_true(folder_has("run.partial"));
    weigh(ctx, &p, uneven);
    CHECK_FAILS(ctx, LL_ERR_USAGE, "run.partial", ll_fit_write(NULL, ctx, folder_path("run"), p.data, p.head, &o, true));
    weigh(ctx, &p, uneven_with_zeros);
    CHECK_OK(ctx, ll_fit_write(NULL, ctx, folder_path("run"), p.data, p.head, &o, true));
    folder_check_same("run", &whole);
    free(whole.data);
    problem_free(&p);
    ll_context_free(ctx);
}

/* Where weights leave one class only, nothing can be learnt. */
static double first_class_only(int64_t row) {
    return check_uniform(1, row) * 3 < 1 && row >= 3 ? 1 : row == 0;
}

static void test_one_class_left(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    problem p = problem_new(ctx, ROWS, 6, 3);
    weigh(ctx, &p, first_class_only);
    ll_ensemble *e;
    ll_head *head;
    CHECK_FAILS(ctx, LL_ERR_DATA, "labels are class 0; at least two classes are needed", ll_fit(&e, ctx, p.data, p.head, NULL));
    CHECK_FAILS(ctx, LL_ERR_DATA, "labels are class 0; at least two classes are needed", ll_head_solve(&head, ctx, p.data, NULL));
    problem_free(&p);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ones),    cmocka_unit_test(test_zeros),  cmocka_unit_test(test_factor),
        cmocka_unit_test(test_threads), cmocka_unit_test(test_resume), cmocka_unit_test(test_one_class_left),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
