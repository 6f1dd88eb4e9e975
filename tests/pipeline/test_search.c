/* SPDX-License-Identifier: MIT */
/* The pieces of a search: halves of rows, grids, prefixes, the choice, and memory that runs out. */
#include <math.h>

#include "check.h"
#include "data/split.h"
#include "metrics/selection.h"
#include "pipeline/grid.h"
#include "problem.h"

static void test_halves(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    static const int64_t sizes[] = {2, 3, 10, 1001};
    for (size_t i = 0; i < LLI_COUNT(sizes); i++) {
        int64_t N = sizes[i], *rows, *again, seen = 0, same = 0;
        CHECK_OK(ctx, lli_split_half(&rows, ctx, N, 7));
        CHECK_OK(ctx, lli_split_half(&again, ctx, N, 8));
        for (int64_t r = 0; r < N; r++) {
            if (r != 0 && r != N / 2)
                assert_true(rows[r] > rows[r - 1]);
            seen += rows[r];
            same += rows[r] == again[r];
        }
        assert_int_equal(seen, N * (N - 1) / 2);
        if (N > 100)
            assert_true(same < N / 10);
        lli_memory_free(rows);
        lli_memory_free(again);
    }
    /* Each row is in the choosing half for about half of the seeds. */
    int64_t chosen[10] = {0};
    for (uint64_t seed = 0; seed < 2000; seed++) {
        int64_t *rows;
        CHECK_OK(ctx, lli_split_half(&rows, ctx, 10, seed));
        for (int64_t r = 0; r < 5; r++)
            chosen[rows[r]]++;
        lli_memory_free(rows);
    }
    for (int r = 0; r < 10; r++)
        CHECK_NEAR((double)chosen[r], 1000, 5 * sqrt(500)); /* five standard deviations */
    ll_context_free(ctx);
}

static void test_grid(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    problem p = problem_new(ctx, 200, 4, 3);
    ll_search_options o = ll_search_options_default();
    lli_grid grid;
    CHECK_OK(ctx, lli_grid_init(&grid, ctx, &o, p.data, false));
    assert_int_equal(grid.count, 1 + 5 + 5 + 5 + 15); /* the paper's: five lr, three p */
    int64_t trials = 0;
    for (int64_t i = 0; i < grid.count; i++)
        trials += grid.runs[i].trials;
    assert_int_equal(trials, 1 + 15 + 15 + 10 + 45);
    lli_grid_release(&grid);
    o.method = "sgld,dropout,sgld";
    o.samples = "100,7,7/sgld:3/dropout:20,5";
    o.lr = "auto,1e-2/dropout:0.5";
    o.batch_size = "200,16";
    o.epochs = "dropout:4";
    o.dropout = ".25";
    CHECK_OK(ctx, lli_grid_init(&grid, ctx, &o, p.data, false));
    assert_int_equal(grid.count, 4 + 2);
    char name[80];
    CHECK_NEAR(grid.runs[0].options.lr, 1 / (1 + p.data->mean_square), 0);
    assert_string_equal(grid.runs[1].name, "sgld-lr0.01-B200");
    assert_string_equal(grid.runs[3].name, "sgld-lr0.01-B16");
    assert_int_equal(grid.runs[0].trials, 1);
    assert_int_equal(grid.runs[0].options.samples, 3);
    snprintf(name, sizeof name, "dropout-p0.25-lr0.5-B200-E4");
    assert_string_equal(grid.runs[4].name, name);
    assert_int_equal(grid.runs[4].trials, 2);
    assert_int_equal(grid.runs[4].samples[0], 5);
    assert_int_equal(grid.runs[4].samples[1], 20);
    assert_int_equal(grid.runs[4].options.epochs, 4);
    lli_grid_release(&grid);
    problem_free(&p);
    ll_context_free(ctx);
}

static ll_trial trial_of(const char *method, double val, double all, double auroc) {
    ll_trial t = {.method = method};
    for (int split = 0; split < LL_SPLIT_COUNT; split++)
        for (int c = 0; c < LL_CONFIDENCE_COUNT; c++) {
            t.score[split].aurc[c] = c == LL_CONFIDENCE_SR ? (split == LL_SPLIT_VAL ? val : all) : NAN;
            t.score[split].auroc[c] = split == LL_SPLIT_VAL ? NAN : auroc;
        }
    return t;
}

