/* SPDX-License-Identifier: MIT */
/* Convolution without copies of the image: a tile of pixels by a panel of outputs, whose sums stay in registers over all taps and channels.
 *
 *     forward   tile = up to 6 pixels x 16 outputs: a channel of each pixel times a row of the panel
 *     weights   tile = up to 6 channels x 16 outputs of one tap: sum over pixels, both sides packed
 *
 * The pixels of a tile are neighbours in a row of the image, or on small maps the same pixel of several images: then a tap lies outside for
 * all or for none of them, and those outside are left out. */
#include "kernels/conv.h"

#include <string.h>

#include "kernels/simd/level.h"
#include "kernels/simd/vector.h"

enum {
    PANEL = LLI_CONV_PANEL,
    TAPS = LLI_CONV_TAPS,
    VECTORS = PANEL / W,
    TILE = LLI_BYTES == 32 ? 6 : 2, /* rows whose sums fit the registers */
    SMALL = 8                       /* maps of up to this width take their tiles across images */
};

/* Where a tile reads one tap: pixel r at x + r * stride, but zeros for the first or last one where that lies outside. */
typedef struct tap {
    int64_t tap;
    const float *x;
    bool before, behind;
} tap;

/* What all tiles of a panel share. */
typedef struct job {
    const float *w; /* the panel */
    const float *zeros;
    int64_t in, width;          /* outputs that exist */
    int64_t stride_x, stride_y; /* between pixels of a tile */
    bool relu;
    float bias[PANEL];
} job;

/* sum[r] += the pixel's channels times the rows of the panel */
INLINE void multiply(vf sum[TILE][VECTORS], const job *j, const tap *t, const int rows) {
    const float *x[TILE], *w = j->w + t->tap * j->in * PANEL;
    UNROLL
    for (int r = 0; r < rows; r++)
        x[r] = t->x + r * j->stride_x;
    x[0] = t->before ? j->zeros : x[0];
    x[rows - 1] = t->behind ? j->zeros : x[rows - 1];
    UNROLL4
    for (int64_t i = 0; i < j->in; i++, w += PANEL) {
        vf b[VECTORS];
        UNROLL
        for (int v = 0; v < VECTORS; v++)
            b[v] = load(w + v * W);
        UNROLL
        for (int r = 0; r < rows; r++) {
            vf a = all(x[r][i]);
            UNROLL
            for (int v = 0; v < VECTORS; v++)
                sum[r][v] = fma_f(a, b[v], sum[r][v]);
        }
    }
}

INLINE void tile_rows(const job *j, float *y, const tap *taps, int count, const int rows) {
    vf sum[TILE][VECTORS];
    UNROLL
    for (int r = 0; r < rows; r++)
        UNROLL
    for (int v = 0; v < VECTORS; v++)
        sum[r][v] = load(j->bias + v * W);
    for (int t = 0; t < count; t++)
        multiply(sum, j, &taps[t], rows);
    if (j->relu)
        UNROLL
    for (int r = 0; r < rows; r++)
        UNROLL
    for (int v = 0; v < VECTORS; v++)
        sum[r][v] = larger(all(0), sum[r][v]);
    UNROLL
    for (int r = 0; r < rows; r++, y += j->stride_y)
        if (j->width == PANEL)
            UNROLL
    for (int v = 0; v < VECTORS; v++)
        store(y + v * W, sum[r][v]);
    else {
        float out[PANEL];
        UNROLL
        for (int v = 0; v < VECTORS; v++)
            store(out + v * W, sum[r][v]);
        memcpy(y, out, (size_t)j->width * sizeof *out);
    }
}

static void tile(const job *j, float *y, const tap *taps, int count, int rows) {
    switch (rows) {
    case 1: tile_rows(j, y, taps, count, 1); break;
    case 2: tile_rows(j, y, taps, count, 2); break;
#if LLI_BYTES == 32
    case 3: tile_rows(j, y, taps, count, 3); break;
    case 4: tile_rows(j, y, taps, count, 4); break;
    case 5: tile_rows(j, y, taps, count, 5); break;
    default: tile_rows(j, y, taps, count, 6); break;
#endif
    }
}

