/* SPDX-License-Identifier: MIT */
/* From the logits of a chunk of members to the sums over members, lanes = rows. docs/math/confidence.md has the algebra.
 * Exponentials are f32, as exact as the logits are; whatever is added over members is f64. */
#include "kernels/simd/elementary.h"
#include "kernels/simd/level.h"

enum { R = LLI_TALLY_ROWS, CLASSES = 16 }; /* summed at a time, then added to the sums of those before */

/* A group of 16 rows, and what the members of the chunk make of it. */
typedef struct group {
    lli_tally *t;
    const lli_members *m;
    int64_t g, vectors;  /* vectors of rows that are there */
    int64_t rows;        /* of all groups: distance of members in inverse and top */
    float largest[LLI_TALLY_CHUNK][R];  /* logit */
    float others[LLI_TALLY_CHUNK][R];   /* o = sum of p_k / p_top over the other classes, scaled */
    float weighted[LLI_TALLY_CHUNK][R]; /* the same sum with factors log(p_top / p_k), scaled */
    float inverse[LLI_TALLY_CHUNK][R];  /* 1 / (1 + o) in f32 */
} group;

INLINE float *odds_of(const group *w, int64_t member) {
    return w->t->odds + (member * w->rows + w->g * R) * w->t->K;
}

/* Largest logit of V vectors of rows, and its class, the lowest index on ties. */
INLINE void find_top(float *largest_out, int32_t *top, const float *x, int64_t K, const int V) {
    vf largest[2];
    vi best[2], index = {0};
    UNROLL
    for (int v = 0; v < V; v++) {
        largest[v] = load(x + v * W);
        best[v] = (vi){0};
    }
    for (int64_t k = 1; k < K; k++) {
        index += 1;
        UNROLL
        for (int v = 0; v < V; v++) {
            vf y = load(x + k * R + v * W);
            best[v] = (vi)choose(y > largest[v], (vf)index, (vf)best[v]);
            largest[v] = larger(y, largest[v]);
        }
    }
    UNROLL
    for (int v = 0; v < V; v++) {
        store(largest_out + v * W, largest[v]);
        store_i(top + v * W, best[v]);
    }
}

/* Logits -> odds; their sum and that of odds * gap without the top class, CLASSES at a time. Short loops: in a single one each operation
 * would wait for the one before. */
INLINE void find_odds(float *others_out, float *weighted_out, float *x, const float *largest_in, const int32_t *top, int64_t K, const int V) {
    vf gap[CLASSES * 2], largest[2], others[2] = {{0}, {0}}, weighted[2] = {{0}, {0}};
    vi best[2], index = {0};
    UNROLL
    for (int v = 0; v < V; v++) {
        largest[v] = load(largest_in + v * W);
        best[v] = load_i(top + v * W);
    }
    for (int64_t k0 = 0; k0 < K; k0 += CLASSES, x += CLASSES * R) {
        const int64_t count = LLI_MIN(K - k0, CLASSES);
        for (int64_t k = 0; k < count; k++) {
            vf e[2];
            UNROLL
            for (int v = 0; v < V; v++)
                gap[k * V + v] = larger(all((float)LLI_TALLY_FLOOR), load(x + k * R + v * W) - largest[v]);
            exp_odds(e, gap + k * V, V);
            UNROLL
            for (int v = 0; v < V; v++)
                store(x + k * R + v * W, e[v]);
        }
        vf sum[2] = {{0}, {0}}, product[2] = {{0}, {0}};
        for (int64_t k = 0; k < count; k++, index += 1)
            UNROLL
            for (int v = 0; v < V; v++) {
                vf e = (vf)((vi)load(x + k * R + v * W) & (best[v] != index));
                sum[v] += e;
                product[v] = fma_f(e, gap[k * V + v], product[v]);
            }
        UNROLL
        for (int v = 0; v < V; v++) {
            others[v] += sum[v];
            weighted[v] -= product[v];
        }
    }
    UNROLL
    for (int v = 0; v < V; v++) {
        store(others_out + v * W, others[v]);
        store(weighted_out + v * W, weighted[v]);
    }
}

/* p_top of W rows, and minus the sum of the odds as those of the top class. */
INLINE void find_inverse(float *x, double *inverse, float *narrow_inverse, const float *others, const int32_t *top) {
    int32_t place[W];
    float minus[W];
    vd half[2];
    store_i(place, load_i(top) * R + LANES(vi));
    store(minus, -load(others));
    for (int lane = 0; lane < W; lane++)
        x[place[lane]] = minus[lane];
    UNROLL
    for (int h = 0; h < 2; h++) { /* of the rounded sum: then 1 - o / (1 + o) is p_top to the last digit of f64, and ties stay ties */
        half[h] = 1.0 / (1.0 + load_widened(others + h * H) * (1 / LLI_TALLY_SCALE));
        store_d(inverse + h * H, half[h]);
    }
    store(narrow_inverse, narrow(half[0], half[1]));
}

