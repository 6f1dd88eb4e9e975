/* SPDX-License-Identifier: MIT */
/* Times the first steps of a chain. */
#include "train/speed.h"

#include "base/clock.h"
#include "base/memory.h"
#include "model/head.h"
#include "train/chain.h"

#define LONG_ENOUGH 0.1 /* seconds */

ll_status lli_speed_model(double *seconds, ll_context *ctx, const lli_model *model, const float *theta, const ll_dataset *data,
                          int64_t batch_size) {
    lli_chain *chain = NULL;
    const lli_chain_options options = {.optimiser = &lli_optimiser_sgd, .lr = 1e-6, .batch_size = batch_size, .prior_precision = 1};
    ll_status status;
    LLI_DO(lli_chain_new(&chain, ctx, model, data, &lli_rule_langevin, batch_size, 0, false));
    lli_chain_start(chain, &options, theta);
    LLI_DO(lli_chain_run(ctx, chain, 1)); /* the first step also warms the caches */
    double begin = lli_clock_seconds(), spent = 0;
    int64_t first = chain->state.step;
    for (int64_t more = 1; spent < LONG_ENOUGH; more *= 2) {
        LLI_DO(lli_chain_run(ctx, chain, chain->state.step + more));
        spent = lli_clock_seconds() - begin;
    }
    *seconds = spent / (double)((chain->state.step - first) * LLI_MIN(batch_size, data->rows.N));
done:
    lli_chain_free(chain);
    return status;
}

ll_status lli_speed_head(double *seconds, ll_context *ctx, int64_t D, int64_t K, int64_t batch_size) {
    enum { ROWS = 2048 };
    float *z = NULL, *theta = NULL;
    int32_t *y = NULL;
    ll_dataset *data = NULL;
    lli_model model;
    ll_status status;
    LLI_DO(lli_memory_new(ctx, &z, ROWS * D, sizeof *z));
    LLI_DO(lli_memory_new(ctx, &y, ROWS, sizeof *y));
    for (int64_t i = 0; i < ROWS; i++)
        y[i] = (int32_t)(i % K);
    const ll_array labels = ll_array_view(y, LL_DTYPE_I32, 1, (int64_t[]){ROWS});
    LLI_DO(ll_dataset_new(&data, ctx, ll_array_view(z, LL_DTYPE_F32, 2, (int64_t[]){ROWS, D}), &labels, K));
    LLI_DO(lli_head_model(ctx, &model, K, D));
    LLI_DO(lli_memory_new(ctx, &theta, model.floats, sizeof *theta));
    LLI_DO(lli_speed_model(seconds, ctx, &model, theta, data, batch_size));
done:
    ll_dataset_free(data);
    lli_memory_free(z);
    lli_memory_free(y);
    lli_memory_free(theta);
    return status;
}
