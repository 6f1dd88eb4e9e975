/* SPDX-License-Identifier: MIT */
/* Means and variances of a block by the kernels of heads, then draws, in f32 as all logits are; sums over classes in f64. */
#include "predict/draws.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/matrix64.h"
#include "kernels/require.h"

#define PI 3.14159265358979323846

/* `count` rows of `from` columns to rows of `to`. */
static void pad(float *out, const float *in, int64_t count, int64_t from, int64_t to) {
    for (int64_t i = 0; i < count; i++)
        memcpy(out + i * to, in + i * from, (size_t)from * sizeof *out);
}

/* U has a factor in each row. Centred, no column of it adds the same to all classes. */
static void fill_directions(lli_draws_factors *f, const float *U) {
    for (int64_t i = 0; i < f->K; i++) {
        double mean = 0;
        for (int64_t k = 0; k < f->K; k++)
            mean += (double)U[i * f->K + k] / (double)f->K;
        for (int64_t k = 0; k < f->K; k++) {
            double u = (double)U[i * f->K + k] - (f->common ? 0 : mean);
            f->U[k * f->ldk + i] = (float)u;
            if (f->square)
                f->square[k * f->ldk + i] = (float)(u * u);
        }
    }
}

ll_status lli_draws_factors_new(lli_draws_factors **out, ll_context *ctx, const ll_ensemble *e) {
    const lli_gaussian *g = &e->plan.gaussian;
    *out = NULL;
    lli_draws_factors *f;
    LLI_TRY(lli_memory_new(ctx, &f, 1, sizeof *f));
    int64_t K = f->K = e->plan.K, D = e->plan.D, n = f->n = D + 1;
    f->ld = lli_kernels_stride(D);
    f->ldn = lli_kernels_pad(n);
    f->ldk = lli_kernels_stride_classes(K);
    f->link = g->link;
    f->common = g->common;
    f->P = g->at[LLI_GAUSSIAN_P];
    ll_status status = LL_OK;
    if (g->at[LLI_GAUSSIAN_V]) {
        LLI_DO(lli_memory_new(ctx, &f->V, n * f->ld, sizeof(float)));
        pad(f->V, g->at[LLI_GAUSSIAN_V], n, n, f->ld);
    }
    if (g->at[LLI_GAUSSIAN_R]) {
        LLI_DO(lli_memory_new(ctx, &f->R, K * f->ldn, sizeof(float)));
        pad(f->R, g->at[LLI_GAUSSIAN_R], K, n, f->ldn);
    }
    if (g->at[LLI_GAUSSIAN_U]) {
        LLI_DO(lli_memory_new(ctx, &f->U, K * f->ldk, sizeof(float)));
        if (f->link != LLI_LINK_MC)
            LLI_DO(lli_memory_new(ctx, &f->square, K * f->ldk, sizeof(float)));
        fill_directions(f, g->at[LLI_GAUSSIAN_U]);
    }
    *out = f;
    f = NULL;
done:
    lli_draws_factors_free(f);
    return status;
}

void lli_draws_factors_free(lli_draws_factors *f) {
    if (!f)
        return;
    lli_memory_free(f->V);
    lli_memory_free(f->R);
    lli_memory_free(f->U);
    lli_memory_free(f->square);
    lli_memory_free(f);
}

ll_status lli_draws_init(ll_context *ctx, lli_draws *d, const lli_draws_factors *f, const ll_ensemble *ensemble, int64_t rows) {
    *d = (lli_draws){.f = f, .seed = ensemble->plan.seed, .rows = rows};
    ll_status status;
    LLI_DO(lli_kernels_require(ctx, &d->kernels));
    LLI_DO(lli_memory_new(ctx, &d->z, rows * f->ld, sizeof(float)));
    LLI_DO(lli_memory_new(ctx, &d->y, rows * f->ldn, sizeof(float)));
    LLI_DO(lli_memory_new(ctx, &d->deviation, rows * f->ldk, sizeof(float)));
    LLI_DO(lli_memory_new(ctx, &d->mean, lli_tally_padded(rows) * f->K, sizeof(float)));
    LLI_DO(lli_memory_new(ctx, &d->e, rows * f->ldk, sizeof(float)));
    LLI_DO(lli_memory_new(ctx, &d->d, rows * f->ldk, sizeof(float)));
    if (f->P) {
        int64_t numbers;
        if (!lli_multiply(&numbers, rows * f->ldk, f->K))
            LLI_DO(lli_fail(ctx, LL_ERR_MEMORY, "the covariances of a block of rows are too large for memory"));
        LLI_DO(lli_memory_new(ctx, &d->L, numbers, sizeof(float)));
        LLI_DO(lli_memory_new(ctx, &d->sigma, f->K * f->K, sizeof(double)));
        LLI_DO(lli_memory_new(ctx, &d->zd, f->n * rows, sizeof(double)));
        LLI_DO(lli_memory_new(ctx, &d->x, f->K * f->n * rows, sizeof(double)));
        LLI_DO(lli_memory_new(ctx, &d->work, LLI_LINEAR_WORK, sizeof(double)));
    }
done:
    if (status != LL_OK)
        lli_draws_release(d);
    return status;
}

