/* SPDX-License-Identifier: MIT */
/* A head, its data and a method that is run on them, without files. */
#ifndef TESTS_METHODS_SCENE_H
#define TESTS_METHODS_SCENE_H

#include <math.h>

#include "ensemble/store.h"
#include "methods/method.h"
#include "model/head.h"
#include "problem.h"

enum { N = 100, D = 5, K = 3, B = 30, STEPS = 4 }; /* the last batch of an epoch has ten rows */

typedef struct scene {
    ll_context *ctx;
    double done, total;
    problem p;
    lli_model model;
    float *theta;
    lli_theta_star star;
    ll_fit_options o;
    ll_ensemble *e;
    int64_t steps;
    char told[1000]; /* the last sentence of the log */
} scene;

static inline void on_progress(void *user, const char *what, double done, double total) {
    scene *s = user;
    (void)what;
    s->done = done;
    s->total = total;
}

static inline void on_log(void *user, ll_log_level level, const char *text) {
    scene *s = user;
    snprintf(s->told, sizeof s->told, "%s: %s", level == LL_LOG_WARNING ? "warning" : "note", text);
}

static inline void scene_init(scene *s, const char *method) {
    *s = (scene){0};
    ll_context_options options = ll_context_options_default();
    options.threads = 1;
    options.progress = on_progress;
    options.log = on_log;
    options.user = s;
    assert_int_equal(ll_context_new(&s->ctx, &options), LL_OK);
    s->p = problem_new(s->ctx, N, D, K);
    CHECK_OK(s->ctx, lli_head_model(s->ctx, &s->model, K, D));
    s->theta = problem_room(s->model.floats, sizeof *s->theta);
    s->model.ops->pack(&s->model, s->theta, (const float *const[]){s->p.head->W, s->p.head->b});
    s->star = (lli_theta_star){.model = &s->model, .theta = s->theta, .init = "head", .hash = "abc", .gradient_norm = NAN};
    s->o = ll_fit_options_default();
    s->o.method = method;
    s->o.samples = 6;
    s->o.batch_size = B;
    s->o.epochs = 3;
    s->o.lr = 0.1;
    s->o.seed = 17;
    s->o.thin = 3;
    s->o.burn_in = 2;
}

static inline void scene_free(scene *s) {
    ll_ensemble_free(s->e);
    free(s->theta);
    problem_free(&s->p);
    ll_context_free(s->ctx);
}

/* Resolves, plans and runs. */
static inline void fit(scene *s) {
    ll_fit_options o;
    lli_ensemble_plan plan;
    lli_store_memory store;
    lli_meter meter;
    lli_fit f;
    CHECK_OK(s->ctx, lli_fit_resolve(s->ctx, &o, &s->o, s->p.data, false));
    CHECK_OK(s->ctx, lli_fit_plan(s->ctx, &plan, &o, s->p.data, &s->star));
    CHECK_OK(s->ctx, lli_ensemble_new(&s->e, s->ctx, &plan));
    lli_store_memory_init(&store, s->e);
    CHECK_OK(s->ctx, lli_fit_init(s->ctx, &f, lli_method_find(o.method), &o, &s->star, s->p.data, &store.store, &meter));
    s->steps = f.method->steps(&f);
    lli_meter_init(&meter, o.method, s->steps);
    CHECK_OK(s->ctx, lli_fit_run(s->ctx, &f));
    CHECK_NEAR(s->done, (double)s->steps, 0); /* every step counts once */
    CHECK_NEAR(s->total, (double)s->steps, 0);
    lli_fit_release(&f);
}

static inline void check_member(const scene *s, int64_t member, const float *theta) {
    float W[K * D], b[K];
    s->model.ops->unpack(&s->model, (float *[]){W, b}, theta);
    assert_memory_equal(s->e->tensor[0] + member * K * D, W, sizeof W);
    assert_memory_equal(s->e->tensor[1] + member * K, b, sizeof b);
}

#endif
