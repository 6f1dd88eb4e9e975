/* SPDX-License-Identifier: MIT */
/* The step of a head with many classes: two matrix products that share one tile, six rows by a panel of classes.
 *
 *     logits   tile = 6 rows of the batch x 16 classes, sum over features: z packed [feature][6], theta as it lies [feature][16]
 *     update   tile = 6 features x 16 classes, sum over the batch:         z packed [row][6],     g as it lies     [row][16]
 *
 * so the inner loop reads two streams front to back. kernels/large.h has the layouts, docs/kernels.md the drawing. */
#include "kernels/large.h"

#include <string.h>

#include "kernels/simd/level.h"
#include "kernels/simd/normal.h"
#include "kernels/simd/philox.h"
#include "kernels/wide.h"

enum {
    TILE = LLI_LARGE_TILE,
    CLASSES = LLI_LARGE_CLASSES,
    PART = 2 * W, /* classes whose sums fit the registers: a whole panel of wide vectors, half a panel of narrow ones */
    ROWS = 512,   /* of a panel of g at a time: 32 KB */
    LINE = 16     /* floats in a cache line */
};

/* sum[r] += sum over t of a[t][r] * b[t][0 .. PART-1] */
INLINE void multiply(vf sum[TILE][2], const float *a, const float *b, int64_t length) {
    UNROLL4
    for (int64_t t = 0; t < length; t++, a += TILE, b += CLASSES) {
        vf x = load(b), y = load(b + W);
        UNROLL
        for (int r = 0; r < TILE; r++) {
            vf c = all(a[r]);
            sum[r][0] = fma_f(c, x, sum[r][0]);
            sum[r][1] = fma_f(c, y, sum[r][1]);
        }
    }
}

INLINE void prefetch(const float *from, int64_t lines) {
    for (int64_t l = 0; l < lines; l++)
        __builtin_prefetch(from + l * LINE, 0, 2);
}

/* Rows row[0..5] of `length` features to out [length][6]. Each store ends in the place of the next one, so they go in order; the last one
 * ends beyond. */
static void pack_rows(float *out, const float *const row[TILE], int64_t length) {
    enum { GROUPS = (TILE + W - 1) / W };
    for (int64_t j = 0; j < length; j += W) {
        vf x[GROUPS][W];
        UNROLL
        for (int g = 0; g < GROUPS; g++) {
            UNROLL
            for (int a = 0; a < W; a++)
                x[g][a] = load(row[LLI_MIN(g * W + a, TILE - 1)] + j);
            transpose(x[g]);
        }
        UNROLL
        for (int a = 0; a < W; a++)
            UNROLL
        for (int g = 0; g < GROUPS; g++)
            store(out + (j + a) * TILE + g * W, x[g][a]);
    }
}

/* Logits of `tiles` tiles of rows over one panel and one block of features. */
static void logits_panel(float *g, const float *packed, const float *theta, int64_t tiles, int64_t length, int64_t stride, bool add,
                         const float *ahead, int64_t lines) {
    for (int64_t t = 0; t < tiles; t++) {
        prefetch(ahead + t * lines * LINE, lines);
        for (int part = 0; part < CLASSES; part += PART) {
            vf sum[TILE][2] = {{{0}}};
            float *out = g + t * TILE * CLASSES + part;
            multiply(sum, packed + t * stride, theta + part, length);
            UNROLL
            for (int r = 0; r < TILE; r++)
                UNROLL
            for (int v = 0; v < 2; v++) {
                float *to = out + r * CLASSES + v * W;
                store(to, add ? load(to) + sum[r][v] : sum[r][v]);
            }
        }
    }
}

