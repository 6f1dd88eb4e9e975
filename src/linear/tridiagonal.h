/* SPDX-License-Identifier: MIT */
/* The first half of an eigendecomposition: Householder reflections that make a symmetric matrix tridiagonal. docs/math/linear.md */
#ifndef LLI_LINEAR_TRIDIAGONAL_H
#define LLI_LINEAR_TRIDIAGONAL_H

#include "base/context.h"
#include "kernels/kernels.h"

/* H_{n-2} .. H_0 a H_0 .. H_{n-2} has diagonal d [n] and e [n-1] beside it, H_k = I - tau[k] v_k v_k'. v_k, zero up to place k, replaces
 * row k of a [n,n] from place k+1. */
ll_status lli_tridiagonal_reduce(ll_context *ctx, const lli_kernels *kernels, double *a, double *d, double *e, double *tau,
                                 int64_t n) LL_CHECK_RESULT;

#endif
