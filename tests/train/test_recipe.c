/* SPDX-License-Identifier: MIT */
/* Options of training: the ends of their ranges, the defaults of each network, and what a recipe makes of them. */
#include "check.h"
#include "option_ends.h"
#include "train/recipe.h"

static ll_status take(ll_context *ctx, const void *options) {
    lli_recipe r;
    return lli_recipe_init(ctx, &r, options, 1000);
}

static void test_ends(void **state) {
    (void)state;
    static const option_ends ends[] = {
        {"epochs", 1, 1e6, false, false, false},   {"lr", 0, 1e6, true, false, true},       {"batch-size", 1, 1 << 24, false, false, false},
        {"momentum", 0, 1, false, true, false},    {"l2", 0, 1e6, false, false, false},     {"warm-up", 0, 1e6, true, false, true},
        {"lr-every", 0, 1e6, false, false, false}, {"lr-factor", 0, 1, true, false, false}, {"lr-decay", 0, 1e6, false, false, false},
    };
    ll_context *ctx = check_context(1);
    size_t count;
    const ll_option *table = ll_train_options_table(&count);
    assert_ptr_equal(ll_train_options_table(NULL), table);
    ll_train_options o = ll_train_options_default("mlp:4");
    o.epochs = 1000000; /* so that a warm-up of as many fits */
    option_ends_check(ctx, table, count, &o, take, ends, LLI_COUNT(ends));
    static const char *const choices[][3] = {{"adam", "sgd", "nesterov"}, {"step", "cosine", "one-cycle"}, {"last", "best", "last"}};
    for (int i = 0; i < 9; i++) {
        o = ll_train_options_default("mlp:4");
        const char **word = i / 3 == 0 ? &o.optimiser : i / 3 == 1 ? &o.schedule : &o.keep;
        *word = choices[i / 3][i % 3];
        CHECK_OK(ctx, take(ctx, &o));
        *word = "other";
        CHECK_FAILS(ctx, LL_ERR_USAGE, "is other", take(ctx, &o));
    }
    ll_context_free(ctx);
}

/* docs/manual: what each kind of network starts from. */
static void test_defaults(void **state) {
    (void)state;
    static const struct {
        const char *given, *net, *optimiser, *augment;
        int64_t epochs, batch_size, lr_every;
        double l2, lr_decay;
    } kinds[] = {
        {NULL, "mlp:512,20", "adam", "none", 20, 32, 0, 0, 0},
        {"mlp:7", "mlp:7", "adam", "none", 20, 32, 0, 0, 0},
        {"head:2", "head:2", "adam", "none", 20, 512, 0, 0, 0},
        {"vgg16", "vgg16", "nesterov", "rotate=15,shift=0.1,flip", 250, 128, 20, 0.0005, 0.000001},
        {"vgg16:width=0.5", "vgg16:width=0.5", "nesterov", "rotate=15,shift=0.1,flip", 250, 128, 20, 0.0005, 0.000001},
    };
    for (size_t i = 0; i < LLI_COUNT(kinds); i++) {
        ll_train_options o = ll_train_options_default(kinds[i].given);
        assert_string_equal(o.net, kinds[i].net);
        assert_string_equal(o.optimiser, kinds[i].optimiser);
        assert_string_equal(o.augment, kinds[i].augment);
        assert_string_equal(o.keep, "last");
        assert_string_equal(o.schedule, "step");
        assert_true(o.epochs == kinds[i].epochs && o.batch_size == kinds[i].batch_size && o.lr_every == kinds[i].lr_every);
        assert_true(o.l2 == kinds[i].l2 && o.lr_decay == kinds[i].lr_decay && o.momentum == 0.9 && o.lr_factor == 0.5);
        assert_true(o.lr == 0 && o.warm_up == 0 && o.seed == 0 && !o.no_holdout && o.struct_size == sizeof o);
    }
}

