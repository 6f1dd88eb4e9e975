/* SPDX-License-Identifier: MIT */
/* What a method can do, as its row says: tests ask for that, not for names. */
#ifndef CAPABILITY_H
#define CAPABILITY_H

#include "methods/method.h"

static inline const lli_method *row_of(const char *method) {
    return lli_method_find(method);
}

static inline bool applies(const char *method, lli_place place) {
    return row_of(method)->places & place;
}

static inline bool reads_option(const char *method, size_t option) {
    return lli_method_reads(row_of(method), option);
}

static inline bool is_random(const char *method) {
    return reads_option(method, LLI_READS(seed));
}

static inline bool has_draws(const char *method) {
    return row_of(method)->members == LLI_MEMBERS_DRAWS;
}

/* The tensors that it stores are not theta*, and depend on the seed. */
static inline bool stores_random(const char *method) {
    return is_random(method) && !has_draws(method);
}

static inline bool has_chains(const char *method) {
    return lli_method_trains(row_of(method));
}

/* One chain that gives all members, by burn-in and thin. */
static inline bool is_sampled(const char *method) {
    return reads_option(method, LLI_READS(burn_in));
}

/* Chains whose members come in another way. */
static inline bool has_own_samples(const char *method) {
    return reads_option(method, LLI_READS(thin)) && !is_sampled(method);
}

static inline bool is_resampled(const char *method) {
    return row_of(method)->needs & LLI_NEEDS_RESAMPLE;
}

/* Finds the MAP, and leaves theta* aside. */
static inline bool refits(const char *method) {
    return row_of(method)->needs & LLI_NEEDS_OTHER_START;
}

/* Epochs before the first step that moves theta. */
static inline int64_t resting(const char *method) {
    const lli_optimiser *optimiser = row_of(method)->optimiser;
    return optimiser && optimiser->rule->rests ? 1 : 0;
}

static inline bool has_cycles(const char *method) {
    return row_of(method)->cycles > 0;
}

/* Of the learning rate that is chosen where none is given. */
static inline double lr_factor(const char *method) {
    return row_of(method)->lr_factor > 0 ? row_of(method)->lr_factor : 1;
}

static inline bool is_noisy(const char *method) {
    return row_of(method)->optimiser && row_of(method)->optimiser->noise;
}

static inline bool has_masks(const char *method) {
    return row_of(method)->members == LLI_MEMBERS_MASKS;
}

#endif