static void logits(float *g, const float *theta, const float *z, float *packed, const lli_large_shape *s, int64_t first, int64_t end) {
    int64_t tiles = (end - first + TILE - 1) / TILE;
    for (int64_t j = 0; j <= s->D; j += s->length) {
        int64_t length = LLI_MIN(s->length, s->D + 1 - j), stride = s->length * TILE;
        for (int64_t t = 0; t < tiles; t++) {
            const float *row[TILE]; /* missing rows repeat the last; their logits are not read */
            for (int r = 0; r < TILE; r++)
                row[r] = z + LLI_MIN(first + t * TILE + r, end - 1) * s->ld + j;
            pack_rows(packed + t * stride, row, length);
        }
        int64_t lines = (length + tiles - 1) / tiles;
        for (int64_t q = 0; q < s->panels; q++) {
            const float *panel = theta + (q * s->columns + j) * CLASSES, *ahead = panel + (q + 1 < s->panels ? s->columns * CLASSES : 0);
            logits_panel(g + (q * s->rows + first) * CLASSES, packed, panel, tiles, length, stride, j > 0, ahead, lines);
        }
    }
}

/* A row of panels <-> one row, `stride` floats from panel to panel. */
INLINE void copy_row(float *to, int64_t to_stride, const float *from, int64_t from_stride, int64_t panels) {
    for (int64_t q = 0; q < panels; q++)
        UNROLL
    for (int v = 0; v < CLASSES; v += W)
        store(to + q * to_stride + v, load(from + q * from_stride + v));
}

/* Rows of a block, and their logits. */
static void begin(const lli_large_work *w, const float *theta, const lli_rows *rows, const lli_batch *batch, const lli_mask *mask,
                  const lli_large_shape *s, int64_t block, int worker) {
    int64_t first = lli_large_start(s, block), end = lli_large_start(s, block + 1);
    float *z = w->z + first * s->ld, *scratch = w->scratch + worker * s->scratch;
    LEVEL(gather)(z, rows->features, rows->half, batch->rows + first, 0, end - first, s->D, s->ld);
    if (mask)
        LEVEL(mask)(z, z, mask, first, end - first, s->D, s->ld);
    logits(w->g, theta, w->z, scratch + lli_kernels_stride_classes(s->K), s, first, end);
}

static void forward(const lli_large_work *w, const float *theta, const lli_rows *rows, const lli_batch *batch, const lli_mask *mask,
                    const lli_large_shape *s, int64_t block, int worker) {
    int64_t first = lli_large_start(s, block), end = lli_large_start(s, block + 1), ldk = lli_kernels_stride_classes(s->K);
    float *row = w->scratch + worker * s->scratch;
    begin(w, theta, rows, batch, mask, s, block, worker);
    for (int64_t i = first; i < end; i++) {
        float *g = w->g + i * CLASSES;
        copy_row(row, CLASSES, g, s->rows * CLASSES, s->panels);
        w->nll[i] = LEVEL(residual)(row, batch->labels + i, batch->weights ? batch->weights + i : NULL, 1, s->K, ldk);
        copy_row(g, s->rows * CLASSES, row, CLASSES, s->panels);
    }
}

static void tops(const lli_large_work *w, const float *theta, const lli_rows *rows, const lli_batch *batch, const lli_mask *mask,
                 const lli_large_shape *s, int64_t block, int worker) {
    float *row = w->scratch + worker * s->scratch;
    begin(w, theta, rows, batch, mask, s, block, worker);
    for (int64_t i = lli_large_start(s, block); i < lli_large_start(s, block + 1); i++) {
        copy_row(row, CLASSES, w->g + i * CLASSES, s->rows * CLASSES, s->panels);
        w->top[i] = LEVEL(wide).top(row, s->K);
    }
}

/* The label of a row among the classes that are here, or -1. */
INLINE int64_t label_here(const lli_batch *batch, const lli_large_shape *s, int64_t i) {
    int64_t label = batch->labels[i] - s->first;
    return label >= 0 && label < s->K ? label : -1;
}

