/* SPDX-License-Identifier: MIT */
/* The plain version of prediction: one row and one member after the other. */
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "kernels/ref/ref.h"

void lli_ref_panels(lli_tally *t, const void *features, bool half, int64_t first, float scale) {
    memset(t->panels, 0, (size_t)(lli_tally_padded(t->n) * t->D) * sizeof(float));
    for (int64_t i = 0; i < t->n; i++)
        for (int64_t j = 0; j < t->D; j++) {
            int64_t from = (first + i) * t->D + j, j0 = j / LLI_TALLY_PANEL * LLI_TALLY_PANEL;
            float z = half ? lli_half_to_float(((const uint16_t *)features)[from]) : ((const float *)features)[from];
            t->panels[lli_tally_panel(t, j0, i / LLI_TALLY_ROWS) + (j - j0) * LLI_TALLY_ROWS + i % LLI_TALLY_ROWS] = z * scale;
        }
}

static float feature(const lli_tally *t, int64_t i, int64_t j) {
    int64_t j0 = j / LLI_TALLY_PANEL * LLI_TALLY_PANEL;
    return t->panels[lli_tally_panel(t, j0, i / LLI_TALLY_ROWS) + (j - j0) * LLI_TALLY_ROWS + i % LLI_TALLY_ROWS];
}

static void logits(lli_tally *t, const lli_members *m, int64_t member, int64_t i, float *odds) {
    const float *W = m->W + (m->mask ? 0 : member * t->K * t->D), *b = m->b + (m->mask ? 0 : member * t->K);
    for (int64_t k = 0; k < t->K; k++)
        odds[lli_tally_place(i, k, t->K)] = b[k];
    for (int64_t j = 0; j < t->D; j++) {
        lli_mask mask = m->mask ? *m->mask : (lli_mask){.drop16 = 1};
        mask.stream.step += (uint32_t)member;
        mask.start = m->keys ? m->keys[i] : 0;
        if (m->mask && lli_ref_dropped(&mask, m->keys ? 0 : m->row + i, j, t->D))
            continue;
        for (int64_t k = 0; k < t->K; k++)
            odds[lli_tally_place(i, k, t->K)] += W[k * t->D + j] * feature(t, i, j);
    }
}

/* The class of the largest logit, the lowest index on ties. Notes a logit that is not finite. */
static int32_t top_of(lli_tally *t, const float *logits, int64_t i) {
    int64_t best = 0;
    for (int64_t k = 0; k < t->K; k++) {
        float logit = logits[lli_tally_place(i, k, t->K)];
        t->overflow[i] |= !isfinite(logit);
        if (logit > logits[lli_tally_place(i, best, t->K)])
            best = k;
    }
    return (int32_t)best;
}

/* logits -> odds. Returns the sum of the odds of the others, o, as f32 holds it; p_top = 1 / (1 + o).
 * With e_k = p_k / p_top and g = log e_k - log e_k of the first member, log(p / p_first) = g - log((1 + o) / (1 + o_first)), so that
 *   KL(p || p_first) = (sum e_first (g exp g - (exp g - 1)) + o - o_first) / (1 + o) - log(1 + (o - o_first) / (1 + o_first)). */
static double softmax(float *odds, double *divergence, lli_tally *t, int32_t top, int64_t i) {
    const int64_t K = t->K;
    double largest = (double)odds[lli_tally_place(i, top, K)], others = 0, more = 0, apart = 0;
    for (int64_t k = 0; k < K; k++) {
        int64_t at = lli_tally_place(i, k, K);
        float gap = (float)fmax((double)odds[at] - largest, LLI_TALLY_FLOOR);
        if (t->members == 0)
            t->first_gap[at] = gap;
        double g = (double)gap - (double)t->first_gap[at], first = exp((double)t->first_gap[at]);
        odds[at] = (float)(exp((double)gap) * LLI_TALLY_SCALE);
        others += k == top ? 0 : exp((double)gap);
        more += first * expm1(g);
        apart += first * (g * exp(g) - expm1(g));
    }
    odds[lli_tally_place(i, top, K)] = -(float)(others * LLI_TALLY_SCALE);
    if (t->members == 0)
        t->first_others[i] = (float)(others * LLI_TALLY_SCALE);
    *divergence = (apart + more) / (1 + others) - log1p(more / (1 + others - more));
    return (double)(float)(others * LLI_TALLY_SCALE) / LLI_TALLY_SCALE;
}

