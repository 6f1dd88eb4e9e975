/* SPDX-License-Identifier: MIT */
/* What every method needs around it: options and their defaults, workspaces, saving, the parallel run. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/option.h"
#include "base/pool.h"
#include "data/padded.h"
#include "kernels/kernels.h"
#include "methods/method.h"

ll_fit_options ll_fit_options_default(void) {
    return (ll_fit_options){
        .struct_size = sizeof(ll_fit_options),
        .method = "sgld",
        .batch_size = 128,
        .dropout = 0.5,
        .prior_precision = 1,
        .lr_power = 0.55,
        .shuffle = "full",
    };
}

#define AT(member) offsetof(ll_fit_options, member)

/* 0 is "choose for me" in samples, lr, epochs, thin and lr-t0; the command asks for more than 0 when a flag is given. */
static const ll_option table[] = {
    {"method", 'm', LL_OPTION_CHOICE, AT(method), "M", "point|sgd|sgld|bootstrap|dropout", 0, 0, false, false, "sgld", "how members arise"},
    {"samples", 'S', LL_OPTION_INT, AT(samples), "S", NULL, 0, LLI_MEMBERS_MAX, false, false, "100, bootstrap 10, point 1", "members of the ensemble"},
    {"lr", 0, LL_OPTION_REAL, AT(lr), "G", NULL, 0, 1e6, false, false, "auto: 1/(1 + mean |z|^2)", "learning rate"},
    {"batch-size", 'B', LL_OPTION_INT, AT(batch_size), "B", NULL, 1, 1 << 24, false, false, "128", "rows per step"},
    {"epochs", 'E', LL_OPTION_INT, AT(epochs), "E", NULL, 0, 1e6, false, false, "10, dropout 100", "training epochs of bootstrap and dropout"},
    {"dropout", 'p', LL_OPTION_REAL, AT(dropout), "P", NULL, 0, 1, true, true, "0.5", "rate at which dropout zeroes features"},
    {"prior-precision", 0, LL_OPTION_REAL, AT(prior_precision), "T", NULL, 0, 1e12, false, false, "1", "precision tau of the Gaussian prior on every parameter"},
    {"seed", 0, LL_OPTION_SEED, AT(seed), "I", NULL, 0, 0, false, false, "0", "seed of everything random; the same seed gives the same bits"},
    {"thin", 0, LL_OPTION_INT, AT(thin), "STEPS", NULL, 0, 1e12, false, false, "one epoch", "steps between two samples of sgd and sgld"},
    {"burn-in", 0, LL_OPTION_INT, AT(burn_in), "EPOCHS", NULL, 0, 1e6, false, false, "0", "epochs of sgd and sgld before the first sample"},
    {"lr-t0", 0, LL_OPTION_REAL, AT(lr_t0), "T0", NULL, 0, 1e15, false, false, "constant lr", "decreasing schedule lr (1 + k/T0)^-POWER over steps k"},
    {"lr-power", 0, LL_OPTION_REAL, AT(lr_power), "POWER", NULL, 0, 10, false, false, "0.55", "exponent of that schedule"},
    {"shuffle", 0, LL_OPTION_TEXT, AT(shuffle), "HOW", NULL, 0, 0, false, false, "full", "order of an epoch: full, or block:ROWS, which streams files larger than memory"},
};

const ll_option *ll_fit_options_table(size_t *count) {
    *count = LLI_COUNT(table);
    return table;
}

static ll_status check_total(ll_context *ctx, const ll_fit_options *o, int64_t N) {
    int64_t steps = lli_chain_epoch_steps(N, o->batch_size), burn, samples, trained;
    bool fits = lli_multiply(&burn, o->burn_in, steps) && lli_multiply(&samples, o->samples, o->thin) && lli_multiply(&trained, o->epochs, steps) &&
                burn < 2000000000 && samples < 2000000000 &&
                trained < 4000000000;
    return fits ? LL_OK : lli_fail(ctx, LL_ERR_USAGE, "these options ask for more than 4e9 steps in one chain; lower --samples, --thin, --epochs or --burn-in");
}