static void sums(const lli_large_work *w, const lli_batch *batch, const lli_large_shape *s, int64_t block, int worker) {
    float *row = w->scratch + worker * s->scratch;
    int power = lli_wide_power(s->all);
    for (int64_t i = lli_large_start(s, block); i < lli_large_start(s, block + 1); i++) {
        int64_t label = label_here(batch, s, i);
        copy_row(row, CLASSES, w->g + i * CLASSES, s->rows * CLASSES, s->panels);
        float gap = label < 0 ? 0 : row[label] - w->top[i];
        uint32_t bits;
        memcpy(&bits, &gap, sizeof bits);
        w->sums[i] = LEVEL(wide).sum(row, w->top[i], s->K, power);
        w->sums[s->n + i] = (int64_t)bits;
        copy_row(w->g + i * CLASSES, s->rows * CLASSES, row, CLASSES, s->panels);
    }
}

static void residuals(const lli_large_work *w, const lli_batch *batch, const lli_large_shape *s, int64_t block, int worker) {
    float *row = w->scratch + worker * s->scratch;
    int64_t ldk = lli_kernels_stride_classes(s->K);
    for (int64_t i = lli_large_start(s, block); i < lli_large_start(s, block + 1); i++) {
        lli_wide_row of = {.top = w->top[i], .total = w->sums[i]};
        const uint32_t bits = (uint32_t)w->sums[s->n + i];
        memcpy(&of.gap, &bits, sizeof of.gap);
        copy_row(row, CLASSES, w->g + i * CLASSES, s->rows * CLASSES, s->panels);
        w->nll[i] = LEVEL(wide).residual(row, &of, batch->weights ? batch->weights[i] : 1, label_here(batch, s, i), s->K, ldk,
                                         lli_wide_power(s->all));
        copy_row(w->g + i * CLASSES, s->rows * CLASSES, row, CLASSES, s->panels);
    }
}

/* Columns j .. j + width - 1 of z to tiles [row][6]; zeros beyond ld. */
static void pack_columns(float *out, const float *z, const lli_large_shape *s, int64_t j, int64_t width) {
    int64_t whole = LLI_MIN(width, LLI_MAX(0, s->ld - 8 - j + TILE) / TILE * TILE); /* tiles whose last vector ends within the row */
    for (int64_t i = 0; i < s->n; i++) {
        const float *row = z + i * s->ld + j;
        float *to = out + i * TILE;
        for (int64_t c = 0; c < whole; c += TILE, to += s->stride)
            UNROLL
        for (int v = 0; v < TILE; v += W)
            store(to + v, load(row + c + v));
    }
    for (int64_t c = whole; c < width; c++)
        for (int64_t i = 0; i < s->n; i++)
            out[c / TILE * s->stride + i * TILE + c % TILE] = j + c < s->ld ? z[i * s->ld + j + c] : 0;
}

/* A finished sum goes into theta, another rests in `partial` until the next rows come. */
INLINE void update_tile(float *theta, float *partial, const float *packed, const float *g, int64_t rows, bool from_zero, bool last,
                        vf shrink, vf scale) {
    for (int part = 0; part < CLASSES; part += PART) {
        vf sum[TILE][2] = {{{0}}};
        if (!from_zero)
            UNROLL
        for (int r = 0; r < TILE; r++)
            UNROLL
        for (int v = 0; v < 2; v++)
            sum[r][v] = load(partial + r * CLASSES + part + v * W);
        multiply(sum, packed, g + part, rows);
        UNROLL
        for (int r = 0; r < TILE; r++)
            UNROLL
        for (int v = 0; v < 2; v++) {
            int at = r * CLASSES + part + v * W;
            if (last)
                store(theta + at, fma_f(sum[r][v], scale, load(theta + at) * shrink));
            else
                store(partial + at, sum[r][v]);
        }
    }
}

enum { QUADS = 12, VECTORS = CLASSES / W, PAIRS = 2 * QUADS * VECTORS }; /* of columns; in 16 classes; of vectors of normals */

/* Random words of the pairs of columns 0, 1 and 2, 3 of a panel. A Philox block has the normals of one class and four columns; even and odd
 * classes go into vectors of their own, which interleave to the order of classes. */
