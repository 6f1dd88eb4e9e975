/* SPDX-License-Identifier: MIT */
/* Room for every answer of a predictor. */
#ifndef TESTS_PREDICT_ANSWER_ROOM_H
#define TESTS_PREDICT_ANSWER_ROOM_H

#include "problem.h"

static inline ll_prediction answers_new(int64_t n, int64_t K, int64_t S, const int32_t *truth) {
    ll_prediction a = {
        .label = problem_room(n, sizeof(int32_t)),
        .vote = problem_room(n, sizeof(int32_t)),
        .sr_tail = problem_room(n, sizeof(double)),
        .sr_logtail = problem_room(n, sizeof(double)),
        .margin_logtail = problem_room(n, sizeof(double)),
        .log_true = truth ? problem_room(n, sizeof(double)) : NULL,
        .probs = problem_room(n * K, sizeof(float)),
        .member_pmax = problem_room(n * S, sizeof(float)),
        .member_label = problem_room(n * S, sizeof(int32_t)),
        .running_nll = truth ? problem_room(S, sizeof(double)) : NULL,
        .running_brier = truth ? problem_room(S, sizeof(double)) : NULL,
        .running_correct = truth ? problem_room(S, sizeof(int64_t)) : NULL,
        .truth = truth,
    };
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++)
        a.confidence[c] = problem_room(n, sizeof(double));
    return a;
}

static inline void answers_free(ll_prediction *a) {
    void *blocks[] = {a->label,       a->vote,          a->sr_tail,         a->probs,      a->member_pmax,    a->member_label,
                      a->running_nll, a->running_brier, a->running_correct, a->sr_logtail, a->margin_logtail, a->log_true};
    for (size_t i = 0; i < LLI_COUNT(blocks); i++)
        free(blocks[i]);
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++)
        free(a->confidence[c]);
}

/* The answers from row `at` on. */
static inline ll_prediction answers_from(const ll_prediction *a, int64_t at, int64_t K, int64_t S) {
    ll_prediction b = *a;
    b.label += at;
    b.vote += at;
    b.sr_tail += at;
    b.sr_logtail += at;
    b.margin_logtail += at;
    b.log_true = a->log_true ? a->log_true + at : NULL;
    b.probs += at * K;
    b.member_pmax += at * S;
    b.member_label += at * S;
    b.truth = a->truth ? a->truth + at : NULL;
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++)
        b.confidence[c] += at;
    return b;
}

/* Rows a_at.. of a and b_at.. of b hold the same bits. */
static inline void answers_check_same(const ll_prediction *a, int64_t a_at, const ll_prediction *b, int64_t b_at, int64_t n, int64_t K,
                                      int64_t S) {
    ll_prediction x = answers_from(a, a_at, K, S), y = answers_from(b, b_at, K, S);
    assert_memory_equal(x.label, y.label, (size_t)n * sizeof(int32_t));
    assert_memory_equal(x.vote, y.vote, (size_t)n * sizeof(int32_t));
    assert_memory_equal(x.sr_tail, y.sr_tail, (size_t)n * sizeof(double));
    assert_memory_equal(x.sr_logtail, y.sr_logtail, (size_t)n * sizeof(double));
    assert_memory_equal(x.margin_logtail, y.margin_logtail, (size_t)n * sizeof(double));
    if (x.log_true && y.log_true)
        assert_memory_equal(x.log_true, y.log_true, (size_t)n * sizeof(double));
    assert_memory_equal(x.probs, y.probs, (size_t)(n * K) * sizeof(float));
    assert_memory_equal(x.member_pmax, y.member_pmax, (size_t)(n * S) * sizeof(float));
    assert_memory_equal(x.member_label, y.member_label, (size_t)(n * S) * sizeof(int32_t));
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++)
        assert_memory_equal(x.confidence[c], y.confidence[c], (size_t)n * sizeof(double));
}

#endif
