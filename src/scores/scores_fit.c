/* SPDX-License-Identifier: MIT */
/* Means and covariances of the training rows, within classes and of all rows. */
#include "scores/scores_fit.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/pool.h"
#include "kernels/require.h"
#include "linear/linear.h"
#include "scores/scores_work.h"

#define FLOOR 1e-6    /* of the largest eigenvalue: smaller ones count as so large */
#define NOTHING 1e-20 /* of the mean square of the rows: a variance that rounding leaves of none */

ll_status lli_scores_fit_block(lli_rows *out, ll_context *ctx, const lli_scores_rows *r, int64_t first, int64_t count, int worker) {
    return lli_rows_block(out, ctx, &r->data->rows, r->scratch + worker * r->bytes, first, count);
}

ll_status lli_scores_fit_read(ll_context *ctx, double *out, const lli_scores_rows *r, int64_t first, int64_t count, bool unit, int worker) {
    lli_rows block;
    LLI_TRY(lli_scores_fit_block(&block, ctx, r, first, count, worker));
    lli_scores_work_read(out, block.features, block.half, 0, count * r->D);
    for (int64_t i = 0; unit && i < count; i++)
        lli_scores_work_unit(out + i * r->D, out + i * r->D, r->D, r->kernels);
    return LL_OK;
}

void lli_scores_fit_drop(ll_context *ctx, lli_scores *s, unsigned which, const char *why) {
    lli_text names;
    lli_text_init(&names, ctx);
    lli_scores_text(&names, s->which & which);
    if (names.status == LL_OK)
        lli_log(ctx, LL_LOG_WARNING, "`scores %s` left out: %s", names.data, why);
    lli_text_release(&names);
    s->which &= ~which;
}

/* ---- Mahalanobis ---- */

typedef struct family {
    const lli_scores_rows *r;
    bool unit;
    int64_t K;
    int64_t *count;     /* [K] rows of each class */
    double *means;      /* [K,D] */
    double *mean;       /* [D] */
    double mean_square; /* of the rows */
} family;

/* In the order of the rows. */
static ll_status average(ll_context *ctx, family *f) {
    const lli_scores_rows *r = f->r;
    int64_t D = r->D;
    double *block;
    ll_status status = LL_OK;
    LLI_TRY(lli_memory_new(ctx, &block, LLI_SCORES_FIT_ROWS * D, sizeof *block));
    for (int64_t first = 0, count; first < r->N; first += count) {
        count = LLI_MIN((int64_t)LLI_SCORES_FIT_ROWS, r->N - first);
        LLI_DO(lli_cancel_check(ctx));
        LLI_DO(lli_scores_fit_read(ctx, block, r, first, count, f->unit, 0));
        for (int64_t i = 0; i < count; i++) {
            int64_t k = r->data->labels[first + i];
            f->count[k]++;
            for (int64_t j = 0; j < D; j++)
                f->means[k * D + j] += block[i * D + j];
            f->mean_square += r->kernels->linear->dot(block + i * D, block + i * D, D) / (double)r->N;
        }
    }
    for (int64_t k = 0; k < f->K; k++)
        for (int64_t j = 0; f->count[k] && j < D; j++) {
            f->mean[j] += f->means[k * D + j] / (double)r->N;
            f->means[k * D + j] /= (double)f->count[k];
        }
done:
    lli_memory_free(block);
    return status;
}

static ll_status from_mean(ll_context *ctx, void *arg, double *out, int64_t first, int64_t count, int worker) {
    const family *f = arg;
    LLI_TRY(lli_scores_fit_read(ctx, out, f->r, first, count, f->unit, worker));
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < f->r->D; j++)
            out[i * f->r->D + j] -= f->mean[j];
    return LL_OK;
}

static ll_status from_class_mean(ll_context *ctx, void *arg, double *out, int64_t first, int64_t count, int worker) {
    const family *f = arg;
    int64_t D = f->r->D;
    LLI_TRY(lli_scores_fit_read(ctx, out, f->r, first, count, f->unit, worker));
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < D; j++)
            out[i * D + j] -= f->means[f->r->data->labels[first + i] * D + j];
    return LL_OK;
}

/* a [D,D] = diag(values)^-1/2 times the eigenvectors of the covariance of the rows; *none: they do not vary. */
static ll_status whiten(ll_context *ctx, double *a, bool *none, family *f, lli_gram_rows *rows) {
    int64_t D = f->r->D;
    double *values;
    ll_status status;
    LLI_TRY(lli_memory_new(ctx, &values, D, sizeof *values));
    LLI_DO(lli_gram_add(ctx, a, rows, f, f->r->N, D, 1 / (double)f->r->N));
    LLI_DO(lli_eigen_symmetric(ctx, a, values, D));
    double largest = values[D - 1];
    *none = !(largest > NOTHING * f->mean_square);
    for (int64_t i = 0; !*none && i < D; i++) {
        double scale = 1 / sqrt(fmax(values[i], FLOOR * largest));
        for (int64_t j = 0; j < D; j++)
            a[i * D + j] *= scale;
    }
done:
    lli_memory_free(values);
    return status;
}

