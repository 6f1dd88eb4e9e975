/* SPDX-License-Identifier: MIT */
/* The weighted mean objective over all rows and its gradient, in parallel over fixed slices of the rows; of very wide heads over classes.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/pool.h"
#include "kernels/matrix64.h"
#include "kernels/require.h"
#include "train/solve.h"
#include "train/wide_objective.h"

enum { CHUNK = 64, SLICES_MAX = 16 }; /* rows whose gradient is summed in f32; parts of the data */

struct lli_objective {
    const lli_kernels *kernels;
    const ll_dataset *data;
    int64_t K, D, ld, ldk, floats;
    lli_divided classes;
    lli_wide_objective *wide; /* NULL: the classes are few, and what follows is there */
    const float *weights;     /* of the rows; NULL: all 1 */
    double tau, weight;       /* sum of the weights */
    int64_t slices, slice_rows;
    float *theta;      /* [K,ld] as the kernels see it */
    double *gradients; /* [slices,K,ld] */
    double nll[SLICES_MAX];
    float *z, *g;        /* one chunk per worker */
    char *scratch;       /* likewise, of rows in files */
    int64_t chunk_bytes; /* of it */
    struct {             /* of lli_objective_exact */
        bool on;
        const double *theta;
        double *z, *f, *work; /* one chunk per worker, its logits and then residuals, what products need */
    } exact;
};

static ll_status make_slices(ll_context *ctx, lli_objective *o) {
    const ll_dataset *data = o->data;
    /* The cut depends on the problem alone: enough slices to keep workers busy, few enough for their gradients to stay small. */
    int64_t chunks = (data->rows.N - 1) / CHUNK + 1, affordable = ((int64_t)1 << 26) / (o->floats * 8);
    int64_t wanted = LLI_MIN(LLI_MIN(chunks, SLICES_MAX), LLI_MAX(affordable, 2));
    o->slice_rows = ((chunks - 1) / wanted + 1) * CHUNK;
    o->slices = (data->rows.N - 1) / o->slice_rows + 1;
    int workers = lli_pool_workers(ctx);
    LLI_TRY(lli_memory_new(ctx, &o->gradients, o->slices * o->floats, sizeof(double)));
    LLI_TRY(lli_memory_new(ctx, &o->z, workers * CHUNK * o->ld, sizeof(float)));
    LLI_TRY(lli_memory_new(ctx, &o->g, workers * CHUNK * o->ldk, sizeof(float)));
    o->chunk_bytes = lli_rows_scratch(&data->rows, CHUNK);
    return lli_memory_new(ctx, &o->scratch, workers * o->chunk_bytes, 1);
}

ll_status lli_objective_divided(lli_objective **out, ll_context *ctx, const ll_dataset *data, int64_t K, double prior_precision,
                                lli_team *team) {
    *out = NULL;
    lli_objective *o;
    LLI_TRY(lli_memory_new(ctx, &o, 1, sizeof *o));
    ll_status status;
    LLI_DO(lli_kernels_require(ctx, &o->kernels));
    o->data = data;
    LLI_DO(lli_divided_init(ctx, &o->classes, K, team));
    o->K = o->classes.count;
    o->D = data->rows.D;
    o->ld = lli_kernels_stride(o->D);
    o->ldk = lli_kernels_stride_classes(o->K);
    o->floats = o->K * o->ld;
    o->tau = prior_precision;
    o->weights = data->weights;
    o->weight = lli_dataset_weight(data);
    LLI_DO(lli_memory_new(ctx, &o->theta, o->floats, sizeof(float)));
    LLI_DO(o->classes.wide ? lli_wide_objective_new(&o->wide, ctx, data, &o->classes) : make_slices(ctx, o));
    *out = o;
    o = NULL;
done:
    lli_objective_free(o);
    return status;
}

ll_status lli_objective_new(lli_objective **out, ll_context *ctx, const ll_dataset *data, int64_t K, double prior_precision) {
    return lli_objective_divided(out, ctx, data, K, prior_precision, NULL);
}

lli_divided *lli_objective_classes(lli_objective *o) {
    return &o->classes;
}

void lli_objective_free(lli_objective *o) {
    if (!o)
        return;
    lli_wide_objective_free(o->wide);
    lli_divided_release(&o->classes);
    lli_memory_free(o->theta);
    lli_memory_free(o->gradients);
    lli_memory_free(o->z);
    lli_memory_free(o->g);
    lli_memory_free(o->scratch);
    lli_memory_free(o->exact.z);
    lli_memory_free(o->exact.f);
    lli_memory_free(o->exact.work);
    lli_memory_free(o);
}

ll_status lli_objective_exact(ll_context *ctx, lli_objective *o, bool on) {
    int64_t workers = lli_pool_workers(ctx);
    o->exact.on = on && !o->wide;
    if (!o->exact.on || o->exact.work)
        return LL_OK;
    LLI_TRY(lli_memory_new(ctx, &o->exact.z, workers * CHUNK * o->ld, sizeof(double)));
    LLI_TRY(lli_memory_new(ctx, &o->exact.f, workers * CHUNK * o->K, sizeof(double)));
    return lli_memory_new(ctx, &o->exact.work, workers * LLI_LINEAR_WORK, sizeof(double));
}

