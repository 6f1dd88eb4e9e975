/* SPDX-License-Identifier: MIT */
/* Outcomes to measure: random ones, and the real softmax of the check vector. */
#ifndef TESTS_METRICS_SAMPLE_H
#define TESTS_METRICS_SAMPLE_H

#include "check.h"
#include "metrics/evaluate.h"

typedef struct sample {
    int64_t n, K;
    int32_t *label, *vote, *truth;           /* [n] */
    double *confidence[LL_CONFIDENCE_COUNT]; /* [n] or NULL */
    double *sr_tail;                         /* [n] or NULL */
    double *probs;                           /* [n,K] or NULL */
} sample;

static inline void *sample_zeros(int64_t count, size_t size) {
    void *block = calloc((size_t)(count > 0 ? count : 1), size);
    assert_non_null(block);
    return block;
}

static inline sample sample_new(int64_t n, int64_t K) {
    return (sample){.n = n, .K = K, .label = sample_zeros(n, 4), .vote = sample_zeros(n, 4), .truth = sample_zeros(n, 4)};
}

static inline void sample_free(sample *s) {
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++)
        free(s->confidence[c]);
    free(s->label);
    free(s->vote);
    free(s->truth);
    free(s->sr_tail);
    free(s->probs);
}

static inline ll_outcome sample_view(const sample *s) {
    ll_outcome o = {.n = s->n, .classes = s->K, .label = s->label, .vote = s->vote, .truth = s->truth, .sr_tail = s->sr_tail};
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++)
        o.confidence[c] = s->confidence[c];
    if (s->probs)
        o.probs = ll_array_view(s->probs, LL_DTYPE_F64, 2, (int64_t[]){s->n, s->K});
    return o;
}

/* Two classes, label 0 everywhere; wrong with probability `risk`; confidences on a grid of `levels` values (0 = all distinct). */
static inline sample sample_random(int64_t stream, int64_t n, double risk, int64_t levels) {
    sample s = sample_new(n, 2);
    double *sr = s.confidence[LL_CONFIDENCE_SR] = sample_zeros(n, 8);
    for (int64_t i = 0; i < n; i++) {
        double u = check_uniform(stream, 2 * i), v = check_uniform(stream, 2 * i + 1);
        s.truth[i] = v < risk * 2 * (1 - u); /* less sure = more often wrong */
        sr[i] = levels ? (double)(int64_t)(u * (double)levels) / (double)levels : u;
    }
    return s;
}

static inline ll_evaluation *sample_evaluation(void) {
    return sample_zeros(1, sizeof(ll_evaluation));
}

static inline void sample_evaluation_free(ll_evaluation *e) {
    lli_evaluate_release(e);
    free(e);
}

#endif
