/* SPDX-License-Identifier: MIT */
/* Scores that tell rows like those of training from others by their features: statistics of the training rows, their place in files.
 * docs/math/ood.md has the equations. */
#ifndef LLI_SCORES_SCORES_H
#define LLI_SCORES_SCORES_H

#include "base/bundle.h"
#include "base/text.h"

/* Confidences FIRST .. FIRST+COUNT-1 are scores; a set of them has bit c - FIRST for c. */
enum { LLI_SCORES_FIRST = LL_CONFIDENCE_MSP, LLI_SCORES_COUNT = LL_CONFIDENCE_COUNT - LL_CONFIDENCE_MSP };
#define LLI_SCORES_BIT(c) (1u << ((int)(c) - (int)LLI_SCORES_FIRST))

/* What lies in files. Rows of WITHIN, TOTAL: x -> the coordinates in which that covariance is I. UNIT: of rows of length 1. */
typedef enum lli_scores_array {
    LLI_SCORES_THETA_W,
    LLI_SCORES_THETA_B,
    LLI_SCORES_MEAN,
    LLI_SCORES_WITHIN,
    LLI_SCORES_CLASSES, /* means of the classes that have rows, in the coordinates of WITHIN, from the mean of all rows */
    LLI_SCORES_TOTAL,
    LLI_SCORES_UNIT_MEAN,
    LLI_SCORES_UNIT_WITHIN,
    LLI_SCORES_UNIT_CLASSES,
    LLI_SCORES_UNIT_TOTAL,
    LLI_SCORES_BANK,    /* training rows of length 1 */
    LLI_SCORES_ORIGIN,  /* where all logits are equal, as nearly as they can be */
    LLI_SCORES_OUTSIDE, /* directions in which the training rows vary least */
    LLI_SCORES_ALPHA,   /* [1] logits per length */
    LLI_SCORES_ARRAYS
} lli_scores_array;

typedef struct lli_scores {
    unsigned which; /* the set of scores; 0: none, and nothing else here means anything */
    int64_t rows[LLI_SCORES_ARRAYS];
    const void *at[LLI_SCORES_ARRAYS]; /* NULL: none */
    void *owned[LLI_SCORES_ARRAYS];    /* NULL where they lie in a file */
} lli_scores;

/* The entry of the record that names them, "msp,rmds++", in the order of the confidences. */
#define LLI_SCORES_ENTRY "scores"

/* From such a list, or "all", "none" or NULL, in any order; LL_ERR_USAGE with a sentence that begins with `what`. */
ll_status lli_scores_parse(ll_context *ctx, unsigned *which, const char *list, const char *what) LL_CHECK_RESULT;
void lli_scores_text(lli_text *out, unsigned which);
bool lli_scores_need(unsigned which, lli_scores_array array);

/* An array of its own, zeros. */
ll_status lli_scores_allocate(ll_context *ctx, lli_scores *s, lli_scores_array array, int64_t rows, int64_t D) LL_CHECK_RESULT;
void lli_scores_release(lli_scores *s);
/* As they lie in files; returns how many. */
int64_t lli_scores_list(ll_named_array *out, const lli_scores *s, int64_t D);
/* From a file, `which` is known: shapes first, then values. theta* may be missing, see lli_scores_theta. */
ll_status lli_scores_from(ll_context *ctx, lli_scores *s, const ll_bundle *bundle, const char *path, int64_t K, int64_t D) LL_CHECK_RESULT;
/* A copy of theta* [K,D], [K], where some score needs it. */
ll_status lli_scores_theta(ll_context *ctx, lli_scores *s, const float *W, const float *b, int64_t K, int64_t D) LL_CHECK_RESULT;

#endif
