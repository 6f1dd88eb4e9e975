/* SPDX-License-Identifier: MIT */
/* What prediction keeps of a block of rows: the rows in panels, and the sums over members. docs/kernels.md draws it.
 *
 * Lanes are rows. Rows come in groups of 16 that lie side by side: element (i,k) of an array [n,K] is at lli_tally_place(i, k, K), and the
 * last group is full even where rows are missing. So softmax, sums and argmax never go across lanes, whatever K is.
 *
 * A member is carried as r = p - 1{k is its top class}: near 1 it is minus the tail, which f32 holds to its last digits, and its sign bit
 * says who is top. All r are scaled by 2^100, so that f32 holds tails down to 1e-65; what is smaller counts as that. */
#ifndef LLI_KERNELS_TALLY_H
#define LLI_KERNELS_TALLY_H

#include "base/status.h"

enum {
    LLI_TALLY_ROWS = 16,   /* of a group */
    LLI_TALLY_PANEL = 256, /* features of a panel, at most */
    LLI_TALLY_CHUNK = 8,   /* members added at once, at most */
    LLI_TALLY_POWER = 100
};

#define LLI_TALLY_SCALE 0x1p100  /* 2 to that power */
#define LLI_TALLY_FLOOR (-150.0) /* log p - log p_top counts as this where it is less */

/* Extremes of r over members, by comparing bits: those of a class that is top for some members and not for others stay apart. */
typedef enum lli_extreme {
    LLI_EXTREME_LEAST,      /* unsigned minimum: the least r >= 0, else the largest r < 0 */
    LLI_EXTREME_MOST,       /* unsigned maximum: the least r < 0, else the largest r >= 0 */
    LLI_EXTREME_TOP_MOST,   /* signed minimum: the largest r < 0, else the least r >= 0 */
    LLI_EXTREME_OTHER_MOST, /* signed maximum: the largest r >= 0, else the least r < 0 */
    LLI_EXTREME_COUNT
} lli_extreme;

typedef struct lli_tally {
    int64_t n, D, K;
    float *panels; /* z transposed, see lli_tally_panel */
    /* Sums over the members so far, with weights w. */
    int64_t members;
    double weight;                     /* sum w */
    int64_t shares;                    /* sum u, the weights as integers */
    double *shift;                     /* [n,K] sum w (r - r_first) */
    int32_t *votes;                    /* [n,K] sum u (1{k is top} - 1{k is top of the first}): with shift it is sum w (p - p_first) */
    double *square;                    /* [n,K] sum w (p - p_first)^2 */
    double *divergence;                /* [n] sum w KL(p || p_first) */
    int32_t *overflow;                 /* [n] not 0: a logit of some member was not finite, and the rest is meaningless */
    float *extreme[LLI_EXTREME_COUNT]; /* [n,K] */
    float *first;                      /* [n,K] odds of the first member */
    float *first_gap;                  /* [n,K] its log p - log p_top, LLI_TALLY_FLOOR or more */
    float *first_others;               /* [n] its sum of odds */
    double *first_inverse;             /* [n] */
    int32_t *first_top;                /* [n] */
    /* Of the members last added. r = odds * inverse. */
    float *odds;     /* [members,n,K] p_k / p_top, scaled; for the top class minus their sum */
    double *inverse; /* [members,n] p_top */
    int32_t *top;    /* [members,n] */
    /* Of p_hat after each of them, where the members come with the truth. */
    double *nll, *brier; /* [members,n] */
    int32_t *correct;    /* [members,n] 1 or 0 */
    /* Of p_hat, by finish. */
    int32_t *label;        /* [n] */
    double *most, *second; /* [n] p_hat of the label, and the largest of the other classes */
    double *mixed;         /* [n] H(p_hat) */
    double *information;   /* [n] H(p_hat) - mean of H(p) */
} lli_tally;

/* p_hat of two classes counts as a tie when it differs by rounding alone: where members differ they get there by different sums. The label
 * is the first class that none after it beats by more. */
#define LLI_TALLY_TIE (1 + 1e-12)

static inline int64_t lli_tally_groups(int64_t n) {
    return (n + LLI_TALLY_ROWS - 1) / LLI_TALLY_ROWS;
}

static inline int64_t lli_tally_padded(int64_t n) {
    return lli_tally_groups(n) * LLI_TALLY_ROWS;
}

static inline int64_t lli_tally_place(int64_t i, int64_t k, int64_t K) {
    return (i / LLI_TALLY_ROWS * K + k) * LLI_TALLY_ROWS + i % LLI_TALLY_ROWS;
}

/* Where the features from j0 on (a multiple of LLI_TALLY_PANEL) of group g lie: feature by feature, 16 rows each. */
static inline int64_t lli_tally_panel(const lli_tally *t, int64_t j0, int64_t g) {
    return (j0 * lli_tally_groups(t->n) + g * LLI_MIN(LLI_TALLY_PANEL, t->D - j0)) * LLI_TALLY_ROWS;
}

/* p_hat - p_first. */
static inline double lli_tally_moved(const lli_tally *t, int64_t i, int64_t k) {
    int64_t at = lli_tally_place(i, k, t->K);
    return t->shift[at] / LLI_TALLY_SCALE / t->weight + (double)t->votes[at] / (double)t->shares;
}

/* p_hat - 1{k is top of the first}: where that is 1, minus the tail, without cancellation. */
static inline double lli_tally_rest(const lli_tally *t, int64_t i, int64_t k) {
    return (double)t->first[lli_tally_place(i, k, t->K)] * t->first_inverse[i] / LLI_TALLY_SCALE + lli_tally_moved(t, i, k);
}

/* p of the first member. Its top class is 1 / (1 + o) and not 1 - o / (1 + o), so that equal logits have equal p, 1 / K to the last bit. */
static inline double lli_tally_first(const lli_tally *t, int64_t i, int64_t k) {
    return k == t->first_top[i] ? t->first_inverse[i]
                                : (double)t->first[lli_tally_place(i, k, t->K)] * t->first_inverse[i] / LLI_TALLY_SCALE;
}

static inline double lli_tally_mean(const lli_tally *t, int64_t i, int64_t k) {
    return lli_tally_first(t, i, k) + lli_tally_moved(t, i, k);
}

#endif
