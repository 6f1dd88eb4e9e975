/* SPDX-License-Identifier: MIT */
/* Logits of a chunk of members for a block of rows, lanes = rows. A tile is 2 vectors of rows x up to 5 classes: each weight is broadcast as
 * it lies in the file, nothing is packed. A panel of 16 rows stays in the first-level cache while classes pass; a chunk of classes, of one
 * member or of several, stays in the second-level cache while the groups of rows pass. With masks it is the other way round: one head, and
 * a masked panel per pass. */
#include "kernels/simd/level.h"
#include "kernels/simd/mask.h"
#include "kernels/simd/tiles.h"

enum {
    R = LLI_TALLY_ROWS,
    CHUNK_BYTES = 64 * 1024,         /* of weights, within the second-level cache, beside the next chunk */
    MASKED_CHUNK_BYTES = 128 * 1024, /* with masks: the more classes, the fewer times a panel is masked */
    STRETCH = 4 * LLI_TALLY_PANEL,   /* features of a chunk: 4 KB of each class, so that few pages are touched at a time */
    LINE = 16, /* floats of a cache line */
    WORDS = LLI_TALLY_PANEL / 32
};

/* The weights of C classes: their part of a panel, D apart. */
typedef struct weights {
    const float *w;     /* NULL: none */
    const float *b;     /* biases, in the first panel; NULL after it */
    const float *ahead; /* weights of C classes that will be needed after a while; NULL: they are near, or there are none */
    int64_t D, length;
} weights;

/* C classes from out on, for V vectors of rows. The sum over a panel starts at 0 or b, then comes what earlier panels left. */
INLINE void tile(float *out, const float *z, const weights *in, const int C, const int V) {
    const float *w = in->w, *b = in->b, *ahead = in->ahead;
    const int64_t D = in->D, length = in->length;
    vf sum[TILE_CLASSES * 2];
    UNROLL
    for (int s = 0; s < C * V; s++)
        sum[s] = b ? all(b[s / V]) : (vf){0};
    for (int64_t j0 = 0; j0 < length; j0 += LINE) {
        const int64_t end = LLI_MIN(length, j0 + LINE);
        if (ahead)
            UNROLL
            for (int c = 0; c < C; c++)
                __builtin_prefetch(ahead + c * D + j0, 0, 2);
        UNROLL2
        for (int64_t j = j0; j < end; j++) {
            vf x[2];
            UNROLL
            for (int v = 0; v < V; v++)
                x[v] = load(z + j * R + v * W);
            UNROLL
            for (int c = 0; c < C; c++) {
                vf y = all(w[c * D + j]);
                UNROLL
                for (int v = 0; v < V; v++)
                    sum[c * V + v] = fma_f(y, x[v], sum[c * V + v]);
            }
        }
    }
    UNROLL
    for (int s = 0; s < C * V; s++) {
        float *place = out + s / V * R + s % V * W;
        store(place, b ? sum[s] : load(place) + sum[s]);
    }
}

INLINE void tile_of(float *out, const float *z, const weights *in, int64_t rows, const int C) {
    int64_t i = 0;
    for (; i + W < rows; i += 2 * W)
        tile(out + i, z + i, in, C, 2);
    if (i < rows)
        tile(out + i, z + i, in, C, 1);
}

/* What is common to the tiles of a call. */
typedef struct work {
    const lli_tally *t;
    const lli_members *m;
    int64_t groups, tiles; /* of a head: the first `larger` have small + 1 classes, the others small */
    int64_t small, larger;
    int64_t j0, length;    /* the panel */
    int64_t ahead;         /* distance, in floats, of the chunk of weights to ask for; 0: none */
} work;

/* Tiles t0 to t1 of the heads stacked one after the other, with one panel. `pass` counts masks, heads count members without. */
static void panel_times_tiles(const work *w, const float *z, int64_t g, int64_t pass, int64_t t0, int64_t t1) {
    const int64_t K = w->t->K, D = w->t->D, rows = LLI_MIN(R, w->t->n - g * R);
    int64_t head = t0 / w->tiles, in_head = t0 % w->tiles, k = tiles_start(in_head, w->tiles, K);
    for (int64_t at = t0; at < t1; at++) {
        const int64_t C = w->small + (in_head < w->larger);
        weights in = {.w = w->m->W + (head * K + k) * D + w->j0, .b = w->j0 ? NULL : w->m->b + head * K + k, .D = D, .length = w->length};
        in.ahead = w->ahead && g == 0 && pass == 0 ? in.w + w->ahead : NULL;
        float *out = w->t->odds + (((head + pass) * w->groups + g) * K + k) * R;
        switch (C) {
        case 5: tile_of(out, z, &in, rows, 5); break;
        case 4: tile_of(out, z, &in, rows, 4); break;
        case 3: tile_of(out, z, &in, rows, 3); break;
        case 2: tile_of(out, z, &in, rows, 2); break;
        default: tile_of(out, z, &in, rows, 1); break;
        }
        k += C;
        in_head++;
        if (in_head == w->tiles) {
            head++;
            in_head = k = 0;
        }
    }
}

