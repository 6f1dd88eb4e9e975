/* SPDX-License-Identifier: MIT */
/* SWAG: a Gaussian around the mean of snapshots of sgd on independent batches, half of its covariance the diagonal of theirs, half spanned
 * by the last deviations from the mean. Members are draws from it. docs/math/samplers.md */
#include <math.h>

#include "methods/chains.h"

enum { KEPT = LLI_OPTIMISER_SWAG_SLOTS - 2 }; /* deviations */

static int64_t chain_steps(const lli_fit *fit) {
    return fit->options.epochs * lli_chain_epoch_steps(fit->data->rows.N, fit->options.batch_size);
}

static int64_t snapshots(const lli_fit *fit) {
    return chain_steps(fit) / fit->options.thin;
}

static int64_t steps(const lli_fit *fit) {
    return fit->options.chains * snapshots(fit) * fit->options.thin;
}

static ll_status prepare(ll_context *ctx, lli_fit *fit) {
    if (snapshots(fit) < 2)
        return lli_fail(ctx, LL_ERR_USAGE, "swag needs at least two snapshots, and `epochs %lld` of %lld steps with `thin %lld` give %lld",
                        (long long)fit->options.epochs, (long long)lli_chain_epoch_steps(fit->data->rows.N, fit->options.batch_size),
                        (long long)fit->options.thin, (long long)snapshots(fit));
    return lli_chains_prepare(ctx, fit);
}

/* The slots of the chain: mean, sum of squared deviations, and the last KEPT deviations in turn. `count` snapshots were there before. */
static void add_snapshot(lli_chain *chain, int64_t count) {
    int64_t floats = chain->model->floats;
    const float *theta = chain->theta;
    float *mean = chain->theta + floats, *square = mean + floats, *deviation = square + (1 + count % KEPT) * floats;
    for (int64_t i = 0; i < floats; i++) {
        float before = theta[i] - mean[i];
        mean[i] += before / (float)(count + 1);
        deviation[i] = theta[i] - mean[i];
        square[i] += before * deviation[i];
    }
}

/* mean + z1 sqrt(var / 2) + Dev z2 / sqrt(2 (R - 1)). */
static void draw(const lli_fit *fit, lli_chain *chain, int64_t member) {
    float *out = chain->theta;
    const lli_model *model = chain->model;
    int64_t floats = model->floats, n = snapshots(fit), R = LLI_MIN(n, KEPT);
    const float *mean = chain->theta + floats, *square = mean + floats;
    float z2[KEPT];
    lli_model_normals(model, out, lli_rng_stream(fit->options.seed, LLI_PURPOSE_SWAG, member, 0), 0, floats);
    model->kernels->normals(z2, lli_rng_stream(fit->options.seed, LLI_PURPOSE_SWAG, member, 1), 0, KEPT);
    for (int64_t i = 0; i < floats; i++)
        out[i] = mean[i] + out[i] * sqrtf(square[i] / (float)n / 2);
    for (int64_t r = 0; r < R; r++) {
        const float *deviation = square + (1 + r) * floats;
        float share = z2[r] / sqrtf(2 * (float)(R - 1));
        for (int64_t i = 0; i < floats; i++)
            out[i] += share * deviation[i];
    }
}

static ll_status run(ll_context *ctx, lli_fit *fit, int64_t task, int worker) {
    lli_chain *chain = ((lli_chains *)fit->prepared)->chain[worker];
    lli_chain_options options = lli_chains_options(fit, task);
    int64_t each = fit->options.samples / fit->options.chains, thin = fit->options.thin;
    options.independent = true;
    lli_chain_start(chain, &options, fit->star->theta);
    LLI_TRY(lli_chains_restore(ctx, fit, task, chain));
    for (int64_t count = chain->state.step / thin; count < snapshots(fit); count++) {
        LLI_TRY(lli_chain_run(ctx, chain, (count + 1) * thin));
        add_snapshot(chain, count);
        LLI_TRY(lli_chains_checkpoint(ctx, fit, task, chain));
    }
    for (int64_t i = task * each; i < (task + 1) * each; i++)
        if (!lli_store_has(fit->store, i)) {
            draw(fit, chain, i); /* over theta, which has ended */
            LLI_TRY(lli_fit_save(ctx, fit, i, chain->theta, worker));
        }
    return LL_OK;
}

const lli_method lli_method_swag = {
    .info = {"swag", "draws from the Gaussian of snapshots of sgd", 100, 40, LLI_GROUP_GAUSSIAN},
    .reads = (const size_t[]){LLI_READS(samples), LLI_READS(lr), LLI_READS(batch_size), LLI_READS(epochs), LLI_READS(prior_precision),
                              LLI_READS(seed), LLI_READS(thin), LLI_READS(chains), 0},
    .places = LLI_PLACE_HEAD | LLI_PLACE_DEEP_HEAD,
    .needs = LLI_NEEDS_NAMING,
    .simplicity = 5,
    .members = LLI_MEMBERS_STORED,
    .optimiser = &lli_optimiser_swag,
    .tasks = lli_method_chains,
    .steps = steps,
    .prepare = prepare,
    .release = lli_chains_release,
    .run = run,
};
