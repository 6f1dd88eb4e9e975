/* SPDX-License-Identifier: MIT */
/* Options of the methods: their table, their checks, and the defaults that depend on method and data. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/abi.h"
#include "base/memory.h"
#include "base/option.h"
#include "methods/chains.h"

void ll_fit_options_init(ll_fit_options *options, size_t struct_size) {
    const ll_fit_options defaults = {
        .method = "sgld",
        .batch_size = 128,
        .dropout = 0.5,
        .prior_precision = 1,
        .lr_power = 0.55,
        .shuffle = "full",
        .layers = 1,
        .dropout_at = "paper",
        .key = "row",
        .structure = "kfac",
        .chains = 1,
        .precondition = "none",
        .control_variates = "auto",
    };
    lli_abi_give(options, struct_size, &defaults, sizeof defaults);
}

/* Above it, chains of the paper's networks leave the neighbourhood of theta*. */
#define NETWORK_LR 0.01
/* Of steps in the metric of the posterior: their variance is 1/(1 - lr/2) times too large. */
#define METRIC_LR 0.1

enum { CHAINS_MAX = 10000 };

#define AT(member) offsetof(ll_fit_options, member)
#define BAR_NAME(name) "|" #name
#define NAMES (&LLI_METHODS(BAR_NAME)[1]) /* "point|sgd|.." */

static const ll_option table[] = {
    {"method", 'm', LL_OPTION_CHOICE, AT(method), "M", NAMES, 0, 0, false, false, "sgld", "how members arise"},
    {"samples", 'S', LL_OPTION_INT, AT(samples), "S", NULL, 1, LLI_MEMBERS_MAX, false, false, "that of the method",
     "members of the ensemble", LL_OPTION_UNSET_ZERO},
    {"lr", 0, LL_OPTION_REAL, AT(lr), "G", NULL, 0, 1e6, true, false, "auto: 1/(1 + mean |z|^2), for networks at most 0.01",
     "learning rate", LL_OPTION_UNSET_ZERO},
    {"batch-size", 'B', LL_OPTION_INT, AT(batch_size), "B", NULL, 1, 1 << 24, false, false, "128", "rows per step"},
    {"epochs", 'E', LL_OPTION_INT, AT(epochs), "E", NULL, 1, 1e6, false, false, "that of the method",
     "training epochs, for methods that have a default here", LL_OPTION_UNSET_ZERO},
    {"dropout", 'p', LL_OPTION_REAL, AT(dropout), "P", NULL, 0, 1, true, true, "0.5", "rate at which dropout zeroes features"},
    {"prior-precision", 0, LL_OPTION_REAL, AT(prior_precision), "T", "evidence|validation", 0, 1e12, false, false, "1",
     "precision tau of the Gaussian prior on every parameter; of a head also the one under which the labels are likeliest, or with the "
     "least NLL of laplace on validation rows (`val-features`)"},
    {"seed", 0, LL_OPTION_SEED, AT(seed), "I", NULL, 0, 0, false, false, "0",
     "seed of everything random; the same seed gives the same bits"},
    {"thin", 0, LL_OPTION_INT, AT(thin), "STEPS", NULL, 1, 1e12, false, false, "one epoch, cyclical a fifth",
     "steps between two samples of a chain", LL_OPTION_UNSET_ZERO},
    {"burn-in", 0, LL_OPTION_INT, AT(burn_in), "EPOCHS", NULL, 0, 1e6, false, false, "0", "epochs of a chain before its first sample"},
    {"lr-t0", 0, LL_OPTION_REAL, AT(lr_t0), "T0", NULL, 0, 1e15, true, false, "constant lr",
     "decreasing schedule lr (1 + k/T0)^-POWER over steps k", LL_OPTION_UNSET_ZERO},
    {"lr-power", 0, LL_OPTION_REAL, AT(lr_power), "POWER", NULL, 0, 10, false, false, "0.55", "exponent of that schedule"},
    {"shuffle", 0, LL_OPTION_TEXT, AT(shuffle), "HOW", NULL, 0, 0, false, false, "full",
     "how batches are made: full visits every row once per epoch; block:ROWS does so too, and streams files larger than memory; "
     "independent draws each batch with replacement"},
    {"layers", 0, LL_OPTION_INT, AT(layers), "L", NULL, 1, 3, false, false, "1",
     "dense layers on the features: the last one, or L of them with hidden layers of D units"},
    {"dropout-at", 0, LL_OPTION_CHOICE, AT(dropout_at), "PLACES", "paper|own", 0, 0, false, false, "paper",
     "where dropout of a whole network acts: where the paper puts it, or at the network's own dropout layers"},
    {"key", 0, LL_OPTION_CHOICE, AT(key), "WHAT", "row|content", 0, 0, false, false, "row",
     "what the masks of dropout for a new row depend on: its number, or its content; with content a row gets the same answer wherever "
     "it stands"},
    {"structure", 0, LL_OPTION_CHOICE, AT(structure), "HOW", LLI_GAUSSIAN_NAMES, 0, 0, false, false, "kfac",
     "laplace: the full Hessian (K (D + 1) up to 8192), a Kronecker product, one that is diagonal over classes (for many of them), or the "
     "diagonal of the Hessian"},
    {"common-mode", 0, LL_OPTION_FLAG, AT(common_mode), NULL, NULL, 0, 0, false, false, NULL,
     "laplace: keep the variance of a shift of all logits by the same amount, about which the data say nothing; `link probit` and "
     "`link bridge` use it"},
    {"chains", 0, LL_OPTION_INT, AT(chains), "C", NULL, 1, CHAINS_MAX, false, false, "1",
     "independent chains from theta*, for methods that sample by chains: each gives S/C members, which are stored chain after chain"},
    {"precondition", 0, LL_OPTION_CHOICE, AT(precondition), "HOW", "none|kfac", 0, 0, false, false, "none",
     "sgld on a head: kfac makes steps as long in each direction as the posterior is wide; lr is then 0.1 by default"},
    {"control-variates", 0, LL_OPTION_CHOICE, AT(control_variates), "WHEN", "auto|off|on", 0, 0, false, false,
     "auto: on with a preconditioner",
     "take the gradient of a batch as its difference to the one at theta*, which removes most of its noise and costs a second pass per "
     "step"},
    {"scores", 0, LL_OPTION_TEXT, AT(scores), "LIST", NULL, 0, 0, false, false, "none",
     "scores from features that predictions will have, with commas: msp, energy, maxlogit, mds, mds++, rmds, rmds++, knn, vim, or all"},
    {"solve", 0, LL_OPTION_FLAG, AT(solve), NULL, NULL, 0, 0, false, false, NULL,
     "bootstrap on a head: each member is the MAP of its resample, instead of epochs of SGD"},
};

