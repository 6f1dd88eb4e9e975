/* SPDX-License-Identifier: MIT */
/* Learning rates at every step against PyTorch's schedulers (tests/oracle/schedules.py), and what a recipe makes of its options. */
#include <math.h>

#include "check.h"
#include "fixture.h"
#include "train/recipe.h"

static void test_pytorch(void **state) {
    (void)state;
    json_t *root = fixture_read("schedules"), *cases = fixture_get(root, "cases"), *c;
    size_t i;
    assert_true(json_array_size(cases) >= 9);
    json_array_foreach(cases, i, c) {
        const char *name = json_string_value(fixture_get(c, "curve"));
        lli_chain_options o = {.lr = fixture_real(c, "lr"),
                               .schedule = {.curve = lli_schedule_find(name),
                                            .warm_up = fixture_integer(c, "warm_up"),
                                            .total = fixture_integer(c, "total"),
                                            .drop = fixture_real(c, "drop"),
                                            .every = fixture_integer(c, "every")}};
        assert_non_null(o.schedule.curve);
        json_t *found = fixture_get(c, "found");
        assert_int_equal(json_array_size(found), o.schedule.total);
        for (int64_t k = 0; k < o.schedule.total; k++) {
            double want = json_number_value(json_array_get(found, (size_t)k)), have = lli_chain_lr(&o, k);
            if (!(fabs(want - have) <= 1e-13))
                fail_msg("case %d, %s: lr at step %d is %.17g, PyTorch has %.17g", (int)i, name, (int)k, have, want);
        }
    }
    assert_null(lli_schedule_find("cos"));
    json_decref(root);
}

/* The paper's recipe, to the last bit. */
static void test_steps(void **state) {
    (void)state;
    lli_chain_options o = {.lr = 0.1, .lr_t0 = 1e6, .lr_power = 1};
    o.schedule = (lli_schedule){.curve = lli_schedule_find("step"), .drop = 0.5, .every = 20};
    CHECK_NEAR(lli_chain_lr(&o, 0), 0.1, 0);
    CHECK_NEAR(lli_chain_lr(&o, 19), 0.1 / (1 + 19e-6), 1e-17);
    CHECK_NEAR(lli_chain_lr(&o, 20), 0.05 / (1 + 20e-6), 1e-17);
    CHECK_NEAR(lli_chain_lr(&o, 100), 0.1 / 32 / (1 + 100e-6), 1e-17);
    o.lr_t0 = 0;
    CHECK_NEAR(lli_chain_lr(&o, 59), 0.025, 0);
    o.schedule.every = 0;
    CHECK_NEAR(lli_chain_lr(&o, 59), 0.1, 0);
}

/* Peaks, ends and no division by zero where a phase has no steps. */
static void test_ends(void **state) {
    (void)state;
    const lli_schedule_curve *cycle = lli_schedule_find("one-cycle"), *cosine = lli_schedule_find("cosine");
    CHECK_NEAR(lli_schedule_factor(&(lli_schedule){cycle, 30, 100, 0, 0}, 0), 0.04, 1e-16);
    CHECK_NEAR(lli_schedule_factor(&(lli_schedule){cycle, 30, 100, 0, 0}, 29), 1, 0);
    CHECK_NEAR(lli_schedule_factor(&(lli_schedule){cycle, 30, 100, 0, 0}, 99), 4e-6, 1e-18);
    for (int64_t warm = 0; warm < 2; warm++) {
        CHECK_NEAR(lli_schedule_factor(&(lli_schedule){cycle, warm, 1, 0, 0}, 0), 1, 0);
        CHECK_NEAR(lli_schedule_factor(&(lli_schedule){cycle, warm, 3, 0, 0}, 0), 1, 0);
        CHECK_NEAR(lli_schedule_factor(&(lli_schedule){cycle, warm, 3, 0, 0}, 2), 4e-6, 1e-18);
        CHECK_NEAR(lli_schedule_factor(&(lli_schedule){cosine, warm, 1, 0, 0}, 0), 1, 0);
    }
    CHECK_NEAR(lli_schedule_factor(&(lli_schedule){cycle, 5, 5, 0, 0}, 4), 1, 0);
    CHECK_NEAR(lli_schedule_factor(&(lli_schedule){cosine, 5, 5, 0, 0}, 4), 1, 0);
    CHECK_NEAR(lli_schedule_factor(&(lli_schedule){cosine, 0, 4, 0, 0}, 2), 0.5, 1e-16);
    CHECK_NEAR(lli_schedule_factor(&(lli_schedule){.warm_up = 9}, 3), 1, 0);
}

static void test_recipe(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    lli_recipe r;
    ll_train_options o = ll_train_options_default("vgg16");
    CHECK_OK(ctx, lli_recipe_init(ctx, &r, &o, 45000)); /* 352 steps an epoch */
    assert_string_equal(r.options.schedule, "step");
    CHECK_NEAR(r.options.warm_up, 0, 0);
    CHECK_NEAR(lli_chain_lr(&r.chain, 20 * 352), 0.05 / (1 + 20 * 352e-6), 1e-17);
    assert_true(lli_recipe_uses(&r.options, "lr-factor") && lli_recipe_uses(&r.options, "lr-decay"));
    assert_false(lli_recipe_uses(&r.options, "schedule") || lli_recipe_uses(&r.options, "warm-up"));
    o.schedule = "one-cycle";
    o.epochs = 10;
    CHECK_OK(ctx, lli_recipe_init(ctx, &r, &o, 45000));
    CHECK_NEAR(r.options.warm_up, 3, 0);
    CHECK_NEAR(lli_chain_lr(&r.chain, 0), 0.004, 1e-17);
    CHECK_NEAR(lli_chain_lr(&r.chain, 3 * 352 - 1), 0.1, 0);
    CHECK_NEAR(lli_chain_lr(&r.chain, 3519), 4e-7, 1e-18);
    static const char *const used[] = {"schedule", "warm-up", "momentum", "lr"}, *const unused[] = {"lr-every", "lr-factor", "lr-decay"};
    for (size_t i = 0; i < LLI_COUNT(used); i++)
        assert_true(lli_recipe_uses(&r.options, used[i]));
    for (size_t i = 0; i < LLI_COUNT(unused); i++)
        assert_false(lli_recipe_uses(&r.options, unused[i]));
    o.schedule = "cosine";
    o.warm_up = 0.5;
    CHECK_OK(ctx, lli_recipe_init(ctx, &r, &o, 45000));
    CHECK_NEAR(lli_chain_lr(&r.chain, 0), 0.1 / 176, 1e-17);
    CHECK_NEAR(lli_chain_lr(&r.chain, 176), 0.1, 0);
    CHECK_NEAR(lli_chain_lr(&r.chain, 176 + 1672), 0.05, 1e-16);
    o.schedule = NULL; /* stands for its default, as every choice */
    CHECK_OK(ctx, lli_recipe_init(ctx, &r, &o, 45000));
    assert_string_equal(r.options.schedule, "step");
    o.warm_up = 10.5;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "warm_up is 10.5 epochs", lli_recipe_init(ctx, &r, &o, 45000));
    o.warm_up = NAN;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "warm_up", lli_recipe_init(ctx, &r, &o, 45000));
    o.warm_up = 0;
    o.schedule = "linear";
    CHECK_FAILS(ctx, LL_ERR_USAGE, "one of step|cosine|one-cycle", lli_recipe_init(ctx, &r, &o, 45000));
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pytorch),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_recipe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