static void noise_words(vu *radii, vu *angles, const philox_stream *stream, uint64_t block, uint64_t blocks_of_a_row) {
    UNROLL
    for (int v = 0; v < VECTORS; v += 2) {
        vq number[4];
        philox p[4];
        UNROLL
        for (int u = 0; u < 4; u++)
            number[u] = block + (2 * LANES_D(vq) + (uint64_t)((v + u / 2) * W + u % 2)) * blocks_of_a_row;
        philox_blocks(p, stream, number, 4);
        UNROLL
        for (int u = 0; u < 4; u++) { /* pair u % 2 of vector v + u / 2 */
            const philox *even = &p[u / 2 * 2], *odd = even + 1;
            radii[u % 2 * VECTORS + v + u / 2] = interleave(even->word[u % 2 * 2], odd->word[u % 2 * 2]);
            angles[u % 2 * VECTORS + v + u / 2] = interleave(even->word[u % 2 * 2 + 1], odd->word[u % 2 * 2 + 1]);
        }
    }
}

/* theta[k,j] += noise * normal number k ld + j of the stream, for columns j .. j + width - 1 of a panel. In short loops over many columns:
 * Philox and both halves of Box-Muller are long chains, and only links of different chains run at the same time. */
static void add_noise(float *panel, const philox_stream *stream, float noise, const lli_large_shape *s, int64_t q, int64_t j,
                      int64_t width) {
    vu radii[PAIRS], angles[PAIRS];
    vi inside[VECTORS];
    int64_t end = LLI_MIN(j + width, s->D + 1), first = q * CLASSES;
    for (int v = 0; v < VECTORS; v++)
        inside[v] = LANES(vi) < (int32_t)LLI_MAX(LLI_MIN(s->K - first - v * W, W), 0);
    for (; j < end; j += 4 * QUADS, panel += 4 * QUADS * CLASSES) {
        int64_t columns = LLI_MIN(end - j, 4 * QUADS), pairs = (columns + 1) / 2 * VECTORS;
        for (int64_t c = 0; c < columns; c += 4)
            noise_words(radii + c / 2 * VECTORS, angles + c / 2 * VECTORS, stream, (uint64_t)((s->first + first) * s->ld + j + c) / 4,
                        (uint64_t)s->ld / 4);
        for (int64_t i = 0; i < pairs; i++)
            radii[i] = (vu)radius(radii[i]);
        for (int64_t i = 0; i < pairs; i++) {
            vf x, y, r = (vf)radii[i];
            float *to = panel + i / VECTORS * 2 * CLASSES + i % VECTORS * W;
            direction(&x, &y, angles[i]);
            store(to, load(to) + (vf)((vi)(r * x * noise) & inside[i % VECTORS]));
            if (i / VECTORS * 2 + 1 < columns)
                store(to + CLASSES, load(to + CLASSES) + (vf)((vi)(r * y * noise) & inside[i % VECTORS]));
        }
    }
}

static void update(float *theta, const lli_large_work *w, const lli_update *u, const lli_large_shape *s, int64_t part, int worker) {
    int64_t group = part % s->groups, j = part / s->groups * s->width, width = LLI_MIN(s->width, s->columns - j);
    float *partial = w->scratch + worker * s->scratch, *packed = partial + s->width * CLASSES;
    vf shrink = all(u->shrink), scale = all(-u->scale);
    philox_stream stream = philox_start(u->stream);
    pack_columns(packed, w->z, s, j, width);
    for (int64_t q = group * s->panels / s->groups; q < (group + 1) * s->panels / s->groups; q++) {
        float *panel = theta + (q * s->columns + j) * CLASSES;
        for (int64_t i = 0; i < s->n; i += ROWS) {
            int64_t rows = LLI_MIN(s->n - i, ROWS);
            const float *g = w->g + (q * s->rows + i) * CLASSES;
            for (int64_t c = 0; c < width; c += TILE)
                update_tile(panel + c * CLASSES, partial + c * CLASSES, packed + c / TILE * s->stride + i * TILE, g, rows, i == 0,
                            i + rows == s->n, shrink, scale);
        }
        if (u->noise > 0)
            add_noise(panel, &stream, u->noise, s, q, j, width);
    }
}

const lli_large LEVEL(large) = {forward, tops, sums, residuals, update};
