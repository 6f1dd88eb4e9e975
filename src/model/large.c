/* SPDX-License-Identifier: MIT */
/* A head with many classes as a model: theta in panels, one step cut into blocks of rows and then into parts of theta, for all workers. */
#include "model/large.h"

#include "base/pool.h"
#include "kernels/large.h"
#include "model/head.h"

/* Measured: fewer classes waste too much of the last panel. A step of a few milliseconds is worth waking other workers for. */
enum { CLASSES_MIN = 128, BYTES_MIN = 256 << 10, SHARED_MIN = 50000000 };

bool lli_large_suits(const lli_kernels *kernels, int64_t K, int64_t D) {
    return kernels->large && K >= CLASSES_MIN && lli_large_floats(K, D) * (int64_t)sizeof(float) >= BYTES_MIN;
}

static void pack(const lli_model *m, float *theta, const float *const *tensors) {
    lli_large_pack(theta, tensors[0], tensors[1], m->K, m->D);
}

static void unpack(const lli_model *m, float *const *tensors, const float *theta) {
    lli_large_unpack(tensors[0], tensors[1], theta, m->K, m->D);
}

static int64_t work_floats(const lli_model *m, int64_t B, int workers) {
    return lli_large_work_floats(B, m->K, m->D, workers);
}

typedef struct job {
    const lli_large *large;
    float *theta;
    const lli_rows *rows;
    const lli_head_step *step;
    lli_large_shape shape;
    lli_large_work work;
} job;

static ll_status forward(ll_context *ctx, void *arg, int64_t block, int worker) {
    (void)ctx;
    const job *j = arg;
    j->large->forward(&j->work, j->theta, j->rows, &j->step->batch, j->step->dropout ? &j->step->mask : NULL, &j->shape, block, worker);
    return LL_OK;
}

static ll_status update(ll_context *ctx, void *arg, int64_t part, int worker) {
    (void)ctx;
    const job *j = arg;
    j->large->update(j->theta, &j->work, &j->step->update, &j->shape, part, worker);
    return LL_OK;
}

static ll_status step(double *nll, ll_context *ctx, const lli_model *m, float *theta, float *work, const lli_rows *rows,
                      const lli_step *s) {
    const lli_head_step head = lli_head_step_of(s);
    job j = {.large = m->kernels->large, .theta = theta, .rows = rows, .step = &head, .shape = lli_large_shape_of(s->n, m->K, m->D)};
    j.work = lli_large_work_of(work, &j.shape);
    ll_context alone; /* has no pool */
    if (s->n * m->K * m->D < SHARED_MIN) {
        lli_context_child(&alone, ctx);
        ctx = &alone;
    }
    LLI_TRY(lli_pool_run(ctx, forward, &j, j.shape.blocks));
    LLI_TRY(lli_pool_run(ctx, update, &j, j.shape.parts));
    *nll = 0;
    for (int64_t i = 0; i < s->n; i++)
        *nll += j.work.nll[i];
    return LL_OK;
}

const lli_model_ops lli_large_ops = {.pack = pack, .unpack = unpack, .work_floats = work_floats, .step = step};
