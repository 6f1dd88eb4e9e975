/* SPDX-License-Identifier: MIT */
/* The folder of a search, read back by a JSON reader that is not ours: its files, what it refuses, and the folders of parts put together.
 * Trials are filled in here, not run. */
#include <jansson.h>
#include <math.h>

#include "base/array.h"
#include "check.h"
#include "folder.h"
#include "store/parts.h"
#include "store/trial_store.h"
#include "two_methods.h"

enum { N = 6, K = 2 };

/* AURC on the rows that choose in the honest protocol, and in that of the paper. */
static ll_trial trial_of(const char *name, const char *method, int64_t samples, double honest, double paper) {
    static char runs[8][32];
    static int next;
    char *run = runs[next++ % 8];
    snprintf(run, sizeof runs[0], "run-%.4s", name);
    ll_trial t = {.name = name,
                  .run = run,
                  .method = method,
                  .samples = samples,
                  .batch_size = 32,
                  .epochs = 2,
                  .lr = 0.5,
                  .dropout = NAN,
                  .seconds = 1};
    const double aurc[LL_SPLIT_COUNT] = {honest, 0.7, paper};
    for (int split = 0; split < LL_SPLIT_COUNT; split++) {
        t.score[split].n = 10 + 10 * split;
        for (int c = 0; c < LL_CONFIDENCE_COUNT; c++)
            t.score[split].aurc[c] = aurc[split];
    }
    return t;
}

static void add_pairs(ll_context *ctx, lli_provenance *p, const char *const *pairs) {
    *p = (lli_provenance){0};
    for (; pairs[0]; pairs += 2)
        CHECK_OK(ctx, lli_provenance_add(ctx, p, pairs[0], pairs[1]));
}

static const char *const search_a[] = {"version", "1", "seed", "7", NULL};

/* Predictions whose first probability tells them apart, with some of other rows. */
static ll_predictions *points_of(ll_context *ctx, float first) {
    float probs[N][K];
    const int64_t labels[N] = {0, 1, 0, 1, 0, 1}, rows = N;
    for (int i = 0; i < N; i++) {
        probs[i][0] = i ? 0.25f : first;
        probs[i][1] = 1 - probs[i][0];
    }
    ll_array truth = ll_array_view((void *)(uintptr_t)labels, LL_DTYPE_I64, 1, &rows);
    ll_predictions *p;
    CHECK_OK(ctx, ll_predictions_new(&p, ctx, ll_array_view(probs, LL_DTYPE_F32, 2, (int64_t[]){N, K}), false, &truth));
    return p;
}

static void add_trial(ll_context *ctx, lli_trial_store *s, const ll_trial *t, float first, bool out) {
    static const char *const run[] = {"method", "x", "samples", "100", "seed", "7", NULL};
    ll_evaluation *evaluations = calloc(LL_SPLIT_COUNT, sizeof *evaluations);
    lli_provenance p;
    add_pairs(ctx, &p, run);
    lli_trial_points points[LLI_PROTOCOLS] = {{points_of(ctx, first), NULL}, {points_of(ctx, first / 2), NULL}};
    ll_predictions *others = points_of(ctx, 0.75f);
    for (int split = 0; split < LL_SPLIT_COUNT; split++)
        evaluations[split].n = t->score[split].n;
    for (int i = 0; i < LLI_PROTOCOLS; i++)
        points[i].out_points = out ? others : NULL;
    CHECK_OK(ctx, lli_trial_store_add(ctx, s, t, evaluations, points, &p));
    for (int i = 0; i < LLI_PROTOCOLS; i++)
        ll_predictions_free((ll_predictions *)(uintptr_t)points[i].points);
    ll_predictions_free(others);
    lli_provenance_release(&p);
    free(evaluations);
}

static ll_status open_store(ll_context *ctx, lli_trial_store *s, const char *name, const char *const *pairs, const char *by, bool work) {
    static char path[4096]; /* the store borrows it */
    lli_provenance identity;
    add_pairs(ctx, &identity, pairs);
    snprintf(path, sizeof path, "%s", folder_path(name));
    ll_status status = lli_trial_store_open(s, ctx, path, &identity, by, work);
    lli_provenance_release(&identity);
    return status;
}

static json_t *json_of(const char *name) {
    json_error_t error;
    json_t *root = json_load_file(folder_path(name), 0, &error);
    if (!root)
        fail_msg("%s: %s", name, error.text);
    return root;
}

