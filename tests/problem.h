/* SPDX-License-Identifier: MIT */
/* Small learning problems that overlap a little, so that training has something to do, and the bits of what came of them. */
#ifndef TESTS_PROBLEM_H
#define TESTS_PROBLEM_H

#include "check.h"

typedef struct problem {
    int64_t N, D, K;
    float *z;   /* [N,D] */
    int64_t *y; /* [N] */
    ll_dataset *data;
    ll_head *head; /* near nothing: not the MAP, not zero */
} problem;

static inline void *problem_room(int64_t count, size_t size) {
    void *block = calloc((size_t)(count > 0 ? count : 1), size);
    assert_non_null(block);
    return block;
}

/* Number i of stream, in [-1,1). */
static inline float problem_number(int64_t stream, int64_t i) {
    return (float)(2 * check_uniform(stream, i) - 1);
}

static inline ll_head *problem_head(ll_context *ctx, int64_t K, int64_t D, int64_t stream, float scale) {
    float *W = problem_room(K * D, sizeof *W), *b = problem_room(K, sizeof *b);
    for (int64_t i = 0; i < K * D; i++)
        W[i] = scale * problem_number(stream, i);
    for (int64_t k = 0; k < K; k++)
        b[k] = scale * problem_number(stream, K * D + k);
    ll_array bias = ll_array_view(b, LL_DTYPE_F32, 1, &K);
    ll_head *head;
    CHECK_OK(ctx, ll_head_new(&head, ctx, ll_array_view(W, LL_DTYPE_F32, 2, (int64_t[]){K, D}), &bias, D, LL_HEAD_LAYOUT_KD));
    free(W);
    free(b);
    return head;
}

static inline problem problem_new(ll_context *ctx, int64_t N, int64_t D, int64_t K) {
    problem p = {.N = N, .D = D, .K = K, .z = problem_room(N * D, sizeof(float)), .y = problem_room(N, sizeof(int64_t))};
    for (int64_t i = 0; i < N; i++) {
        p.y[i] = i < K ? i : (int64_t)(check_uniform(1, i) * (double)K);
        for (int64_t j = 0; j < D; j++)
            p.z[i * D + j] = problem_number(2, p.y[i] * D + j) + problem_number(3, i * D + j) + problem_number(4, i * D + j);
    }
    ll_array labels = ll_array_view(p.y, LL_DTYPE_I64, 1, &N);
    CHECK_OK(ctx, ll_dataset_new(&p.data, ctx, ll_array_view(p.z, LL_DTYPE_F32, 2, (int64_t[]){N, D}), &labels, K));
    p.head = problem_head(ctx, K, D, 5, 0.25f);
    return p;
}

static inline void problem_free(problem *p) {
    ll_dataset_free(p->data);
    ll_head_free(p->head);
    free(p->z);
    free(p->y);
}

#endif
