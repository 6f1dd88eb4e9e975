/* SPDX-License-Identifier: MIT */
/* Randomness as a pure function: Philox4x32-10 (Salmon et al., 2011). Nothing to seed, save or share: any thread draws any part.
 *
 *   key     = seed (64 bit)
 *   counter = (block low, block high, step, purpose << 24 | member)
 *
 * A block gives four 32-bit lanes. Where a draw belongs to element i of an array, block = i / 4 and lane = i % 4.
 * docs/math/random.md has the equations. */
#ifndef LLI_BASE_RNG_H
#define LLI_BASE_RNG_H

#include <stdint.h>

/* Every use of randomness, listed once: no two share a stream. */
typedef enum lli_purpose {
    LLI_PURPOSE_SHUFFLE = 1,   /* step = epoch, block = position */
    LLI_PURPOSE_RESAMPLE,      /* bootstrap: step = 0, block = draw */
    LLI_PURPOSE_NOISE,         /* sgld: step, index = parameter */
    LLI_PURPOSE_TRAIN_MASK,    /* dropout while training: step, row = slot in the batch */
    LLI_PURPOSE_PREDICT_MASK,  /* dropout while predicting: step = pass, row = row */
    LLI_PURPOSE_START,         /* a new network: step = layer, index = element of its kernel */
    LLI_PURPOSE_SPLIT,         /* rows that choose and rows that report: step = 0, block = position */
    LLI_PURPOSE_BATCH,         /* batches drawn with replacement: step, block = slot in the batch */
    LLI_PURPOSE_DOUBT,         /* training rows on which a new ensemble is checked: step = 0, block = part of the rows */
    LLI_PURPOSE_DIAGNOSE = 25, /* rows on which chains are diagnosed: step = 0, block = part of the rows */
    LLI_PURPOSE_DRAW = 10,     /* logits drawn from a Gaussian: step = draw, index = row and class */
    LLI_PURPOSE_HOLDOUT = 16,  /* rows kept apart for validation: step = 0, block = position */
    LLI_PURPOSE_CLASSES = 17,  /* a random subset of the classes: step = 0, block = position */
    LLI_PURPOSE_AUGMENT = 18,  /* step = epoch, block = row: rotation, two shifts, flip */
    LLI_PURPOSE_CERTIFY = 32,  /* rows that propose cuts, the others test them: step = 0, draw = place of a shuffle */
    LLI_PURPOSE_SETS = 33,     /* randomised conformal scores: step 0 = calibration rows, 1 = new rows; draw = row */
    LLI_PURPOSE_FOLD = 40,     /* halves of the choosing rows, each with the temperature of the other: step = 0, block = position */
    LLI_PURPOSE_MOMENTUM = 50, /* hmc: step = draw, index = parameter in white coordinates */
    LLI_PURPOSE_ACCEPT = 51,   /* hmc: step = draw; draw 0 = length of the trajectory, 1 = accepted or not */
    LLI_PURPOSE_SWAG = 52,     /* swag: step 0 = a normal per parameter, 1 = one per deviation */
    LLI_PURPOSE_DRAWN = 53,    /* parameters drawn from a Gaussian: member = member, index = parameter */
    LLI_PURPOSE_BANK = 48,     /* training rows that new ones are held against: step = 0, draw = place of a shuffle */
    LLI_PURPOSE_INTERVAL = 24, /* resampling of evaluated points: step = draw, member = kind of draw, block = part of the points */
    LLI_PURPOSE_TEST = 255     /* test data */
} lli_purpose;

enum { LLI_MEMBERS_MAX = 1 << 24 };

typedef struct lli_stream {
    uint64_t seed;
    uint32_t step;
    uint32_t purpose_member; /* purpose << 24 | member */
} lli_stream;

typedef struct lli_philox {
    uint32_t lane[4];
} lli_philox;

static inline lli_stream lli_rng_stream(uint64_t seed, lli_purpose purpose, int64_t member, int64_t step) {
    return (lli_stream){seed, (uint32_t)step, (uint32_t)purpose << 24 | ((uint32_t)member & 0xffffffu)};
}

static inline lli_philox lli_rng_philox(const uint32_t counter[4], const uint32_t key[2]) {
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3], k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return (lli_philox){{c0, c1, c2, c3}};
}

static inline lli_philox lli_rng_block(lli_stream s, uint64_t block) {
    const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), s.step, s.purpose_member};
    const uint32_t key[2] = {(uint32_t)s.seed, (uint32_t)(s.seed >> 32)};
    return lli_rng_philox(counter, key);
}

/* 64 bits. Draw i takes half a block. */
static inline uint64_t lli_rng_draw(lli_stream s, uint64_t i) {
    lli_philox p = lli_rng_block(s, i / 2);
    return i % 2 ? (uint64_t)p.lane[3] << 32 | p.lane[2] : (uint64_t)p.lane[1] << 32 | p.lane[0];
}

/* Uniform in [0, n): the high part of a draw times n. */
static inline uint64_t lli_rng_scale(uint64_t draw, uint64_t n) {
    return (uint64_t)(((unsigned __int128)draw * n) >> 64);
}

static inline uint64_t lli_rng_below(lli_stream s, uint64_t i, uint64_t n) {
    return lli_rng_scale(lli_rng_draw(s, i), n);
}

#endif
