/* SPDX-License-Identifier: MIT */
#include "metrics/sample.h"

#include <math.h>

#include "metrics/evaluate.h"

/* The bytes after the 128-byte header of a version 1 .npy file. */
static void *npy_body(const char *name, size_t bytes) {
    FILE *file = fopen(check_data(name), "rb");
    assert_non_null(file);
    void *body = sample_zeros((int64_t)bytes, 1);
    assert_int_equal(fseek(file, 128, SEEK_SET), 0);
    assert_int_equal(fread(body, 1, bytes, file), bytes);
    fclose(file);
    return body;
}

/* Softmax of a VGG-16 on the CIFAR-10 test set; the values are known to four digits. */
static void check_vector(void **state) {
    (void)state;
    enum { N = 10000, K = 10 };
    float *probs = npy_body("cifar10-vgg16/probs.npy", N * K * sizeof *probs);
    int64_t *labels = npy_body("cifar10-vgg16/labels.npy", N * sizeof *labels);
    sample s = sample_new(N, K);
    double *sr = s.confidence[LL_CONFIDENCE_SR] = sample_zeros(N, 8);
    for (int i = 0; i < N; i++) {
        s.truth[i] = (int32_t)labels[i];
        for (int k = 1; k < K; k++)
            if (probs[i * K + k] > probs[i * K + s.label[i]])
                s.label[i] = k;
        sr[i] = (double)probs[i * K + s.label[i]];
    }
    ll_outcome points = sample_view(&s);
    points.probs = ll_array_view(probs, LL_DTYPE_F32, 2, (int64_t[]){N, K});
    ll_context *ctx = check_context(1);
    ll_evaluation *e = sample_evaluation();
    CHECK_OK(ctx, lli_evaluate(e, ctx, &points, NULL, NULL, NULL));
    const ll_selective *by_sr = &e->selective[LL_CONFIDENCE_SR];
    assert_int_equal(e->errors, 641);
    CHECK_NEAR(e->accuracy, .9359, 1e-12);
    CHECK_NEAR(by_sr->aurc, 6.658e-3, .5e-6);
    CHECK_NEAR(by_sr->eaurc, 4.555e-3, .5e-6);
    CHECK_NEAR(by_sr->augrc, 6.005e-3, .5e-6);
    CHECK_NEAR(by_sr->failure_auroc, .93415, .5e-5);
    CHECK_NEAR(e->ece, .03991, .5e-5);
    CHECK_NEAR(e->mce, .28608, .5e-5);
    CHECK_NEAR(e->nll, .25706, .5e-5);
    CHECK_NEAR(e->brier, .10545, .5e-5);
    free(e);
    sample_free(&s);
    free(probs);
    free(labels);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(check_vector)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
