/* SPDX-License-Identifier: MIT */
/* Steps of the optimisers that keep moments: element by element over theta, its gradient and its slots, in one pass.
 * docs/math/optimisers.md */
#ifndef LLI_KERNELS_OPTIMISE_H
#define LLI_KERNELS_OPTIMISE_H

#include <stdbool.h>
#include <stdint.h>

/* g = gradient + decay theta; m <- m + (1 - beta1)(g - m); v <- beta2 v + (1 - beta2) g^2; theta <- theta - step m / (root sqrt(v) +
 * eps). */
typedef struct lli_adam {
    float rest1;        /* 1 - beta1 */
    float beta2, rest2; /* rest2 = 1 - beta2 */
    float step;         /* lr / (1 - beta1^t) at step t = 1, 2, ... */
    float root;         /* 1 / sqrt(1 - beta2^t) */
    float eps;
} lli_adam;

/* g = gradient + decay theta; u <- momentum u + g; theta <- theta - lr u, or with Nesterov theta - lr (g + momentum u). */
typedef struct lli_momentum {
    float momentum, lr;
    bool nesterov;
} lli_momentum;

/* A moment of less than this counts as nothing. It is far below what moves a parameter, and numbers that decay without end would become
 * denormal, which processors handle at a hundredth of their speed. */
#define LLI_MOMENT_MIN 1e-30f

#endif