/* Each step for all members before the next: what a member has to wait for is done when its turn comes. */
static void softmaxes(group *w) {
    const int64_t K = w->t->K, count = w->m->count, end = w->vectors * W;
    for (int64_t i = 0; i < end; i += 2 * W)
        for (int64_t a = 0; a < count; a++) {
            int32_t *top = w->t->top + a * w->rows + w->g * R + i;
            if (i + W < end)
                find_top(w->largest[a] + i, top, odds_of(w, a) + i, K, 2);
            else
                find_top(w->largest[a] + i, top, odds_of(w, a) + i, K, 1);
        }
    for (int64_t i = 0; i < end; i += 2 * W)
        for (int64_t a = 0; a < count; a++) {
            const int32_t *top = w->t->top + a * w->rows + w->g * R + i;
            if (i + W < end)
                find_odds(w->others[a] + i, w->weighted[a] + i, odds_of(w, a) + i, w->largest[a] + i, top, K, 2);
            else
                find_odds(w->others[a] + i, w->weighted[a] + i, odds_of(w, a) + i, w->largest[a] + i, top, K, 1);
        }
    for (int64_t i = 0; i < end; i += W)
        for (int64_t a = 0; a < count; a++) {
            const int64_t row = a * w->rows + w->g * R + i;
            find_inverse(odds_of(w, a) + i, w->t->inverse + row, w->inverse[a] + i, w->others[a] + i, w->t->top + row);
        }
}

/* sum w H(p), H = log(1 + o) + weighted / (1 + o). Members of one weight: the product of the 1 + o - 1 has one logarithm for all. */
static void entropies(const group *w) {
    const lli_members *m = w->m;
    const int64_t row = w->g * R;
    for (int64_t i = 0; i < w->vectors * W; i += H) {
        vd product = {0}, rest = {0}, sum = load_d(w->t->entropy + row + i);
        for (int64_t a = 0; a < m->count; a++) {
            vd o = load_widened(w->others[a] + i) * (1 / LLI_TALLY_SCALE);
            product = fma_d(o, 1.0 + product, product);
            rest = fma_d(load_widened(w->weighted[a] + i), load_d(w->t->inverse + a * w->rows + row + i), rest);
            if (a + 1 == m->count || m->weight[a + 1] != m->weight[a]) {
                sum = fma_d(fma_d(rest, all_d(1 / LLI_TALLY_SCALE), log1p_d(product)), all_d(m->weight[a]), sum);
                product = rest = (vd){0};
            }
        }
        store_d(w->t->entropy + row + i, sum);
    }
}

/* One class of W rows, all members of the chunk: shift and square. With scores the shift is added there, member by member: the same sums. */
INLINE void add_differences(const group *w, int64_t place, const float *odds, int64_t row, const bool weighted) {
    lli_tally *t = w->t;
    const int64_t stride = w->rows * t->K, rows = w->rows, count = w->m->count;
    const double *p_top = t->inverse + row, *weight = w->m->weight;
    vd shift[2], square[2], first[2];
    UNROLL
    for (int h = 0; h < 2; h++) {
        shift[h] = load_d(t->shift + place + h * H);
        square[h] = load_d(t->square + place + h * H);
        first[h] = load_widened(t->first + place + h * H) * load_d(t->first_inverse + row + h * H);
    }
    UNROLL2
    for (int64_t a = 0; a < count; a++, odds += stride, p_top += rows)
        UNROLL
        for (int h = 0; h < 2; h++) {
            vd d = load_widened(odds + h * H) * load_d(p_top + h * H) - first[h], wd = weighted ? d * weight[a] : d;
            shift[h] += wd;
            square[h] = fma_d(wd, d, square[h]);
        }
    UNROLL
    for (int h = 0; h < 2; h++) {
        if (!w->m->truth)
            store_d(t->shift + place + h * H, shift[h]);
        store_d(t->square + place + h * H, square[h]);
    }
}