void lli_draws_release(lli_draws *d) {
    void *blocks[] = {d->z, d->y, d->deviation, d->mean, d->e, d->d, d->L, d->sigma, d->zd, d->x, d->work};
    for (size_t i = 0; i < LLI_COUNT(blocks); i++)
        lli_memory_free(blocks[i]);
    *d = (lli_draws){0};
}

/* Sigma of row i: the entries l = 0 .. K - 1 of each class from x_l = P_.l z~; P is centred in the file. */
static void full_covariance(lli_draws *d, int64_t i, int64_t rows, int64_t l) {
    const lli_draws_factors *f = d->f;
    for (int64_t k = 0; k < f->K; k++) {
        double sum = 0;
        for (int64_t j = 0; j < f->n; j++)
            sum += d->zd[j * rows + i] * d->x[(k * f->n + j) * rows + i];
        d->L[(i * f->K + k) * f->ldk + l] = (float)sum;
    }
}

/* L of a = L L' that may be singular: a pivot that rounding alone can leave is 0, and so is its column. */
static void factor(float *L, double *a, int64_t K, int64_t ldk) {
    double largest = 0;
    for (int64_t k = 0; k < K; k++)
        largest = fmax(largest, a[k * K + k]);
    for (int64_t j = 0; j < K; j++) {
        double pivot = a[j * K + j];
        for (int64_t l = 0; l < j; l++)
            pivot -= a[j * K + l] * a[j * K + l];
        double root = pivot > 1e-7 * largest ? sqrt(pivot) : 0;
        a[j * K + j] = root;
        for (int64_t i = j + 1; i < K; i++) {
            double sum = a[i * K + j];
            for (int64_t l = 0; l < j; l++)
                sum -= a[i * K + l] * a[j * K + l];
            a[i * K + j] = root > 0 ? sum / root : 0;
        }
    }
    for (int64_t i = 0; i < K; i++)
        for (int64_t j = 0; j < K; j++)
            L[i * ldk + j] = j <= i ? (float)a[i * K + j] : 0;
}

static void full_block(lli_draws *d, int64_t n) {
    const lli_draws_factors *f = d->f;
    int64_t K = f->K, columns = f->n;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < columns; j++)
            d->zd[j * n + i] = (double)d->z[i * f->ld + j];
    for (int64_t l = 0; l < K; l++) {
        memset(d->x, 0, (size_t)(K * columns * n) * sizeof *d->x);
        d->kernels->linear->product(d->x, n, (lli_matrix64){f->P + l * columns, K * columns, 1}, (lli_matrix64){d->zd, n, 1}, K * columns,
                                    n, columns, 1, d->work);
        for (int64_t i = 0; i < n; i++)
            full_covariance(d, i, n, l);
    }
    for (int64_t i = 0; i < n; i++) {
        float *L = d->L + i * K * f->ldk;
        for (int64_t k = 0; k < K; k++)
            for (int64_t l = 0; l < K; l++)
                d->sigma[k * K + l] = (double)L[k * f->ldk + l];
        for (int64_t k = 0; k < K; k++)
            d->deviation[i * f->ldk + k] = f->link == LLI_LINK_MC ? 1 : (float)fmax(d->sigma[k * K + k], 0);
        factor(L, d->sigma, K, f->ldk);
    }
}

/* From the variances of the factors to those of the logits. */
static void logit_variances(lli_draws *d, int64_t n) {
    const lli_draws_factors *f = d->f;
    if (f->U) {
        memcpy(d->e, d->deviation, (size_t)(n * f->ldk) * sizeof *d->e);
        d->kernels->logits(d->deviation, f->square, d->e, n, f->K, f->ldk, f->ldk);
        return;
    }
    double K = (double)f->K;
    for (int64_t i = 0; !f->common && i < n; i++) {
        float *s = d->deviation + i * f->ldk;
        double sum = 0;
        for (int64_t k = 0; k < f->K; k++)
            sum += (double)s[k];
        for (int64_t k = 0; k < f->K; k++)
            s[k] = (float)((double)s[k] * (1 - 2 / K) + sum / (K * K));
    }
}

static void factored_block(lli_draws *d, int64_t n) {
    const lli_draws_factors *f = d->f;
    if (f->V)
        d->kernels->logits(d->y, f->V, d->z, n, f->n, f->ld, f->ldn);
    for (int64_t i = 0; i < n; i++) {
        const float *from = f->V ? d->y + i * f->ldn : d->z + i * f->ld;
        float *y = d->y + i * f->ldn;
        for (int64_t j = 0; j < f->n; j++)
            y[j] = from[j] * from[j];
    }
    d->kernels->logits(d->deviation, f->R, d->y, n, f->K, f->ldn, f->ldk);
    if (f->link != LLI_LINK_MC)
        logit_variances(d, n);
    for (int64_t i = 0; f->link == LLI_LINK_MC && i < n; i++)
        for (int64_t k = 0; k < f->K; k++)
            d->deviation[i * f->ldk + k] = sqrtf(d->deviation[i * f->ldk + k]);
}

