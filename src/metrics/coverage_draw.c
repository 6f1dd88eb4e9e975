/* SPDX-License-Identifier: MIT */
/* Runs are passed from the least confidence up, as in metrics/statistic.c: most cuts are near it. */
#include "metrics/coverage_draw.h"

#include <string.h>

#include "base/memory.h"
#include "base/pool.h"
#include "metrics/digits.h"
#include "metrics/resample.h"
#include "metrics/statistic.h"

enum { RUN = 4096 };

typedef struct job {
    const uint8_t *const *code; /* [lists] */
    int64_t lists, n, runs;
    double risk;
    uint64_t seed;
    int64_t *marked; /* [lists,runs] errors in each run */
    uint8_t *cuts;   /* [lists,runs] whether a cut may be in it: behind one of its places, or at its end */
    int64_t *space;  /* [workers,2,runs] points and errors drawn in each run */
    double *values;
} job;

static int64_t run_size(const job *j, int64_t r) {
    return LLI_MIN(j->n - r * RUN, (int64_t)RUN);
}

/* points [runs]: n draws. */
static void draw_points(int64_t *points, const job *j, int64_t draw) {
    lli_digits digits = lli_digits_of(j->seed, LLI_DIGITS_RUNS, draw);
    int64_t left = j->n;
    for (int64_t r = 0; r < j->runs; r++) {
        points[r] = lli_digits_binomial(&digits, left, (double)run_size(j, r) / (double)(j->n - r * RUN));
        left -= points[r];
    }
}

/* What is accepted while places are left out from the end. */
typedef struct tally {
    int64_t points, errors;
} tally;

/* weight [size] of the places of a run, of which `drawn` were drawn. */
static void draw_places(uint16_t *weight, const uint8_t *code, int64_t size, int64_t marked, tally drawn, lli_digits *digits) {
    uint16_t place[RUN];
    int64_t next[2] = {0, size - marked};
    for (int64_t i = 0; i < size; i++) {
        weight[i] = 0;
        place[next[code[i] & LLI_STATISTIC_MARK]++] = (uint16_t)i;
    }
    for (int64_t i = 0; i < drawn.points - drawn.errors; i++)
        weight[place[lli_digits_below(digits, (uint32_t)(size - marked))]]++;
    for (int64_t i = 0; i < drawn.errors; i++)
        weight[place[size - marked + lli_digits_below(digits, (uint32_t)marked)]]++;
}

/* Leaves out the places of run r one by one, from its end. Returns whether a cut keeps the risk there; then `left` is what it accepts. */
static bool search_run(tally *left, const job *j, const uint8_t *code, int64_t r, int64_t marked, tally drawn, lli_digits *digits) {
    uint16_t weight[RUN];
    int64_t first = r * RUN, size = run_size(j, r);
    draw_places(weight, code + first, size, marked, drawn, digits);
    for (int64_t i = size; i > 0; i--) {
        bool group = first + i == j->n || code[first + i] & LLI_STATISTIC_FIRST; /* a cut may be here */
        if (group && !((double)left->errors / (double)left->points > j->risk))   /* 0/0 is no risk: nothing is left */
            return true;
        left->points -= weight[i - 1];
        left->errors -= code[first + i - 1] & LLI_STATISTIC_MARK ? weight[i - 1] : 0;
    }
    return false;
}

static double coverage(const job *j, int64_t list, const int64_t *points, int64_t *errors, int64_t draw) {
    const int64_t *marked = j->marked + list * j->runs;
    lli_digits digits = lli_digits_of(j->seed, LLI_DIGITS_RUN_MARKED, draw);
    tally left = {.points = j->n};
    for (int64_t r = 0; r < j->runs; r++) {
        errors[r] = lli_digits_binomial(&digits, points[r], (double)marked[r] / (double)run_size(j, r));
        left.errors += errors[r];
    }
    digits = lli_digits_of(j->seed, LLI_DIGITS_RUN_PLACES, draw);
    for (int64_t r = j->runs - 1; r >= 0; r--) {
        /* errors - risk x points falls by no more than the errors that leave; 1 is far above rounding */
        bool above = (double)(left.errors - errors[r]) - j->risk * (double)left.points >= 1;
        if (above || !j->cuts[list * j->runs + r]) { /* no cut of this run keeps the risk */
            left.points -= points[r];
            left.errors -= errors[r];
        } else if (search_run(&left, j, j->code[list], r, marked[r], (tally){points[r], errors[r]}, &digits))
            break;
    }
    return (double)left.points / (double)j->n;
}

static ll_status run_draw(ll_context *ctx, void *arg, int64_t draw, int worker) {
    const job *j = arg;
    int64_t *points = j->space + 2 * j->runs * worker;
    LLI_TRY(lli_cancel_check(ctx));
    draw_points(points, j, draw);
    for (int64_t k = 0; k < j->lists; k++)
        j->values[k * LLI_RESAMPLE_DRAWS + draw] = coverage(j, k, points, points + j->runs, draw);
    return LL_OK;
}

ll_status lli_coverage_draw(double *values, ll_context *ctx, const uint8_t *const *code, int64_t count, int64_t n, double risk,
                            uint64_t seed) {
    job j = {.code = code, .lists = count, .n = n, .runs = (n + RUN - 1) / RUN, .risk = risk, .seed = seed, .values = values};
    ll_status status;
    LLI_DO(lli_memory_new(ctx, &j.marked, count * j.runs, sizeof *j.marked));
    LLI_DO(lli_memory_new(ctx, &j.space, 2 * j.runs * lli_pool_workers(ctx), sizeof *j.space));
    LLI_DO(lli_memory_new(ctx, &j.cuts, count * j.runs, 1));
    for (int64_t k = 0; k < count; k++)
        for (int64_t i = 0; i < n; i++) {
            j.marked[k * j.runs + i / RUN] += code[k][i] & LLI_STATISTIC_MARK;
            j.cuts[k * j.runs + i / RUN] |= i + 1 == n || code[k][i + 1] & LLI_STATISTIC_FIRST;
        }
    LLI_DO(lli_pool_run(ctx, run_draw, &j, LLI_RESAMPLE_DRAWS));
done:
    lli_memory_free(j.marked);
    lli_memory_free(j.cuts);
    lli_memory_free(j.space);
    return status;
}