int64_t lli_fit_block_rows(const char *shuffle) {
    static const char prefix[] = "block:";
    if (!shuffle || strcmp(shuffle, "full") == 0)
        return 0;
    if (strncmp(shuffle, prefix, sizeof prefix - 1) != 0)
        return -1;
    int64_t rows = 0;
    const char *p = shuffle + sizeof prefix - 1;
    for (; *p >= '0' && *p <= '9' && rows < (int64_t)1 << 50; p++)
        rows = 10 * rows + (*p - '0');
    return *p == 0 && rows > 0 ? rows : -1;
}

/* A full shuffle of a mapped file that memory cannot hold reads nearly every row from disk, one by one. */
static void warn_of_size(ll_context *ctx, const ll_fit_options *o, const ll_dataset *data) {
    double bytes = (double)data->rows.N * (double)data->rows.D * (data->rows.half ? 2 : 4), memory = 0.9 * (double)lli_memory_physical();
    if (bytes <= memory || !data->rows.ahead || !ll_method_uses(o->method, "shuffle") || lli_fit_block_rows(o->shuffle) != 0)
        return;
    double seconds = (double)data->rows.N * (1 - memory / bytes) * 1e-4;
    lli_log(ctx, LL_LOG_WARNING,
            "the features take %.1f GB and memory has %.1f GB: a full shuffle reads single rows from disk, about %.0f s per epoch at 0.1 ms each; --shuffle block:16384 streams",
            bytes * 1e-9, memory * 1e-9, seconds);
}

ll_status lli_fit_resolve(ll_context *ctx, ll_fit_options *out, const ll_fit_options *given, const ll_dataset *data) {
    *out = given ? *given : ll_fit_options_default();
    if (out->struct_size != sizeof *out)
        return lli_fail(ctx, LL_ERR_USAGE, "ll_fit_options has %zu bytes where %zu were expected: start from ll_fit_options_default()", out->struct_size, sizeof *out);
    LLI_TRY(ll_option_check(ctx, table, LLI_COUNT(table), out));
    const lli_method *method = out->method ? lli_method_find(out->method) : NULL;
    if (!method)
        return lli_fail(ctx, LL_ERR_USAGE, "there is no method %s; expected point, sgd, sgld, bootstrap or dropout", out->method ? out->method : "NULL");
    if (lli_fit_block_rows(out->shuffle) < 0)
        return lli_fail(ctx, LL_ERR_USAGE, "--shuffle is %.100s; expected full, or block:ROWS with at least one row, like block:16384", out->shuffle);
    warn_of_size(ctx, out, data);
    if (method == &lli_method_point || out->samples == 0)
        out->samples = method->info.samples;
    if (out->epochs == 0)
        out->epochs = method->info.epochs;
    if (out->thin == 0)
        out->thin = lli_chain_epoch_steps(data->rows.N, out->batch_size);
    if (out->lr == 0) {
        out->lr = 1 / (1 + data->mean_square);
        if (ll_method_uses(out->method, "lr"))
            lli_log(ctx, LL_LOG_NOTE, "lr = %.4g, which is 1/(1 + mean |z|^2)", out->lr);
    }
    return check_total(ctx, out, data->rows.N);
}

uint32_t lli_fit_drop16(double p) {
    double scaled = round(p * 65536);
    return (uint32_t)fmin(fmax(scaled, 1), 65535);
}

/* One provenance entry per option that the method reads. */
static ll_status record_options(ll_context *ctx, lli_provenance *p, const ll_fit_options *o) {
    for (size_t i = 0; i < LLI_COUNT(table); i++) {
        if (strcmp(table[i].name, "method") != 0 && !ll_method_uses(o->method, table[i].name))
            continue;
        lli_text value;
        char *text;
        lli_text_init(&value, ctx);
        lli_option_text(&value, &table[i], o);
        LLI_TRY(lli_text_take(&value, &text));
        ll_status status = lli_provenance_add(ctx, p, table[i].name, text);
        lli_memory_free(text);
        LLI_TRY(status);
    }
    return LL_OK;
}

static ll_status record_number(ll_context *ctx, lli_provenance *p, const char *key, double x) {
    lli_text value;
    char *text;
    lli_text_init(&value, ctx);
    lli_text_number(&value, x);
    LLI_TRY(lli_text_take(&value, &text));
    ll_status status = lli_provenance_add(ctx, p, key, text);
    lli_memory_free(text);
    return status;
}

