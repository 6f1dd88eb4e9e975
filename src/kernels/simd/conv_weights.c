/* SPDX-License-Identifier: MIT */
/* The gradient of the weights of a convolution: tiles of channels by outputs of one tap, a sum over pixels. conv.c has the rest. */
#include <string.h>

#include "kernels/simd/conv_tile.h"

/* A chunk of images: its pixels in the order (row, column, image), so that a tap moves a row of pixels as a whole. */
typedef struct chunk {
    const lli_conv_shape *s;
    int64_t n;
    const float *x, *dy;     /* the channels and outputs under way */
    int64_t width_x, width;  /* floats from a pixel to the next */
    float *dw;               /* their place of the first tap */
    int64_t panel, channels; /* floats from a panel of dw to the next; channels of dw */
} chunk;

static int64_t panels_at(const lli_conv_shape *s, int64_t q) {
    return LLI_MIN(ACROSS, lli_conv_panels(s->out) - q);
}

/* One chunk: [panels side by side][pixels][their outputs]. */
static void turn_chunk(float *turned, const float *dy, const lli_conv_shape *s, int64_t n) {
    const int64_t step = s->H * s->W, panels = lli_conv_panels(s->out);
    for (int64_t p = 0; p < step; p++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t q = 0; q < panels; q += ACROSS) {
                const int64_t width = panels_at(s, q) * PANEL, outputs = LLI_MIN(width, s->out - q * PANEL);
                const float *from = dy + (i * step + p) * s->out + q * PANEL;
                float *to = turned + q * step * n * PANEL + (p * n + i) * width;
                if (outputs == width)
                    for (int64_t o = 0; o < width; o += W)
                        store(to + o, load(from + o));
                else
                    for (int64_t o = 0; o < width; o++)
                        to[o] = o < outputs ? from[o] : 0;
            }
}

void LEVEL(conv_turn)(float *turned, const float *dy, const lli_conv_shape *s, int64_t n, lli_range chunks) {
    const int64_t images = lli_conv_chunk(s), pixels = images * s->H * s->W;
    for (int64_t k = chunks.first; k < chunks.end; k++)
        turn_chunk(turned + k * pixels * lli_conv_panels(s->out) * PANEL, dy + k * pixels * s->out, s, LLI_MIN(images, n - k * images));
}

INLINE void add_rows(double *db, const chunk *c, const int count) {
    vd sum[PANEL / H * ACROSS];
    UNROLL
    for (int v = 0; v < count; v++)
        sum[v] = load_d(db + v * H);
    for (int64_t p = 0; p < c->s->H * c->s->W * c->n; p++)
        UNROLL
    for (int v = 0; v < count; v++)
        sum[v] += load_widened(c->dy + p * c->width + v * H);
    UNROLL
    for (int v = 0; v < count; v++)
        store_d(db + v * H, sum[v]);
}

/* Channels i .. i + rows - 1 of a chunk, [pixels][TILE]; the last store ends beyond. */
static void pack_x(float *to, const float *x, const lli_conv_shape *s, int64_t n, int64_t i, int64_t rows) {
    const int64_t step = s->H * s->W;
    const bool fast = LLI_BYTES >= 32 && rows == TILE && i + W <= s->in;
    for (int64_t p = 0; p < step; p++)
        for (int64_t k = 0; k < n; k++, to += TILE) {
            const float *from = x + (k * step + p) * s->in + i;
            if (fast)
                store(to, load(from));
            else
                for (int64_t r = 0; r < rows; r++)
                    to[r] = from[r];
        }
}

