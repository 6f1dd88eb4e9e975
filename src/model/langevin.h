/* SPDX-License-Identifier: MIT */
/* The step of sgd and sgld on a piece of the gradient of a network. docs/math/sgld.md */
#ifndef LLI_MODEL_LANGEVIN_H
#define LLI_MODEL_LANGEVIN_H

#include "kernels/kernels.h"
#include "model/model.h"

/* theta <- shrink theta - lr gradient + noise xi; the normal of an element has its place in theta as index. */
typedef struct lli_langevin {
    float *theta;
    const lli_kernels *kernels;
    float shrink, lr, noise;
    lli_stream stream;
} lli_langevin;

lli_langevin lli_langevin_of(const lli_kernels *kernels, float *theta, const lli_step *step);
lli_apply_fn lli_langevin_piece; /* arg: the lli_langevin */

#endif