/* words[w][r]: units j0 + 32 w .. of row `row` + r, a bit each, 1 = dropped. */
static void dropped_words(uint32_t words[WORDS][R], const lli_mask *m, const philox_stream *stream, int64_t row, int64_t j0, int64_t length, int64_t D) {
    const int64_t span = lli_mask_span(D), in_row = span / 32, pieces = (length + 127) / 128, groups = span / 128;
    const int64_t first = row * span / 128, total = groups ? R * pieces : ((row + R) * span - 1) / 128 + 1 - first;
    uint32_t used[4];
    mask_used(used, D);
    for (int64_t t = 0; t < total; t += MASK_GROUPS) {
        uint32_t bits[MASK_GROUPS][4];
        uint64_t number[MASK_GROUPS];
        for (int64_t a = 0; a < MASK_GROUPS; a++) /* the parts of long rows that lie in this panel, or one short row after the other */
            number[a] = (uint64_t)(groups ? (row + (t + a) / pieces) * groups + j0 / 128 + (t + a) % pieces : first + t + a);
        vq group[2];
        memcpy(group, number, sizeof group);
        mask_groups(bits, m, stream, used, group);
        for (int64_t a = 0; a < LLI_MIN(MASK_GROUPS, total - t); a++)
            for (int64_t word = 0; word < 4; word++) {
                int64_t place = (int64_t)number[a] * 4 + word - row * in_row, r = place / in_row, at = place % in_row - j0 / 32;
                if (place >= 0 && r < R && at < WORDS)
                    words[at][r] = bits[a][word];
            }
    }
}

/* A bit of 1 turns its lane to 0. From the last unit of a word to the first: its bit is the sign. */
INLINE void mask_panel(float *out, const float *z, const uint32_t words[WORDS][R], int64_t length) {
    for (int64_t j0 = 0; j0 < length; j0 += 32) {
        int count = (int)LLI_MIN(32, length - j0);
        for (int r = 0; r < R; r += W) {
            vi bits;
            memcpy(&bits, words[j0 / 32] + r, sizeof bits);
            bits <<= 32 - count;
            for (int64_t j = j0 + count - 1; j >= j0; j--, bits <<= 1)
                store(out + j * R + r, (vf)((vi)load(z + j * R + r) & ~(bits >> 31)));
        }
    }
}

static void masked_product(const work *w, const lli_mask *mask, const philox_stream *start, int64_t t0, int64_t t1) {
    _Alignas(64) float masked[LLI_TALLY_PANEL * R];
    uint32_t words[WORDS][R];
    philox_stream stream = *start;
    for (int64_t g = 0; g < w->groups; g++)
        for (int64_t pass = 0; pass < w->m->count; pass++) {
            stream.counter[0] = all_q(mask->stream.step + (uint32_t)pass);
            dropped_words(words, mask, &stream, w->m->row + g * R, w->j0, w->length, w->t->D);
            mask_panel(masked, w->t->panels + lli_tally_panel(w->t, w->j0, g), words, w->length);
            panel_times_tiles(w, masked, g, pass, t0, t1);
        }
}

/* From the weights of tiles t0 to t1 to those that follow: the next chunk of classes, or the first one of the next stretch of features. */
static int64_t chunk_ahead(const work *w, int64_t t0, int64_t t1, int64_t total, int64_t stretch) {
    const int64_t K = w->t->K, D = w->t->D, first = t0 / w->tiles * K + tiles_start(t0 % w->tiles, w->tiles, K);
    const int64_t next = t1 < total ? t1 / w->tiles * K + tiles_start(t1 % w->tiles, w->tiles, K) : 0;
    return t0 == 0 && t1 == total ? 0 : (next - first) * D + (t1 < total ? 0 : stretch);
}

void LEVEL(predict)(lli_tally *t, const lli_members *m) {
    work w = {.t = t, .m = m, .groups = lli_tally_groups(t->n), .tiles = tiles_count(t->K)};
    const int64_t total = w.tiles * (m->mask ? 1 : m->count), stretch = LLI_MIN(t->D, m->mask ? LLI_TALLY_PANEL : STRETCH);
    const int64_t bytes = TILE_CLASSES * stretch * (int64_t)sizeof(float), chunk = LLI_MAX(1, (m->mask ? MASKED_CHUNK_BYTES : CHUNK_BYTES) / bytes);
    philox_stream stream;
    w.small = t->K / w.tiles;
    w.larger = t->K % w.tiles;
    if (m->mask)
        stream = philox_start(m->mask->stream);
    for (int64_t start = 0; start < t->D; start += stretch)
        for (int64_t t0 = 0; t0 < total; t0 += chunk) {
            const int64_t t1 = LLI_MIN(total, t0 + chunk), end = LLI_MIN(t->D, start + stretch);
            w.ahead = chunk_ahead(&w, t0, t1, total, stretch);
            for (w.j0 = start; w.j0 < end; w.j0 += LLI_TALLY_PANEL) {
                w.length = LLI_MIN(LLI_TALLY_PANEL, t->D - w.j0);
                if (m->mask)
                    masked_product(&w, m->mask, &stream, t0, t1);
                else
                    for (int64_t g = 0; g < w.groups; g++)
                        panel_times_tiles(&w, t->panels + lli_tally_panel(t, w.j0, g), g, 0, t0, t1);
            }
        }
    LEVEL(tally)(t, m);
}