static void test_made_of_options(void **state) {
    (void)state;
    static const struct {
        const char *optimiser;
        double lr;
    } rates[] = {{"adam", 0.001}, {"sgd", 0.1}, {"nesterov", 0.1}};
    ll_context *ctx = check_context(1);
    lli_recipe r;
    for (size_t i = 0; i < LLI_COUNT(rates); i++) {
        ll_train_options o = ll_train_options_default("mlp:4");
        o.optimiser = rates[i].optimiser;
        o.momentum = 0.75;
        o.l2 = 0.125;
        o.seed = 99;
        CHECK_OK(ctx, lli_recipe_init(ctx, &r, &o, 1000));
        assert_string_equal(r.optimiser.rule->name, rates[i].optimiser);
        CHECK_NEAR(r.options.lr, rates[i].lr, 0);
        CHECK_NEAR(r.chain.lr, rates[i].lr, 0);
        CHECK_NEAR(r.chain.lr_power, 1, 0);
        CHECK_NEAR(r.chain.lr_t0, 0, 0);
        CHECK_NEAR(r.optimiser.momentum, 0.75, 0);
        CHECK_NEAR(r.optimiser.l2, 0.125, 0);
        CHECK_NEAR(r.optimiser.beta1, 0.9, 0);
        CHECK_NEAR(r.optimiser.beta2, 0.999, 0);
        CHECK_NEAR(r.optimiser.eps, 1e-7, 0);
        assert_ptr_equal(r.chain.optimiser, &r.optimiser);
        assert_true(r.chain.seed == 99 && r.chain.batch_size == 32 && r.steps == 32); /* 31.25 batches */
        assert_true(r.chain.schedule.total == 640 && r.chain.schedule.every == 0 && r.chain.schedule.warm_up == 0);
        assert_int_equal(lli_recipe_uses(&r.options, "momentum"), i > 0);
        o.lr = 0.25;
        o.lr_decay = 0.5;
        o.lr_every = 3;
        o.warm_up = 1.5;
        CHECK_OK(ctx, lli_recipe_init(ctx, &r, &o, 1000));
        CHECK_NEAR(r.chain.lr, 0.25, 0);
        CHECK_NEAR(r.chain.lr_t0, 2, 0);
        CHECK_NEAR(r.chain.schedule.drop, 0.5, 0);
        assert_true(r.chain.schedule.every == 96 && r.chain.schedule.warm_up == 48);
        assert_true(lli_recipe_uses(&r.options, "lr-every") && lli_recipe_uses(&r.options, "warm-up"));
        o.schedule = "one-cycle";
        o.warm_up = 0;
        CHECK_OK(ctx, lli_recipe_init(ctx, &r, &o, 1000));
        CHECK_NEAR(r.options.warm_up, 6, 1e-12); /* 0.3 of 20 */
        CHECK_NEAR(r.chain.lr_t0, 0, 0);         /* of `step` alone */
        assert_false(lli_recipe_uses(&r.options, "lr-every") || lli_recipe_uses(&r.options, "lr-decay") ||
                     lli_recipe_uses(&r.options, "lr-factor"));
        assert_true(lli_recipe_uses(&r.options, "schedule") && lli_recipe_uses(&r.options, "warm-up"));
    }
    ll_context_free(ctx);
}

static void test_refused(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    lli_recipe r;
    ll_train_options good = ll_train_options_default("mlp:4"), o = good;
    o.net = NULL;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "net and augment of ll_train_options must not be NULL", lli_recipe_init(ctx, &r, &o, 10));
    o = good;
    o.augment = NULL;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "net and augment of ll_train_options must not be NULL", lli_recipe_init(ctx, &r, &o, 10));
    o = good;
    o.no_holdout = true;
    CHECK_OK(ctx, lli_recipe_init(ctx, &r, &o, 10));
    o.keep = "best";
    CHECK_FAILS(ctx, LL_ERR_USAGE, "keep=best chooses by the held-out rows; leave out no_holdout", lli_recipe_init(ctx, &r, &o, 10));
    o.no_holdout = false;
    CHECK_OK(ctx, lli_recipe_init(ctx, &r, &o, 10));
    o = good;
    o.warm_up = 20;
    CHECK_OK(ctx, lli_recipe_init(ctx, &r, &o, 10));
    o.warm_up = 20.5;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "warm_up is 20.5 epochs, with epochs=20; expected at most that", lli_recipe_init(ctx, &r, &o, 10));
    o = good; /* 4e9 steps are the first too many */
    o.batch_size = 1;
    o.epochs = 1000;
    CHECK_OK(ctx, lli_recipe_init(ctx, &r, &o, 3999999));
    CHECK_FAILS(ctx, LL_ERR_USAGE, "these options ask for more than 4e9 steps; lower epochs or raise batch_size",
                lli_recipe_init(ctx, &r, &o, 4000000));
    o.epochs = 1000000;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "more than 4e9 steps", lli_recipe_init(ctx, &r, &o, INT64_MAX / 2));
    o.epochs = 1;
    o.lr_every = 1000000;
    CHECK_OK(ctx, lli_recipe_init(ctx, &r, &o, 3999999999));
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_made_of_options),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
