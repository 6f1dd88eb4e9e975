/* SPDX-License-Identifier: MIT */
/* A program as a stranger would write it: it sees lastlayer.h and nothing else. Cases are reported as TAP. */
#ifndef TESTS_GUEST_H
#define TESTS_GUEST_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lastlayer.h"

static int cases, failures;

static inline void tap(bool ok, const char *what, const char *why) {
    printf("%s %d - %s\n", ok ? "ok" : "not ok", ++cases, what);
    if (!ok) {
        failures++;
        printf("# %s\n", why);
    }
    fflush(stdout); /* if the next case crashes, the ones before it are seen */
}

static inline int tap_end(void) {
    printf("1..%d\n", cases);
    return failures > 0;
}

/* What the cases are tried on must itself work. */
static inline void must(ll_status status, const ll_context *ctx) {
    if (status == LL_OK)
        return;
    printf("Bail out! %s: %s\n", ll_status_name(status), ll_context_message(ctx));
    exit(1);
}

static inline ll_context *context_of(int threads) {
    ll_context_options options = ll_context_options_default();
    options.threads = threads;
    ll_context *ctx;
    must(ll_context_new(&ctx, &options), ctx);
    return ctx;
}

/* Three clouds that overlap a little. */
enum { GUEST_N = 60, GUEST_D = 3, GUEST_K = 3 };

static inline void guest_rows(float z[GUEST_N * GUEST_D], int32_t y[GUEST_N]) {
    uint32_t state = 1;
    for (int i = 0; i < GUEST_N * GUEST_D; i++) {
        state = state * 1664525 + 1013904223;
        y[i / GUEST_D] = i / GUEST_D % GUEST_K;
        z[i] = (float)(state >> 8) / 0x1p24f + (i % GUEST_D == y[i / GUEST_D] ? 0.7f : 0);
    }
}

static inline ll_array guest_view(const void *data, ll_dtype dtype, int64_t rows, int64_t columns) {
    const int64_t shape[] = {rows, columns};
    return ll_array_view(data, dtype, columns ? 2 : 1, shape);
}

static inline ll_dataset *guest_dataset(ll_context *ctx, const float *z, const int32_t *y) {
    ll_array labels = guest_view(y, LL_DTYPE_I32, GUEST_N, 0);
    ll_dataset *data;
    must(ll_dataset_new(&data, ctx, guest_view(z, LL_DTYPE_F32, GUEST_N, GUEST_D), &labels, 0), ctx);
    return data;
}

static inline ll_ensemble *guest_ensemble(ll_context *ctx, const ll_dataset *data) {
    ll_fit_options fit = ll_fit_options_default();
    fit.method = "sgd";
    fit.samples = 4;
    fit.batch_size = 16;
    ll_ensemble *ensemble;
    must(ll_fit(&ensemble, ctx, data, NULL, &fit), ctx);
    return ensemble;
}

#endif
