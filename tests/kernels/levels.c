/* SPDX-License-Identifier: MIT */
/* Says which levels of the kernels this machine can run, and why not the others: what the tests of this folder cover here. */
#include <stdio.h>

#include "kernels/kernels.h"

int main(void) {
    printf("kernels tested on this machine:");
    for (size_t i = 0; lli_kernels_at(i); i++)
        if (lli_kernels_supported(lli_kernels_at(i)))
            printf(" %s", lli_kernels_at(i)->name);
    printf("\n");
    for (size_t i = 0; lli_kernels_at(i); i++)
        if (!lli_kernels_supported(lli_kernels_at(i)))
            printf("not %s: it needs %s, which this processor lacks\n", lli_kernels_at(i)->name, lli_kernels_at(i)->needs);
#if !defined(__x86_64__)
    printf("not v3, v4: they are for x86-64\n");
#elif !defined(LLI_WITH_V4)
    printf("not v4: the compiler of this build cannot make it\n");
#endif
    return 0;
}
