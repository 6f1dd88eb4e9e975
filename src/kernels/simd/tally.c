/* SPDX-License-Identifier: MIT */
/* From the logits of a chunk of members to the sums over members, lanes = rows. docs/math/confidence.md has the algebra.
 * Exponentials are f32, as exact as the logits are; whatever is added over members is f64. */
#include "kernels/simd/elementary.h"
#include "kernels/simd/level.h"

enum { R = LLI_TALLY_ROWS, CLASSES = 16 }; /* summed at a time, then added to the sums of those before */

/* A group of 16 rows. */
typedef struct group {
    lli_tally *t;
    const lli_members *m;
    int64_t g, vectors;  /* vectors of rows that are there */
    int64_t rows;        /* of all groups: distance of members in inverse and top */
    float others[LLI_TALLY_CHUNK][R];   /* o = sum of p_k / p_top over the other classes, scaled */
    float weighted[LLI_TALLY_CHUNK][R]; /* the same sum with factors log(p_top / p_k), scaled */
} group;

INLINE float *odds_of(const group *w, int64_t member) {
    return w->t->odds + (member * w->rows + w->g * R) * w->t->K;
}

/* Lowest class of the largest logit. */
INLINE vf largest_class(vi *best, const float *x, int64_t K) {
    vf top = load(x);
    *best = (vi){0};
    for (int64_t k = 1; k < K; k++) {
        vf y = load(x + k * R);
        vi more = y > top;
        *best = (vi)choose(more, (vf)((vi){0} + (int32_t)k), (vf)*best);
        top = larger(y, top);
    }
    return top;
}

/* Logits of W rows -> odds. */
INLINE void softmax(float *x, int32_t *top, double *inverse, float *others_out, float *weighted_out, int64_t K) {
    const vf floor = all((float)LLI_TALLY_FLOOR);
    vi best;
    vf largest = largest_class(&best, x, K), others = {0}, weighted = {0};
    memcpy(top, &best, sizeof best);
    for (int lane = 0; lane < W; lane++) /* so that the top class adds the floor: never 0, and nothing that counts */
        x[top[lane] * R + lane] = -1e30f;
    for (int64_t k0 = 0; k0 < K; k0 += CLASSES) {
        vf some = {0}, some_weighted = {0};
        const int64_t end = LLI_MIN(K, k0 + CLASSES);
        for (int64_t k = k0; k < end; k++) {
            vf gap = larger(floor, load(x + k * R) - largest), e = exp_times(gap, 100);
            some += e;
            some_weighted = fma_f(e, gap, some_weighted);
            store(x + k * R, e);
        }
        others += some;
        weighted -= some_weighted;
    }
    store(others_out, others);
    store(weighted_out, weighted);
    for (int lane = 0; lane < W; lane++)
        x[top[lane] * R + lane] = -others_out[lane];
    UNROLL
    for (int h = 0; h < 2; h++) /* of the rounded sum: then 1 - o / (1 + o) is p_top to the last digit of f64, and ties stay ties */
        store_d(inverse + h * H, 1.0 / (1.0 + load_widened(others_out + h * H) * (1 / LLI_TALLY_SCALE)));
}

/* sum w H(p), H = log(1 + o) + weighted / (1 + o). Members of one weight: the product of the 1 + o - 1 has one logarithm for all. */
static void entropies(group *w) {
    const lli_members *m = w->m;
    const int64_t row = w->g * R;
    for (int64_t i = 0; i < w->vectors * W; i += H) {
        vd product = {0}, sum = load_d(w->t->entropy + row + i);
        for (int64_t a = 0; a < m->count; a++) {
            vd o = load_widened(w->others[a] + i) * (1 / LLI_TALLY_SCALE), rest = load_widened(w->weighted[a] + i) * (1 / LLI_TALLY_SCALE);
            product = fma_d(o, 1.0 + product, product);
            sum = fma_d(rest * load_d(w->t->inverse + a * w->rows + row + i), all_d(m->weight[a]), sum);
            if (a + 1 == m->count || m->weight[a + 1] != m->weight[a]) {
                sum = fma_d(log1p_d(product), all_d(m->weight[a]), sum);
                product = (vd){0};
            }
        }
        store_d(w->t->entropy + row + i, sum);
    }
}

