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
    int64_t g, vectors;                /* vectors of rows that are there */
    int64_t rows;                      /* of all groups: distance of members in inverse and top */
    float largest[LLI_TALLY_CHUNK][R]; /* logit */
    float others[LLI_TALLY_CHUNK][R];  /* o = sum of p_k / p_top over the other classes, scaled */
    float apart[LLI_TALLY_CHUNK][R];   /* sum of p_k / p_top times g - 1 + exp(-g), g = what it gained on the first member, scaled */
    float inverse[LLI_TALLY_CHUNK][R]; /* 1 / (1 + o) in f32 */
} group;

INLINE float *odds_of(const group *w, int64_t member) {
    return w->t->odds + (member * w->rows + w->g * R) * w->t->K;
}

/* Largest logit of V vectors of rows, and its class, the lowest index on ties. 0 times a logit is 0, unless the logit is not finite. */
INLINE void find_top(float *largest_out, int32_t *top, int32_t *overflow, const float *x, int64_t K, const int V) {
    vf largest[2], zero[2];
    vi best[2], index = {0};
    UNROLL
    for (int v = 0; v < V; v++) {
        largest[v] = load(x + v * W);
        zero[v] = largest[v] * 0.0f;
        best[v] = (vi){0};
    }
    for (int64_t k = 1; k < K; k++) {
        index += 1;
        UNROLL
        for (int v = 0; v < V; v++) {
            vf y = load(x + k * R + v * W);
            zero[v] = fma_f(y, all(0), zero[v]);
            best[v] = (vi)choose(y > largest[v], (vf)index, (vf)best[v]);
            largest[v] = larger(y, largest[v]);
        }
    }
    UNROLL
    for (int v = 0; v < V; v++) {
        store(largest_out + v * W, largest[v]);
        store_i(top + v * W, best[v]);
        store_i(overflow + v * W, load_i(overflow + v * W) | (vi)(zero[v] != zero[v]));
    }
}

/* e (g - 1 + exp(-g)), where e = e_first exp(g): e g - e + e_first, or near 0, where that would be lost in rounding, e g^2 times a
 * polynomial within 2e-6. */
INLINE vf apart_of(vf e, vf g, vf e_first) {
    vf square = g * g, p = fma_f(g, all(-0x1.1115f8p-7f), all(0x1.55ec34p-5f));
    p = fma_f(g, p, all(-0x1.55558ep-3f));
    p = fma_f(g, p, all(0.5f));
    return choose(square < all(0.0625f), e * square * p, fma_f(e, g, e_first - e));
}

/* The odds of the first member, as they lie: those of its top class are minus the sum of the others, where 1 is meant. */
INLINE vf first_odds(const float *first) {
    vf x = load(first);
    return larger(x, (vf)(((vi)x >> 31) & (vi)all((float)LLI_TALLY_SCALE)));
}

/* The members from .. to - 1: logits -> odds of `count` classes from k0 on, their sum without the top class, and how far they are from
 * those of the first member. Short loops: in a single one each operation would wait for the one before. `is_first`: this is the first
 * member itself, and its gaps are kept. */
INLINE void find_odds_of(group *w, int64_t from, int64_t to, int64_t i, int64_t k0, int64_t count, const int V, const bool is_first) {
    lli_tally *t = w->t;
    const int64_t start = (w->g * t->K + k0) * R + i;
    float *first_gap = t->first_gap + start;
    vf first[CLASSES * 2], gap[CLASSES * 2];
    if (!is_first)
        for (int64_t k = 0; k < count; k++)
            UNROLL
    for (int v = 0; v < V; v++)
        first[k * V + v] = first_odds(t->first + start + k * R + v * W);
    for (int64_t a = from; a < to; a++) {
        float *x = odds_of(w, a) + k0 * R + i;
        const int32_t *top = t->top + a * w->rows + w->g * R + i;
        vf largest[2], sum[2] = {{0}, {0}}, apart[2] = {{0}, {0}};
        vi best[2], index = {0};
        UNROLL
        for (int v = 0; v < V; v++) {
            largest[v] = load(w->largest[a] + i + v * W);
            best[v] = load_i(top + v * W) - (int32_t)k0;
        }
        for (int64_t k = 0; k < count; k++) {
            vf e[2];
            UNROLL
            for (int v = 0; v < V; v++)
                gap[k * V + v] = larger(all((float)LLI_TALLY_FLOOR), load(x + k * R + v * W) - largest[v]);
            exp_times(e, gap + k * V, LLI_TALLY_POWER, V);
            UNROLL
            for (int v = 0; v < V; v++) {
                store(x + k * R + v * W, e[v]);
                if (is_first)
                    store(first_gap + k * R + v * W, gap[k * V + v]);
            }
        }
        for (int64_t k = 0; k < count; k++, index += 1)
            UNROLL
        for (int v = 0; v < V; v++) {
            vf e = load(x + k * R + v * W);
            sum[v] += (vf)((vi)e & (best[v] != index));
        }
        if (!is_first)
            for (int64_t k = 0; k < count; k++)
                UNROLL
        for (int v = 0; v < V; v++)
            apart[v] += apart_of(load(x + k * R + v * W), gap[k * V + v] - load(first_gap + k * R + v * W), first[k * V + v]);
        UNROLL
        for (int v = 0; v < V; v++) {
            float *others = w->others[a] + i + v * W, *far = w->apart[a] + i + v * W;
            store(others, k0 ? load(others) + sum[v] : sum[v]);
            store(far, k0 ? load(far) + apart[v] : apart[v]);
        }
    }
}

