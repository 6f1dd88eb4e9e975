/* SPDX-License-Identifier: MIT */
/* Which kernels run here. */
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "kernels/levels.h"

static const lli_kernels *const levels[] = {
    &lli_kernels_ref,
};

const lli_kernels *lli_kernels_level(const char *name) {
    for (size_t i = 0; i < LLI_COUNT(levels); i++)
        if (strcmp(levels[i]->name, name) == 0)
            return levels[i];
    return NULL;
}

const char *lli_kernels_names(void) {
    return "ref";
}

const lli_kernels *lli_kernels_get(void) {
    const char *asked = getenv("LASTLAYER_ISA");
    if (asked && *asked)
        return lli_kernels_level(asked);
    return levels[LLI_COUNT(levels) - 1];
}

const char *ll_isa(void) {
    const lli_kernels *kernels = lli_kernels_get();
    return kernels ? kernels->name : "none";
}
