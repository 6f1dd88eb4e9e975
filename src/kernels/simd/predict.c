/* SPDX-License-Identifier: MIT */
/* Logits of a chunk of members for a block of rows, lanes = rows. A tile is 2 vectors of rows x up to 5 classes: each weight is broadcast
 * as it lies in the file, nothing is packed. A panel of 16 rows stays in the first-level cache while classes pass; a chunk of classes, of
 * one member or of several, stays in the second-level cache while the groups of rows pass. With masks it is the other way round: one head,
 * and a masked panel per pass. */
#include "kernels/simd/level.h"
#include "kernels/simd/mask.h"
#include "kernels/simd/tiles.h"

enum {
    R = LLI_TALLY_ROWS,
    PAIR = 2 * R,                    /* rows whose masks are drawn at once */
    CHUNK_BYTES = 64 * 1024,         /* of weights, within the second-level cache, beside the next chunk */
    MASKED_CHUNK_BYTES = 128 * 1024, /* with masks: the more classes, the fewer times a panel is masked */
    STRETCH = 4 * LLI_TALLY_PANEL,   /* features of a chunk: 4 KB of each class, so that few pages are touched at a time */
    LINE = 16,                       /* floats of a cache line */
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
    int64_t groups;
    tiling tiles;       /* of a head */
    int64_t j0, length; /* the panel */
    int64_t ahead;      /* distance, in floats, of the chunk of weights to ask for; 0: none */
} work;

/* Tiles t0 to t1 of the heads stacked one after the other, with one panel. `pass` counts masks, heads count members without. */
static void panel_times_tiles(const work *w, const float *z, int64_t g, int64_t pass, int64_t t0, int64_t t1) {
    const int64_t K = w->t->K, D = w->t->D, rows = LLI_MIN(R, w->t->n - g * R);
    int64_t head = t0 / w->tiles.count, in_head = t0 % w->tiles.count, k = tiles_start(in_head, w->tiles.count, K);
    for (int64_t at = t0; at < t1; at++) {
        const int64_t C = w->tiles.small + (in_head < w->tiles.larger);
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
        if (in_head == w->tiles.count) {
            head++;
            in_head = k = 0;
        }
    }
}

/* Masks of a panel of up to PAIR rows: word w of row r has units j0 + 32 w .., a bit each, 1 = dropped. */
typedef struct mask_words {
    uint32_t word[WORDS][PAIR];
} mask_words;

/* Rows of 128 units or more: a row has one or two groups of 128 bits in the panel. */
INLINE void long_rows(mask_words *out, const lli_mask *m, const philox_stream *stream, const uint32_t used[4], int64_t row, int64_t rows,
                      const work *w) {
    const int64_t groups = lli_mask_span(w->t->D) / 128, first = row * groups + w->j0 / 128;
    const int two = w->length > 128;
    for (int64_t t = 0; t < rows << two; t += MASK_GROUPS) {
        uint32_t bits[MASK_GROUPS][4];
        uint64_t number[MASK_GROUPS];
        for (int64_t a = 0; a < MASK_GROUPS; a++)
            number[a] = (uint64_t)(first + ((t + a) >> two) * groups + ((t + a) & two));
        vq group[2];
        memcpy(group, number, sizeof group);
        mask_groups(bits, m, stream, used, group);
        for (int64_t a = 0; a < MASK_GROUPS; a++)
            for (int64_t word = 0; word < 4; word++)
                out->word[((t + a) & two) * 4 + word][(t + a) >> two] = bits[a][word];
    }
}

/* Rows of up to 32 or 64 units: four or two share a group, so that the words of the rows follow each other. */
INLINE void short_rows(mask_words *out, const lli_mask *m, const philox_stream *stream, const uint32_t used[4], int64_t row, int64_t rows,
                       const work *w) {
    const int two = w->length > 32;
    const int64_t first = row << two, end = (row + rows) << two;
    for (int64_t t = first / 4; t * 4 < end; t += MASK_GROUPS) {
        uint32_t bits[MASK_GROUPS][4];
        vq group = (uint64_t)t + LANES_D(vq);
        mask_groups(bits, m, stream, used, (const vq[2]){group, group + H});
        const int64_t from = LLI_MAX(first, t * 4), to = LLI_MIN(end, (t + MASK_GROUPS) * 4);
        if (!two)
            memcpy(out->word[0] + from - row, (const char *)bits + (from - t * 4) * 4, (size_t)(to - from) * 4);
        else
            for (int64_t at = from; at < to; at++)
                out->word[at & 1][at / 2 - row] = bits[(at - t * 4) / 4][at % 4];
    }
}

