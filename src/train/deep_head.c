/* SPDX-License-Identifier: MIT */
/* All epochs of a recipe in one go, in memory. */
#include "train/deep_head.h"

#include <inttypes.h>
#include <string.h>

ll_status lli_deep_head_train(ll_context *ctx, float *theta, const lli_network *network, const lli_recipe *recipe,
                              const lli_chain_options *options, const ll_dataset *data) {
    const lli_model *model = lli_network_model(network);
    int64_t steps = recipe->steps * recipe->options.epochs;
    lli_chain *chain;
    lli_meter meter;
    lli_network_start(network, theta, options->seed, 0);
    LLI_TRY(lli_chain_new(&chain, ctx, model, data, options->optimiser->rule, options->batch_size, options->block_rows, false));
    lli_meter_init(&meter, "theta*", steps);
    chain->meter = &meter;
    lli_chain_start(chain, options, theta);
    ll_status status = lli_chain_run(ctx, chain, steps);
    if (status == LL_OK) {
        memcpy(theta, chain->theta, (size_t)model->floats * sizeof(float));
        lli_log(ctx, LL_LOG_NOTE, "theta* of %s: %" PRId64 " epochs of Adam, mean training NLL %.4g in the last", lli_network_text(network),
                recipe->options.epochs, chain->last_nll);
    }
    lli_chain_free(chain);
    return status;
}
