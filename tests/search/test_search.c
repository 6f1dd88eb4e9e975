/* SPDX-License-Identifier: MIT */
/* The pieces of a search: halves of rows, grids, prefixes, the choice, and memory that runs out. */
#include <math.h>

#include "base/option.h"
#include "check.h"
#include "methods/method.h"
#include "data/split.h"
#include "metrics/selection.h"
#include "search/grid.h"
#include "problem.h"

static void test_halves(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    static const int64_t sizes[] = {2, 3, 10, 1001};
    for (size_t i = 0; i < LLI_COUNT(sizes); i++) {
        int64_t N = sizes[i], *rows, *again, seen = 0, same = 0;
        CHECK_OK(ctx, lli_split_half(&rows, ctx, N, 7, LLI_PURPOSE_SPLIT));
        CHECK_OK(ctx, lli_split_half(&again, ctx, N, 8, LLI_PURPOSE_SPLIT));
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
        CHECK_OK(ctx, lli_split_half(&rows, ctx, 10, seed, LLI_PURPOSE_SPLIT));
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
    ll_fit_options fit = ll_fit_options_default();
    lli_grid grid;
    CHECK_OK(ctx, lli_grid_init(&grid, ctx, &o, &fit, p.data, false));
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
    CHECK_OK(ctx, lli_grid_init(&grid, ctx, &o, &fit, p.data, false));
    assert_int_equal(grid.count, 4 + 2);
    CHECK_NEAR(grid.runs[0].options.lr, 1 / (1 + p.data->mean_square), 0);
    assert_string_equal(grid.runs[1].name, "sgld-lr0.01-B200");
    assert_string_equal(grid.runs[3].name, "sgld-lr0.01-B16");
    assert_int_equal(grid.runs[0].trials, 1);
    assert_int_equal(grid.runs[0].options.samples, 3);
    assert_string_equal(grid.runs[4].name, "dropout-lr0.5-B200-E4-p0.25");
    assert_int_equal(grid.runs[4].trials, 2);
    assert_int_equal(grid.runs[4].samples[0], 5);
    assert_int_equal(grid.runs[4].samples[1], 20);
    assert_int_equal(grid.runs[4].options.epochs, 4);
    lli_grid_release(&grid);
    problem_free(&p);
    ll_context_free(ctx);
}

/* Another value that is allowed, whatever the type. */
static void change(ll_fit_options *fit, const ll_option *row) {
    char *at = (char *)fit + row->offset;
    const char *word;
    switch (row->type) {
    case LL_OPTION_INT:
    case LL_OPTION_REAL: lli_option_set_number(row, fit, lli_option_number(row, fit) + (row->type == LL_OPTION_INT ? 2 : 0.25)); return;
    case LL_OPTION_SEED: memcpy(at, &(uint64_t){11}, sizeof(uint64_t)); return;
    case LL_OPTION_FLAG: memcpy(at, &(bool){true}, sizeof(bool)); return;
    case LL_OPTION_CHOICE: word = strrchr(row->choices, '|') + 1; break;
    case LL_OPTION_TEXT: word = strcmp(row->name, "scores") == 0 ? "energy" : "independent"; break; /* of shuffle */
    default: fail_msg("an option of a new type"); return;
    }
    memcpy(at, &word, sizeof word);
}

static void expect_option(ll_context *ctx, const ll_option *row, const ll_fit_options *a, const ll_fit_options *b) {
    lli_text texts[2];
    for (int i = 0; i < 2; i++) {
        lli_text_init(&texts[i], ctx);
        lli_option_text(&texts[i], row, i ? b : a);
    }
    if (strcmp(texts[0].data, texts[1].data) != 0)
        fail_msg("%s: %s became %s", row->name, texts[0].data, texts[1].data);
    lli_text_release(&texts[0]);
    lli_text_release(&texts[1]);
}

/* Without lists, what `fit` says is what every method is run with: each option, one after the other. */
static void test_every_option_reaches_the_runs(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    problem p = problem_new(ctx, 60, 4, 3);
    size_t count;
    const ll_option *rows = ll_fit_options_table(&count);
    for (size_t m = 0; m < ll_method_count(); m++)
        for (size_t i = 0; i < count; i++) {
            const char *method = ll_method_get(m)->name;
            ll_search_options o = ll_search_options_default();
            o.method = method;
            o.samples = o.lr = o.batch_size = o.epochs = o.dropout = NULL;
            ll_fit_options fit = ll_fit_options_default();
            if (strcmp(rows[i].name, "method") == 0 || !ll_method_uses(method, rows[i].name))
                continue;
            change(&fit, &rows[i]);
            if (fit.chains > 1)
                fit.samples = 4 * fit.chains;
            lli_grid grid;
            CHECK_OK(ctx, lli_grid_init(&grid, ctx, &o, &fit, p.data, !(lli_method_find(method)->places & LLI_PLACE_HEAD)));
            assert_int_equal(grid.count, 1);
            expect_option(ctx, &rows[i], &fit, &grid.runs[0].options);
            lli_grid_release(&grid);
        }
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
    CHECK_FAILS(ctx, LL_ERR_USAGE, "protocol=paper", lli_selection_parse(&auroc, ctx, "honest", "auroc"));
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
    lli_selection_peers peers[6];
    int64_t order[6], rising[] = {2, 3, 1, 0, 4, 5};
    const lli_selection_peers expected[] = {{0, 1}, {0, 1}, {2, 2}, {2, 2}, {2, 2}, {5, -1}};
    CHECK_OK(ctx, lli_selection_group(peers, ctx, &honest, t, 6));
    CHECK_OK(ctx, lli_selection_order(order, ctx, &honest, t, 6));
    for (int i = 0; i < 6; i++) {
        assert_int_equal(peers[i].first, expected[i].first);
        assert_int_equal(peers[i].best, expected[i].best);
        assert_int_equal(order[i], rising[i]);
    }
    CHECK_OK(ctx, lli_selection_group(peers, ctx, &honest, t, 0));
    CHECK_OK(ctx, lli_selection_order(order, ctx, &honest, t, 0));
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

/* A store takes no search that differs in an option which no list varies: each of them, one after the other. */
static void test_every_option_is_of_the_identity(void **state) {
    (void)state;
    char folder[] = "/tmp/lastlayer-search-XXXXXX", store[64], words[80];
    assert_non_null(mkdtemp(folder));
    snprintf(store, sizeof store, "%s/one", folder);
    ll_context *ctx = check_context(1);
    problem p = problem_new(ctx, 60, 4, 3);
    ll_search_options o = ll_search_options_default();
    o.method = "point";
    const ll_search_data data = {.train = p.data, .test = p.data, .head = p.head};
    CHECK_OK(ctx, ll_search(ctx, store, &data, &o));
    size_t count, kept = 0;
    const ll_option *rows = ll_fit_options_table(&count);
    for (size_t i = 0; i < count; i++) {
        ll_fit_options fit = ll_fit_options_default();
        o.fit = &fit;
        change(&fit, &rows[i]);
        if (strcmp(rows[i].name, "layers") == 0)
            continue; /* another theta*: its hash is of the identity too, and a head excludes it */
        if (lli_grid_lists(&rows[i])) {
            CHECK_OK(ctx, ll_search(ctx, store, &data, &o));
            continue;
        }
        snprintf(words, sizeof words, "belongs to another search: its %s is ", rows[i].name);
        CHECK_FAILS(ctx, LL_ERR_USAGE, words, ll_search(ctx, store, &data, &o));
        kept++;
    }
    assert_true(kept >= 8);
    remove_store(store);
    assert_int_equal(rmdir(folder), 0);
    problem_free(&p);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_halves),
        cmocka_unit_test(test_grid),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_library),
        cmocka_unit_test(test_every_option_reaches_the_runs),
        cmocka_unit_test(test_every_option_is_of_the_identity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