const ll_option *ll_fit_options_table(size_t *count) {
    if (count)
        *count = LLI_COUNT(table);
    return table;
}

static ll_status check_total(ll_context *ctx, const ll_fit_options *o, int64_t N) {
    int64_t steps = lli_chain_epoch_steps(N, o->batch_size), burn, samples, trained;
    bool cycles = lli_method_find(o->method)->cycles > 0;
    bool fits = lli_multiply(&burn, o->burn_in, steps) &&
                lli_multiply(&samples, o->samples / o->chains, o->thin * (cycles ? LLI_CHAINS_CYCLE : 1)) &&
                lli_multiply(&trained, o->epochs, steps) && burn < 2000000000 && samples < 2000000000 && trained < 4000000000;
    return fits ? LL_OK
                : lli_fail(ctx, LL_ERR_USAGE,
                           "these options ask for more than 4e9 steps in one chain; lower `samples`, `thin`, `epochs` or `burn-in`");
}

bool lli_fit_preconditions(const ll_fit_options *o) {
    return lli_method_reads(lli_method_find(o->method), AT(precondition)) && strcmp(o->precondition, "none") != 0;
}

bool lli_fit_controls(const ll_fit_options *o) {
    bool given = strcmp(o->control_variates, "auto") != 0;
    return lli_method_reads(lli_method_find(o->method), AT(control_variates)) &&
           (given ? strcmp(o->control_variates, "on") == 0 : lli_fit_preconditions(o));
}

/* Members are solved for: there are no steps. */
static bool solves(const ll_fit_options *o) {
    return o->solve && lli_method_reads(lli_method_find(o->method), AT(solve));
}

bool lli_fit_records(size_t option, const ll_fit_options *o) {
    if (option == AT(chains))
        return o->chains != 1;
    if (option == AT(precondition))
        return lli_fit_preconditions(o);
    if (option == AT(control_variates))
        return lli_fit_controls(o) || lli_fit_preconditions(o);
    if (option == AT(solve))
        return o->solve;
    bool steps = option == AT(lr) || option == AT(batch_size) || option == AT(epochs) || option == AT(shuffle) || option == AT(lr_t0) ||
                 option == AT(lr_power);
    return !(steps && solves(o));
}

