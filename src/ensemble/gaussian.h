/* SPDX-License-Identifier: MIT */
/* A Gaussian around theta*, whose draws are the members of an ensemble: the covariance of all parameters, in factors. With z~ = (z,1) of n
 * = D + 1 numbers, row z has the logits W* z + b* + N(0, Sigma), where
 *
 *     kfac, diagb:  Sigma = U' diag(s) U, s_i = sum_j R_ij (v_j' z~)^2, v_j the rows of V, U = I where there is none
 *     diag:         the same with V = I
 *     full:         Sigma_kl = z~' P_kl z~, P_kl the blocks of P
 *
 * docs/math/laplace.md */
#ifndef LLI_ENSEMBLE_GAUSSIAN_H
#define LLI_ENSEMBLE_GAUSSIAN_H

#include "base/bundle.h"

/* From covariance to probabilities. */
typedef enum lli_link { LLI_LINK_MC, LLI_LINK_PROBIT, LLI_LINK_BRIDGE } lli_link;
#define LLI_LINK_NAMES "mc|probit|bridge"

enum { LLI_GAUSSIAN_V, LLI_GAUSSIAN_U, LLI_GAUSSIAN_R, LLI_GAUSSIAN_P, LLI_GAUSSIAN_ARRAYS };

typedef struct lli_gaussian {
    const char *structure;               /* one of LLI_GAUSSIAN_NAMES; NULL: there is no Gaussian */
    bool common;                         /* the mode that adds one vector to all classes stays in */
    lli_link link;                       /* a choice of prediction, not of the file */
    const void *at[LLI_GAUSSIAN_ARRAYS]; /* V [n,n], U [K,K], R [K,n] in f32, P [K n,K n] in f64; NULL: none */
    void *owned[LLI_GAUSSIAN_ARRAYS];    /* NULL where they lie in a file */
} lli_gaussian;

#define LLI_GAUSSIAN_NAMES "full|kfac|diagb|diag"
enum { LLI_GAUSSIAN_FULL_MAX = 8192 }; /* K n, at most, of `full` */

/* Entries of the record that make an ensemble one of draws. */
#define LLI_GAUSSIAN_STRUCTURE "structure"
#define LLI_GAUSSIAN_COMMON "common-mode"

const char *lli_gaussian_name(const char *structure); /* a text that lives as long as the program; NULL if there is none */
bool lli_gaussian_has(const char *structure, int array);
/* An array of its own, zeros, for a structure that has it. */
ll_status lli_gaussian_allocate(ll_context *ctx, lli_gaussian *g, int array, int64_t K, int64_t D) LL_CHECK_RESULT;
void lli_gaussian_release(lli_gaussian *g);
/* Those that the structure has, as they lie in files. Returns how many. */
int64_t lli_gaussian_list(ll_named_array *out, const lli_gaussian *g, int64_t K, int64_t D);
/* From a file: shapes first, then values. */
ll_status lli_gaussian_from(ll_context *ctx, lli_gaussian *g, const ll_bundle *bundle, const char *path, int64_t K,
                            int64_t D) LL_CHECK_RESULT;

#endif
