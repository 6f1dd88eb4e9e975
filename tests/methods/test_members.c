/* SPDX-License-Identifier: MIT */
/* What methods make of a head, without files: their members are those of chains that this test runs itself, at the steps that the manual
 * says; which options each reads, what the record and the weights are, and where a method does not apply. */
#include <math.h>

#include "kernels/kernels.h"
#include "scene.h"
#include "train/solve.h"

static lli_chain_options plain_options(const scene *s, const lli_optimiser *optimiser, int64_t member) {
    return (lli_chain_options){.optimiser = optimiser,
                               .lr = s->o.lr,
                               .lr_t0 = s->o.lr_t0,
                               .lr_power = s->o.lr_power,
                               .batch_size = B,
                               .prior_precision = s->o.prior_precision,
                               .seed = 17,
                               .member = member};
}

/* sgd, sgld, sghmc, psgld: after two epochs, and one at rest of psgld, a member each three steps; chains are tasks with streams of their
 * own. */
static void test_samples(void **state) {
    (void)state;
    static const struct {
        const char *method;
        const lli_optimiser *optimiser;
    } cases[] = {
        {"sgd", &lli_optimiser_sgd}, {"sgld", &lli_optimiser_sgld}, {"sghmc", &lli_optimiser_sghmc}, {"psgld", &lli_optimiser_psgld}};
    for (size_t c = 0; c < LLI_COUNT(cases); c++)
        for (int64_t chains = 1; chains <= 3; chains += 2)
            for (int decaying = 0; decaying < 2; decaying++) {
                scene s;
                scene_init(&s, cases[c].method);
                s.o.chains = chains;
                s.o.lr_t0 = decaying ? 20 : 0;
                fit(&s);
                int64_t each = 6 / chains;
                int64_t burnt = (cases[c].optimiser->rule->rests ? 3 : 2) * STEPS;
                assert_int_equal(s.steps, chains * (burnt + 3 * each));
                for (int64_t member = 0; member < 6; member++) {
                    lli_chain *chain;
                    int64_t step = burnt + 3 * (member % each + 1);
                    lli_chain_options o = plain_options(&s, cases[c].optimiser, member / each);
                    CHECK_OK(s.ctx, lli_chain_new(&chain, s.ctx, &s.model, s.p.data, o.optimiser->rule, B, 0, false));
                    lli_chain_start(chain, &o, s.theta);
                    CHECK_OK(s.ctx, lli_chain_run(s.ctx, chain, step));
                    check_member(&s, member, chain->theta);
                    lli_chain_free(chain);
                    bool weighs = decaying && strcmp(cases[c].method, "sgld") == 0; /* by the length of the step that made it */
                    CHECK_NEAR(s.e->plan.weight[member], weighs ? 0.1 * pow(1 + (double)(step - 1) / 20, -0.55) : 1, 1e-12);
                }
                scene_free(&s);
            }
}

/* cyclical: members in the last fifth of each cycle of 5 x 2 x 3 steps, or 5 x 3. The chain of one has the cosine of the manual as lr. */
static void test_cycles(void **state) {
    (void)state;
    for (int64_t chains = 1; chains <= 3; chains += 2) {
        scene s;
        scene_init(&s, "cyclical");
        s.o.chains = chains;
        fit(&s);
        int64_t each = 6 / chains, in_cycle = chains == 1 ? 2 : 1, C = 5 * in_cycle * 3;
        assert_int_equal(s.steps, chains * (each / in_cycle) * C);
        lli_chain *chain;
        CHECK_OK(s.ctx, lli_chain_new(&chain, s.ctx, &s.model, s.p.data, lli_optimiser_sgld.rule, B, 0, false));
        for (int64_t member = 0; member < 6; member++) {
            int64_t sample = member % each, last = sample / in_cycle * C + 4 * in_cycle * 3 + (sample % in_cycle + 1) * 3;
            lli_chain_options o = plain_options(&s, &lli_optimiser_sgld, member / each);
            lli_chain_start(chain, &o, s.theta);
            for (int64_t t = 1; t <= last; t++) {
                chain->options.lr = s.o.lr / 2 * (1 + cos(acos(-1) * (double)((t - 1) % C) / (double)C));
                CHECK_OK(s.ctx, lli_chain_run(s.ctx, chain, t));
            }
            float W[K * D], b[K];
            s.model.ops->unpack(&s.model, (float *[]){W, b}, chain->theta);
            for (int64_t i = 0; i < K * D; i++)
                CHECK_NEAR((double)s.e->tensor[0][member * K * D + i], (double)W[i], 1e-5);
            for (int64_t i = 0; i < K; i++)
                CHECK_NEAR((double)s.e->tensor[1][member * K + i], (double)b[i], 1e-5);
            CHECK_NEAR(s.e->plan.weight[member], 1, 0);
        }
        lli_chain_free(chain);
        scene_free(&s);
    }
}