static void check_text(const json_t *object, const char *key, const char *expected) {
    const char *found = json_string_value(json_object_get(object, key));
    if (!found || strcmp(found, expected) != 0)
        fail_msg("%s is %s, expected %s", key, found ? found : "missing", expected);
}

/* What is kept as a method's best: of which trial, and which predictions. */
static void check_best(ll_context *ctx, const char *name, const char *trial, const char *samples, float first, bool out) {
    ll_bundle *bundle;
    CHECK_OK(ctx, ll_bundle_read(&bundle, ctx, folder_path(name)));
    assert_string_equal(lli_bundle_meta(bundle, "trial"), trial);
    assert_string_equal(lli_bundle_meta(bundle, "samples"), samples);
    assert_string_equal(lli_bundle_meta(bundle, "method"), "x");
    assert_string_equal(lli_bundle_meta(bundle, "seed"), "7");
    int64_t at = ll_bundle_find(bundle, "probs"), other = ll_bundle_find(bundle, "out_probs");
    assert_true(at >= 0);
    ll_array probs = ll_bundle_array(bundle, at);
    CHECK_NEAR(lli_array_real(&probs, 0), first, 0);
    assert_int_equal(other >= 0, out);
    if (out) {
        probs = ll_bundle_array(bundle, other);
        CHECK_NEAR(lli_array_real(&probs, 0), 0.75, 0);
    }
    ll_bundle_free(bundle);
}

static int64_t lines_of(const char *name) {
    folder_bytes text = folder_read(name);
    int64_t lines = 0;
    for (size_t i = 0; i < text.size; i++)
        lines += text.data[i] == '\n';
    free(text.data);
    return lines;
}

static void test_files(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    lli_trial_store s;
    lli_selection selection;
    CHECK_OK(ctx, open_store(ctx, &s, "a", search_a, NULL, false));
    assert_true(folder_has("a/best") && folder_has("a/runs.jsonl") && !folder_has("a/work"));
    json_t *identity = json_of("a/store.json");
    assert_int_equal(json_object_size(identity), 2);
    check_text(identity, "version", "1");
    check_text(identity, "seed", "7");
    json_decref(identity);
    ll_trial one = trial_of("one1", "first", 3, 0.3, 0.1), two = trial_of("two1", "first", 5, 0.2, 0.2),
             gone = trial_of("gone", "second", 4, 0.1, 0.1);
    gone.diverged = true;
    two.score[LL_SPLIT_ALL].n = two.score[LL_SPLIT_TEST].n; /* test rows that were not split */
    add_trial(ctx, &s, &one, 0.5f, true);
    check_best(ctx, "a/best/honest-first.npz", "one1", "3", 0.5f, true);
    add_trial(ctx, &s, &two, 0.875f, false);
    add_trial(ctx, &s, &gone, 0.1f, false);
    check_best(ctx, "a/best/honest-first.npz", "two1", "5", 0.875f, false); /* the better one on its rows */
    check_best(ctx, "a/best/paper-first.npz", "one1", "3", 0.25f, true);
    assert_false(folder_has("a/best/honest-second.npz") || folder_has("a/run-gone"));
    assert_int_equal(lines_of("a/runs.jsonl"), 3);
    for (int i = 0; i < 2; i++) {
        static const double n[] = {10, 20, 30};
        static const char *const splits[] = {"val", "test", "all"};
        json_t *scores = json_of(i ? "a/run-two1/S5.json" : "a/run-one1/S3.json");
        check_text(scores, "trial", i ? "two1" : "one1");
        assert_int_equal(json_object_size(scores), i ? 3 : 4);
        for (int split = 0; split < 3 - i; split++)
            CHECK_NEAR(json_number_value(json_object_get(json_object_get(scores, splits[split]), "n")), n[split], 0);
        json_decref(scores);
    }
    for (int paper = 0; paper < 2; paper++) {
        CHECK_OK(ctx, lli_selection_parse(&selection, ctx, paper ? "paper" : "honest", NULL));
        CHECK_OK(ctx, lli_trial_store_conclude(ctx, &s, &selection));
        json_t *choice = json_of("a/choice.json");
        check_text(choice, "protocol", paper ? "paper" : "honest");
        check_text(json_object_get(choice, "best"), "first", paper ? "one1" : "two1");
        assert_true(json_is_null(json_object_get(json_object_get(choice, "best"), "second")));
        json_decref(choice);
    }
    CHECK_FAILS(ctx, LL_ERR_WRITE, "runs.jsonl is locked", open_store(ctx, &(lli_trial_store){0}, "a", search_a, NULL, false));
    lli_trial_store_close(&s);
    CHECK_OK(ctx, open_store(ctx, &s, "a", search_a, "aurc", true)); /* as it was */
    assert_true(folder_has("a/work"));
    assert_int_equal(s.results->count, 3);
    assert_true(lli_results_find(s.results, "two1") >= 0 && s.results->trials[lli_results_find(s.results, "gone")].diverged);
    lli_trial_store_close(&s);
    ll_context_free(ctx);
}

