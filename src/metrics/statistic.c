/* SPDX-License-Identifier: MIT */
/* Cuts are looked for from the least confidence up: most are near it, so most places are not visited. */
#include "metrics/statistic.h"

enum { BLOCK = 128 };

void lli_statistic_code(uint8_t *code, const lli_curve *curve) {
    int64_t first = 0;
    for (int64_t i = 0; i < curve->steps; i++)
        for (int64_t j = first; first < curve->step[i].accepted; first++)
            code[first] = (uint8_t)(lli_curve_is_marked(curve, first) * LLI_STATISTIC_MARK | (first == j) * LLI_STATISTIC_FIRST);
}

static int64_t at(const uint8_t *weight, const int64_t *place, int64_t i) {
    return weight[place ? place[i] : i];
}

typedef struct tally {
    int64_t points, errors;
} tally;

/* The places [first, end), at most BLOCK of them. Without other places to look up it is a loop of bytes, which vector units take. */
static tally block_tally(const lli_statistic_cut *s, const uint8_t *weight, int64_t first, int64_t end) {
    int points = 0, errors = 0;
    if (s->place)
        for (int64_t i = first; i < end; i++) {
            int w = weight[s->place[i]];
            points += w;
            errors += s->code[i] & LLI_STATISTIC_MARK ? w : 0;
        }
    else
        for (int64_t i = first; i < end; i++) {
            points += weight[i];
            errors += weight[i] & (uint8_t) - (s->code[i] & LLI_STATISTIC_MARK);
        }
    return (tally){points, errors};
}

/* Leaves out blocks from the end in which no cut can keep the risk: errors - risk x points falls by no more than the errors that leave.
 * Returns the end of what is left. */
static int64_t skip_blocks(tally *left, const lli_statistic_cut *s, const uint8_t *weight) {
    int64_t end = s->n;
    while (end > BLOCK) {
        tally block = block_tally(s, weight, end - BLOCK, end);
        if ((double)(left->errors - block.errors) - s->risk * (double)left->points < 1) /* 1: far above rounding */
            break;
        left->points -= block.points;
        left->errors -= block.errors;
        end -= BLOCK;
    }
    return end;
}

double lli_statistic_coverage(const void *arg, const uint8_t *weight, const uint8_t *out_weight) {
    (void)out_weight;
    const lli_statistic_cut *s = arg;
    tally left = {.points = s->n};
    for (int64_t first = 0; first < s->n; first += BLOCK)
        left.errors += block_tally(s, weight, first, LLI_MIN(s->n, first + BLOCK)).errors;
    int64_t end = skip_blocks(&left, s, weight);
    while (end > 0) {
        bool group = end == s->n || s->code[end] & LLI_STATISTIC_FIRST;      /* a cut may be here */
        if (group && !((double)left.errors / (double)left.points > s->risk)) /* 0/0 is no risk: nothing is left */
            break;
        tally one = block_tally(s, weight, end - 1, end);
        left.points -= one.points;
        left.errors -= one.errors;
        end--;
    }
    return (double)left.points / (double)s->n;
}

double lli_statistic_fpr95(const void *arg, const uint8_t *weight, const uint8_t *out_weight) {
    const lli_statistic_out *s = arg;
    int64_t in = s->n, out = s->n_out, next_in = s->n, next_out = s->n_out;
    for (int64_t i = s->n + s->n_out - 1; i >= 0; i--) {
        int64_t group_in = 0, group_out = 0;
        for (bool first = false; !first; i -= !first) {
            if (s->code[i] & LLI_STATISTIC_MARK)
                group_out += at(out_weight, s->out_place, --next_out);
            else
                group_in += at(weight, s->place, --next_in);
            first = s->code[i] & LLI_STATISTIC_FIRST;
        }
        if ((double)(in - group_in) / (double)s->n < 0.95)
            break;
        in -= group_in;
        out -= group_out;
    }
    return (double)out / (double)s->n_out;
}
