/* SPDX-License-Identifier: MIT */
/* An answer for one point at a time, as a service or a device would give it: label, confidence, or "I don't know".
 * After the predictor is made nothing is allocated; each thread has its own.
 *
 *     serve ens.safetensors 0.9 < rows       each row: D numbers
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lastlayer.h>

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: serve ENSEMBLE THRESHOLD < rows\n");
        return 2;
    }
    ll_context *ctx;
    ll_ensemble *ensemble = NULL;
    ll_predictor *predictor = NULL;
    if (ll_context_new(&ctx, NULL) || ll_ensemble_read(&ensemble, ctx, argv[1]) || ll_predictor_new(&predictor, ctx, ensemble)) {
        fprintf(stderr, "serve: %s\n", ll_context_message(ctx));
        return 1;
    }
    double threshold = atof(argv[2]), sr;
    int32_t label;
    int64_t D = ll_ensemble_features(ensemble), have = 0, row = 0;
    float *z = (float *)malloc((size_t)D * sizeof *z);
    ll_prediction answer;
    memset(&answer, 0, sizeof answer); /* NULL: not wanted */
    answer.label = &label;
    answer.confidence[LL_CONFIDENCE_SR] = &sr;
    while (z && scanf("%f", &z[have]) == 1) {
        if (++have < D)
            continue;
        have = 0;
        if (ll_predictor_run(&answer, predictor, z, 1, row++) != LL_OK)
            printf("row %lld is not finite\n", (long long)row - 1);
        else if (sr < threshold)
            printf("I don't know (%.4f)\n", sr);
        else
            printf("%d (%.4f)\n", label, sr);
    }
    free(z);
    ll_predictor_free(predictor);
    ll_ensemble_free(ensemble);
    ll_context_free(ctx);
    return 0;
}