/* bootstrap: each member three epochs over its own resample. dropout: one, under masks. */
static void test_trained(void **state) {
    (void)state;
    for (int masks = 0; masks < 2; masks++) {
        scene s;
        scene_init(&s, masks ? "dropout" : "bootstrap");
        s.o.dropout = 0.25;
        fit(&s);
        assert_int_equal(s.steps, (masks ? 1 : 6) * 3 * STEPS);
        assert_int_equal(s.e->plan.S, 6);
        assert_int_equal(s.e->plan.stored, masks ? 1 : 6);
        assert_int_equal(s.e->plan.drop16, masks ? 16384 : 0);
        assert_true(s.e->plan.seed == 17 && !s.e->plan.drop_own && !s.e->plan.by_content);
        for (int64_t member = 0; member < s.e->plan.stored; member++) {
            lli_chain *chain;
            lli_chain_options o = plain_options(&s, &lli_optimiser_sgd, member);
            o.resampled = !masks;
            o.drop16 = masks ? 16384 : 0;
            CHECK_OK(s.ctx, lli_chain_new(&chain, s.ctx, &s.model, s.p.data, o.optimiser->rule, B, 0, !masks));
            lli_chain_start(chain, &o, s.theta);
            CHECK_OK(s.ctx, lli_chain_run(s.ctx, chain, 3 * STEPS));
            check_member(&s, member, chain->theta);
            lli_chain_free(chain);
        }
        scene_free(&s);
    }
}

static void test_single(void **state) {
    (void)state;
    scene s;
    scene_init(&s, "point");
    fit(&s);
    assert_int_equal(s.e->plan.S, 1);
    check_member(&s, 0, s.theta);
    scene_free(&s);
    scene_init(&s, "map");
    s.o.prior_precision = 3;
    fit(&s);
    ll_head_solve_options solve = ll_head_solve_options_default();
    solve.prior_precision = 3;
    ll_head *head;
    CHECK_OK(s.ctx, ll_head_solve(&head, s.ctx, s.p.data, &solve));
    assert_memory_equal(s.e->tensor[0], head->W, K * D * sizeof(float));
    assert_memory_equal(s.e->tensor[1], head->b, K * sizeof(float));
    ll_head_free(head);
    for (int other = 0; other < 3; other++) { /* theta* is the MAP, is that of another prior, or is none although its prior is 0 */
        scene_free(&s);
        scene_init(&s, "map");
        s.o.prior_precision = other == 2 ? 0 : 3;
        s.star.is_map = other < 2;
        s.star.map_precision = other == 0 ? 3 : 0;
        fit(&s);
        if (other == 0)
            check_member(&s, 0, s.theta);
        else
            assert_memory_not_equal(s.e->tensor[0], s.p.head->W, K * D * sizeof(float));
    }
    scene_free(&s);
}

