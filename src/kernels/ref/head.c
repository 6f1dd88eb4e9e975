/* SPDX-License-Identifier: MIT */
/* The plain version of every kernel: the formula, in the obvious loop. Slow, and right. */
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "kernels/levels.h"
#include "kernels/ref/ref.h"
#include "kernels/wide.h"

static void gather(float *z, const void *features, bool half, const int64_t *rows, int64_t first, int64_t n, int64_t D, int64_t ld) {
    for (int64_t i = 0; i < n; i++) {
        int64_t row = rows ? rows[i] : first + i;
        float *out = z + i * ld;
        if (half)
            for (int64_t j = 0; j < D; j++)
                out[j] = lli_half_to_float(((const uint16_t *)features)[row * D + j]);
        else
            memcpy(out, (const float *)features + row * D, (size_t)D * sizeof *out);
        out[D] = 1;
        for (int64_t j = D + 1; j < ld; j++)
            out[j] = 0;
    }
}

bool lli_ref_dropped(const lli_mask *m, int64_t row, int64_t unit, int64_t D) {
    uint64_t bit = (uint64_t)(row * lli_mask_span(D) + unit);
    uint32_t number = 0;
    for (uint64_t plane = 0; plane < 16; plane++) {
        lli_philox bits = lli_rng_block(m->stream, m->start + ((bit / 128 * 16 + plane) | (uint64_t)m->layer << 56));
        number = number << 1 | (bits.lane[bit % 128 / 32] >> (bit % 32) & 1u);
    }
    return number < m->drop16;
}

static void mask(float *out, const float *z, const lli_mask *m, int64_t first, int64_t n, int64_t D, int64_t ld) {
    float scale = 65536.0f / (float)(65536 - m->drop16);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < D; j++)
            out[i * ld + j] = lli_ref_dropped(m, first + i, j, D) ? 0 : z[i * ld + j] * scale;
        for (int64_t j = D; j < ld; j++)
            out[i * ld + j] = z[i * ld + j];
    }
}

static void logits(float *out, const float *theta, const float *z, int64_t n, int64_t K, int64_t ld, int64_t ldk) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < K; k++) {
            float sum = 0;
            for (int64_t j = 0; j < ld; j++)
                sum += theta[k * ld + j] * z[i * ld + j];
            out[i * ldk + k] = sum;
        }
}

static double residual(float *logits, const int32_t *labels, const float *weights, int64_t n, int64_t K, int64_t ldk) {
    double nll = 0;
    for (int64_t i = 0; i < n; i++) {
        float *row = logits + i * ldk;
        if (K >= LLI_WIDE_CLASSES) {
            nll += lli_wide_softmax(&lli_ref_wide, row, labels[i], weights ? weights[i] : 1, K, ldk);
            continue;
        }
        float top = row[0];
        for (int64_t k = 1; k < K; k++)
            top = fmaxf(top, row[k]);
        float total = 0, correct = row[labels[i]] - top;
        for (int64_t k = 0; k < K; k++) {
            total += isfinite(row[k] - top) ? 0 : NAN;
            total += row[k] = expf(row[k] - top);
        }
        for (int64_t k = 0; k < K; k++)
            row[k] /= total;
        for (int64_t k = K; k < ldk; k++)
            row[k] = 0;
        row[labels[i]] -= 1;
        float weight = weights ? weights[i] : 1;
        for (int64_t k = 0; k < K; k++)
            row[k] *= weight;
        nll += (double)weight * (double)(logf(total) - correct);
    }
    return nll;
}

static void below(uint64_t *out, lli_stream stream, int64_t first, int64_t count, uint64_t n, uint64_t grow) {
    for (int64_t i = 0; i < count; i++, n += grow)
        out[i] = lli_rng_below(stream, (uint64_t)(first + i), n);
}

static float normal(lli_stream stream, int64_t index) {
    lli_philox p = lli_rng_block(stream, (uint64_t)index / 4);
    const uint32_t *pair = p.lane + (index % 4) / 2 * 2;
    double radius = sqrt(-2 * log(((double)pair[0] + 0.5) * 0x1p-32)), angle = 0x1.921fb54442d18p+2 * ((double)pair[1] + 0.5) * 0x1p-32;
    return (float)(index % 2 ? radius * sin(angle) : radius * cos(angle));
}

static void normals(float *out, lli_stream stream, int64_t first, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        out[i] = normal(stream, first + i);
}

static void update(float *theta, const float *g, const float *z, const lli_update *u, int64_t n, int64_t K, int64_t D, int64_t ld,
                   int64_t ldk) {
    for (int64_t k = 0; k < K; k++)
        for (int64_t j = 0; j <= D; j++) {
            float sum = 0;
            for (int64_t i = 0; i < n; i++)
                sum += g[i * ldk + k] * z[i * ld + j];
            float xi = u->noise > 0 ? normal(u->stream, k * ld + j) : 0;
            theta[k * ld + j] = u->shrink * theta[k * ld + j] - u->scale * sum + u->noise * xi;
        }
}

static void gradient(double *out, const float *g, const float *z, int64_t n, int64_t K, int64_t ld, int64_t ldk) {
    for (int64_t k = 0; k < K; k++)
        for (int64_t j = 0; j < ld; j++) {
            float sum = 0;
            for (int64_t i = 0; i < n; i++)
                sum += g[i * ldk + k] * z[i * ld + j];
            out[k * ld + j] += (double)sum;
        }
}

static int64_t step_floats(int64_t B, int64_t D, int64_t K) {
    return B * (lli_kernels_stride(D) + lli_kernels_stride_classes(K));
}

static double step(float *theta, float *work, const lli_rows *rows, const lli_batch *batch, const lli_update *u, const lli_mask *m,
                   int64_t K) {
    int64_t n = batch->n, D = rows->D, ld = lli_kernels_stride(D), ldk = lli_kernels_stride_classes(K);
    float *z = work, *g = work + n * ld;
    gather(z, rows->features, rows->half, batch->rows, 0, n, D, ld);
    if (m)
        mask(z, z, m, 0, n, D, ld);
    logits(g, theta, z, n, K, ld, ldk);
    double nll = residual(g, batch->labels, batch->weights, n, K, ldk);
    update(theta, g, z, u, n, K, D, ld, ldk);
    return nll;
}

const lli_kernels lli_kernels_ref = {
    .name = "ref",
    .step = step,
    .step_floats = step_floats,
    .gather = gather,
    .mask = mask,
    .logits = logits,
    .residual = residual,
    .update = update,
    .gradient = gradient,
    .below = below,
    .normals = normals,
    .panels = lli_ref_panels,
    .member_logits = lli_ref_member_logits,
    .predict = lli_ref_predict,
    .tally = lli_ref_tally,
    .finish = lli_ref_finish,
    .adam = lli_ref_adam,
    .momentum = lli_ref_momentum,
    .wide = &lli_ref_wide,
    .conv = &lli_ref_conv,
    .norm = &lli_ref_norm,
    .linear = &lli_ref_linear,
    .gemm_pack = lli_ref_gemm_pack,
    .gemm = lli_ref_gemm,
};
