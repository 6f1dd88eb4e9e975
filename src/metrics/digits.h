/* SPDX-License-Identifier: MIT */
/* Random numbers for resampling, one after the other from one stream: 32 bits, a place below a bound, a share, a binomial count. */
#ifndef LLI_METRICS_DIGITS_H
#define LLI_METRICS_DIGITS_H

#include "base/rng.h"

typedef struct lli_digits {
    lli_stream stream;
    uint64_t block;
    int at; /* 4: the block is used up */
    uint32_t word[4];
} lli_digits;

/* Stream `member` of one draw of the intervals; 0 to 3 are those of metrics/resample.c. */
typedef enum lli_digits_use {
    LLI_DIGITS_LABELS = 4,   /* labels: how many of a run */
    LLI_DIGITS_LABEL_PLACES, /* labels: which ones of a run are looked at */
    LLI_DIGITS_RUNS,         /* points: how many in a run */
    LLI_DIGITS_RUN_MARKED,   /* points: how many of these are marked */
    LLI_DIGITS_RUN_PLACES,   /* points: which ones of a run */
    LLI_DIGITS_BINS,         /* points: how many in a bin, and the errors among them */
    LLI_DIGITS_BIN_PLACES    /* points: which ones of a bin */
} lli_digits_use;

lli_digits lli_digits_of(uint64_t seed, lli_digits_use use, int64_t draw);

static inline uint32_t lli_digits_next(lli_digits *d) {
    if (d->at == 4) {
        lli_philox p = lli_rng_block(d->stream, d->block++);
        for (int i = 0; i < 4; i++)
            d->word[i] = p.lane[i];
        d->at = 0;
    }
    return d->word[d->at++];
}

/* Uniform in [0, bound), every number with exactly the same chance: what would favour some is drawn again. */
static inline uint32_t lli_digits_below(lli_digits *d, uint32_t bound) {
    uint64_t product = (uint64_t)lli_digits_next(d) * bound;
    if ((uint32_t)product < bound)
        for (uint32_t least = -bound % bound; (uint32_t)product < least;)
            product = (uint64_t)lli_digits_next(d) * bound;
    return (uint32_t)(product >> 32);
}

/* Uniform in [0,1), 53 binary digits. */
double lli_digits_share(lli_digits *d);

/* Bin(m, p), p in [0,1]. */
int64_t lli_digits_binomial(lli_digits *d, int64_t m, double p);

/* The same from a uniform number, p in (0,1). */
int64_t lli_digits_binomial_at(double u, int64_t m, double p);

#endif