/* Rows with keys of their own: each has the groups of row 0, whose blocks start at its key. Those behind the last row have no mask. */
INLINE void keyed_rows(mask_words *out, const lli_mask *m, const philox_stream *stream, const uint32_t used[4], int64_t first, int64_t rows,
                       const work *w) {
    const int two = w->length > 128;
    const int64_t known = LLI_MIN(rows, w->t->n - first);
    const uint64_t start = ((uint64_t)m->layer << 56) + (uint64_t)(w->j0 / 128 * 16);
    for (int64_t t = 0; t < rows << two; t += MASK_GROUPS) {
        uint32_t bits[MASK_GROUPS][4];
        uint64_t number[MASK_GROUPS];
        for (int64_t a = 0; a < MASK_GROUPS; a++)
            number[a] = w->m->keys[first + LLI_MIN((t + a) >> two, known - 1)] + start + 16 * (uint64_t)((t + a) & two);
        vq block[2];
        memcpy(block, number, sizeof block);
        mask_planes(bits, m, stream, used, block);
        for (int64_t a = 0; a < LLI_MIN(MASK_GROUPS, (rows << two) - t); a++)
            for (int64_t word = 0; word < 4; word++)
                out->word[((t + a) & two) * 4 + word][(t + a) >> two] = bits[a][word];
    }
}

/* A bit of 1 turns its lane to 0. From the last unit of a word to the first: its bit is the sign. */
INLINE void mask_panel(float *out, const float *z, const mask_words *words, int64_t first, int64_t length) {
    for (int64_t j0 = 0; j0 < length; j0 += 32) {
        const int64_t count = LLI_MIN(32, length - j0);
        vi bits[R / W];
        UNROLL
        for (int v = 0; v < R / W; v++)
            bits[v] = load_i((const int32_t *)words->word[j0 / 32] + first + v * W) << (int32_t)(32 - count);
        for (int64_t j = j0 + count - 1; j >= j0; j--)
            UNROLL
        for (int v = 0; v < R / W; v++) {
            store(out + j * R + v * W, (vf)((vi)load(z + j * R + v * W) & ~(bits[v] >> 31)));
            bits[v] <<= 1;
        }
    }
}

static void masked_product(const work *w, const lli_mask *mask, const philox_stream *start, int64_t t0, int64_t t1) {
    _Alignas(64) float masked[LLI_TALLY_PANEL * R];
    mask_words words;
    philox_stream stream = *start;
    uint32_t used[4];
    mask_used(used, w->t->D);
    for (int64_t pair = 0; pair < w->groups; pair += 2)
        for (int64_t pass = 0; pass < w->m->count; pass++) {
            const int64_t end = LLI_MIN(w->groups, pair + 2), row = w->m->row + pair * R, rows = (end - pair) * R;
            stream.counter[0] = all_q(mask->stream.step + (uint32_t)pass);
            if (w->m->keys)
                keyed_rows(&words, mask, &stream, used, pair * R, rows, w);
            else if (lli_mask_span(w->t->D) < 128)
                short_rows(&words, mask, &stream, used, row, rows, w);
            else
                long_rows(&words, mask, &stream, used, row, rows, w);
            for (int64_t g = pair; g < end; g++) {
                mask_panel(masked, w->t->panels + lli_tally_panel(w->t, w->j0, g), &words, (g - pair) * R, w->length);
                panel_times_tiles(w, masked, g, pass, t0, t1);
            }
        }
}

/* From the weights of tiles t0 to t1 to those that follow: the next chunk of classes, or the first one of the next stretch of features. */
static int64_t chunk_ahead(const work *w, int64_t t0, int64_t t1, int64_t total, int64_t stretch) {
    const int64_t K = w->t->K, D = w->t->D, count = w->tiles.count, first = t0 / count * K + tiles_start(t0 % count, count, K);
    const int64_t next = t1 < total ? t1 / count * K + tiles_start(t1 % count, count, K) : 0;
    return t0 == 0 && t1 == total ? 0 : (next - first) * D + (t1 < total ? 0 : stretch);
}

void LEVEL(member_logits)(lli_tally *t, const lli_members *m) {
    work w = {.t = t, .m = m, .groups = lli_tally_groups(t->n), .tiles = tiles_of(t->K, TILE_CLASSES)};
    const int64_t total = w.tiles.count * (m->mask ? 1 : m->count), stretch = LLI_MIN(t->D, m->mask ? LLI_TALLY_PANEL : STRETCH);
    const int64_t bytes = TILE_CLASSES * stretch * (int64_t)sizeof(float);
    const int64_t chunk = LLI_MAX(1, (m->mask ? MASKED_CHUNK_BYTES : CHUNK_BYTES) / bytes);
    philox_stream stream;
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
}

void LEVEL(predict)(lli_tally *t, const lli_members *m) {
    LEVEL(member_logits)(t, m);
    LEVEL(tally)(t, m);
}
