/* SPDX-License-Identifier: MIT */
/* Which kernels run here. Levels are listed from the plainest to the fastest. */
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "kernels/levels.h"

#if defined(LLI_WITH_V4)
#define LEVELS &lli_kernels_ref, &lli_kernels_base, &lli_kernels_v3, &lli_kernels_v4
#define NAMES "ref|base|v3|v4"
#elif defined(__x86_64__)
#define LEVELS &lli_kernels_ref, &lli_kernels_base, &lli_kernels_v3
#define NAMES "ref|base|v3"
#else
#define LEVELS &lli_kernels_ref, &lli_kernels_base
#define NAMES "ref|base"
#endif

static const lli_kernels *const levels[] = {LEVELS};

bool lli_kernels_supported(const lli_kernels *level) {
#if defined(__x86_64__)
    if (level == &lli_kernels_v3) /* every processor with these four has F16C and the rest of x86-64-v3 too */
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
               __builtin_cpu_supports("bmi2");
#endif
#if defined(LLI_WITH_V4)
    if (level == &lli_kernels_v4)
        return lli_kernels_supported(&lli_kernels_v3) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#endif
    return level != NULL;
}

const lli_kernels *lli_kernels_at(size_t i) {
    return i < LLI_COUNT(levels) ? levels[i] : NULL;
}

const lli_kernels *lli_kernels_known(const char *name) {
    for (size_t i = 0; i < LLI_COUNT(levels); i++)
        if (strcmp(levels[i]->name, name) == 0)
            return levels[i];
    return NULL;
}

const lli_kernels *lli_kernels_level(const char *name) {
    const lli_kernels *level = lli_kernels_known(name);
    return lli_kernels_supported(level) ? level : NULL;
}

const char *lli_kernels_names(void) {
    return NAMES;
}

const lli_kernels *lli_kernels_get(void) {
    const char *asked = getenv("LASTLAYER_ISA");
    if (asked && *asked)
        return lli_kernels_level(asked);
    size_t best = LLI_COUNT(levels) - 1;
    while (levels[best]->on_request || !lli_kernels_supported(levels[best]))
        best--;
    return levels[best];
}

const char *ll_isa(void) {
    const lli_kernels *kernels = lli_kernels_get();
    return kernels ? kernels->name : "none";
}