/* dw += the share of a tap in this chunk, for `rows` channels and `vectors` vectors of outputs. */
INLINE void weights_rows(const chunk *c, int64_t tap, const int vectors, const int rows) {
    const lli_conv_shape *s = c->s;
    float *dw = c->dw + tap * c->channels * PANEL;
    vf sum[TILE][SUMS];
    UNROLL
    for (int r = 0; r < rows; r++)
        UNROLL
    for (int v = 0; v < vectors; v++)
        sum[r][v] = load(dw + v / VECTORS * c->panel + r * PANEL + v % VECTORS * W);
    int64_t down = tap / 3 - 1, right = tap % 3 - 1;
    int64_t top = LLI_MAX(0, -down), bottom = LLI_MIN(s->H, s->H - down), left = LLI_MAX(0, -right), end = LLI_MIN(s->W, s->W - right);
    for (int64_t v = top; v < bottom; v++) {
        const float *a = c->x + ((v + down) * s->W + left + right) * c->n * c->width_x, *b = c->dy + (v * s->W + left) * c->n * c->width;
        UNROLL4
        for (int64_t p = (end - left) * c->n; p > 0; p--, a += c->width_x, b += c->width) {
            vf g[SUMS];
            UNROLL
            for (int k = 0; k < vectors; k++)
                g[k] = load(b + k * W);
            UNROLL
            for (int r = 0; r < rows; r++) {
                vf z = all(a[r]);
                UNROLL
                for (int k = 0; k < vectors; k++)
                    sum[r][k] = fma_f(z, g[k], sum[r][k]);
            }
        }
    }
    UNROLL
    for (int r = 0; r < rows; r++)
        UNROLL
    for (int v = 0; v < vectors; v++)
        store(dw + v / VECTORS * c->panel + r * PANEL + v % VECTORS * W, sum[r][v]);
}

static void weights_tile(const chunk *c, int64_t tap, int64_t panels, int rows) {
    if (ACROSS > 1 && panels > 1)
        FOR_ROWS(rows, weights_rows, c, tap, SUMS)
    else
        FOR_ROWS(rows, weights_rows, c, tap, VECTORS)
}

void LEVEL(conv_weights)(float *dw, float *db, float *scratch, const float *x, const float *dy, const float *turned,
                         const lli_conv_shape *s, int64_t n, lli_range channels) {
    const int64_t step = s->H * s->W, panels = lli_conv_panels(s->out), range = channels.end - channels.first,
                  most = LLI_MIN(n, lli_conv_chunk(s));
    const bool turns = lli_conv_turns(s);
    double *sums = (double *)(void *)scratch; /* [panels * 16] */
    float *packed = scratch + 2 * panels * PANEL;
    memset(sums, 0, (size_t)(panels * PANEL) * sizeof *sums);
    memset(dw, 0, (size_t)(panels * TAPS * range * PANEL) * sizeof *dw);
    for (int64_t first = 0; first < n; first += most) {
        chunk c = {.s = s, .n = LLI_MIN(most, n - first), .panel = TAPS * range * PANEL, .channels = range};
        const float *from = x + first * step * s->in;
        for (int64_t i = channels.first; i < channels.end;) {
            const int rows = tile_next(channels.end - i);
            c.width_x = turns ? TILE : s->in;
            c.x = turns ? packed : from + i;
            if (turns)
                pack_x(packed, from, s, c.n, i, rows);
            for (int64_t q = 0; q < panels; q += ACROSS) {
                c.width = turns ? panels_at(s, q) * PANEL : s->out;
                c.dy = turns ? turned + (first * panels + q * c.n) * step * PANEL : dy + first * step * s->out + q * PANEL;
                c.dw = dw + (q * TAPS * range + i - channels.first) * PANEL;
                for (int64_t t = 0; t < TAPS; t++)
                    weights_tile(&c, t, panels_at(s, q), rows);
                if (db && i == channels.first)
                    panels_at(s, q) > 1 ? add_rows(sums + q * PANEL, &c, ACROSS * PANEL / H) : add_rows(sums + q * PANEL, &c, PANEL / H);
            }
            i += rows;
        }
    }
    if (db)
        for (int64_t o = 0; o < s->out; o++)
            db[o] = (float)sums[o];
}
