/* SPDX-License-Identifier: MIT */
/* What p_hat says: label, runner-up and entropy at the end, and the scores after each member where the truth is known. Lanes = rows. */
#include "kernels/simd/elementary.h"
#include "kernels/simd/level.h"

enum { R = LLI_TALLY_ROWS };

/* p_hat of H rows, class by class. */
typedef struct mean {
    vd top;            /* class of the first member */
    vd inverse_weight; /* of the members so far */
    vd scaled;         /* the same / LLI_TALLY_SCALE */
    vd first_inverse;  /* / LLI_TALLY_SCALE */
} mean;

INLINE mean mean_start(const lli_tally *t, int64_t row, double weight) {
    mean m = {.inverse_weight = all_d(1 / weight), .scaled = all_d(1 / LLI_TALLY_SCALE / weight)};
    for (int i = 0; i < H; i++)
        m.top[i] = (double)t->first_top[row + i];
    m.first_inverse = load_d(t->first_inverse + row) * (1 / LLI_TALLY_SCALE);
    return m;
}

/* p_hat - 1{k is top of the first}; `is_top` says where that is 1. */
INLINE vd mean_rest(vl *is_top, const mean *m, const lli_tally *t, int64_t place, int64_t k, vd shift) {
    *is_top = m->top == all_d((double)k);
    vd rest = fma_d(shift, m->scaled, load_d(t->votes + place) * m->inverse_weight);
    return fma_d(load_widened(t->first + place), m->first_inverse, rest);
}

/* The first class that none after it beats, and its p. */
INLINE void keep_label(vd *label, vd *most, vd p, int64_t k) {
    vl more = p > *most * LLI_TALLY_TIE;
    *label = keep_d(more, all_d((double)k)) + keep_d(~more, *label);
    *most = keep_d(more, p) + keep_d(~more, *most);
}

void LEVEL(finish)(lli_tally *t) {
    const int64_t K = t->K;
    for (int64_t row = 0; row < t->n; row += H) {
        const mean m = mean_start(t, row, t->weight);
        const int64_t start = row / R * K * R + row % R;
        vd label = {0}, most = {0}, second = {0}, h = {0}, at_top = {0};
        for (int64_t k = 0; k < K; k++) {
            vl is_top;
            vd rest = mean_rest(&is_top, &m, t, start + k * R, k, load_d(t->shift + start + k * R));
            vd p = rest + keep_d(is_top, all_d(1)), before = most;
            keep_label(&label, &most, p, k);
            second = larger_d(second, keep_d(most == before, p) + keep_d(~(most == before), before));
            at_top += keep_d(is_top, rest);
            h -= keep_d(~is_top, p * log_d(larger_d(p, all_d(1e-300))));
        }
        store_d(t->most + row, most);
        store_d(t->second + row, second);
        store_d(t->mixed + row, h);
        for (int64_t i = row; i < LLI_MIN(row + H, t->n); i++) { /* the top class of the first by its tail: it may be near 1 */
            double rest = at_top[i - row];
            t->label[i] = (int32_t)label[i - row];
            t->mixed[i] -= rest > -1 ? (1 + rest) * log1p(rest) : 0;
        }
    }
}

void LEVEL(score)(lli_tally *t, const lli_members *members, int64_t member, double weight, int64_t g) {
    const int64_t K = t->K, rows = lli_tally_padded(t->n), end = LLI_MIN(t->n, g * R + R);
    for (int64_t row = g * R; row < end; row += H) {
        const mean m = mean_start(t, row, weight);
        const int64_t start = g * K * R + row % R, at = member * rows + row;
        const float *odds = t->odds + (member * rows + g * R) * K + row % R;
        const vd inverse = load_d(t->inverse + at), first_inverse = load_d(t->first_inverse + row), w = all_d(members->weight[member]);
        vd label = {0}, most = {0}, squares = {0}, p_truth;
        for (int64_t k = 0; k < K; k++) {
            const int64_t place = start + k * R;
            vd d = load_widened(odds + k * R) * inverse - load_widened(t->first + place) * first_inverse;
            vd shift = load_d(t->shift + place) + d * w;
            store_d(t->shift + place, shift);
            vl is_top;
            vd p = mean_rest(&is_top, &m, t, place, k, shift) + keep_d(is_top, all_d(1));
            keep_label(&label, &most, p, k);
            squares = fma_d(p, p, squares);
        }
        for (int i = 0; i < H; i++) {
            const int64_t truth = row + i < t->n ? members->truth[row + i] : 0, place = start + truth * R + i;
            const double first = (double)t->first[place] * t->first_inverse[row + i] / LLI_TALLY_SCALE;
            p_truth[i] = first + (t->shift[place] / LLI_TALLY_SCALE + t->votes[place]) / weight + (truth == t->first_top[row + i]);
            t->correct[at + i] = (double)truth == label[i];
        }
        store_d(t->nll + at, -log_d(larger_d(p_truth, all_d(1e-300))));
        store_d(t->brier + at, squares - 2.0 * p_truth + 1.0);
    }
}
