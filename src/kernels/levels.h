/* SPDX-License-Identifier: MIT */
/* The tables that dispatch.c chooses from. */
#ifndef LLI_KERNELS_LEVELS_H
#define LLI_KERNELS_LEVELS_H

#include "kernels/kernels.h"

extern const lli_kernels lli_kernels_ref;
extern const lli_kernels lli_kernels_base; /* vectors of 16 bytes: SSE2 on x86-64, NEON on aarch64, what the compiler has elsewhere */
#if defined(__x86_64__)
extern const lli_kernels lli_kernels_v3; /* x86-64-v3: AVX2, FMA, F16C */
#endif
#if defined(LLI_WITH_V4)
extern const lli_kernels lli_kernels_v4; /* x86-64-v4: the vectors of v3, in networks twice as wide; on request */
#endif

#endif
