/* SPDX-License-Identifier: MIT */
/* Convolution, batch norm and pooling in the obvious loops. */
#include "kernels/conv.h"

#include <string.h>

#include "kernels/norm.h"
#include "kernels/ref/ref.h"

/* x of the pixel that a tap reads, NULL outside the image. */
static const float *pixel(const float *x, const lli_conv_shape *s, int64_t n, int64_t v, int64_t u, int64_t tap) {
    v += tap / 3 - 1;
    u += tap % 3 - 1;
    return v < 0 || v >= s->H || u < 0 || u >= s->W ? NULL : x + ((n * s->H + v) * s->W + u) * s->in;
}

static void forward(float *y, const float *x, const float *weights, const float *bias, bool relu, const float *zeros,
                    const lli_conv_shape *s, lli_range images, lli_range panels) {
    (void)zeros;
    weights -= lli_conv_place(s, panels.first * LLI_CONV_PANEL, 0, 0);
    for (int64_t n = images.first; n < images.end; n++)
        for (int64_t p = 0; p < s->H * s->W; p++)
            for (int64_t o = panels.first * LLI_CONV_PANEL; o < LLI_MIN(s->out, panels.end * LLI_CONV_PANEL); o++) {
                float sum = bias ? bias[o] : 0;
                for (int64_t tap = 0; tap < LLI_CONV_TAPS; tap++) {
                    const float *from = pixel(x, s, n, p / s->W, p % s->W, tap);
                    for (int64_t i = 0; from && i < s->in; i++)
                        sum += from[i] * weights[lli_conv_place(s, o, i, tap)];
                }
                y[(n * s->H * s->W + p) * s->out + o] = relu && sum < 0 ? 0 : sum;
            }
}

static void flip(float *flipped, const float *weights, const lli_conv_shape *s, lli_range panels) {
    for (int64_t q = panels.first; q < panels.end; q++)
        for (int64_t tap = 0; tap < LLI_CONV_TAPS; tap++)
            for (int64_t o = 0; o < s->out; o++)
                for (int64_t i = q * LLI_CONV_PANEL; i < (q + 1) * LLI_CONV_PANEL; i++)
                    *flipped++ = i < s->in ? weights[lli_conv_place(s, o, i, LLI_CONV_TAPS - 1 - tap)] : 0;
}

/* The loops below read dy itself. */
static void turn(float *turned, const float *dy, const lli_conv_shape *s, int64_t n, lli_range chunks) {
    (void)turned, (void)dy, (void)s, (void)n, (void)chunks;
}

static void weights(float *dw, float *db, float *scratch, const float *x, const float *dy, const float *turned, const lli_conv_shape *s,
                    int64_t n, lli_range channels) {
    (void)scratch, (void)turned;
    const lli_conv_shape part = {s->H, s->W, channels.end - channels.first, s->out};
    int64_t step = s->H * s->W;
    memset(dw, 0, (size_t)lli_conv_weights(&part) * sizeof *dw);
    for (int64_t o = 0; o < s->out; o++) {
        double bias = 0;
        for (int64_t p = 0; p < n * step; p++)
            bias += (double)dy[p * s->out + o];
        if (db)
            db[o] = (float)bias;
        for (int64_t i = channels.first; i < channels.end; i++)
            for (int64_t tap = 0; tap < LLI_CONV_TAPS; tap++) {
                float sum = 0;
                for (int64_t p = 0; p < n * step; p++) {
                    const float *from = pixel(x, s, p / step, p % step / s->W, p % s->W, tap);
                    sum += from ? from[i] * dy[p * s->out + o] : 0;
                }
                dw[lli_conv_place(&part, o, i - channels.first, tap)] = sum;
            }
    }
}

const lli_conv_kernels lli_ref_conv = {.forward = forward, .flip = flip, .turn = turn, .weights = weights};

static void back_sums(double *sums, const float *dy, const float *x, int64_t rows, int64_t C) {
    memset(sums, 0, (size_t)(2 * C) * sizeof *sums);
    for (int64_t i = 0; i < rows * C; i++) {
        sums[i % C] += (double)dy[i];
        sums[C + i % C] += (double)dy[i] * (double)x[i];
    }
}

static void sums(double *out, const float *x, int64_t rows, int64_t C) {
    back_sums(out, x, x, rows, C);
}

static void apply(float *y, const float *x, const float *scale, const float *shift, int64_t rows, int64_t C) {
    for (int64_t i = 0; i < rows * C; i++)
        y[i] = scale[i % C] * x[i] + shift[i % C];
}

static void back(float *dx, const float *dy, const float *x, const float *abc, bool positive, int64_t rows, int64_t C) {
    for (int64_t i = 0; i < rows * C; i++)
        dx[i] = positive && !(x[i] > 0) ? 0 : abc[i % C] * dy[i] + (abc[C + i % C] * x[i] + abc[2 * C + i % C]);
}

/* Where the window of output row `row` (over all images), column u, channel c has its maximum. */
static int64_t maximum(const float *x, int64_t H, int64_t W, int64_t C, int64_t row, int64_t u, int64_t c) {
    int64_t best = -1;
    for (int64_t k = 0; k < 4; k++) {
        int64_t at = ((row / (H / 2) * H + row % (H / 2) * 2 + k / 2) * W + 2 * u + k % 2) * C + c;
        if (best < 0 || x[at] > x[best])
            best = at;
    }
    return best;
}

static void pool(float *y, const float *x, int64_t H, int64_t W, int64_t C, int64_t first, int64_t end) {
    for (int64_t row = first; row < end; row++)
        for (int64_t u = 0; u < W / 2; u++)
            for (int64_t c = 0; c < C; c++)
                y[(row * (W / 2) + u) * C + c] = x[maximum(x, H, W, C, row, u, c)];
}

static void pool_back(float *dx, const float *dy, const float *x, int64_t H, int64_t W, int64_t C, int64_t first, int64_t end) {
    for (int64_t row = first; row < end; row++) {
        int64_t last = row % (H / 2) == H / 2 - 1; /* takes an odd last row along */
        memset(dx + (row / (H / 2) * H + row % (H / 2) * 2) * W * C, 0, (size_t)((last && H % 2 ? 3 : 2) * W * C) * sizeof *dx);
        for (int64_t u = 0; u < W / 2; u++)
            for (int64_t c = 0; c < C; c++)
                dx[maximum(x, H, W, C, row, u, c)] = dy[(row * (W / 2) + u) * C + c];
    }
}

const lli_norm_kernels lli_ref_norm = {
    .sums = sums, .apply = apply, .back_sums = back_sums, .back = back, .pool = pool, .pool_back = pool_back};