bool lli_fit_chooses_prior(const ll_fit_options *o) {
    return o->prior_precision == LL_PRIOR_EVIDENCE || o->prior_precision == LL_PRIOR_VALIDATION;
}

/* What knows the whole problem is of heads. */
static ll_status check_around(ll_context *ctx, const ll_fit_options *o, lli_place place, int64_t K) {
    bool metric = lli_fit_preconditions(o);
    if (!metric && !lli_fit_controls(o))
        return LL_OK;
    if (place != LLI_PLACE_HEAD)
        return lli_fail(ctx, LL_ERR_USAGE, "%s works on the last layer alone, not on %s: leave it out, or fit on features with `layers 1`",
                        lli_option_name(ctx, metric ? "precondition" : "control-variates").text,
                        place == LLI_PLACE_NETWORK ? "whole networks" : "several layers");
    if (metric && !lli_fit_chooses_prior(o) && !(o->prior_precision >= 1e-30))
        return lli_fail(ctx, LL_ERR_USAGE,
                        "`precondition %s` needs a `prior-precision` of at least 1e-30, and it is %g: without a prior, what no row informs "
                        "has no bounded variance",
                        o->precondition, o->prior_precision);
    if (metric && K > LLI_METHOD_CLASSES_MAX)
        return lli_fail(ctx, LL_ERR_USAGE, "`precondition %s` is for up to %d classes, and these rows have %" PRId64 "; leave it out",
                        o->precondition, LLI_METHOD_CLASSES_MAX, K);
    return LL_OK;
}

static ll_status check_chains(ll_context *ctx, const ll_fit_options *o, const lli_method *method) {
    if (o->chains == 1)
        return LL_OK;
    if (!lli_method_reads(method, AT(chains)))
        return lli_fail(ctx, LL_ERR_USAGE, "the method %s has no chains that its members share: leave out `chains %" PRId64 "`",
                        method->info.name, o->chains);
    if (o->samples % o->chains)
        return lli_fail(ctx, LL_ERR_USAGE,
                        "`samples %" PRId64 "` cannot be divided equally among `chains %" PRId64 "`: S is the total, so make it a multiple",
                        o->samples, o->chains);
    return LL_OK;
}

static const char independent[] = "independent";

int64_t lli_fit_block_rows(const char *shuffle) {
    static const char prefix[] = "block:";
    if (!shuffle || strcmp(shuffle, "full") == 0 || strcmp(shuffle, independent) == 0)
        return 0;
    if (strncmp(shuffle, prefix, sizeof prefix - 1) != 0)
        return -1;
    int64_t rows = 0;
    const char *p = shuffle + sizeof prefix - 1;
    for (; *p >= '0' && *p <= '9' && rows < (int64_t)1 << 50; p++)
        rows = 10 * rows + (*p - '0');
    return *p == 0 && rows > 0 ? rows : -1;
}

void lli_fit_set_shuffle(lli_chain_options *chain, const char *shuffle) {
    chain->block_rows = lli_fit_block_rows(shuffle);
    chain->independent = shuffle && strcmp(shuffle, independent) == 0;
}

/* Without blocks, a mapped file that memory cannot hold is read row by row, nearly each from disk. */
static void warn_of_size(ll_context *ctx, const ll_fit_options *o, const ll_dataset *data) {
    double bytes = (double)data->rows.N * (double)data->rows.D * ((double)lli_rows_size(&data->rows)),
           memory = 0.9 * (double)lli_memory_physical();
    bool shuffles = lli_method_reads(lli_method_find(o->method), AT(shuffle));
    if (bytes <= memory || !(data->rows.ahead || data->rows.store) || !shuffles || lli_fit_block_rows(o->shuffle) != 0)
        return;
    double seconds = (double)data->rows.N * (1 - memory / bytes) * 1e-4;
    lli_log(ctx, LL_LOG_WARNING,
            "the features take %.1f GB and memory has %.1f GB: `shuffle %s` reads single rows from disk, about %.0f s per epoch at 0.1 "
            "ms each; `shuffle block:16384` streams",
            bytes * 1e-9, memory * 1e-9, o->shuffle ? o->shuffle : "full", seconds);
}

static double lr_factor(const ll_fit_options *o) {
    double factor = lli_method_find(o->method)->lr_factor;
    return factor > 0 ? factor : 1;
}