INLINE void find_odds(group *w, int64_t from, int64_t to, int64_t i, const int V, const bool is_first) {
    for (int64_t k0 = 0; k0 < w->t->K; k0 += CLASSES)
        find_odds_of(w, from, to, i, k0, LLI_MIN(w->t->K - k0, CLASSES), V, is_first);
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

/* Each step for all members before the next, so that no member waits for its own previous result. */
INLINE void softmaxes(group *w, int64_t from, int64_t to, const bool is_first) {
    lli_tally *t = w->t;
    const int64_t end = w->vectors * W, row = w->g * R;
    for (int64_t i = 0; i < end; i += 2 * W)
        for (int64_t a = from; a < to; a++)
            if (i + W < end)
                find_top(w->largest[a] + i, t->top + a * w->rows + row + i, t->overflow + row + i, odds_of(w, a) + i, t->K, 2);
            else
                find_top(w->largest[a] + i, t->top + a * w->rows + row + i, t->overflow + row + i, odds_of(w, a) + i, t->K, 1);
    for (int64_t i = 0; i < end; i += 2 * W)
        if (i + W < end)
            find_odds(w, from, to, i, 2, is_first);
        else
            find_odds(w, from, to, i, 1, is_first);
    for (int64_t i = 0; i < end; i += W)
        for (int64_t a = from; a < to; a++) {
            const int64_t at = a * w->rows + row + i;
            find_inverse(odds_of(w, a) + i, t->inverse + at, w->inverse[a] + i, w->others[a] + i, t->top + at);
        }
}

static void softmax_of_first(group *w) {
    lli_tally *t = w->t;
    const int64_t row = w->g * R;
    softmaxes(w, 0, 1, true);
    memcpy(t->first_top + row, t->top + row, R * sizeof *t->top);
    memcpy(t->first_inverse + row, t->inverse + row, R * sizeof *t->inverse);
    memcpy(t->first_others + row, w->others[0], R * sizeof *t->first_others);
    memcpy(t->first + row * t->K, t->odds + row * t->K, (size_t)(R * t->K) * sizeof *t->first);
}

static void softmax_of_others(group *w, int64_t from) {
    softmaxes(w, from, w->m->count, false);
}

/* sum w KL(p || p_first), which is (apart + o - o_first) / (1 + o) - log((1 + o) / (1 + o_first)). Members of one weight: the product of
 * the ratios - 1 has one logarithm for all. */
static void divergences(const group *w) {
    const lli_members *m = w->m;
    const int64_t row = w->g * R;
    for (int64_t i = 0; i < w->vectors * W; i += H) {
        const vd first = load_widened(w->t->first_others + row + i), scaled = load_d(w->t->first_inverse + row + i) * (1 / LLI_TALLY_SCALE);
        vd product = {0}, rest = {0}, sum = load_d(w->t->divergence + row + i);
        for (int64_t a = 0; a < m->count; a++) {
            vd more = load_widened(w->others[a] + i) - first;
            product = fma_d(more * scaled, 1.0 + product, product);
            rest = fma_d(load_widened(w->apart[a] + i) + more, load_d(w->t->inverse + a * w->rows + row + i), rest);
            if (a + 1 == m->count || m->weight[a + 1] != m->weight[a]) {
                sum = fma_d(fma_d(rest, all_d(1 / LLI_TALLY_SCALE), -log1p_d(product)), all_d(m->weight[a]), sum);
                product = rest = (vd){0};
            }
        }
        store_d(w->t->divergence + row + i, sum);
    }
}

/* One class of W rows, all members of the chunk: shift and square. With scores the shift is added there, member by member: the same
 * sums. */
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
 * get (d + u)^2 - d^2 = u (2 d + u), u = 1 or -1, and the votes are written down. */
INLINE void turn(const group *w, int64_t member, int64_t lane) {
    lli_tally *t = w->t;
    const int64_t row = w->g * R + lane, at = member * w->rows + row, start = w->g * t->K * R + lane;
    const float *odds = odds_of(w, member) + lane;
    const double inverse = t->inverse[at], first_inverse = t->first_inverse[row], weight = w->m->weight[member];
    const int32_t top[2] = {t->top[at], t->first_top[row]}, share = w->m->share[member];
    UNROLL
    for (int i = 0; i < 2; i++) {
        const int64_t k = top[i] * R, place = start + k;
        const double d = (double)odds[k] * inverse - (double)t->first[place] * first_inverse, unit = i ? -LLI_TALLY_SCALE : LLI_TALLY_SCALE;
        t->square[place] += weight * (unit * (2 * d + unit));
        t->votes[place] += i ? -share : share;
    }
}

static void turns(const group *w) {
    lli_tally *t = w->t;
    double total = t->weight;
    int64_t shares = t->shares;
    for (int64_t a = 0; a < w->m->count; a++) {
        const int32_t *top = t->top + a * w->rows + w->g * R, *first_top = t->first_top + w->g * R;
        unsigned turned = 0;
        for (int64_t i = 0; i < w->vectors * W; i += W)
            turned |= lane_bits(load_i(top + i) != load_i(first_top + i)) << i;
        for (; turned; turned &= turned - 1)
            turn(w, a, __builtin_ctz(turned));
        total += w->m->weight[a];
        shares += w->m->share[a];
        if (w->m->truth)
            LEVEL(score)(t, w->m, a, total, shares, w->g);
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
        w.vectors = (LLI_MIN(R, t->n - w.g * R) + W - 1) / W;
        if (t->members == 0)
            softmax_of_first(&w);
        softmax_of_others(&w, t->members == 0);
        divergences(&w);
        sums(&w, weighted);
        turns(&w);
    }
    for (int64_t a = 0; a < m->count; a++)
        t->weight += m->weight[a];
    for (int64_t a = 0; a < m->count; a++)
        t->shares += m->share[a];
    t->members += m->count;
}