void lli_objective_weigh(lli_objective *o, const float *weights) {
    o->weights = weights;
    o->weight = 0;
    for (int64_t i = 0; i < o->data->rows.N; i++)
        o->weight += (double)weights[i];
}

/* Logits of one row become w (p - 1{y}); returns -w log p(y). */
static double residual(double *f, int64_t y, double w, int64_t K) {
    int64_t top = 0;
    for (int64_t k = 1; k < K; k++)
        top = f[k] > f[top] ? k : top;
    double most = f[top], gap = most - f[y], others = 0;
    for (int64_t k = 0; k < K; k++) {
        f[k] = exp(f[k] - most);
        others += k == top ? 0 : f[k];
    }
    for (int64_t k = 0; k < K; k++)
        f[k] *= w / (1 + others);
    f[y] = top == y ? -w * others / (1 + others) : f[y] - w;
    return w * (log1p(others) + gap);
}

/* Adds the chunk z [n,ld] in double precision. */
static void add_exactly(const lli_objective *o, double *nll, double *gradient, const float *z, int64_t first, int64_t n, int worker) {
    const lli_linear_kernels *linear = o->kernels->linear;
    double *rows = o->exact.z + worker * CHUNK * o->ld, *f = o->exact.f + worker * CHUNK * o->K,
           *work = o->exact.work + (int64_t)worker * LLI_LINEAR_WORK;
    for (int64_t i = 0; i < n * o->ld; i++)
        rows[i] = (double)z[i];
    memset(f, 0, (size_t)(n * o->K) * sizeof *f);
    linear->product(f, o->K, (lli_matrix64){rows, o->ld, 1}, (lli_matrix64){o->exact.theta, 1, o->ld}, n, o->K, o->ld, 1, work);
    for (int64_t i = 0; i < n; i++)
        *nll += residual(f + i * o->K, o->data->labels[first + i], o->weights ? (double)o->weights[first + i] : 1, o->K);
    linear->product(gradient, o->ld, (lli_matrix64){f, 1, o->K}, (lli_matrix64){rows, o->ld, 1}, o->K, o->ld, n, 1, work);
}

static ll_status run_slice(ll_context *ctx, void *arg, int64_t slice, int worker) {
    lli_objective *o = arg;
    LLI_TRY(lli_cancel_check(ctx));
    const lli_rows *rows = &o->data->rows;
    double *gradient = o->gradients + slice * o->floats;
    memset(gradient, 0, (size_t)o->floats * sizeof *gradient);
    float *z = o->z + worker * CHUNK * o->ld, *g = o->g + worker * CHUNK * o->ldk;
    const float *weights = o->weights;
    double nll = 0;
    int64_t end = LLI_MIN((slice + 1) * o->slice_rows, rows->N);
    for (int64_t first = slice * o->slice_rows; first < end; first += CHUNK) {
        lli_rows block;
        int64_t n = LLI_MIN(CHUNK, end - first);
        LLI_TRY(lli_rows_block(&block, ctx, rows, o->scratch + worker * o->chunk_bytes, first, n));
        o->kernels->gather(z, block.features, block.half, NULL, 0, n, o->D, o->ld);
        if (o->exact.on) {
            add_exactly(o, &nll, gradient, z, first, n, worker);
            continue;
        }
        o->kernels->logits(g, o->theta, z, n, o->K, o->ld, o->ldk);
        nll += o->kernels->residual(g, o->data->labels + first, weights ? weights + first : NULL, n, o->K, o->ldk);
        o->kernels->gradient(gradient, g, z, n, o->K, o->ld, o->ldk);
    }
    o->nll[slice] = nll;
    return LL_OK;
}

static ll_status run_slices(ll_context *ctx, lli_objective *o, double *nll, double *gradient) {
    LLI_TRY(lli_pool_run(ctx, run_slice, o, o->slices));
    *nll = 0;
    for (int64_t slice = 0; slice < o->slices; slice++)
        *nll += o->nll[slice];
    for (int64_t i = 0; i < o->floats; i++) {
        gradient[i] = 0;
        for (int64_t slice = 0; slice < o->slices; slice++)
            gradient[i] += o->gradients[slice * o->floats + i];
    }
    return LL_OK;
}

ll_status lli_objective_run(ll_context *ctx, lli_objective *o, double *value, double *gradient, const double *theta) {
    double nll, square, decay = o->tau / o->weight;
    o->exact.theta = theta;
    for (int64_t i = 0; i < o->floats; i++)
        o->theta[i] = (float)theta[i];
    LLI_TRY(o->wide ? lli_wide_objective_run(ctx, o->wide, &nll, gradient, o->theta, o->weights) : run_slices(ctx, o, &nll, gradient));
    LLI_TRY(lli_divided_dot(ctx, &o->classes, &square, theta, theta, o->ld));
    for (int64_t i = 0; i < o->floats; i++)
        gradient[i] = gradient[i] / o->weight + decay * theta[i];
    *value = nll / o->weight + 0.5 * decay * square;
    return LL_OK;
}
