/* SPDX-License-Identifier: MIT */
/* A head with many classes as a model: theta in panels, one step cut into blocks of rows and then into parts of theta, for all workers.
 * Where ranks divide the panels, each has the logits, the gradient and the moves of its own; per row a maximum and a sum travel. */
#include "model/large_head.h"

#include <string.h>

#include "base/pool.h"
#include "base/team.h"
#include "kernels/large.h"
#include "kernels/wide.h"
#include "model/head.h"

/* Measured: fewer classes waste too much of the last panel. A step of a few milliseconds is worth waking other workers for. */
enum { CLASSES_MIN = 128, BYTES_MIN = 256 << 10, SHARED_MIN = 50000000 };

bool lli_large_head_suits(const lli_kernels *kernels, int64_t K, int64_t D) {
    return kernels->large && K >= CLASSES_MIN && lli_large_floats(K, D) * (int64_t)sizeof(float) >= BYTES_MIN;
}

bool lli_large_head_divides(const lli_model *model) {
    return model->ops == &lli_large_head_ops && model->K >= LLI_WIDE_CLASSES;
}

static lli_large_shape shape_of_rank(const lli_model *m, int64_t n, int64_t rank) {
    return lli_large_shape_share(n, m->K, m->D, &(lli_share){rank, m->team->size});
}

int64_t lli_large_head_classes(const lli_model *m, int64_t rank, int64_t *first) {
    const lli_large_shape s = shape_of_rank(m, 1, rank);
    *first = s.first;
    return s.K;
}

/* Of the classes that are here. */
static lli_large_shape shape_of(const lli_model *m, int64_t n) {
    return m->team ? shape_of_rank(m, n, m->team->rank) : lli_large_shape_of(n, m->K, m->D);
}

static void pack(const lli_model *m, float *theta, const float *const *tensors) {
    const lli_large_shape s = shape_of(m, 1);
    lli_large_pack(theta, tensors[0] + s.first * m->D, tensors[1] + s.first, s.K, m->D);
}

static void unpack(const lli_model *m, float *const *tensors, const float *theta) {
    lli_large_unpack(tensors[0], tensors[1], theta, m->K, m->D);
}

static int64_t step_floats(const lli_model *m, int64_t B, int workers) {
    const lli_large_shape most = shape_of(m, B);
    return lli_large_work_floats(&most, workers);
}

static int64_t panel_floats(const lli_large_shape *s) {
    return s->columns * LLI_LARGE_CLASSES;
}

static int64_t descend_floats(const lli_model *m, int64_t B, int workers) {
    const lli_large_shape most = shape_of(m, B);
    return most.panels * panel_floats(&most) + lli_large_work_floats(&most, workers);
}

typedef struct job {
    const lli_large *large;
    const lli_model *model;
    const float *theta; /* of the logits */
    float *moved;       /* by the update: theta itself, or the gradient */
    const lli_update *update;
    const lli_rows *rows;
    const lli_head_step *step;
    lli_large_shape shape;
    lli_large_work work;
    const lli_part *part; /* descend: */
    lli_apply_fn *apply;
    void *arg;
} job;

static ll_status forward(ll_context *ctx, void *arg, int64_t block, int worker) {
    (void)ctx;
    const job *j = arg;
    j->large->forward(&j->work, j->theta, j->rows, &j->step->batch, j->step->dropout ? &j->step->mask : NULL, &j->shape, block, worker);
    return LL_OK;
}

static ll_status tops(ll_context *ctx, void *arg, int64_t block, int worker) {
    (void)ctx;
    const job *j = arg;
    j->large->tops(&j->work, j->theta, j->rows, &j->step->batch, j->step->dropout ? &j->step->mask : NULL, &j->shape, block, worker);
    return LL_OK;
}

static ll_status sums(ll_context *ctx, void *arg, int64_t block, int worker) {
    (void)ctx;
    const job *j = arg;
    j->large->sums(&j->work, &j->step->batch, &j->shape, block, worker);
    return LL_OK;
}

static ll_status residuals(ll_context *ctx, void *arg, int64_t block, int worker) {
    (void)ctx;
    const job *j = arg;
    j->large->residuals(&j->work, &j->step->batch, &j->shape, block, worker);
    return LL_OK;
}

/* Of divided classes. All ranks learn with the sums whether one is to stop, so that all stop at the same step. */
static ll_status forward_together(ll_context *ctx, job *j) {
    lli_team *team = j->model->team;
    int64_t n = j->shape.n, *stop = &j->work.sums[2 * n];
    LLI_TRY(lli_pool_run(ctx, tops, j, j->shape.blocks));
    LLI_TRY(team->table->max(team, ctx, j->work.top, n));
    LLI_TRY(lli_pool_run(ctx, sums, j, j->shape.blocks));
    *stop = lli_cancelled(ctx);
    LLI_TRY(team->table->sum(team, ctx, j->work.sums, 2 * n + 1));
    if (*stop)
        return lli_fail(ctx, LL_ERR_CANCELLED, "interrupted");
    return lli_pool_run(ctx, residuals, j, j->shape.blocks);
}

static ll_status update(ll_context *ctx, void *arg, int64_t part, int worker) {
    (void)ctx;
    const job *j = arg;
    j->large->update(j->moved, &j->work, j->update, &j->shape, part, worker);
    return LL_OK;
}

