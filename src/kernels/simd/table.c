/* SPDX-License-Identifier: MIT */
/* The kernels of one level. */
#include "kernels/levels.h"
#include "kernels/simd/level.h"

#define TEXT_(level) #level
#define TEXT(level) TEXT_(level)

const lli_kernels LEVEL(kernels) = {
    .name = TEXT(LLI_LEVEL),
#if defined(LLI_FMA)
    .fused = true,
#endif
#if defined(LLI_ON_REQUEST)
    .on_request = true,
#endif
#if defined(LLI_NEEDS)
    .needs = LLI_NEEDS,
#endif
    .step = LEVEL(step),
    .step_floats = LEVEL(step_floats),
    .gather = LEVEL(gather),
    .mask = LEVEL(mask),
    .logits = LEVEL(logits),
    .residual = LEVEL(residual),
    .update = LEVEL(update),
    .gradient = LEVEL(gradient),
    .below = LEVEL(below),
    .normals = LEVEL(normals),
    .panels = LEVEL(panels),
    .member_logits = LEVEL(member_logits),
    .predict = LEVEL(predict),
    .tally = LEVEL(tally),
    .finish = LEVEL(finish),
    .adam = LEVEL(adam),
    .momentum = LEVEL(momentum),
    .gemm_pack = LEVEL(gemm_pack),
    .gemm = LEVEL(gemm),
    .wide = &LEVEL(wide),
    .large = &LEVEL(large),
    .conv = &LEVEL(conv),
    .norm = &LEVEL(norm),
    .linear = &LEVEL(linear),
};
