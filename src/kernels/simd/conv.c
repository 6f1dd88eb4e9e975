/* SPDX-License-Identifier: MIT */
/* Convolution without copies of the image: a tile of pixels by a panel of outputs, or two, whose sums stay in registers over all taps and
 * channels: a channel of each pixel times a row of the panel.
 *
 * The pixels of a tile are neighbours in a row of the image, or on small maps the same pixel of several images: then a tap lies outside for
 * all or for none of them, and those outside are left out. */
#include <string.h>

#include "kernels/simd/conv_tile.h"

enum { SMALL = 8 /* maps of up to this width take their tiles across images */ };

/* Where a tile reads one tap: pixel r at x + r * stride, but zeros for the first or last one where that lies outside. */
typedef struct tap {
    int64_t tap;
    const float *x;
    bool before, behind;
} tap;

/* What all tiles of a panel, or of a few side by side, share. */
typedef struct job {
    const float *w; /* the panels */
    const float *zeros;
    int64_t in, width;          /* outputs that exist */
    int64_t stride_x, stride_y; /* between pixels of a tile */
    bool relu;
    float bias[ACROSS * PANEL];
} job;

/* sum[r] += the pixel's channels times the rows of the panels, which have `vectors` vectors */
INLINE void multiply(vf sum[TILE][SUMS], const job *j, const tap *t, const int rows, const int vectors) {
    const float *x[TILE], *w = j->w + t->tap * j->in * PANEL;
    const int64_t panel = TAPS * j->in * PANEL;
    UNROLL
    for (int r = 0; r < rows; r++)
        x[r] = t->x + r * j->stride_x;
    x[0] = t->before ? j->zeros : x[0];
    x[rows - 1] = t->behind ? j->zeros : x[rows - 1];
    UNROLL4
    for (int64_t i = 0; i < j->in; i++, w += PANEL) {
        vf b[SUMS];
        UNROLL
        for (int v = 0; v < vectors; v++)
            b[v] = load(w + v / VECTORS * panel + v % VECTORS * W);
        UNROLL
        for (int r = 0; r < rows; r++) {
            vf a = all(x[r][i]);
            UNROLL
            for (int v = 0; v < vectors; v++)
                sum[r][v] = fma_f(a, b[v], sum[r][v]);
        }
    }
}

INLINE void tile_rows(const job *j, float *y, const tap *taps, int count, const int vectors, const int rows) {
    vf sum[TILE][SUMS];
    UNROLL
    for (int r = 0; r < rows; r++)
        UNROLL
    for (int v = 0; v < vectors; v++)
        sum[r][v] = load(j->bias + v * W);
    for (int t = 0; t < count; t++)
        multiply(sum, j, &taps[t], rows, vectors);
    if (j->relu)
        UNROLL
    for (int r = 0; r < rows; r++)
        UNROLL
    for (int v = 0; v < vectors; v++)
        sum[r][v] = larger(all(0), sum[r][v]);
    UNROLL
    for (int r = 0; r < rows; r++, y += j->stride_y)
        if (j->width == vectors * W)
            UNROLL
    for (int v = 0; v < vectors; v++)
        store(y + v * W, sum[r][v]);
    else {
        float out[SUMS * W];
        UNROLL
        for (int v = 0; v < vectors; v++)
            store(out + v * W, sum[r][v]);
        memcpy(y, out, (size_t)j->width * sizeof *out);
    }
}

static void tile(const job *j, float *y, const tap *taps, int count, int rows) {
    if (ACROSS > 1 && j->width > PANEL)
        FOR_ROWS(rows, tile_rows, j, y, taps, count, SUMS)
    else
        FOR_ROWS(rows, tile_rows, j, y, taps, count, VECTORS)
}

/* One row of an image, tiles along it. */
static void forward_row(const job *j, float *y, const float *x, const lli_conv_shape *s, int64_t v) {
    tap taps[TAPS];
    int first = v > 0 ? 0 : 3, end = v + 1 < s->H ? TAPS : TAPS - 3;
    for (int t = first; t < end; t++)
        taps[t] = (tap){.tap = t, .x = x + ((v + t / 3 - 1) * s->W + t % 3 - 1) * s->in};
    y += v * s->W * s->out;
    for (int64_t u = 0; u < s->W;) {
        int rows = tile_next(s->W - u);
        for (int t = first; t < end; t += 3) {
            taps[t].before = u == 0;
            taps[t + 2].behind = u + rows == s->W;
        }
        tile(j, y + u * s->out, taps + first, end - first, rows);
        for (int t = first; t < end; t++)
            taps[t].x += rows * s->in;
        u += rows;
    }
}

