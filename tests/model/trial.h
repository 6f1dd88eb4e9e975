/* SPDX-License-Identifier: MIT */
/* A network with random rows and labels, ready to step. */
#ifndef TESTS_MODEL_TRIAL_H
#define TESTS_MODEL_TRIAL_H

#include "check.h"

#include <math.h>

#include "base/pool.h"
#include "model/network.h"

typedef struct trial {
    ll_context *ctx;
    lli_network *net;
    const lli_model *model;
    float *features, *theta, *work, *gradient;
    int64_t *list;
    int32_t *labels;
    lli_rows rows;
    lli_step step;
} trial;

static inline void *trial_array(trial *t, int64_t count, size_t size) {
    void *block;
    CHECK_OK(t->ctx, lli_memory_new(t->ctx, &block, count, size));
    return block;
}

static inline trial trial_new(const char *text, int64_t height, int64_t width, int64_t channels, int64_t K, int64_t n, int threads) {
    trial t = {.ctx = check_context(threads)};
    CHECK_OK(t.ctx, lli_network_new(&t.net, t.ctx, text, height, width, channels, K));
    t.model = lli_network_model(t.net);
    int64_t D = t.model->D, N = n + 3;
    t.features = trial_array(&t, N * D, sizeof(float));
    t.theta = trial_array(&t, t.model->floats, sizeof(float));
    t.gradient = trial_array(&t, t.model->floats, sizeof(float));
    t.work = trial_array(&t, t.model->ops->descend_floats(t.model, n, threads), sizeof(float));
    t.list = trial_array(&t, n, sizeof *t.list);
    t.labels = trial_array(&t, n, sizeof *t.labels);
    for (int64_t i = 0; i < N * D; i++)
        t.features[i] = (float)(2 * check_uniform(1, i) - 1);
    for (int64_t i = 0; i < n; i++) {
        t.list[i] = (int64_t)(check_uniform(2, i) * (double)N);
        t.labels[i] = (int32_t)(check_uniform(3, i) * (double)K);
    }
    lli_network_start(t.net, t.theta, 7, 0);
    for (int p = 0; p < t.model->parts; p++)
        if (t.model->part[p].role == LLI_ROLE_BIAS) /* zero would hide mistakes */
            for (int64_t i = 0; i < t.model->part[p].count; i++)
                t.theta[t.model->part[p].first + i] = (float)(0.2 * check_uniform(4, i) - 0.1);
    t.rows = (lli_rows){.features = t.features, .N = N, .D = D, .height = height, .width = width, .channels = channels};
    t.step = (lli_step){.rows = t.list, .labels = t.labels, .n = n, .lr = 0.1, .seed = 5, .member = 2, .step = 11};
    return t;
}

static inline void trial_free(trial *t) {
    void *all[] = {t->features, t->theta, t->work, t->gradient, t->list, t->labels};
    for (size_t i = 0; i < LLI_COUNT(all); i++)
        lli_memory_free(all[i]);
    lli_network_free(t->net);
    ll_context_free(t->ctx);
}

static inline double trial_descend(trial *t, lli_apply_fn *apply) {
    double nll;
    CHECK_OK(t->ctx, t->model->ops->descend(&nll, t->ctx, t->model, apply, t, t->theta, t->work, &t->rows, &t->step));
    return nll;
}

static inline void trial_copy(void *arg, const lli_part *part, int64_t first, int64_t count, const float *gradient) {
    (void)part;
    memcpy(((trial *)arg)->gradient + first, gradient, (size_t)count * sizeof *gradient);
}

static inline double trial_gradient(trial *t) {
    memset(t->gradient, 0, (size_t)t->model->floats * sizeof *t->gradient);
    return trial_descend(t, trial_copy);
}

/* theta <- theta - lr (gradient + decay theta), each piece as it comes. */
static inline void trial_move(void *arg, const lli_part *part, int64_t first, int64_t count, const float *gradient) {
    trial *t = arg;
    double decay = part->role == LLI_ROLE_KERNEL || part->role == LLI_ROLE_BIAS ? t->step.decay : 0;
    for (int64_t i = 0; i < count; i++)
        t->theta[first + i] -= (float)(t->step.lr * ((double)gradient[i] + decay * (double)t->theta[first + i]));
}

/* The gradient against differences of the loss along the gradient itself and along `directions` random ones, in each part on its own. */
static inline void trial_differences(trial *t, int directions, double tolerance) {
    trial_gradient(t);
    int64_t floats = t->model->floats;
    float *gradient = trial_array(t, floats, sizeof(float)), *theta = trial_array(t, floats, sizeof(float));
    memcpy(gradient, t->gradient, (size_t)floats * sizeof *gradient);
    memcpy(theta, t->theta, (size_t)floats * sizeof *theta);
    for (int p = 0; p < t->model->parts; p++)
        for (int d = 0; d < directions && t->model->part[p].role != LLI_ROLE_STATISTIC; d++) {
            const lli_part *part = &t->model->part[p];
            double along = 0, size = 0, nll[2];
            float *v = trial_array(t, part->count, sizeof(float));
            for (int64_t i = 0; i < part->count; i++)
                v[i] = d == 0 ? gradient[part->first + i] : (float)(2 * check_uniform(40 + p * 8 + d, i) - 1);
            for (int64_t i = 0; i < part->count; i++) {
                along += (double)v[i] * (double)gradient[part->first + i];
                size += (double)v[i] * (double)v[i];
            }
            assert_true(size > 0);
            double h = 2e-3 / sqrt(size);
            for (int side = 0; side < 2; side++) {
                memcpy(t->theta, theta, (size_t)floats * sizeof *theta);
                for (int64_t i = 0; i < part->count; i++)
                    t->theta[part->first + i] += (float)((side ? h : -h) * (double)v[i]);
                nll[side] = trial_gradient(t) / (double)t->step.n;
            }
            double difference = (nll[1] - nll[0]) / (2 * h), scale = sqrt(size);
            if (!(fabs(difference - along) <= tolerance * (fabs(along) + 0.05 * scale)))
                fail_msg("%s: part %d, direction %d: gradient %.9g, difference %.9g", lli_network_text(t->net), p, d, along / scale,
                         difference / scale);
            lli_memory_free(v);
        }
    memcpy(t->theta, theta, (size_t)floats * sizeof *theta);
    lli_memory_free(gradient);
    lli_memory_free(theta);
}

#endif
