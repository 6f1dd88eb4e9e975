/* SPDX-License-Identifier: MIT */
/* An ensemble of real numbers, whose sums do depend on their order. */
#ifndef TESTS_PREDICT_MEMBERS_H
#define TESTS_PREDICT_MEMBERS_H

#include "ensemble/ensemble.h"
#include "problem.h"

enum { N = 700, D = 6, K = 4, S = 9 };

static inline ll_ensemble *members(ll_context *ctx, bool dropout, const double *weight) {
    lli_ensemble_plan plan = {.method = dropout ? "dropout" : "sgd",
                              .S = S,
                              .K = K,
                              .D = D,
                              .stored = dropout ? 1 : S,
                              .seed = 77,
                              .drop16 = dropout ? 20000 : 0};
    CHECK_OK(ctx, lli_memory_new(ctx, &plan.weight, S, sizeof(double)));
    for (int s = 0; s < S; s++)
        plan.weight[s] = weight ? weight[s] : 1;
    ll_ensemble *e;
    CHECK_OK(ctx, lli_ensemble_new(&e, ctx, &plan));
    for (int64_t i = 0; i < e->plan.stored * K * D; i++)
        e->owned[0][i] = 3 * problem_number(40, i % (K * D)) + problem_number(41, i);
    for (int64_t i = 0; i < e->plan.stored * K; i++)
        e->owned[1][i] = problem_number(42, i);
    return e;
}

#endif
