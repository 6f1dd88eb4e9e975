/* SPDX-License-Identifier: MIT */
/* simulate TRIALS: the table of certificates on simulated rows, as JSON. docs/results/certificates has one. */
#include "metrics/simulation.h"

static void print_count(const char *name, const simulation_count *n, int64_t trials, const char *end) {
    printf("\"%s\": {\"broken\": %.6g, \"certified\": %.6g, \"coverage\": %.6g}%s", name, (double)n->broken / (double)trials,
           (double)n->certified / (double)trials, n->coverage, end);
}

int main(int argc, char **argv) {
    int64_t trials = argc > 1 ? atoll(argv[1]) : 0;
    if (trials < 1) {
        fprintf(stderr, "usage: simulate TRIALS\n");
        return 2;
    }
    ll_context *ctx = check_context(1);
    printf("{\"trials\": %lld, \"cases\": [", (long long)trials);
    for (size_t i = 0; i < LLI_COUNT(simulation_cases); i++) {
        const simulation_case *c = &simulation_cases[i];
        simulation_result r = simulation_run(ctx, c, trials);
        printf("%s\n {\"name\": \"%s\", \"n\": %lld, \"delta\": %g, ", i ? "," : "", c->name, (long long)c->n, c->promise.delta);
        bool errors = !isnan(c->promise.risk) && isnan(c->promise.coverage) && !c->costs;
        if (errors) {
            printf("\"risk\": %g, ", c->promise.risk);
            print_count("naive", &r.naive, trials, ", ");
            print_count("sgr", &r.sgr, trials, ", ");
        }
        print_count("sequence", &r.sequence, trials, ", ");
        print_count("bonferroni", &r.bonferroni, trials, "}");
    }
    printf("], \"per_class\": {\"n\": %d, \"risk\": %g, \"delta\": %g, ", SIMULATION_CLASS_ROWS, SIMULATION_CLASS_RISK,
           SIMULATION_CLASS_DELTA);
    simulation_count classes = simulation_classes(ctx, trials);
    print_count("sequence", &classes, trials, "}}\n");
    ll_context_free(ctx);
    return 0;
}