static void test_other_search(void **state) {
    (void)state;
    static const char *const seed[] = {"version", "1", "seed", "8", NULL}, *const fewer[] = {"version", "1", NULL};
    static const char *const more[] = {"version", "1", "seed", "7", "data", "d", NULL};
    static const struct {
        const char *const *pairs;
        const char *words;
    } cases[] = {{seed, "/b belongs to another search: its seed is 7, here it is 8; choose another `store`"},
                 {fewer, "/b belongs to another search: it has a seed, here there is none; choose another `store`"},
                 {more, "/b belongs to another search: its data is missing, here it is d; choose another `store`"}};
    ll_context *ctx = check_context(1);
    lli_trial_store s;
    CHECK_OK(ctx, open_store(ctx, &s, "b", search_a, NULL, false));
    lli_trial_store_close(&s);
    for (size_t i = 0; i < LLI_COUNT(cases); i++) {
        lli_provenance identity;
        char words[200];
        snprintf(words, sizeof words, "%s", cases[i].words);
        for (char *tick = words; (tick = strchr(tick, '`'));) /* as the library shows an option */
            memmove(tick, tick + 1, strlen(tick));
        CHECK_FAILS(ctx, LL_ERR_USAGE, words, open_store(ctx, &s, "b", cases[i].pairs, NULL, false));
        assert_null(s.journal);
        add_pairs(ctx, &identity, cases[i].pairs);
        CHECK_FAILS(ctx, LL_ERR_USAGE, words, lli_trial_store_same(ctx, folder_path("b"), &identity));
        lli_provenance_release(&identity);
    }
    CHECK_OK(ctx, open_store(ctx, &s, "b", search_a, NULL, false));
    ll_trial one = trial_of("one1", "first", 3, 0.3, 0.1), two = trial_of("two1", "first", 5, 0.2, 0.2);
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++)
        two.score[LL_SPLIT_ALL].auroc[c] = 0.9;
    add_trial(ctx, &s, &one, 0.5f, false);
    add_trial(ctx, &s, &two, 0.6f, false);
    lli_trial_store_close(&s);
    CHECK_FAILS(ctx, LL_ERR_USAGE, "holds the predictions of one1, but the best trial with by=auroc is two1",
                open_store(ctx, &s, "b", search_a, "auroc", false));
    CHECK_FAILS(ctx, LL_ERR_USAGE, "by is best; expected", open_store(ctx, &s, "b", search_a, "best", false));
    CHECK_OK(ctx, open_store(ctx, &s, "b", search_a, NULL, false));
    lli_trial_store_close(&s);
    assert_int_equal(unlink(folder_path("b/store.json")), 0);
    CHECK_FAILS(ctx, LL_ERR_USAGE, "b/runs.jsonl holds trials, but store.json, which describes the search, is missing",
                open_store(ctx, &s, "b", search_a, NULL, false));
    CHECK_FAILS(ctx, LL_ERR_READ, "store.json", lli_trial_store_same(ctx, folder_path("b"), &(lli_provenance){0}));
    ll_context_free(ctx);
}

/* Predictions of a trial whose line a kill took away are no reason to refuse. */
static void test_cut_short(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    lli_trial_store s;
    CHECK_OK(ctx, open_store(ctx, &s, "c", search_a, NULL, false));
    ll_trial one = trial_of("one1", "first", 3, 0.3, 0.3), two = trial_of("two1", "first", 5, 0.2, 0.2);
    add_trial(ctx, &s, &one, 0.5f, false);
    folder_bytes before = folder_read("c/runs.jsonl");
    add_trial(ctx, &s, &two, 0.6f, false);
    lli_trial_store_close(&s);
    folder_write("c/runs.jsonl", before.data, before.size);
    free(before.data);
    CHECK_OK(ctx, open_store(ctx, &s, "c", search_a, NULL, false));
    assert_int_equal(s.results->count, 1);
    add_trial(ctx, &s, &two, 0.6f, false);
    check_best(ctx, "c/best/honest-first.npz", "two1", "5", 0.6f, false);
    lli_trial_store_close(&s);
    ll_context_free(ctx);
}

