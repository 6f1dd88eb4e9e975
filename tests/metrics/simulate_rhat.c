/* SPDX-License-Identifier: MIT */
/* simulate_rhat TRIALS: the 99 % points of R-hat of independent draws, by chains and draws of each, as the rows of the table in
 * src/metrics/mixing.c. Ranks alone count, so that any continuous distribution gives the same: the draws are uniform. */
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "check.h"
#include "metrics/mixing.h"

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    static const int64_t chains[] = {2, 3, 4, 6, 8}, draws[] = {16, 25, 50, 100, 250};
    static double x[8 * 250];
    int64_t trials = argc > 1 ? atoll(argv[1]) : 0;
    if (trials < 100) {
        fprintf(stderr, "usage: simulate_rhat TRIALS, at least 100\n");
        return 2;
    }
    double *rhat = malloc((size_t)trials * sizeof *rhat);
    ll_context *ctx = check_context(1);
    for (size_t c = 0; c < LLI_COUNT(chains); c++) {
        for (size_t d = 0; d < LLI_COUNT(draws); d++) {
            for (int64_t t = 0; t < trials; t++) {
                lli_stream stream = lli_rng_stream((uint64_t)t, LLI_PURPOSE_TEST, chains[c], draws[d]);
                lli_mixing m;
                for (int64_t i = 0; i < chains[c] * draws[d]; i++)
                    x[i] = (double)lli_rng_draw(stream, (uint64_t)i);
                if (lli_mixing_of(&m, ctx, x, chains[c], draws[d]) != LL_OK)
                    return 1;
                rhat[t] = m.rhat;
            }
            qsort(rhat, (size_t)trials, sizeof *rhat, by_value);
            printf("%s%.4f", d ? ", " : "    {", rhat[trials * 99 / 100]);
        }
        printf("},\n");
        fflush(stdout);
    }
    ll_context_free(ctx);
    free(rhat);
    return 0;
}