static ll_status record(ll_context *ctx, lli_ensemble_plan *plan, const ll_fit_options *o, const ll_dataset *data, const char *head_hash, double norm) {
    lli_provenance *p = &plan->provenance;
    LLI_TRY(lli_provenance_add(ctx, p, "format", LLI_ENSEMBLE_FORMAT));
    LLI_TRY(lli_provenance_add(ctx, p, "version", LL_VERSION));
    LLI_TRY(record_options(ctx, p, o));
    if (plan->drop16)
        LLI_TRY(record_number(ctx, p, "drop16", plan->drop16));
    LLI_TRY(lli_provenance_add(ctx, p, "isa", ll_isa()));
    LLI_TRY(lli_provenance_add(ctx, p, "features_sha256", data->features_hash));
    LLI_TRY(lli_provenance_add(ctx, p, "labels_sha256", data->labels_hash));
    LLI_TRY(lli_provenance_add(ctx, p, "init", isnan(norm) ? "head" : "map"));
    LLI_TRY(lli_provenance_add(ctx, p, "head_sha256", head_hash));
    return isnan(norm) ? LL_OK : record_number(ctx, p, "map_gradient_norm", norm);
}

ll_status lli_fit_plan(ll_context *ctx, lli_ensemble_plan *plan, const ll_fit_options *o, const ll_dataset *data, const lli_model *model,
                       const char *head_hash, double gradient_norm) {
    const lli_method *method = lli_method_find(o->method);
    *plan = (lli_ensemble_plan){
        .method = method->info.name,
        .model = model,
        .S = o->samples,
        .K = model->K,
        .D = model->D,
        .stored = method->stored(o),
        .seed = o->seed,
        .drop16 = method == &lli_method_dropout ? lli_fit_drop16(o->dropout) : 0,
    };
    ll_status status;
    LLI_DO(lli_memory_new(ctx, &plan->weight, plan->S, sizeof(double)));
    /* A decreasing step makes each sample of sgld stand for that much time of the diffusion. */
    bool weighted = method == &lli_method_sgld && o->lr_t0 > 0;
    lli_chain_options schedule = {.lr = o->lr, .lr_t0 = o->lr_t0, .lr_power = o->lr_power};
    int64_t burnt = o->burn_in * lli_chain_epoch_steps(data->rows.N, o->batch_size);
    for (int64_t i = 0; i < plan->S; i++)
        plan->weight[i] = weighted ? lli_chain_lr(&schedule, burnt + (i + 1) * o->thin - 1) : 1;
    LLI_DO(record(ctx, plan, o, data, head_hash, gradient_norm));
done:
    if (status != LL_OK)
        lli_ensemble_plan_release(plan);
    return status;
}

ll_status lli_fit_init(ll_context *ctx, lli_fit *fit, const ll_fit_options *options, const lli_model *model, const ll_dataset *data, const float *start,
                       lli_store *store, lli_meter *meter) {
    *fit = (lli_fit){.method = lli_method_find(options->method), .options = *options, .model = model, .data = data, .start = start, .store = store, .meter = meter};
    /* One task runs on the first workspace, whoever runs it; several take their worker's. */
    fit->workers = fit->method->tasks(options) > 1 ? lli_pool_workers(ctx) : 1;
    int64_t floats = 0;
    for (int i = 0; i < model->tensors; i++)
        floats += model->tensor[i].count;
    ll_status status;
    if (model->padded && !lli_fit_block_rows(options->shuffle) && fit->method->steps(fit) > 0)
        LLI_DO(lli_padded_new(ctx, &fit->padded, &data->rows));
    LLI_DO(lli_memory_new(ctx, &fit->chains, fit->workers, sizeof *fit->chains));
    LLI_DO(lli_memory_new(ctx, &fit->tensors, fit->workers, sizeof *fit->tensors));
    for (int w = 0; w < fit->workers; w++) {
        LLI_DO(lli_chain_new(&fit->chains[w], ctx, model, data, options->batch_size, lli_fit_block_rows(options->shuffle),
                             fit->method == &lli_method_bootstrap));
        fit->chains[w]->meter = meter;
        fit->chains[w]->rows.padded = fit->padded;
        LLI_DO(lli_memory_new(ctx, &fit->tensors[w], floats, sizeof(float)));
    }
done:
    if (status != LL_OK)
        lli_fit_release(fit);
    return status;
}

