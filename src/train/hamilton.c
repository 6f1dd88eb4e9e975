/* SPDX-License-Identifier: MIT */
/* Everything is f64 but the logits of a pass. A chain runs on one thread or, where it is alone, its passes share the workers: the same
 * bits. */
#include "train/hamilton.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "kernels/require.h"
#include "linear/linear.h"

/* Above it, the factor of the classes is taken as its diagonal: its eigenvectors would take longer than the draws. */
enum { CLASSES_MAX = 4096 };
enum { LEAPFROGS_MAX = 200, STATE = sizeof(lli_hamilton_state) / sizeof(double) };

/* A quarter of a turn of a standard normal would be pi/2; the dual averaging is that of Hoffman and Gelman (2014). */
static const double length = 1.3, jitter = 0.2, first_step = 0.1, target = 0.9, shrinkage = 0.05, delay = 10, forget = 0.75;

ll_status lli_hamilton_space_init(ll_context *ctx, lli_hamilton_space *s, const ll_dataset *data, const lli_curvature_head *map,
                                  double tau) {
    int64_t K = map->K, D = data->rows.D, n = D + 1;
    *s = (lli_hamilton_space){.data = data, .tau = tau};
    ll_status status;
    LLI_DO(lli_curvature_init(ctx, &s->curvature, data, map, K > CLASSES_MAX));
    LLI_DO(lli_memory_new(ctx, &s->root, K * n, sizeof(double)));
    LLI_DO(lli_memory_new(ctx, &s->map, K * n, sizeof(double)));
    for (int64_t i = 0; i < K * n; i++) {
        int64_t k = i / n, j = i % n;
        s->root[i] = 1 / sqrt(s->curvature.b[k] * s->curvature.a[j] + tau);
        s->map[i] = (double)(j < D ? map->W[k * D + j] : map->b[k]);
    }
done:
    if (status != LL_OK)
        lli_hamilton_space_release(s);
    return status;
}

void lli_hamilton_space_release(lli_hamilton_space *s) {
    lli_curvature_release(&s->curvature);
    lli_memory_free(s->root);
    lli_memory_free(s->map);
    *s = (lli_hamilton_space){0};
}

int64_t lli_hamilton_kept(int64_t K, int64_t D) {
    return STATE + K * (D + 1);
}

ll_status lli_hamilton_new(lli_hamilton **out, ll_context *ctx, const lli_hamilton_space *space) {
    *out = NULL;
    lli_hamilton *h;
    LLI_TRY(lli_memory_new(ctx, &h, 1, sizeof *h));
    int64_t K = space->curvature.K, D = space->data->rows.D, count = K * (D + 1), wide = K * lli_kernels_stride(D);
    ll_status status;
    h->space = space;
    LLI_DO(lli_objective_new(&h->objective, ctx, space->data, K, space->tau));
    LLI_DO(lli_memory_new(ctx, &h->kept, lli_hamilton_kept(K, D), sizeof(double)));
    h->state = (lli_hamilton_state *)h->kept;
    h->y = h->kept + STATE;
    double **dense[] = {&h->g, &h->y_old, &h->g_old, &h->p, &h->theta, &h->spare}, **padded[] = {&h->wide, &h->wide_g};
    for (size_t i = 0; i < LLI_COUNT(dense); i++)
        LLI_DO(lli_memory_new(ctx, dense[i], count, sizeof(double)));
    for (size_t i = 0; i < LLI_COUNT(padded); i++)
        LLI_DO(lli_memory_new(ctx, padded[i], wide, sizeof(double)));
    LLI_DO(lli_memory_new(ctx, &h->work, LLI_LINEAR_WORK, sizeof(double)));
    LLI_DO(lli_memory_new(ctx, &h->normals, count, sizeof(float)));
    *out = h;
    h = NULL;
done:
    lli_hamilton_free(h);
    return status;
}

void lli_hamilton_free(lli_hamilton *h) {
    if (!h)
        return;
    lli_objective_free(h->objective);
    double *owned[] = {h->kept, h->g, h->y_old, h->g_old, h->p, h->theta, h->spare, h->wide, h->wide_g, h->work};
    for (size_t i = 0; i < LLI_COUNT(owned); i++)
        lli_memory_free(owned[i]);
    lli_memory_free(h->normals);
    lli_memory_free(h);
}

void lli_hamilton_start(lli_hamilton *h, uint64_t seed, int64_t number) {
    const lli_curvature *c = &h->space->curvature;
    h->seed = seed;
    h->number = number;
    memset(h->kept, 0, (size_t)lli_hamilton_kept(c->K, c->n - 1) * sizeof *h->kept);
    h->state->log_step = log(first_step);
}

/* theta at y. */
static void place(lli_hamilton *h) {
    const lli_curvature *c = &h->space->curvature;
    lli_curvature_to_theta(c, h->theta, h->y, h->space->root, h->spare, h->work);
    for (int64_t i = 0; i < c->K * c->n; i++)
        h->theta[i] += h->space->map[i];
}