/* A panel's columns up to the bias are one piece. */
static ll_status hand_out(ll_context *ctx, void *arg, int64_t panel, int worker) {
    (void)ctx, (void)worker;
    const job *j = arg;
    int64_t first = panel * panel_floats(&j->shape);
    j->apply(j->arg, j->part, first, (j->shape.D + 1) * LLI_LARGE_CLASSES, j->moved + first);
    return LL_OK;
}

/* The logits of the batch, then the update. */
static ll_status run(double *nll, ll_context *ctx, job *j, float *work) {
    j->work = lli_large_work_of(work, &j->shape);
    LLI_TRY(j->model->team ? forward_together(ctx, j) : lli_pool_run(ctx, forward, j, j->shape.blocks));
    LLI_TRY(lli_pool_run(ctx, update, j, j->shape.parts));
    *nll = 0;
    for (int64_t i = 0; i < j->shape.n; i++)
        *nll += j->work.nll[i];
    return LL_OK;
}

/* Short steps are not shared: they run in `alone`, which has no pool. */
static ll_context *choose(ll_context *ctx, ll_context *alone, const lli_large_shape *s) {
    if (s->n * s->K * s->D >= SHARED_MIN)
        return ctx;
    lli_context_child(alone, ctx);
    return alone;
}

static ll_status bring(ll_context *ctx, const ll_context *where, ll_status status) {
    if (status != LL_OK && where != ctx)
        memcpy(ctx->message, where->message, sizeof ctx->message);
    return status;
}

static ll_status step(double *nll, ll_context *ctx, const lli_model *m, float *theta, float *work, const lli_rows *rows,
                      const lli_step *s) {
    const lli_head_step head = lli_head_step_of(s);
    const lli_large_shape shape = shape_of(m, s->n);
    ll_context alone;
    job j = {.large = m->kernels->large,
             .model = m,
             .theta = theta,
             .moved = theta,
             .update = &head.update,
             .rows = rows,
             .step = &head,
             .shape = shape};
    ll_context *where = choose(ctx, &alone, &shape);
    return bring(ctx, where, run(nll, where, &j, work));
}

static ll_status descend(double *nll, ll_context *ctx, const lli_model *m, lli_apply_fn *apply, void *arg, float *theta, float *work,
                         const lli_rows *rows, const lli_step *s) {
    const lli_head_step head = lli_head_step_of(s);
    const lli_update mean = lli_head_mean_gradient(s->n);
    const lli_large_shape shape = shape_of(m, s->n);
    ll_context alone, *where = choose(ctx, &alone, &shape);
    job j = {.large = m->kernels->large,
             .model = m,
             .theta = theta,
             .moved = work,
             .update = &mean,
             .rows = rows,
             .step = &head,
             .shape = shape,
             .part = &m->part[0],
             .apply = apply,
             .arg = arg};
    int64_t floats = shape.panels * panel_floats(&shape);
    memset(work, 0, (size_t)floats * sizeof *work);
    LLI_TRY(bring(ctx, where, run(nll, where, &j, work + floats)));
    return lli_pool_run(where, hand_out, &j, j.shape.panels);
}

int64_t lli_large_head_floats(const lli_model *m, int64_t rank) {
    const lli_large_shape s = shape_of_rank(m, 1, rank);
    return s.panels * panel_floats(&s);
}

void lli_large_head_divide(lli_model *out, const lli_model *whole, lli_team *team) {
    *out = *whole;
    out->team = team;
    const lli_large_shape s = shape_of(out, 1);
    out->whole = whole->floats;
    out->before = s.first * s.columns;
    out->floats = out->part[0].count = lli_large_head_floats(out, team->rank);
}

void lli_large_head_rows(const lli_model *m, float *out, const float *theta, int64_t first, int64_t count, bool bias) {
    lli_large_unpack_rows(out, theta, first, count, m->D, bias);
}

/* Element (k,j) has the normal that it has in rows, number k ld + j: the layout does not decide the noise. */
static void normals(const lli_model *m, float *xi, lli_stream stream, int64_t first, int64_t count) {
    enum { COLUMNS = 64 };
    float row[COLUMNS];
    int64_t panel = lli_large_shape_of(1, m->K, m->D).columns * LLI_LARGE_CLASSES, ld = lli_kernels_stride(m->D);
    for (int64_t at = 0, n; at < count; at += n * LLI_LARGE_CLASSES) {
        int64_t place = m->before + first + at, q = place / panel, j = place % panel / LLI_LARGE_CLASSES;
        n = LLI_MIN(LLI_MIN(COLUMNS, (count - at) / LLI_LARGE_CLASSES), panel / LLI_LARGE_CLASSES - j);
        for (int64_t c = 0; c < LLI_LARGE_CLASSES; c++) {
            int64_t k = q * LLI_LARGE_CLASSES + c;
            if (k < m->K)
                m->kernels->normals(row, stream, k * ld + j, n);
            for (int64_t i = 0; i < n; i++)
                xi[at + i * LLI_LARGE_CLASSES + c] = k < m->K && j + i <= m->D ? row[i] : 0;
        }
    }
}

const lli_model_ops lli_large_head_ops = {.pack = pack,
                                          .unpack = unpack,
                                          .descend = descend,
                                          .descend_floats = descend_floats,
                                          .step = step,
                                          .step_floats = step_floats,
                                          .normals = normals};