/* The means of classes that have rows, in the coordinates of `within`. */
static ll_status place_classes(ll_context *ctx, double *out, const double *within, family *f) {
    int64_t D = f->r->D, C = 0;
    for (int64_t k = 0; k < f->K; k++)
        if (f->count[k]) {
            for (int64_t j = 0; j < D; j++)
                f->means[C * D + j] = f->means[k * D + j] - f->mean[j];
            C++;
        }
    return lli_product_add(ctx, out, (lli_matrix64){f->means, D, 1}, (lli_matrix64){within, 1, D}, C, D, D, 1);
}

static ll_status fit_family(ll_context *ctx, lli_scores *s, family *f) {
    int from = f->unit ? LLI_SCORES_UNIT_MEAN : LLI_SCORES_MEAN;
    int64_t D = f->r->D, C = 0;
    bool none = false;
    LLI_TRY(average(ctx, f));
    for (int64_t k = 0; k < f->K; k++)
        C += f->count[k] > 0;
    LLI_TRY(lli_scores_allocate(ctx, s, (lli_scores_array)from, D, D));
    memcpy(s->owned[from], f->mean, (size_t)D * sizeof *f->mean);
    LLI_TRY(lli_scores_allocate(ctx, s, (lli_scores_array)(from + 1), D, D));
    LLI_TRY(whiten(ctx, s->owned[from + 1], &none, f, from_class_mean));
    if (!none && lli_scores_need(s->which, (lli_scores_array)(from + 3))) {
        LLI_TRY(lli_scores_allocate(ctx, s, (lli_scores_array)(from + 3), D, D));
        LLI_TRY(whiten(ctx, s->owned[from + 3], &none, f, from_mean));
    }
    if (none) {
        unsigned both = f->unit ? LLI_SCORES_BIT(LL_CONFIDENCE_MDS_UNIT) | LLI_SCORES_BIT(LL_CONFIDENCE_RMDS_UNIT)
                                : LLI_SCORES_BIT(LL_CONFIDENCE_MDS) | LLI_SCORES_BIT(LL_CONFIDENCE_RMDS);
        lli_scores_fit_drop(ctx, s, both,
                            f->unit ? "rows of the same class point in the same direction, so that nothing varies within classes"
                                    : "rows of the same class are equal, so that nothing varies within classes");
        return LL_OK;
    }
    LLI_TRY(lli_scores_allocate(ctx, s, (lli_scores_array)(from + 2), C, D));
    return place_classes(ctx, s->owned[from + 2], s->at[from + 1], f);
}

static ll_status mahalanobis(ll_context *ctx, lli_scores *s, const lli_scores_rows *r, int64_t K, bool unit) {
    family f = {.r = r, .unit = unit, .K = K};
    int64_t numbers;
    ll_status status;
    if (!lli_multiply(&numbers, K, r->D))
        return lli_fail(ctx, LL_ERR_MEMORY, "the means of all classes are too large for memory");
    LLI_DO(lli_memory_new(ctx, &f.count, K, sizeof *f.count));
    LLI_DO(lli_memory_new(ctx, &f.means, numbers, sizeof *f.means));
    LLI_DO(lli_memory_new(ctx, &f.mean, r->D, sizeof *f.mean));
    LLI_DO(fit_family(ctx, s, &f));
done:
    lli_memory_free(f.count);
    lli_memory_free(f.means);
    lli_memory_free(f.mean);
    return status;
}

ll_status lli_scores_fit(ll_context *ctx, lli_scores *s, const ll_dataset *data, const float *W, const float *b, int64_t K, uint64_t seed) {
    lli_scores_rows r = {.data = data, .N = data->rows.N, .D = data->rows.D};
    ll_status status;
    if (!s->which)
        return LL_OK;
    r.bytes = lli_rows_scratch(&data->rows, LLI_SCORES_FIT_ROWS);
    LLI_DO(lli_kernels_require(ctx, &r.kernels));
    LLI_DO(lli_memory_new(ctx, &r.scratch, lli_pool_workers(ctx) * r.bytes, 1));
    LLI_DO(lli_scores_theta(ctx, s, W, b, K, r.D));
    for (int unit = 0; unit < 2; unit++)
        if (lli_scores_need(s->which, unit ? LLI_SCORES_UNIT_WITHIN : LLI_SCORES_WITHIN))
            LLI_DO(mahalanobis(ctx, s, &r, K, unit));
    if (lli_scores_need(s->which, LLI_SCORES_BANK))
        LLI_DO(lli_scores_fit_bank(ctx, s, &r, seed));
    if (lli_scores_need(s->which, LLI_SCORES_OUTSIDE))
        LLI_DO(lli_scores_fit_vim(ctx, s, &r));
done:
    lli_memory_free(r.scratch);
    if (status != LL_OK)
        lli_scores_release(s);
    return status;
}
