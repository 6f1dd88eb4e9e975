/* SPDX-License-Identifier: MIT */
/* Products of a block with tiles of the arrays, and what is made of them. */
#include "scores/scores_work.h"

#include <math.h>
#include <string.h>

#include "base/half.h"
#include "base/memory.h"
#include "kernels/matrix64.h"
#include "kernels/require.h"

enum { TILE = 256 };

static int64_t neighbours(const lli_scores *s) {
    return LLI_MIN((int64_t)LLI_SCORES_NEIGHBOURS, s->rows[LLI_SCORES_BANK]);
}

ll_status lli_scores_work_init(ll_context *ctx, lli_scores_work *w, const lli_scores *s, int64_t rows, int64_t D) {
    *w = (lli_scores_work){.s = s, .rows = rows, .D = D};
    ll_status status;
    LLI_DO(lli_kernels_require(ctx, &w->kernels));
    LLI_DO(lli_memory_new(ctx, &w->z, rows * D, sizeof(double)));
    LLI_DO(lli_memory_new(ctx, &w->x, rows * D, sizeof(double)));
    LLI_DO(lli_memory_new(ctx, &w->y, rows * D, sizeof(double)));
    LLI_DO(lli_memory_new(ctx, &w->tile, TILE * D, sizeof(double)));
    LLI_DO(lli_memory_new(ctx, &w->dots, rows * TILE, sizeof(double)));
    LLI_DO(lli_memory_new(ctx, &w->nearest, rows * LLI_MAX(1, neighbours(s)), sizeof(double)));
    LLI_DO(lli_memory_new(ctx, &w->value, 3 * rows, sizeof(double)));
    LLI_DO(lli_memory_new(ctx, &w->work, LLI_LINEAR_WORK, sizeof(double)));
done:
    if (status != LL_OK)
        lli_scores_work_release(w);
    return status;
}

void lli_scores_work_release(lli_scores_work *w) {
    double *blocks[] = {w->z, w->x, w->y, w->tile, w->dots, w->nearest, w->value, w->work};
    for (size_t i = 0; i < LLI_COUNT(blocks); i++)
        lli_memory_free(blocks[i]);
    *w = (lli_scores_work){0};
}

void lli_scores_work_read(double *out, const void *features, bool half, int64_t first, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        out[i] = (double)(half ? lli_half_to_float(((const uint16_t *)features)[first + i]) : ((const float *)features)[first + i]);
}

void lli_scores_work_unit(double *out, const double *z, int64_t D, const lli_kernels *kernels) {
    double square = kernels->linear->dot(z, z, D), length = square > 0 ? sqrt(square) : 1;
    for (int64_t j = 0; j < D; j++)
        out[j] = z[j] / length;
}

/* Up to TILE rows of an array from row `at` on, as f64; returns how many. */
static int64_t take_tile(lli_scores_work *w, const double **rows, lli_scores_array array, int64_t at) {
    int64_t count = LLI_MIN((int64_t)TILE, w->s->rows[array] - at);
    if (array != LLI_SCORES_THETA_W && array != LLI_SCORES_BANK) {
        *rows = (const double *)w->s->at[array] + at * w->D;
        return count;
    }
    lli_scores_work_read(w->tile, w->s->at[array], array == LLI_SCORES_BANK, at * w->D, count * w->D);
    *rows = w->tile;
    return count;
}

/* c [n,ldc] = x times the rows. */
static void multiply(lli_scores_work *w, double *c, int64_t ldc, const double *x, const double *rows, int64_t count) {
    for (int64_t i = 0; i < w->n; i++)
        memset(c + i * ldc, 0, (size_t)count * sizeof *c);
    w->kernels->linear->product(c, ldc, (lli_matrix64){x, w->D, 1}, (lli_matrix64){rows, 1, w->D}, w->n, count, w->D, 1, w->work);
}

static double square(const lli_scores_work *w, const double *x, int64_t n) {
    return w->kernels->linear->dot(x, x, n);
}