void lli_draws_block(lli_draws *d, lli_tally *t, const lli_members *theta, const lli_rows *rows, int64_t first, int64_t n) {
    const lli_draws_factors *f = d->f;
    d->kernels->member_logits(t, theta);
    memcpy(d->mean, t->odds, (size_t)(lli_tally_padded(n) * f->K) * sizeof *d->mean);
    d->kernels->gather(d->z, rows->features, rows->half, NULL, first, n, f->n - 1, f->ld);
    if (f->P)
        full_block(d, n);
    else
        factored_block(d, n);
}

/* Draw `number` of all rows into d->d, not centred. A row's normals begin at a block that its number or its key says. */
static void draw(lli_draws *d, const lli_members *m, int64_t number, int64_t n) {
    const lli_draws_factors *f = d->f;
    int64_t K = f->K, blocks = (K + 3) / 4;
    lli_stream stream = lli_rng_stream(d->seed, LLI_PURPOSE_DRAW, 0, number);
    for (int64_t i = 0; i < n; i++) {
        float *e = d->e + i * f->ldk;
        const float *deviation = d->deviation + i * f->ldk;
        int64_t block = m->keys ? (int64_t)(m->keys[i] >> 3) : (m->row + i) * blocks;
        d->kernels->normals(e, stream, 4 * block, K);
        for (int64_t k = 0; k < K; k++)
            e[k] *= deviation[k];
        if (f->P)
            d->kernels->logits(d->d + i * f->ldk, d->L + i * K * f->ldk, e, 1, K, f->ldk, f->ldk);
    }
    if (f->U)
        d->kernels->logits(d->d, f->U, d->e, n, K, f->ldk, f->ldk);
    else if (!f->P)
        memcpy(d->d, d->e, (size_t)(n * f->ldk) * sizeof *d->d);
}

/* mu without its mean over the logistic's widening, (1 + pi/8 Sigma_kk)^-1/2. */
static double probit(double mu, double variance) {
    return mu / sqrt(1 + PI / 8 * variance);
}

/* log of the parameters of a Dirichlet, (1 - 2/K + exp(mu_k) sum_l exp(-mu_l) / K^2) / Sigma_kk, whose mean is their softmax. */
static double bridge(double mu, double log_sum, double K, double variance) {
    double log_ratio = mu + log_sum - 2 * log(K), least = fmax(variance, 1e-30);
    return (log_ratio > 0 ? log_ratio + log1p((1 - 2 / K) * exp(-log_ratio)) : log(1 - 2 / K + exp(log_ratio))) - log(least);
}

static void closed_form(lli_draws *d, lli_tally *t, int64_t i) {
    const lli_draws_factors *f = d->f;
    const float *variance = d->deviation + i * f->ldk;
    double mean = 0, low = INFINITY, sum = 0;
    for (int64_t k = 0; k < f->K; k++)
        mean += (double)d->mean[lli_tally_place(i, k, f->K)] / (double)f->K;
    for (int64_t k = 0; k < f->K; k++)
        low = fmin(low, (double)d->mean[lli_tally_place(i, k, f->K)] - mean);
    for (int64_t k = 0; k < f->K; k++)
        sum += exp(low - ((double)d->mean[lli_tally_place(i, k, f->K)] - mean));
    for (int64_t k = 0; k < f->K; k++) {
        int64_t at = lli_tally_place(i, k, f->K);
        double mu = (double)d->mean[at] - mean;
        t->odds[at] = (float)(f->link == LLI_LINK_PROBIT ? probit(mu, (double)variance[k])
                                                         : bridge(mu, log(sum) - low, (double)f->K, (double)variance[k]));
    }
}

void lli_draws_logits(lli_tally *t, const lli_members *m) {
    lli_draws *d = m->drawn;
    const lli_draws_factors *f = d->f;
    int64_t K = f->K;
    for (int64_t i = 0; f->link != LLI_LINK_MC && i < t->n; i++)
        closed_form(d, t, i);
    for (int64_t a = 0; f->link == LLI_LINK_MC && a < m->count; a++) {
        float *odds = t->odds + a * lli_tally_padded(t->n) * K;
        draw(d, m, m->first_draw + a, t->n);
        for (int64_t i = 0; i < t->n; i++) {
            const float *x = d->d + i * f->ldk;
            double mean = 0;
            for (int64_t k = 0; !f->common && k < K; k++)
                mean += (double)x[k] / (double)K;
            for (int64_t k = 0; k < K; k++) {
                int64_t at = lli_tally_place(i, k, K);
                odds[at] = (float)((double)d->mean[at] + ((double)x[k] - mean));
            }
        }
    }
}