static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static void extremes(lli_tally *t, int64_t at, float r, bool first) {
    float *least = t->extreme[LLI_EXTREME_LEAST] + at, *most = t->extreme[LLI_EXTREME_MOST] + at;
    float *top_most = t->extreme[LLI_EXTREME_TOP_MOST] + at, *other_most = t->extreme[LLI_EXTREME_OTHER_MOST] + at;
    if (first)
        *least = *most = *top_most = *other_most = r;
    *least = bits_of(r) < bits_of(*least) ? r : *least;
    *most = bits_of(r) > bits_of(*most) ? r : *most;
    *top_most = (int32_t)bits_of(r) < (int32_t)bits_of(*top_most) ? r : *top_most;
    *other_most = (int32_t)bits_of(r) > (int32_t)bits_of(*other_most) ? r : *other_most;
}

static void add(lli_tally *t, const float *odds, double inverse, int32_t top, double weight, int32_t share, int64_t i) {
    int32_t first_top = t->first_top[i];
    for (int64_t k = 0; k < t->K; k++) {
        int64_t at = lli_tally_place(i, k, t->K);
        double d = (double)odds[at] * inverse - (double)t->first[at] * t->first_inverse[i];
        double turned = d + LLI_TALLY_SCALE * ((k == top) - (k == first_top));
        t->shift[at] += weight * d;
        t->square[at] += weight * turned * turned;
        extremes(t, at, odds[at] * (float)inverse, t->members == 0);
    }
    t->votes[lli_tally_place(i, top, t->K)] += share;
    t->votes[lli_tally_place(i, first_top, t->K)] -= share;
}

static int64_t label_of(const lli_tally *t, int64_t i) {
    int64_t best = 0;
    for (int64_t k = 1; k < t->K; k++)
        if (lli_tally_mean(t, i, k) > lli_tally_mean(t, i, best) * LLI_TALLY_TIE)
            best = k;
    return best;
}

static void score(lli_tally *t, int64_t at, int64_t i, int32_t truth) {
    double sum = 0, p = lli_tally_mean(t, i, truth);
    for (int64_t k = 0; k < t->K; k++)
        sum += lli_tally_mean(t, i, k) * lli_tally_mean(t, i, k);
    t->nll[at] = truth == t->first_top[i] ? -log1p(lli_tally_rest(t, i, truth)) : -log(p);
    t->brier[at] = 1 - 2 * p + sum;
    t->correct[at] = label_of(t, i) == truth;
}

void lli_ref_member_logits(lli_tally *t, const lli_members *m) {
    for (int64_t member = 0; member < m->count; member++)
        for (int64_t i = 0; i < t->n; i++)
            logits(t, m, member, i, t->odds + member * lli_tally_padded(t->n) * t->K);
}

void lli_ref_predict(lli_tally *t, const lli_members *m) {
    lli_ref_member_logits(t, m);
    lli_ref_tally(t, m);
}

void lli_ref_tally(lli_tally *t, const lli_members *m) {
    int64_t rows = lli_tally_padded(t->n);
    for (int64_t member = 0; member < m->count; member++) {
        float *odds = t->odds + member * rows * t->K;
        double *inverse = t->inverse + member * rows;
        int32_t *top = t->top + member * rows;
        t->weight += m->weight[member];
        t->shares += m->share[member];
        for (int64_t i = 0; i < t->n; i++) {
            double divergence;
            top[i] = top_of(t, odds, i);
            inverse[i] = 1 / (1 + softmax(odds, &divergence, t, top[i], i));
            t->divergence[i] += m->weight[member] * divergence;
            if (t->members == 0) {
                for (int64_t k = 0; k < t->K; k++)
                    t->first[lli_tally_place(i, k, t->K)] = odds[lli_tally_place(i, k, t->K)];
                t->first_inverse[i] = inverse[i];
                t->first_top[i] = top[i];
            }
            add(t, odds, inverse[i], top[i], m->weight[member], m->share[member], i);
            if (m->truth)
                score(t, member * rows + i, i, m->truth[i]);
        }
        t->members++;
    }
}

void lli_ref_finish(lli_tally *t) {
    for (int64_t i = 0; i < t->n; i++) {
        int64_t label = label_of(t, i), first_top = t->first_top[i];
        double rest = lli_tally_rest(t, i, first_top), h = rest > -1 ? -(1 + rest) * log1p(rest) : 0, second = 0, moved_from_first = 0;
        for (int64_t k = 0; k < t->K; k++) {
            double p = lli_tally_mean(t, i, k), moved = lli_tally_moved(t, i, k);
            moved_from_first += p * log1p(moved / lli_tally_first(t, i, k)) - moved; /* KL(p_hat || p_first) */
            if (k != first_top && p > 0)
                h -= p * log(p);
            if (k != label)
                second = fmax(second, p);
        }
        t->label[i] = (int32_t)label;
        t->most[i] = lli_tally_mean(t, i, label);
        t->second[i] = second;
        t->mixed[i] = h;
        t->information[i] = fmax(t->divergence[i] / t->weight - moved_from_first, 0);
    }
}