void lli_scores_work_take(lli_scores_work *w, const void *features, bool half, int64_t first, int64_t n) {
    w->n = n;
    lli_scores_work_read(w->z, features, half, first * w->D, n * w->D);
}

void lli_scores_work_logits(lli_scores_work *w, double *most, double *beyond) {
    const float *b = w->s->at[LLI_SCORES_THETA_B];
    int64_t K = w->s->rows[LLI_SCORES_THETA_W];
    for (int64_t i = 0; i < w->n; i++) {
        most[i] = -INFINITY;
        beyond[i] = 0; /* sum of exp(f - most) until the end */
    }
    for (int64_t at = 0, count; at < K; at += count) {
        const double *rows;
        count = take_tile(w, &rows, LLI_SCORES_THETA_W, at);
        multiply(w, w->dots, TILE, w->z, rows, count);
        for (int64_t i = 0; i < w->n; i++) {
            double *f = w->dots + i * TILE, before = most[i];
            for (int64_t k = 0; k < count; k++) {
                f[k] += (double)b[at + k];
                most[i] = fmax(most[i], f[k]);
            }
            beyond[i] *= exp(before - most[i]);
            for (int64_t k = 0; k < count; k++)
                beyond[i] += exp(f[k] - most[i]);
        }
    }
    for (int64_t i = 0; i < w->n; i++)
        beyond[i] = log(beyond[i]);
}

void lli_scores_work_outside(lli_scores_work *w, double *out) {
    const double *origin = w->s->at[LLI_SCORES_ORIGIN];
    int64_t D = w->D, outside = w->s->rows[LLI_SCORES_OUTSIDE];
    for (int64_t i = 0; i < w->n; i++)
        for (int64_t j = 0; j < D; j++)
            w->x[i * D + j] = w->z[i * D + j] - origin[j];
    multiply(w, w->y, D, w->x, w->s->at[LLI_SCORES_OUTSIDE], outside);
    for (int64_t i = 0; i < w->n; i++)
        out[i] = sqrt(square(w, w->y + i * D, outside));
}

/* |y - M_k|^2 of the nearest class is |y|^2 + min (|M_k|^2 - 2 y'M_k). */
static void distances(lli_scores_work *w, double *out, lli_scores_array within, lli_scores_array classes) {
    int64_t C = w->s->rows[classes], D = w->D;
    multiply(w, w->y, D, w->x, w->s->at[within], D);
    for (int64_t i = 0; i < w->n; i++)
        out[i] = INFINITY;
    for (int64_t at = 0, count; at < C; at += count) {
        const double *rows;
        count = take_tile(w, &rows, classes, at);
        multiply(w, w->dots, TILE, w->y, rows, count);
        for (int64_t k = 0; k < count; k++) {
            double length = square(w, rows + k * D, D);
            for (int64_t i = 0; i < w->n; i++)
                out[i] = fmin(out[i], length - 2 * w->dots[i * TILE + k]);
        }
    }
    for (int64_t i = 0; i < w->n; i++)
        out[i] = fmax(0, out[i] + square(w, w->y + i * D, D));
}

/* Mahalanobis, and relative to that of all rows. The arrays of rows of length 1 come in the same order as those of rows as they are. */
static void mahalanobis(lli_scores_work *w, double *mds, double *rmds, bool unit) {
    int from = unit ? LLI_SCORES_UNIT_MEAN : LLI_SCORES_MEAN;
    const double *mean = w->s->at[from];
    double *nearest = w->value;
    int64_t D = w->D;
    for (int64_t i = 0; i < w->n; i++) {
        double *x = w->x + i * D;
        if (unit)
            lli_scores_work_unit(x, w->z + i * D, D, w->kernels);
        for (int64_t j = 0; j < D; j++)
            x[j] = (unit ? x[j] : w->z[i * D + j]) - mean[j];
    }
    distances(w, nearest, (lli_scores_array)(from + 1), (lli_scores_array)(from + 2));
    for (int64_t i = 0; mds && i < w->n; i++)
        mds[i] = 0 - nearest[i];
    if (!rmds)
        return;
    multiply(w, w->y, D, w->x, w->s->at[from + 3], D);
    for (int64_t i = 0; i < w->n; i++)
        rmds[i] = square(w, w->y + i * D, D) - nearest[i];
}