/* Below the inverse of the curvature along a row for one layer; for several a rule of thumb. The curvature grows with the weights. */
double lli_fit_lr(const ll_fit_options *o, const ll_dataset *data, bool network) {
    if (lli_fit_preconditions(o))
        return METRIC_LR;
    double lr = 1 / (1 + lli_dataset_weight(data) / (double)data->rows.N * data->mean_square);
    return lr_factor(o) * (network ? fmin(lr, NETWORK_LR) : lr);
}

static void choose_lr(ll_context *ctx, ll_fit_options *o, const ll_dataset *data, bool network) {
    const lli_method *method = lli_method_find(o->method);
    o->lr = lli_fit_lr(o, data, network);
    if (!lli_method_reads(method, AT(lr)) || solves(o))
        return;
    if (lli_fit_preconditions(o)) {
        lli_log(ctx, LL_LOG_NOTE, "lr = %.4g of the length of the posterior, in every direction", o->lr);
        return;
    }
    double factor = lr_factor(o);
    const char *weight = data->weights ? "mean weight x " : "";
    if (network)
        lli_log(ctx, LL_LOG_NOTE, "lr = %.4g, which is the lesser of %g and %g/(1 + %smean |x|^2)", o->lr, factor * NETWORK_LR, factor,
                weight);
    else
        lli_log(ctx, LL_LOG_NOTE, "lr = %.4g, which is %g/(1 + %smean |z|^2)", o->lr, factor, weight);
}

static ll_status check_scores(ll_context *ctx, const ll_fit_options *o, bool network) {
    unsigned which;
    LLI_TRY(lli_scores_parse(ctx, &which, o->scores, "`scores`"));
    if (which && network)
        return lli_fail(ctx, LL_ERR_USAGE,
                        "`scores` are of features and one layer on them: of a network, encode the images with lastlayer encode and fit on "
                        "the features; of several layers, leave out `layers`");
    return LL_OK;
}

/* With cycles, so that S members take S epochs too. */
static int64_t default_thin(const lli_method *method, int64_t epoch_steps) {
    return method->cycles ? (epoch_steps - 1) / LLI_CHAINS_CYCLE + 1 : epoch_steps;
}

ll_status lli_fit_resolve(ll_context *ctx, ll_fit_options *out, const ll_fit_options *given, const ll_dataset *data, bool network) {
    ll_fit_options chosen = ll_fit_options_default();
    LLI_TRY(LLI_OPTION_TAKE(ctx, ll_fit_options, &chosen, given, table, LLI_COUNT(table)));
    *out = chosen; /* which may be what was given */
    const lli_method *method = lli_method_find(out->method);
    if (lli_fit_block_rows(out->shuffle) < 0)
        return lli_fail(ctx, LL_ERR_USAGE,
                        "`shuffle` is %.100s; expected full, independent, or block:ROWS with at least one row, like block:16384",
                        out->shuffle);
    LLI_TRY(lli_method_check(ctx, method, lli_place_of(network, out->layers)));
    LLI_TRY(check_around(ctx, out, lli_place_of(network, out->layers), data->K));
    if (method->check && !network)
        LLI_TRY(method->check(ctx, out, data->K, data->rows.D));
    LLI_TRY(check_scores(ctx, out, network));
    if (network && lli_fit_chooses_prior(out))
        return lli_fail(ctx, LL_ERR_USAGE, "`prior-precision` can be chosen for one layer on features; here give a number");
    if (network && solves(out))
        return lli_fail(ctx, LL_ERR_USAGE, "`solve` is for one layer on features, whose MAP is unique; leave it out here");
    warn_of_size(ctx, out, data);
    if (out->samples == 0 || !lli_method_reads(method, AT(samples)))
        out->samples = method->info.samples;
    LLI_TRY(check_chains(ctx, out, method));
    if (out->epochs == 0)
        out->epochs = method->info.epochs;
    if (out->thin == 0)
        out->thin = default_thin(method, lli_chain_epoch_steps(data->rows.N, out->batch_size));
    if (out->lr == 0)
        choose_lr(ctx, out, data, network);
    out->control_variates = lli_fit_controls(out) ? "on" : "off";
    return check_total(ctx, out, data->rows.N);
}

uint32_t lli_fit_drop16(double p) {
    double scaled = round(p * 65536);
    return (uint32_t)fmin(fmax(scaled, 1), 65535);
}
