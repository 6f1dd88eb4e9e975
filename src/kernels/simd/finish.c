/* SPDX-License-Identifier: MIT */
/* What p_hat says: label, runner-up and entropy at the end, and the scores after each member where the truth is known. Lanes = rows. */
#include "kernels/simd/elementary.h"
#include "kernels/simd/level.h"

enum { R = LLI_TALLY_ROWS };

/* p_hat of H rows, class by class. */
typedef struct mean {
    vd top;           /* class of the first member */
    vd scaled;        /* 1 / LLI_TALLY_SCALE / weight of the members so far */
    vd per_share;     /* 1 / their shares */
    vd inverse;       /* p of the top class of the first */
    vd first_inverse; /* / LLI_TALLY_SCALE */
} mean;

INLINE mean mean_start(const lli_tally *t, int64_t row, double weight, int64_t shares) {
    return (mean){
        .top = load_integers(t->first_top + row),
        .scaled = all_d(1 / LLI_TALLY_SCALE / weight),
        .per_share = all_d(1 / (double)shares),
        .inverse = load_d(t->first_inverse + row),
        .first_inverse = load_d(t->first_inverse + row) * (1 / LLI_TALLY_SCALE),
    };
}

/* p_hat - p_first. */
INLINE vd mean_moved(const mean *m, const lli_tally *t, int64_t place, vd shift) {
    return fma_d(shift, m->scaled, load_integers(t->votes + place) * m->per_share);
}

/* p of the first member: its top class is 1 / (1 + o) and not 1 - o / (1 + o), so that equal logits have equal p. */
INLINE vd mean_first(const mean *m, const lli_tally *t, int64_t place, int64_t k) {
    const vl is_top = m->top == all_d((double)k);
    return keep_d(is_top, m->inverse) + keep_d(~is_top, load_widened(t->first + place) * m->first_inverse);
}

/* p_hat of class k as 1 - tail where it is the top of the first: near enough for sums and for the label. */
INLINE vd mean_of(const mean *m, const lli_tally *t, int64_t place, int64_t k, vd moved) {
    return fma_d(load_widened(t->first + place), m->first_inverse, moved) + keep_d(m->top == all_d((double)k), all_d(1));
}

/* The first class that none after it beats, and its p. */
INLINE void keep_label(vd *label, vd *most, vd p, int64_t k) {
    vl more = p > *most * LLI_TALLY_TIE;
    *label = keep_d(more, all_d((double)k)) + keep_d(~more, *label);
    *most = keep_d(more, p) + keep_d(~more, *most);
}

/* One term of KL(p_hat || p_first), p log(p / first) - (p - first), from the difference: its terms are small where members are close. */
INLINE vd divergence_of(vd p, vd moved, vd first) {
    return fma_d(p, log1p_d(moved / first), -moved);
}

/* The mutual information H(p_hat) - mean H(p) is mean KL(p || p_first) - KL(p_hat || p_first), which loses nothing where members are
 * close. */
void LEVEL(finish)(lli_tally *t) {
    const int64_t K = t->K;
    for (int64_t row = 0; row < t->n; row += H) {
        const mean m = mean_start(t, row, t->weight, t->shares);
        const int64_t start = row / R * K * R + row % R;
        vd label = {0}, most = {0}, second = {0}, h = {0}, moved_from_first = {0};
        for (int64_t k = 0; k < K; k++) {
            const int64_t place = start + k * R;
            const vl is_top = m.top == all_d((double)k);
            vd moved = mean_moved(&m, t, place, load_d(t->shift + place)), first = mean_first(&m, t, place, k);
            vd p = first + moved, before = most;
            if (t->members > 1)
                moved_from_first += divergence_of(p, moved, first);
            keep_label(&label, &most, p, k);
            second = larger_d(second, keep_d(most == before, p) + keep_d(~(most == before), before));
            h -= keep_d(~is_top, p * log_d(larger_d(p, all_d(1e-300))));
        }
        store_d(t->most + row, most);
        store_d(t->second + row, second);
        store_d(t->mixed + row, h);
        store_d(t->information + row, larger_d(load_d(t->divergence + row) * (1 / t->weight) - moved_from_first, all_d(0)));
        for (int64_t i = row; i < LLI_MIN(row + H, t->n); i++) { /* the top class of the first by its tail: it may be near 1 */
            double rest = lli_tally_rest(t, i, t->first_top[i]);
            t->label[i] = (int32_t)label[i - row];
            t->mixed[i] -= rest > -1 ? (1 + rest) * log1p(rest) : 0;
        }
    }
}

void LEVEL(score)(lli_tally *t, const lli_members *members, int64_t member, double weight, int64_t shares, int64_t g) {
    const int64_t K = t->K, rows = lli_tally_padded(t->n), end = LLI_MIN(t->n, g * R + R);
    for (int64_t row = g * R; row < end; row += H) {
        const mean m = mean_start(t, row, weight, shares);
        const int64_t start = g * K * R + row % R, at = member * rows + row;
        const float *odds = t->odds + (member * rows + g * R) * K + row % R;
        const vd inverse = load_d(t->inverse + at), first_inverse = load_d(t->first_inverse + row), w = all_d(members->weight[member]);
        vd label = {0}, most = {0}, squares = {0}, p_truth, lost;
        for (int64_t k = 0; k < K; k++) {
            const int64_t place = start + k * R;
            vd d = load_widened(odds + k * R) * inverse - load_widened(t->first + place) * first_inverse;
            vd shift = load_d(t->shift + place) + d * w;
            store_d(t->shift + place, shift);
            vd p = mean_of(&m, t, place, k, mean_moved(&m, t, place, shift));
            keep_label(&label, &most, p, k);
            squares = fma_d(p, p, squares);
        }
        for (int i = 0; i < H; i++) {
            const int64_t truth = row + i < t->n ? members->truth[row + i] : 0, place = start + truth * R + i;
            const double first = (double)t->first[place] * t->first_inverse[row + i] / LLI_TALLY_SCALE;
            const double moved = t->shift[place] / LLI_TALLY_SCALE / weight + (double)t->votes[place] / (double)shares;
            const int is_top = truth == t->first_top[row + i];
            p_truth[i] = first + moved + is_top;
            lost[i] = is_top ? first + moved - (p_truth[i] - 1) : 0;
            t->correct[at + i] = (double)truth == label[i];
        }
        store_d(t->nll + at, -(log_d(p_truth) + lost / p_truth)); /* as log1p does it: near 1 by the tail */
        store_d(t->brier + at, squares - 2.0 * p_truth + 1.0);
    }
}