void lli_fit_release(lli_fit *fit) {
    for (int w = 0; w < fit->workers; w++) {
        if (fit->chains)
            lli_chain_free(fit->chains[w]);
        if (fit->tensors)
            lli_memory_free(fit->tensors[w]);
    }
    lli_memory_free(fit->chains);
    lli_memory_free(fit->padded);
    lli_memory_free(fit->tensors);
    fit->chains = NULL;
    fit->padded = NULL;
    fit->tensors = NULL;
}

lli_chain_options lli_fit_chain_options(const lli_fit *fit, int64_t member) {
    const ll_fit_options *o = &fit->options;
    return (lli_chain_options){
        .lr = o->lr,
        .lr_t0 = o->lr_t0,
        .lr_power = o->lr_power,
        .batch_size = o->batch_size,
        .prior_precision = o->prior_precision,
        .block_rows = lli_fit_block_rows(o->shuffle),
        .seed = o->seed,
        .member = member,
    };
}

ll_status lli_fit_save(ll_context *ctx, lli_fit *fit, int64_t member, const float *theta, int worker) {
    for (int64_t i = 0; i < fit->model->floats; i++)
        if (!isfinite(theta[i]))
            return lli_fail(ctx, LL_ERR_DIVERGED, "training diverged: member %" PRId64 " (lr %g) holds a parameter that is not finite; try a smaller --lr", member,
                            fit->options.lr);
    float *tensors[LLI_TENSORS_MAX];
    tensors[0] = fit->tensors[worker];
    for (int i = 1; i < fit->model->tensors; i++)
        tensors[i] = tensors[i - 1] + fit->model->tensor[i - 1].count;
    fit->model->ops->unpack(fit->model, tensors, theta);
    return fit->store->ops->save(fit->store, ctx, member, (const float *const *)tensors);
}

ll_status lli_fit_checkpoint(ll_context *ctx, lli_fit *fit, int64_t task, const lli_chain *chain) {
    if (!fit->store->ops->checkpoint)
        return LL_OK;
    const lli_checkpoint state = {chain->state.step, chain->state.first_nll, chain->state.epoch_nll};
    return fit->store->ops->checkpoint(fit->store, ctx, task, &state, chain->theta, fit->model->floats);
}

ll_status lli_fit_restore(ll_context *ctx, lli_fit *fit, int64_t task, lli_chain *chain) {
    if (!fit->store->ops->restore)
        return LL_OK;
    lli_checkpoint state;
    bool found = false;
    LLI_TRY(fit->store->ops->restore(fit->store, ctx, task, &state, chain->theta, fit->model->floats, &found));
    if (found) {
        chain->state = (lli_chain_state){state.step, state.first_nll, state.epoch_nll};
        lli_meter_add(ctx, fit->meter, state.step);
    }
    return LL_OK;
}

ll_status lli_fit_train(ll_context *ctx, lli_fit *fit, int64_t task, const lli_chain_options *options, const float *start, int64_t epochs, int worker) {
    lli_chain *chain = fit->chains[worker];
    int64_t epoch_steps = lli_chain_epoch_steps(fit->data->rows.N, options->batch_size), steps = epochs * epoch_steps;
    if (lli_store_has(fit->store, task)) {
        lli_meter_add(ctx, fit->meter, steps);
        return LL_OK;
    }
    lli_chain_start(chain, options, start);
    LLI_TRY(lli_fit_restore(ctx, fit, task, chain));
    while (chain->state.step < steps) {
        LLI_TRY(lli_chain_run(ctx, chain, (chain->state.step / epoch_steps + 1) * epoch_steps));
        LLI_TRY(lli_fit_checkpoint(ctx, fit, task, chain));
    }
    return lli_fit_save(ctx, fit, task, chain->theta, worker);
}

ll_status lli_fit_task(ll_context *ctx, void *fit_, int64_t task, int worker) {
    lli_fit *fit = fit_;
    return fit->method->run(ctx, fit, task, fit->workers > 1 ? worker : 0);
}

ll_status lli_fit_run(ll_context *ctx, lli_fit *fit) {
    return lli_pool_run(ctx, lli_fit_task, fit, fit->method->tasks(&fit->options));
}