/* Takes a number into a heap of the k smallest, largest first; the heap is full. */
static void sink(double *heap, int64_t k, double x) {
    if (x >= heap[0])
        return;
    int64_t at = 0;
    for (int64_t child = 1; child < k; child = 2 * at + 1) {
        if (child + 1 < k && heap[child + 1] > heap[child])
            child++;
        if (heap[child] <= x)
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = x;
}

static void knn(lli_scores_work *w, double *out) {
    int64_t M = w->s->rows[LLI_SCORES_BANK], D = w->D, k = neighbours(w->s);
    for (int64_t i = 0; i < w->n; i++)
        lli_scores_work_unit(w->x + i * D, w->z + i * D, D, w->kernels);
    for (int64_t i = 0; i < w->n * k; i++)
        w->nearest[i] = INFINITY;
    for (int64_t i = 0; i < w->n; i++)
        w->value[i] = square(w, w->x + i * D, D);
    for (int64_t at = 0, count; at < M; at += count) {
        const double *rows;
        count = take_tile(w, &rows, LLI_SCORES_BANK, at);
        multiply(w, w->dots, TILE, w->x, rows, count);
        for (int64_t j = 0; j < count; j++) {
            double length = square(w, rows + j * D, D);
            for (int64_t i = 0; i < w->n; i++)
                sink(w->nearest + i * k, k, w->value[i] + length - 2 * w->dots[i * TILE + j]);
        }
    }
    for (int64_t i = 0; i < w->n; i++)
        out[i] = 0 - sqrt(fmax(0, w->nearest[i * k]));
}

static void by_logits(lli_scores_work *w, double *const out[LLI_SCORES_COUNT]) {
    double *msp = out[LL_CONFIDENCE_MSP - LLI_SCORES_FIRST], *energy = out[LL_CONFIDENCE_ENERGY - LLI_SCORES_FIRST];
    double *maxlogit = out[LL_CONFIDENCE_MAXLOGIT - LLI_SCORES_FIRST], *vim = out[LL_CONFIDENCE_VIM - LLI_SCORES_FIRST];
    double *most = w->value, *beyond = w->value + w->rows, *outside = w->value + 2 * w->rows;
    if (!msp && !energy && !maxlogit && !vim)
        return;
    lli_scores_work_logits(w, most, beyond);
    if (vim)
        lli_scores_work_outside(w, outside);
    for (int64_t i = 0; i < w->n; i++) {
        if (msp)
            msp[i] = exp(-beyond[i]);
        if (energy)
            energy[i] = most[i] + beyond[i];
        if (maxlogit)
            maxlogit[i] = most[i];
        if (vim)
            vim[i] = most[i] + beyond[i] - *(const double *)w->s->at[LLI_SCORES_ALPHA] * outside[i];
    }
}

void lli_scores_work_run(lli_scores_work *w, double *const out[LLI_SCORES_COUNT], const void *features, bool half, int64_t first,
                         int64_t n) {
    double *wanted[LLI_SCORES_COUNT];
    for (int i = 0; i < LLI_SCORES_COUNT; i++)
        wanted[i] = w->s->which >> i & 1 ? out[i] : NULL;
    lli_scores_work_take(w, features, half, first, n);
    by_logits(w, wanted);
    for (int unit = 0; unit < 2; unit++) {
        double *mds = wanted[(unit ? LL_CONFIDENCE_MDS_UNIT : LL_CONFIDENCE_MDS) - LLI_SCORES_FIRST];
        double *rmds = wanted[(unit ? LL_CONFIDENCE_RMDS_UNIT : LL_CONFIDENCE_RMDS) - LLI_SCORES_FIRST];
        if (mds || rmds)
            mahalanobis(w, mds, rmds, unit);
    }
    if (wanted[LL_CONFIDENCE_KNN - LLI_SCORES_FIRST])
        knn(w, wanted[LL_CONFIDENCE_KNN - LLI_SCORES_FIRST]);
}