/* One class of W rows, all members of the chunk. With scores the shift is added there, member by member: the same sums. */
INLINE void add(const group *w, int64_t place, const float *odds, int64_t row, const float inverse[LLI_TALLY_CHUNK][W], const bool weighted) {
    lli_tally *t = w->t;
    const int64_t stride = w->rows * t->K;
    vd shift[2], square[2], first[2];
    vi low, high, low_signed, high_signed;
    if (t->members == 0)
        store(t->first + place, load(odds));
    UNROLL
    for (int h = 0; h < 2; h++) {
        shift[h] = load_d(t->shift + place + h * H);
        square[h] = load_d(t->square + place + h * H);
        first[h] = load_widened(t->first + place + h * H) * load_d(t->first_inverse + row + h * H);
    }
    if (t->members == 0)
        low = high = low_signed = high_signed = (vi)(load(odds) * load(inverse[0]));
    else {
        low = (vi)load(t->extreme[LLI_EXTREME_LEAST] + place);
        high = (vi)load(t->extreme[LLI_EXTREME_MOST] + place);
        low_signed = (vi)load(t->extreme[LLI_EXTREME_TOP_MOST] + place);
        high_signed = (vi)load(t->extreme[LLI_EXTREME_OTHER_MOST] + place);
    }
    for (int64_t a = 0; a < w->m->count; a++) {
        const float *x = odds + a * stride;
        const double *p_top = t->inverse + a * w->rows + row;
        UNROLL
        for (int h = 0; h < 2; h++) {
            vd d = load_widened(x + h * H) * load_d(p_top + h * H) - first[h], wd = weighted ? d * w->m->weight[a] : d;
            shift[h] += wd;
            square[h] = fma_d(wd, d, square[h]);
        }
        vi r = (vi)(load(x) * load(inverse[a]));
        low = least_unsigned(low, r);
        high = most_unsigned(high, r);
        low_signed = least_signed(low_signed, r);
        high_signed = most_signed(high_signed, r);
    }
    UNROLL
    for (int h = 0; h < 2; h++) {
        if (!w->m->truth)
            store_d(t->shift + place + h * H, shift[h]);
        store_d(t->square + place + h * H, square[h]);
    }
    store(t->extreme[LLI_EXTREME_LEAST] + place, (vf)low);
    store(t->extreme[LLI_EXTREME_MOST] + place, (vf)high);
    store(t->extreme[LLI_EXTREME_TOP_MOST] + place, (vf)low_signed);
    store(t->extreme[LLI_EXTREME_OTHER_MOST] + place, (vf)high_signed);
}

static void sums(const group *w, bool weighted) {
    lli_tally *t = w->t;
    for (int64_t i = 0; i < w->vectors * W; i += W) {
        const int64_t row = w->g * R + i;
        float inverse[LLI_TALLY_CHUNK][W];
        for (int64_t a = 0; a < w->m->count; a++)
            store_narrowed(inverse[a], load_d(t->inverse + a * w->rows + row), load_d(t->inverse + a * w->rows + row + H));
        for (int64_t k = 0; k < t->K; k++)
            if (weighted)
                add(w, (w->g * t->K + k) * R + i, odds_of(w, 0) + k * R + i, row, inverse, true);
            else
                add(w, (w->g * t->K + k) * R + i, odds_of(w, 0) + k * R + i, row, inverse, false);
    }
}

/* Where the top class is not that of the first member, p - p_first of two classes is a whole unit away from d = r - r_first: their squares
 * get (d + u)^2 - d^2 = u (2 d + u), u = 1 or -1, and the vote is written down. */
static void turn(const group *w, int64_t member, int64_t i, double weight) {
    lli_tally *t = w->t;
    const int64_t row = w->g * R + i, top = t->top[member * w->rows + row], first_top = t->first_top[row];
    for (int side = 0; side < 2; side++) {
        const int64_t k = side ? first_top : top, place = (w->g * t->K + k) * R + i;
        const double unit = side ? -LLI_TALLY_SCALE : LLI_TALLY_SCALE;
        const double d = (double)odds_of(w, member)[k * R + i] * t->inverse[member * w->rows + row] - (double)t->first[place] * t->first_inverse[row];
        t->square[place] += weight * (unit * (2 * d + unit));
        t->votes[place] += side ? -weight : weight;
    }
}

static void turns(const group *w) {
    lli_tally *t = w->t;
    double total = t->weight;
    for (int64_t a = 0; a < w->m->count; a++) {
        const int32_t *top = t->top + a * w->rows + w->g * R, *first_top = t->first_top + w->g * R;
        for (int64_t i = 0; i < w->vectors * W; i++)
            if (top[i] != first_top[i])
                turn(w, a, i, w->m->weight[a]);
        total += w->m->weight[a];
        if (w->m->truth)
            LEVEL(score)(t, w->m, a, total, w->g);
    }
}

void LEVEL(tally)(lli_tally *t, const lli_members *m) {
    group w = {.t = t, .m = m, .rows = lli_tally_padded(t->n)};
    bool weighted = false;
    for (int64_t a = 0; a < m->count; a++)
        weighted |= m->weight[a] != 1;
    for (w.g = 0; w.g * R < t->n; w.g++) {
        const int64_t row = w.g * R;
        w.vectors = (LLI_MIN(R, t->n - row) + W - 1) / W;
        for (int64_t a = 0; a < m->count; a++)
            for (int64_t i = 0; i < w.vectors * W; i += W)
                softmax(odds_of(&w, a) + i, t->top + a * w.rows + row + i, t->inverse + a * w.rows + row + i, w.others[a] + i, w.weighted[a] + i,
                        t->K);
        if (t->members == 0) {
            memcpy(t->first_top + row, t->top + row, R * sizeof *t->top);
            memcpy(t->first_inverse + row, t->inverse + row, R * sizeof *t->inverse);
        }
        entropies(&w);
        sums(&w, weighted);
        turns(&w);
    }
    for (int64_t a = 0; a < m->count; a++)
        t->weight += m->weight[a];
    t->members += m->count;
}