/* docs/manual/methods: what each reads, and its S and epochs where none are given. */
static void test_rows(void **state) {
    (void)state;
    static const struct {
        const char *name, *reads;
        int64_t samples, epochs;
        unsigned places;
    } rows[] = {
        {"point", " prior-precision ", 1, 0, 7},
        {"map", " prior-precision ", 1, 0, 1},
        {"laplace", " samples prior-precision seed key structure common-mode ", 100, 0, 1},
        {"sgd", " samples lr batch-size prior-precision seed lr-t0 lr-power shuffle thin burn-in chains ", 100, 0, 7},
        {"sgld", " samples lr batch-size prior-precision seed lr-t0 lr-power shuffle thin burn-in chains precondition control-variates ",
         100, 0, 7},
        {"sghmc", " samples lr batch-size prior-precision seed lr-t0 lr-power shuffle thin burn-in chains control-variates ", 100, 0, 7},
        {"cyclical", " samples lr batch-size prior-precision seed shuffle thin chains ", 100, 0, 7},
        {"psgld", " samples lr batch-size prior-precision seed lr-t0 lr-power shuffle thin burn-in chains ", 100, 0, 7},
        {"swag", " samples lr batch-size epochs prior-precision seed thin chains ", 100, 40, 3},
        {"hmc", " samples prior-precision seed chains ", 100, 0, 1},
        {"ensemble", " samples seed shuffle ", 10, 0, 6},
        {"bootstrap", " samples lr batch-size prior-precision seed lr-t0 lr-power shuffle epochs solve ", 10, 10, 7},
        {"dropout", " samples lr batch-size prior-precision seed lr-t0 lr-power shuffle epochs dropout dropout-at key ", 100, 100, 7},
    };
    size_t count;
    const ll_option *table = ll_fit_options_table(&count);
    for (size_t i = 0; i < LLI_COUNT(rows); i++) {
        const lli_method *m = lli_method_find(rows[i].name);
        assert_non_null(m);
        assert_int_equal(m->info.samples, rows[i].samples);
        assert_int_equal(m->info.epochs, rows[i].epochs);
        assert_int_equal(m->places, rows[i].places);
        for (size_t j = 0; j < count; j++) {
            char word[64];
            snprintf(word, sizeof word, " %s ", table[j].name);
            bool reads = strstr(rows[i].reads, word) != NULL;
            if (ll_method_uses(rows[i].name, table[j].name) != reads)
                fail_msg("%s %s %s", rows[i].name, reads ? "does not read" : "reads", table[j].name);
        }
    }
    assert_false(ll_method_uses("sgd", "nonsense") || ll_method_uses("nonsense", "lr") || ll_method_uses(NULL, "lr") ||
                 ll_method_uses("sgd", NULL));
    assert_null(lli_method_find("nonsense"));
    assert_null(ll_method_get(ll_method_count()));
    ll_context *ctx = check_context(1);
    CHECK_FAILS(ctx, LL_ERR_USAGE, "the method ensemble trains whole networks: give network, or at least layers=2",
                lli_method_check(ctx, lli_method_find("ensemble"), LLI_PLACE_HEAD));
    CHECK_FAILS(ctx, LL_ERR_USAGE, "the method map does not work on several layers: leave out layers",
                lli_method_check(ctx, lli_method_find("map"), LLI_PLACE_DEEP_HEAD));
    CHECK_FAILS(ctx, LL_ERR_USAGE, "the method map does not work on whole networks: encode the images",
                lli_method_check(ctx, lli_method_find("map"), LLI_PLACE_NETWORK));
    for (int place = 1; place <= 4; place *= 2)
        CHECK_OK(ctx, lli_method_check(ctx, lli_method_find("sgld"), (lli_place)place));
    assert_int_equal(lli_place_of(false, 1), LLI_PLACE_HEAD);
    assert_int_equal(lli_place_of(true, 2), LLI_PLACE_DEEP_HEAD);
    assert_int_equal(lli_place_of(true, 1), LLI_PLACE_NETWORK);
    ll_context_free(ctx);
}

/* The record has what decides the numbers: all options that the method reads, in the order of the table, and the data. */
static void test_record(void **state) {
    (void)state;
    scene s;
    scene_init(&s, "dropout");
    s.o.dropout = 0.25;
    s.o.key = "content";
    s.star.gradient_norm = 0.5;
    s.star.init = "map";
    fit(&s);
    static const char *const pairs[] = {"format",
                                        "lastlayer-ensemble-1",
                                        "version",
                                        NULL,
                                        "method",
                                        "dropout",
                                        "samples",
                                        "6",
                                        "lr",
                                        "0.1",
                                        "batch-size",
                                        "30",
                                        "epochs",
                                        "3",
                                        "dropout",
                                        "0.25",
                                        "prior-precision",
                                        "1",
                                        "seed",
                                        "17",
                                        "lr-t0",
                                        NULL,
                                        "lr-power",
                                        "0.55",
                                        "shuffle",
                                        "full",
                                        "key",
                                        "content",
                                        "drop16",
                                        "16384",
                                        "isa",
                                        NULL,
                                        "features_sha256",
                                        NULL,
                                        "labels_sha256",
                                        NULL,
                                        "init",
                                        "map",
                                        "head_sha256",
                                        "abc",
                                        "map_gradient_norm",
                                        "0.5"};
    const lli_provenance *p = &s.e->plan.provenance;
    assert_int_equal(p->count, LLI_COUNT(pairs) / 2);
    for (int64_t i = 0; i < p->count; i++) {
        assert_string_equal(p->pairs[i].key, pairs[2 * i]);
        if (pairs[2 * i + 1])
            assert_string_equal(p->pairs[i].value, pairs[2 * i + 1]);
    }
    assert_string_equal(lli_provenance_get(p, "features_sha256"), s.p.data->features_hash);
    assert_string_equal(lli_provenance_get(p, "labels_sha256"), s.p.data->labels_hash);
    assert_true(s.e->plan.by_content);
    assert_int_equal(lli_fit_drop16(0.5), 32768);
    assert_int_equal(lli_fit_drop16(1e-9), 1);
    assert_int_equal(lli_fit_drop16(1 - 1e-9), 65535);
    scene_free(&s);
}