/* theta, energy and gradient at y: a pass over the rows. */
static ll_status look(ll_context *ctx, lli_hamilton *h) {
    const lli_curvature *c = &h->space->curvature;
    int64_t K = c->K, n = c->n, ld = lli_kernels_stride(n - 1);
    double value, weight = lli_dataset_weight(h->space->data);
    place(h);
    for (int64_t k = 0; k < K; k++)
        memcpy(h->wide + k * ld, h->theta + k * n, (size_t)n * sizeof(double));
    LLI_TRY(lli_objective_run(ctx, h->objective, &value, h->wide_g, h->wide));
    for (int64_t k = 0; k < K; k++)
        for (int64_t j = 0; j < n; j++)
            h->g[k * n + j] = weight * h->wide_g[k * ld + j];
    lli_curvature_to_white(c, h->g, h->g, h->space->root, h->spare, h->work);
    h->energy = weight * value;
    return LL_OK;
}

ll_status lli_hamilton_arrive(ll_context *ctx, lli_hamilton *h) {
    return look(ctx, h);
}

double lli_hamilton_step(const lli_hamilton_state *s) {
    return exp(s->draws < LLI_HAMILTON_WARMUP ? s->log_step : s->log_mean);
}

double lli_hamilton_acceptance(const lli_hamilton_state *s) {
    return s->accepted / (s->draws - LLI_HAMILTON_WARMUP);
}

static double kinetic(const double *p, int64_t count) {
    double square = 0;
    for (int64_t i = 0; i < count; i++)
        square += p[i] * p[i];
    return 0.5 * square;
}

static void add(double *x, double scale, const double *by, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        x[i] += scale * by[i];
}

static double uniform(lli_stream stream, uint64_t i) { /* in [0,1) */
    return ldexp((double)(lli_rng_draw(stream, i) >> 11), -53);
}

static int64_t leapfrogs(double step, double u) {
    double count = ceil(length / step) * (1 - jitter + 2 * jitter * u);
    return (int64_t)fmin(fmax(nearbyint(count), 1), LEAPFROGS_MAX);
}

/* Dual averaging: log steps move against the mean of target - acceptance, and their own mean forgets the first ones. */
static void adapt(lli_hamilton_state *s, double acceptance) {
    double m = s->draws + 1, share = 1 / (m + delay), keep = pow(m, -forget);
    s->drift += share * (target - acceptance - s->drift);
    s->log_step = log(10 * first_step) - sqrt(m) / shrinkage * s->drift;
    s->log_mean += keep * (s->log_step - s->log_mean);
}

/* From y and p along the trajectory; ends early where the energy is not finite. */
static ll_status travel(ll_context *ctx, lli_hamilton *h, double step, int64_t count) {
    const lli_curvature *c = &h->space->curvature;
    int64_t size = c->K * c->n;
    add(h->p, -0.5 * step, h->g, size);
    for (int64_t i = 0; i < count && isfinite(h->energy); i++) {
        add(h->y, step, h->p, size);
        LLI_TRY(look(ctx, h));
        h->state->passes++;
        add(h->p, i + 1 < count ? -step : -0.5 * step, h->g, size);
    }
    return LL_OK;
}

ll_status lli_hamilton_draw(ll_context *ctx, lli_hamilton *h) {
    const lli_curvature *c = &h->space->curvature;
    lli_hamilton_state *s = h->state;
    int64_t size = c->K * c->n, draw = (int64_t)s->draws;
    size_t bytes = (size_t)size * sizeof(double);
    lli_stream chance = lli_rng_stream(h->seed, LLI_PURPOSE_ACCEPT, h->number, draw);
    double step = lli_hamilton_step(s), before = h->energy;
    lli_kernels_get()->normals(h->normals, lli_rng_stream(h->seed, LLI_PURPOSE_MOMENTUM, h->number, draw), 0, size);
    for (int64_t i = 0; i < size; i++)
        h->p[i] = (double)h->normals[i];
    memcpy(h->y_old, h->y, bytes);
    memcpy(h->g_old, h->g, bytes);
    double total = before + kinetic(h->p, size);
    LLI_TRY(travel(ctx, h, step, leapfrogs(step, uniform(chance, 0))));
    double ratio = exp(total - h->energy - kinetic(h->p, size)), acceptance = ratio >= 0 ? fmin(1, ratio) : 0; /* of NaN too */
    if (!(uniform(chance, 1) < acceptance)) {
        memcpy(h->y, h->y_old, bytes);
        memcpy(h->g, h->g_old, bytes);
        h->energy = before;
        place(h);
    }
    if (draw < LLI_HAMILTON_WARMUP)
        adapt(s, acceptance);
    else
        s->accepted += acceptance;
    s->draws++;
    return LL_OK;
}