static void test_choice(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    lli_selection honest, paper, figures, auroc;
    CHECK_OK(ctx, lli_selection_parse(&honest, ctx, NULL, NULL));
    CHECK_OK(ctx, lli_selection_parse(&paper, ctx, "paper", "aurc"));
    CHECK_OK(ctx, lli_selection_parse(&figures, ctx, "honest", "aurc-hq"));
    CHECK_OK(ctx, lli_selection_parse(&auroc, ctx, "paper", "auroc"));
    CHECK_FAILS(ctx, LL_ERR_USAGE, "--protocol paper", lli_selection_parse(&auroc, ctx, "honest", "auroc"));
    CHECK_FAILS(ctx, LL_ERR_USAGE, "expected aurc", lli_selection_parse(&auroc, ctx, "honest", "loss"));
    CHECK_FAILS(ctx, LL_ERR_USAGE, "expected honest", lli_selection_parse(&auroc, ctx, "kind", "aurc"));
    CHECK_OK(ctx, lli_selection_parse(&auroc, ctx, "paper", "auroc"));
    ll_trial t[] = {trial_of("a", 3, 1, .5), trial_of("a", 2, 9, .9),      trial_of("b", 2, 2, .7),
                    trial_of("b", 1, 3, .6), trial_of("b", NAN, NAN, NAN), trial_of("c", 0, 0, 1)};
    t[5].diverged = true;
    t[2].score[LL_SPLIT_VAL].aurc[LL_CONFIDENCE_STD] = 0.5; /* the least of sr and std decides */
    t[0].score[LL_SPLIT_VAL].aurc[LL_CONFIDENCE_HQ] = 0.1;  /* hq only in the rule of the figures */
    assert_int_equal(lli_selection_best(&honest, t, 6, NULL), 2);
    assert_int_equal(lli_selection_best(&honest, t, 6, "a"), 1);
    assert_int_equal(lli_selection_best(&honest, t, 6, "c"), -1);
    assert_int_equal(lli_selection_best(&honest, t + 4, 1, NULL), -1);
    assert_int_equal(lli_selection_best(&figures, t, 6, NULL), 0);
    assert_int_equal(lli_selection_best(&paper, t, 6, NULL), 0);
    assert_int_equal(lli_selection_best(&auroc, t, 6, NULL), 1);
    assert_int_equal(lli_selection_best(&auroc, t, 6, "b"), 2);
    ll_context_free(ctx);
}

static void remove_store(const char *folder) {
    char line[300];
    snprintf(line, sizeof line, "rm -rf '%s'", folder);
    assert_int_equal(system(line), 0);
}

/* A search of the library, on any number of threads and with any allocation that fails, ends in a state that goes on to the same trials. */
static void test_library(void **state) {
    (void)state;
    char folder[] = "/tmp/lastlayer-search-XXXXXX", store[64];
    assert_non_null(mkdtemp(folder));
    ll_context *ctx = check_context(2);
    problem p = problem_new(ctx, 120, 4, 3);
    ll_search_options o = ll_search_options_default();
    o.samples = "2,6";
    o.lr = "0.1";
    o.epochs = "2";
    o.dropout = "0.5";
    const ll_search_data data = {.train = p.data, .test = p.data, .head = p.head};
    snprintf(store, sizeof store, "%s/calm", folder);
    CHECK_OK(ctx, ll_search(ctx, store, &data, &o));
    ll_results *calm, *found;
    CHECK_OK(ctx, ll_results_read(&calm, ctx, store));
    assert_int_equal(ll_results_count(calm), 9);
    assert_null(ll_results_trial(calm, 9));
    int64_t best = ll_results_best(calm, "sgld", "honest", "aurc");
    assert_string_equal(ll_results_trial(calm, best)->method, "sgld");
    assert_int_equal(ll_results_best(calm, NULL, "honest", "nonsense"), -1);
    int64_t failures = 0;
    for (int64_t at = 1; at < 4000; at = at + 1 + at / 3) {
        snprintf(store, sizeof store, "%s/poor", folder);
        lli_memory_fail_at(ctx, at);
        ll_status status = ll_search(ctx, store, &data, &o);
        lli_memory_fail_at(ctx, 0);
        assert_true(status == LL_OK || status == LL_ERR_MEMORY);
        failures += status != LL_OK;
        CHECK_OK(ctx, ll_search(ctx, store, &data, &o));
        CHECK_OK(ctx, ll_results_read(&found, ctx, store));
        assert_int_equal(ll_results_count(found), 9);
        for (int64_t i = 0; i < 9; i++) {
            assert_string_equal(ll_results_trial(found, i)->name, ll_results_trial(calm, i)->name);
            assert_memory_equal(ll_results_trial(found, i)->score, ll_results_trial(calm, i)->score, sizeof(ll_score[LL_SPLIT_COUNT]));
        }
        ll_results_free(found);
        remove_store(store);
        if (status == LL_OK)
            break;
    }
    assert_true(failures > 10);
    ll_results_free(calm);
    remove_store(folder);
    problem_free(&p);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_halves),
        cmocka_unit_test(test_grid),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