/* Words of shuffle, and which options the record of a fit has: those of steps not where MAPs are solved for, the rest where it says more
 * than the default. */
static void test_words(void **state) {
    (void)state;
    static const struct {
        const char *word;
        int64_t rows;
    } words[] = {{NULL, 0},
                 {"full", 0},
                 {"independent", 0},
                 {"block:1", 1},
                 {"block:16384", 16384},
                 {"block:0", -1},
                 {"block:", -1},
                 {"block:5x", -1},
                 {"block;5", -1},
                 {"blocks:5", -1},
                 {"block:-5", -1},
                 {"fuller", -1},
                 {"", -1},
                 {"block:1234567890", 1234567890}};
    for (size_t i = 0; i < LLI_COUNT(words); i++) {
        lli_chain_options o = {.block_rows = 7, .independent = i % 2};
        lli_fit_set_shuffle(&o, words[i].word);
        assert_int_equal(lli_fit_block_rows(words[i].word), words[i].rows);
        assert_int_equal(o.block_rows, words[i].rows);
        assert_int_equal(o.independent, i == 2);
    }
    static const char *const of_steps = " lr batch-size epochs shuffle lr-t0 lr-power ";
    for (int c = 0; c < 16; c++) {
        ll_fit_options o = ll_fit_options_default();
        o.method = c & 8 ? "sgld" : "bootstrap";
        o.solve = c & 1;
        o.chains = c & 2 ? 3 : 1;
        o.control_variates = c & 4 ? "on" : "off";
        size_t count;
        const ll_option *table = ll_fit_options_table(&count);
        for (size_t i = 0; i < count; i++) {
            char word[64];
            snprintf(word, sizeof word, " %s ", table[i].name);
            bool expected = strcmp(table[i].name, "chains") == 0             ? c & 2
                            : strcmp(table[i].name, "precondition") == 0     ? false
                            : strcmp(table[i].name, "control-variates") == 0 ? (c & 4) && (c & 8)
                            : strcmp(table[i].name, "solve") == 0            ? c & 1
                                                                             : !(strstr(of_steps, word) && (c & 1) && !(c & 8));
            if (lli_fit_records(table[i].offset, &o) != expected)
                fail_msg("case %d: %s", c, table[i].name);
        }
    }
}

/* Whichever allocation fails; and a part does its share of the tasks alone. */
static void test_memory_and_parts(void **state) {
    (void)state;
    scene s;
    scene_init(&s, "bootstrap");
    fit(&s);
    ll_ensemble *whole = s.e;
    ll_fit_options o;
    CHECK_OK(s.ctx, lli_fit_resolve(s.ctx, &o, &s.o, s.p.data, false));
    lli_ensemble_plan plan;
    lli_fit f;
    lli_meter meter;
    lli_store_memory store;
    for (int64_t i = 1;; i++) {
        lli_memory_fail_at(s.ctx, i);
        ll_status status = lli_fit_plan(s.ctx, &plan, &o, s.p.data, &s.star);
        lli_memory_fail_at(s.ctx, 0);
        if (status == LL_OK)
            break;
        assert_int_equal(status, LL_ERR_MEMORY);
    }
    CHECK_OK(s.ctx, lli_ensemble_new(&s.e, s.ctx, &plan));
    bool saved[6] = {false};
    lli_store_memory_init(&store, s.e);
    store.saved = saved;
    for (int64_t i = 1;; i++) {
        lli_memory_fail_at(s.ctx, i);
        ll_status status = lli_fit_init(s.ctx, &f, lli_method_find("bootstrap"), &o, &s.star, s.p.data, &store.store, &meter);
        lli_memory_fail_at(s.ctx, 0);
        if (status == LL_OK) {
            assert_true(i > 8);
            break;
        }
        assert_int_equal(status, LL_ERR_MEMORY);
    }
    lli_meter_init(&meter, "bootstrap", 6);
    f.part = (lli_share){1, 3};
    CHECK_OK(s.ctx, lli_fit_run(s.ctx, &f));
    for (int i = 0; i < 6; i++)
        assert_int_equal(saved[i], i == 2 || i == 3);
    assert_memory_equal(s.e->tensor[0] + 2 * K * D, whole->tensor[0] + 2 * K * D, 2 * K * D * sizeof(float));
    lli_fit_release(&f);
    ll_ensemble_free(whole);
    scene_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples), cmocka_unit_test(test_cycles),
        cmocka_unit_test(test_trained), cmocka_unit_test(test_single),
        cmocka_unit_test(test_rows),    cmocka_unit_test(test_words),
        cmocka_unit_test(test_record),  cmocka_unit_test(test_memory_and_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