INLINE void add_extremes(const group *w, int64_t place, const float *odds, int64_t i) {
    lli_tally *t = w->t;
    const int64_t stride = w->rows * t->K, count = w->m->count;
    vi r = (vi)(load(odds) * load(w->inverse[0] + i)), low = r, high = r, low_signed = r, high_signed = r;
    if (t->members > 0) {
        low = least_unsigned(r, (vi)load(t->extreme[LLI_EXTREME_LEAST] + place));
        high = most_unsigned(r, (vi)load(t->extreme[LLI_EXTREME_MOST] + place));
        low_signed = least_signed(r, (vi)load(t->extreme[LLI_EXTREME_TOP_MOST] + place));
        high_signed = most_signed(r, (vi)load(t->extreme[LLI_EXTREME_OTHER_MOST] + place));
    }
    UNROLL2
    for (int64_t a = 1; a < count; a++) {
        odds += stride;
        r = (vi)(load(odds) * load(w->inverse[a] + i));
        low = least_unsigned(low, r);
        high = most_unsigned(high, r);
        low_signed = least_signed(low_signed, r);
        high_signed = most_signed(high_signed, r);
    }
    store(t->extreme[LLI_EXTREME_LEAST] + place, (vf)low);
    store(t->extreme[LLI_EXTREME_MOST] + place, (vf)high);
    store(t->extreme[LLI_EXTREME_TOP_MOST] + place, (vf)low_signed);
    store(t->extreme[LLI_EXTREME_OTHER_MOST] + place, (vf)high_signed);
}

static void sums(const group *w, bool weighted) {
    lli_tally *t = w->t;
    const int64_t K = t->K;
    for (int64_t i = 0; i < w->vectors * W; i += W) {
        const int64_t row = w->g * R + i;
        const float *odds = odds_of(w, 0) + i;
        for (int64_t k = 0; k < K; k++)
            if (weighted)
                add_differences(w, (w->g * K + k) * R + i, odds + k * R, row, true);
            else
                add_differences(w, (w->g * K + k) * R + i, odds + k * R, row, false);
        for (int64_t k = 0; k < K; k++)
            add_extremes(w, (w->g * K + k) * R + i, odds + k * R, i);
    }
}

/* Where the top class is not that of the first member, p - p_first of two classes is a whole unit away from d = r - r_first: their squares
 * get (d + u)^2 - d^2 = u (2 d + u), u = 1 or -1, and the vote is written down. */
INLINE void turn(const group *w, int64_t member, int64_t i, int64_t k, double unit, double weight) {
    lli_tally *t = w->t;
    const int64_t row = w->g * R + i, place = (w->g * t->K + k) * R + i;
    const double r = (double)odds_of(w, member)[k * R + i] * t->inverse[member * w->rows + row];
    const double d = r - (double)t->first[place] * t->first_inverse[row];
    t->square[place] += weight * (unit * LLI_TALLY_SCALE * (2 * d + unit * LLI_TALLY_SCALE));
    t->votes[place] += weight * unit;
}

static void turns(const group *w) {
    lli_tally *t = w->t;
    double total = t->weight;
    for (int64_t a = 0; a < w->m->count; a++) {
        const int32_t *top = t->top + a * w->rows + w->g * R, *first_top = t->first_top + w->g * R;
        for (int64_t i = 0; i < w->vectors * W; i += W)
            for (unsigned left = lane_bits(load_i(top + i) != load_i(first_top + i)); left; left &= left - 1) {
                const int64_t lane = i + __builtin_ctz(left);
                turn(w, a, lane, top[lane], 1, w->m->weight[a]);
                turn(w, a, lane, first_top[lane], -1, w->m->weight[a]);
            }
        total += w->m->weight[a];
        if (w->m->truth)
            LEVEL(score)(t, w->m, a, total, w->g);
    }
}

void LEVEL(tally)(lli_tally *t, const lli_members *m) {
    group w; /* not cleared: the sums of a chunk are large beside a short call */
    w.t = t;
    w.m = m;
    w.rows = lli_tally_padded(t->n);
    bool weighted = false;
    for (int64_t a = 0; a < m->count; a++)
        weighted |= m->weight[a] != 1;
    for (w.g = 0; w.g * R < t->n; w.g++) {
        const int64_t row = w.g * R;
        w.vectors = (LLI_MIN(R, t->n - row) + W - 1) / W;
        softmaxes(&w);
        if (t->members == 0) {
            memcpy(t->first_top + row, t->top + row, R * sizeof *t->top);
            memcpy(t->first_inverse + row, t->inverse + row, R * sizeof *t->inverse);
            memcpy(t->first + row * t->K, t->odds + row * t->K, (size_t)(R * t->K) * sizeof *t->first);
        }
        entropies(&w);
        sums(&w, weighted);
        turns(&w);
    }
    for (int64_t a = 0; a < m->count; a++)
        t->weight += m->weight[a];
    t->members += m->count;
}