/* ---- parts ---- */

static const char *const search_part[] = {"version", "1", "seed", "7", LLI_PARTS_PROTOCOL, "paper", LLI_PARTS_BY, "aurc", NULL};

static void make_part(ll_context *ctx, const char *name, const ll_trial *trials, int count, float first) {
    lli_trial_store s;
    CHECK_OK(ctx, open_store(ctx, &s, name, search_part, "aurc", false));
    for (int i = 0; i < count; i++)
        add_trial(ctx, &s, &trials[i], first + (float)i / 16, i == 1);
    lli_trial_store_close(&s);
}

static void test_merge(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    ll_trial here[] = {trial_of("one1", "first", 3, 0.3, 0.1), trial_of("two1", "first", 5, 0.2, 0.2),
                       trial_of("sec1", "second", 2, 0.5, 0.5)};
    ll_trial there[] = {trial_of("one1", "first", 3, 0.3, 0.1), trial_of("thr1", "first", 7, 0.1, 0.4),
                        trial_of("sec2", "second", 2, 0.6, 0.4), trial_of("gone", "second", 9, 0, 0)};
    there[3].diverged = true;
    make_part(ctx, "m.part-1-of-2", here, 3, 0.5f);
    make_part(ctx, "m.part-2-of-2", there, 4, 0.25f);
    for (int again = 0; again < 2; again++) {
        CHECK_OK(ctx, ll_merge(ctx, folder_path("m")));
        assert_int_equal(lines_of("m/runs.jsonl"), 6); /* of one1 one line */
        check_best(ctx, "m/best/honest-first.npz", "thr1", "7", 0.25f + 0.0625f, true);
        check_best(ctx, "m/best/paper-first.npz", "one1", "3", 0.25f, false);
        check_best(ctx, "m/best/honest-second.npz", "sec1", "2", 0.625f, false);
        check_best(ctx, "m/best/paper-second.npz", "sec2", "2", 0.1875f, false);
        assert_true(folder_has("m/run-one1/S3.json") && folder_has("m/run-thr1/S7.json") && folder_has("m/run-sec2/S2.json"));
        assert_false(folder_has("m/run-gone") || folder_has("m/work"));
        json_t *identity = json_of("m/store.json"), *choice = json_of("m/choice.json");
        assert_int_equal(json_object_size(identity), 2);
        check_text(identity, "seed", "7");
        check_text(choice, "protocol", "paper");
        check_text(json_object_get(choice, "best"), "first", "one1");
        check_text(json_object_get(choice, "best"), "second", "sec2");
        json_decref(identity);
        json_decref(choice);
        folder_bytes part = folder_read("m.part-2-of-2/run-thr1/S7.json");
        folder_check_same("m/run-thr1/S7.json", &part);
        free(part.data);
    }
    int64_t before = lli_memory_count(ctx);
    CHECK_OK(ctx, ll_merge(ctx, folder_path("m")));
    int64_t allocations = lli_memory_count(ctx) - before;
    assert_true(allocations > 50);
    for (int64_t i = 1; i <= allocations; i += i < 40 ? 1 : 7) { /* whichever allocation fails */
        lli_memory_fail_at(ctx, i);
        assert_int_equal(ll_merge(ctx, folder_path("m")), LL_ERR_MEMORY);
    }
    lli_memory_fail_at(ctx, 0);
    folder_remove(folder_path("m"));
    folder_write("m.part-2-of-2/store.json", "{\"version\": \"1\", \"seed\": 7}", 27);
    CHECK_FAILS(ctx, LL_ERR_USAGE, "m.part-2-of-2 belongs to another search: its seed is missing, here it is 7",
                ll_merge(ctx, folder_path("m")));
    folder_write("m.part-1-of-2/store.json", "{\"version\": \"1\", \"seed\": 7}", 27);
    CHECK_FAILS(ctx, LL_ERR_FORMAT, "m.part-1-of-2/store.json: expected texts alone", ll_merge(ctx, folder_path("m")));
    folder_write("m.part-1-of-2/store.json", "[\"version\", \"seed\"]", 19);
    CHECK_FAILS(ctx, LL_ERR_FORMAT, "m.part-1-of-2/store.json: expected texts alone", ll_merge(ctx, folder_path("m")));
    assert_false(folder_has("m"));
    ll_context_free(ctx);
}

static int teardown(void **state) {
    (void)state;
    folder_remove(folder_name);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_other_search),
        cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_merge),
    };
    return cmocka_run_group_tests(tests, folder_setup, teardown);
}
