/* SPDX-License-Identifier: MIT */
/* Options of training: their table, their defaults by network, their checks. */
#include "train/recipe.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/abi.h"
#include "base/memory.h"
#include "base/option.h"

#define AT(member) offsetof(ll_train_options, member)

static const ll_option table[] = {
    {"net", 0, LL_OPTION_TEXT, AT(net), "NET", NULL, 0, 0, false, false, "mlp:512,20",
     "the network: mlp:UNITS,UNITS,... or vgg16 or vgg16:width=W,dropout=F or head:LAYERS"},
    {"epochs", 'E', LL_OPTION_INT, AT(epochs), "E", NULL, 1, 1e6, false, false, "20, vgg16 250", "passes over the training rows"},
    {"optimiser", 0, LL_OPTION_CHOICE, AT(optimiser), "NAME", "adam|sgd|nesterov", 0, 0, false, false, "adam, vgg16 nesterov",
     "how gradients move the parameters"},
    {"lr", 0, LL_OPTION_REAL, AT(lr), "G", NULL, 0, 1e6, true, false, "adam 0.001, sgd and nesterov 0.1", "learning rate",
     LL_OPTION_UNSET_ZERO},
    {"batch-size", 'B', LL_OPTION_INT, AT(batch_size), "B", NULL, 1, 1 << 24, false, false, "32, vgg16 128, head 512", "rows per step"},
    {"momentum", 0, LL_OPTION_REAL, AT(momentum), "M", NULL, 0, 1, false, true, "0.9", "momentum of sgd and nesterov"},
    {"l2", 0, LL_OPTION_REAL, AT(l2), "L", NULL, 0, 1e6, false, false, "0, vgg16 0.0005", "adds L |w|^2 of the hidden kernels to the loss"},
    {"schedule", 0, LL_OPTION_CHOICE, AT(schedule), "SHAPE", "step|cosine|one-cycle", 0, 0, false, false, "step",
     "of the learning rate: by `lr-every` and `lr-decay`, down to 0 along a cosine, or up from lr/25 and then down to almost 0"},
    {"warm-up", 0, LL_OPTION_REAL, AT(warm_up), "EPOCHS", NULL, 0, 1e6, true, false, "none, one-cycle 0.3 of `epochs`",
     "epochs in which the learning rate rises to `lr`", LL_OPTION_UNSET_ZERO},
    {"lr-every", 0, LL_OPTION_INT, AT(lr_every), "EPOCHS", NULL, 0, 1e6, false, false, "never, vgg16 20",
     "multiply the learning rate by `lr-factor` every this many epochs; 0 = never; for `schedule step`"},
    {"lr-factor", 0, LL_OPTION_REAL, AT(lr_factor), "F", NULL, 0, 1, true, false, "0.5", "factor of `lr-every`"},
    {"lr-decay", 0, LL_OPTION_REAL, AT(lr_decay), "D", NULL, 0, 1e6, false, false, "0, vgg16 1e-06",
     "divide the learning rate by 1 + D k after k steps; for `schedule step`"},
    {"augment", 0, LL_OPTION_TEXT, AT(augment), "HOW", NULL, 0, 0, false, false, "none, vgg16 rotate=15,shift=0.1,flip",
     "turn (degrees), shift (share of the side) and mirror images at random while training"},
    {"keep", 0, LL_OPTION_CHOICE, AT(keep), "EPOCH", "last|best", 0, 0, false, false, "last",
     "which epoch's parameters to keep: the last, or the one with the best held-out accuracy (ties: the least held-out NLL)"},
    {"no-holdout", 0, LL_OPTION_FLAG, AT(no_holdout), NULL, NULL, 0, 0, false, false, NULL,
     "train on all rows; otherwise a tenth is held out, and listed in the network file"},
    {"seed", 0, LL_OPTION_SEED, AT(seed), "I", NULL, 0, 0, false, false, "0",
     "seed of everything random; the same seed gives the same bits"},
};

const ll_option *ll_train_options_table(size_t *count) {
    if (count)
        *count = LLI_COUNT(table);
    return table;
}

static bool is_kind(const char *net, const char *kind) {
    return net && strncmp(net, kind, strlen(kind)) == 0;
}

