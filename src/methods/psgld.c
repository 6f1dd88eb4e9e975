/* SPDX-License-Identifier: MIT */
/* Langevin dynamics whose steps are scaled by the size of the gradient. The scale moves with theta and the term that would correct for that
 * is left out, as its authors do, so the members are not quite those of the posterior. docs/math/samplers.md */
#include <inttypes.h>

#include "methods/chains.h"

/* At the MAP the gradient of all rows is zero: then G is as large as it can be. */
static ll_status prepare(ll_context *ctx, lli_fit *fit) {
    const ll_fit_options *o = &fit->options;
    if (o->batch_size >= fit->data->rows.N)
        lli_log(ctx, LL_LOG_WARNING,
                "`batch-size %" PRId64 "` takes all %" PRId64
                " rows at once, whose gradient at theta* is near zero, so steps of psgld are up to "
                "1e5 times `lr`; use a smaller `batch-size`, such as %" PRId64,
                o->batch_size, fit->data->rows.N, LLI_MAX(1, fit->data->rows.N / 10));
    return lli_chains_prepare(ctx, fit);
}

static ll_status run(ll_context *ctx, lli_fit *fit, int64_t task, int worker) {
    const lli_chain_options options = lli_chains_options(fit, task);
    return lli_chains_sample(ctx, fit, &options, task, worker);
}

const lli_method lli_method_psgld = {
    .info = {"psgld", "sgld with steps scaled by the size of the gradient; biased", 100, 0, LLI_GROUP_SAMPLERS},
    .reads = (const size_t[]){LLI_READS_CHAINS, LLI_READS(thin), LLI_READS(burn_in), LLI_READS(chains), 0},
    .places = LLI_PLACES_ALL,
    .needs = LLI_NEEDS_NAMING,
    .simplicity = 3,
    .members = LLI_MEMBERS_STORED,
    .optimiser = &lli_optimiser_psgld,
    .tasks = lli_method_chains,
    .steps = lli_chains_sample_steps,
    .prepare = prepare,
    .release = lli_chains_release,
    .run = run,
};