/* One pixel of n images, tiles across them. */
static void forward_pixel(const job *j, float *y, const float *x, const lli_conv_shape *s, int64_t v, int64_t u, int64_t n) {
    tap taps[TAPS];
    int count = 0;
    for (int64_t t = 0; t < TAPS; t++) {
        int64_t row = v + t / 3 - 1, column = u + t % 3 - 1;
        if (row >= 0 && row < s->H && column >= 0 && column < s->W)
            taps[count++] = (tap){.tap = t, .x = x + (row * s->W + column) * s->in};
    }
    y += (v * s->W + u) * s->out;
    for (int64_t i = 0; i < n;) {
        int rows = tile_next(n - i);
        tile(j, y + i * j->stride_y, taps, count, rows);
        for (int t = 0; t < count; t++)
            taps[t].x += rows * j->stride_x;
        i += rows;
    }
}

static void forward(float *y, const float *x, const float *weights, const float *bias, bool relu, const float *zeros,
                    const lli_conv_shape *s, lli_range images, lli_range panels) {
    const bool wide = s->W > SMALL;
    int64_t step = s->H * s->W, group = wide ? 1 : 4 * TILE, rows = wide ? LLI_MAX(1, 4096 / (s->W * s->in)) : s->H,
            apart = wide ? 1 : step;
    for (int64_t n = images.first; n < images.end; n += group)
        for (int64_t top = 0; top < s->H; top += rows)
            for (int64_t q = panels.first; q < panels.end; q += ACROSS) {
                job j = {weights + (q - panels.first) * TAPS * s->in * PANEL,
                         zeros,
                         s->in,
                         LLI_MIN(LLI_MIN(ACROSS, panels.end - q) * PANEL, s->out - q * PANEL),
                         apart * s->in,
                         apart * s->out,
                         relu,
                         {0}};
                if (bias)
                    memcpy(j.bias, bias + q * PANEL, (size_t)j.width * sizeof *bias);
                const float *from = x + n * step * s->in;
                float *to = y + n * step * s->out + q * PANEL;
                for (int64_t v = top; v < LLI_MIN(top + rows, s->H); v++)
                    if (wide)
                        forward_row(&j, to, from, s, v);
                    else
                        for (int64_t u = 0; u < s->W; u++)
                            forward_pixel(&j, to, from, s, v, u, LLI_MIN(group, images.end - n));
            }
}

/* [16 channels][16 outputs] -> [16 outputs][16 channels], both 16 apart; the first `outputs` of them. Channels from `channels` on become
 * 0. */
INLINE void flip_block(float *out, const float *in, int64_t channels, int64_t outputs) {
    for (int64_t o = 0; o < outputs; o += W)
        for (int64_t i = 0; i < PANEL; i += W) {
            vf x[W];
            UNROLL
            for (int r = 0; r < W; r++)
                x[r] = i + r < channels ? load(in + (i + r) * PANEL + o) : all(0);
            transpose(x);
            for (int r = 0; r < LLI_MIN(W, outputs - o); r++)
                store(out + (o + r) * PANEL + i, x[r]);
        }
}

static void flip(float *flipped, const float *weights, const lli_conv_shape *s, lli_range panels) {
    for (int64_t q = panels.first; q < panels.end; q++)
        for (int64_t t = 0; t < TAPS; t++)
            for (int64_t o = 0; o < s->out; o += PANEL) {
                int64_t outputs = LLI_MIN(PANEL, s->out - o);
                flip_block(flipped, weights + lli_conv_place(s, o, q * PANEL, TAPS - 1 - t), s->in - q * PANEL, outputs);
                flipped += outputs * PANEL;
            }
}

const lli_conv_kernels LEVEL(conv) = {.forward = forward, .flip = flip, .turn = LEVEL(conv_turn), .weights = LEVEL(conv_weights)};