/* Rows of the next tile of what is left: full tiles, then two of four rather than one of two that waits for its own sums. */
INLINE int tile_next(int64_t left) {
    if (TILE == 6 && left > 6 && left <= 8)
        return 4;
    return (int)LLI_MIN(left, TILE);
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
            for (int64_t q = panels.first; q < panels.end; q++) {
                job j = {weights + (q - panels.first) * TAPS * s->in * PANEL,
                         zeros,
                         s->in,
                         LLI_MIN(PANEL, s->out - q * PANEL),
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

/* A chunk of images with its pixels in the order (v, u, image), so that a tap moves a row of pixels as a whole. */
typedef struct chunk {
    int64_t n;
    float *dy;  /* [panels][pixels][16] */
    float *x;   /* [pixels][TILE] of the channels under way; the last store ends beyond */
    double *db; /* [panels * 16] */
} chunk;

static void pack_dy(chunk *c, const float *dy, const lli_conv_shape *s, bool bias) {
    int64_t step = s->H * s->W, panels = lli_conv_panels(s->out);
    for (int64_t q = 0; q < panels; q++) {
        float *to = c->dy + q * step * c->n * PANEL;
        int64_t width = LLI_MIN(PANEL, s->out - q * PANEL);
        for (int64_t p = 0; p < step; p++)
            for (int64_t i = 0; i < c->n; i++, to += PANEL) {
                const float *from = dy + (i * step + p) * s->out + q * PANEL;
                if (width == PANEL)
                    UNROLL
                for (int v = 0; v < VECTORS; v++)
                    store(to + v * W, load(from + v * W));
                else for (int64_t o = 0; o < PANEL; o++) to[o] = o < width ? from[o] : 0;
            }
    }
    if (!bias)
        return;
    for (int64_t q = 0; q < panels; q++) {
        vd sum[PANEL / H];
        UNROLL
        for (int v = 0; v < PANEL / H; v++)
            sum[v] = load_d(c->db + q * PANEL + v * H);
        for (int64_t p = 0; p < step * c->n; p++)
            UNROLL
        for (int v = 0; v < PANEL / H; v++)
            sum[v] += load_widened(c->dy + (q * step * c->n + p) * PANEL + v * H);
        UNROLL
        for (int v = 0; v < PANEL / H; v++)
            store_d(c->db + q * PANEL + v * H, sum[v]);
    }
}

/* Channels i .. i + rows - 1. */
static void pack_x(chunk *c, const float *x, const lli_conv_shape *s, int64_t i, int64_t rows) {
    int64_t step = s->H * s->W;
    float *to = c->x;
    bool fast = LLI_BYTES == 32 && rows == TILE && i + W <= s->in;
    for (int64_t p = 0; p < step; p++)
        for (int64_t k = 0; k < c->n; k++, to += TILE) {
            const float *from = x + (k * step + p) * s->in + i;
            if (fast)
                store(to, load(from));
            else
                for (int64_t r = 0; r < rows; r++)
                    to[r] = from[r];
        }
}

/* dw += the tap's share of this chunk, for `rows` channels and one panel. */
INLINE void weights_rows(float *dw, const chunk *c, const float *dy, const lli_conv_shape *s, int64_t t, const int rows) {
    vf sum[TILE][VECTORS];
    UNROLL
    for (int r = 0; r < rows; r++)
        UNROLL
    for (int v = 0; v < VECTORS; v++)
        sum[r][v] = load(dw + r * PANEL + v * W);
    int64_t down = t / 3 - 1, right = t % 3 - 1;
    int64_t top = LLI_MAX(0, -down), bottom = LLI_MIN(s->H, s->H - down), left = LLI_MAX(0, -right), end = LLI_MIN(s->W, s->W - right);
    for (int64_t v = top; v < bottom; v++) {
        const float *a = c->x + ((v + down) * s->W + left + right) * c->n * TILE, *b = dy + (v * s->W + left) * c->n * PANEL;
        UNROLL4
        for (int64_t p = (end - left) * c->n; p > 0; p--, a += TILE, b += PANEL) {
            vf g[VECTORS];
            UNROLL
            for (int k = 0; k < VECTORS; k++)
                g[k] = load(b + k * W);
            UNROLL
            for (int r = 0; r < rows; r++) {
                vf z = all(a[r]);
                UNROLL
                for (int k = 0; k < VECTORS; k++)
                    sum[r][k] = fma_f(z, g[k], sum[r][k]);
            }
        }
    }
    UNROLL
    for (int r = 0; r < rows; r++)
        UNROLL
    for (int v = 0; v < VECTORS; v++)
        store(dw + r * PANEL + v * W, sum[r][v]);
}

static void weights_tile(float *dw, const chunk *c, const float *dy, const lli_conv_shape *s, int64_t t, int rows) {
    switch (rows) {
    case 1: weights_rows(dw, c, dy, s, t, 1); break;
    case 2: weights_rows(dw, c, dy, s, t, 2); break;
#if LLI_BYTES == 32
    case 3: weights_rows(dw, c, dy, s, t, 3); break;
    case 4: weights_rows(dw, c, dy, s, t, 4); break;
    case 5: weights_rows(dw, c, dy, s, t, 5); break;
    default: weights_rows(dw, c, dy, s, t, 6); break;
#endif
    }
}

static void weights(float *dw, float *db, float *scratch, const float *x, const float *dy, const lli_conv_shape *s, int64_t n,
                    lli_range channels) {
    int64_t step = s->H * s->W, panels = lli_conv_panels(s->out), range = channels.end - channels.first,
            most = LLI_MIN(n, lli_conv_chunk(s));
    chunk c = {0, scratch + 2 * panels * PANEL, scratch + 2 * panels * PANEL + panels * most * step * PANEL, (double *)(void *)scratch};
    memset(c.db, 0, (size_t)(panels * PANEL) * sizeof *c.db);
    memset(dw, 0, (size_t)(panels * TAPS * range * PANEL) * sizeof *dw);
    for (int64_t first = 0; first < n; first += most) {
        c.n = LLI_MIN(most, n - first);
        pack_dy(&c, dy + first * step * s->out, s, db != NULL);
        for (int64_t i = channels.first; i < channels.end;) {
            int rows = tile_next(channels.end - i);
            pack_x(&c, x + first * step * s->in, s, i, rows);
            for (int64_t q = 0; q < panels; q++)
                for (int64_t t = 0; t < TAPS; t++)
                    weights_tile(dw + ((q * TAPS + t) * range + i - channels.first) * PANEL, &c, c.dy + q * step * c.n * PANEL, s, t, rows);
            i += rows;
        }
    }
    if (db)
        for (int64_t o = 0; o < s->out; o++)
            db[o] = (float)c.db[o];
}

const lli_conv_kernels LEVEL(conv) = {.forward = forward, .flip = flip, .weights = weights};