void ll_train_options_init(ll_train_options *options, size_t struct_size, const char *net) {
    ll_train_options o = {
        .net = net ? net : "mlp:512,20",
        .epochs = 20,
        .optimiser = "adam",
        .batch_size = 32,
        .momentum = 0.9,
        .lr_factor = 0.5,
        .augment = "none",
        .keep = "last",
        .schedule = "step",
    };
    if (is_kind(net, "head"))
        o.batch_size = 512;
    if (is_kind(net, "vgg")) {
        o.epochs = 250;
        o.optimiser = "nesterov";
        o.batch_size = 128;
        o.l2 = 5e-4;
        o.lr_every = 20;
        o.lr_decay = 1e-6;
        o.augment = "rotate=15,shift=0.1,flip";
    }
    lli_abi_give(options, struct_size, &o, sizeof o);
}

bool lli_recipe_uses(const ll_train_options *o, const char *name) {
    bool stepped = strcmp(o->schedule, "step") == 0;
    if (strcmp(name, "momentum") == 0)
        return strcmp(o->optimiser, "adam") != 0;
    if (strcmp(name, "lr-every") == 0 || strcmp(name, "lr-decay") == 0)
        return stepped;
    if (strcmp(name, "lr-factor") == 0)
        return stepped && o->lr_every > 0;
    if (strcmp(name, "schedule") == 0)
        return !stepped;
    return strcmp(name, "warm-up") != 0 || o->warm_up > 0;
}

/* Epochs become steps. */
static ll_status plan_schedule(ll_context *ctx, lli_recipe *recipe) {
    ll_train_options *o = &recipe->options;
    lli_schedule *s = &recipe->chain.schedule;
    s->curve = lli_schedule_find(o->schedule);
    if (o->warm_up == 0)
        o->warm_up = s->curve->warm_up * (double)o->epochs;
    if (o->warm_up > (double)o->epochs)
        return lli_fail(ctx, LL_ERR_USAGE, "`warm-up` is %g epochs, with `epochs %" PRId64 "`; expected at most that", o->warm_up,
                        o->epochs);
    s->drop = o->lr_factor;
    s->warm_up = llround(o->warm_up * (double)recipe->steps);
    if (!lli_multiply(&s->total, recipe->steps, o->epochs) || s->total >= 4000000000 ||
        !lli_multiply(&s->every, recipe->steps, o->lr_every))
        return lli_fail(ctx, LL_ERR_USAGE, "these options ask for more than 4e9 steps; lower `epochs` or raise `batch-size`");
    if (lli_recipe_uses(o, "lr-decay") && o->lr_decay > 0)
        recipe->chain.lr_t0 = 1 / o->lr_decay;
    return LL_OK;
}

ll_status lli_recipe_init(ll_context *ctx, lli_recipe *recipe, const ll_train_options *given, int64_t N) {
    *recipe = (lli_recipe){.options = ll_train_options_default(NULL)};
    ll_train_options *o = &recipe->options;
    LLI_TRY(LLI_OPTION_TAKE(ctx, ll_train_options, o, given, table, LLI_COUNT(table)));
    const lli_rule *rule = lli_optimiser_find(o->optimiser);
    if (!o->net || !o->augment)
        return lli_fail(ctx, LL_ERR_USAGE, "net and augment of ll_train_options must not be NULL: start from ll_train_options_default()");
    if (o->no_holdout && strcmp(o->keep, "best") == 0)
        return lli_fail(ctx, LL_ERR_USAGE, "`keep best` chooses by the held-out rows; leave out `no-holdout`");
    if (o->lr == 0)
        o->lr = rule->lr;
    recipe->steps = lli_chain_epoch_steps(N, o->batch_size);
    recipe->optimiser = lli_optimiser_default(rule);
    recipe->optimiser.momentum = o->momentum;
    recipe->optimiser.l2 = o->l2;
    recipe->chain = (lli_chain_options){
        .optimiser = &recipe->optimiser,
        .lr = o->lr,
        .lr_power = 1,
        .batch_size = o->batch_size,
        .seed = o->seed,
    };
    return plan_schedule(ctx, recipe);
}
