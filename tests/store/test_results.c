/* SPDX-License-Identifier: MIT */
/* runs.jsonl, written here by hand as the manual describes it: numbers, order, duplicates, lines that are no trials, lack of memory. The
 * table of methods is this test's own. */
#include <math.h>

#include "check.h"
#include "folder.h"
#include "store/results.h"
#include "two_methods.h"

static char text[1 << 16];
static size_t length;

static void put(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void put(const char *format, ...) {
    va_list args;
    va_start(args, format);
    length += (size_t)vsnprintf(text + length, sizeof text - length, format, args);
    va_end(args);
    assert_true(length < sizeof text);
}

/* All numbers of a score are different. */
static void put_score(const char *name, int n, int errors, double base) {
    static const char *const one[] = {"accuracy", "nll", "brier", "ece", "mce"}, *const each[] = {"aurc", "auroc", "aupr_in", "aupr_out",
                                                                                                  "fpr95"};
    put(", \"%s\": {\"n\": %d, \"errors\": %d", name, n, errors);
    for (int f = 0; f < 5; f++)
        put(", \"%s\": %.17g", one[f], base + f);
    for (int f = 0; f < 5; f++) {
        put(", \"%s\": {", each[f]);
        for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++)
            put("%s\"%s\": %.17g", c ? ", " : "", ll_confidence_name(c), base + 10 * (f + 1) + c);
        put("}");
    }
    put("}");
}

typedef struct line {
    const char *name, *method, *lr, *batch_size, *epochs, *dropout, *samples;
} line;

static void put_begin(const line *l, const char *status) {
    put("{\"trial\": \"%s\", \"run\": \"run-%s\", \"method\": \"%s\", \"samples\": %s, \"batch_size\": %s, \"epochs\": %s, \"lr\": %s, "
        "\"dropout\": %s, \"seconds\": 1.5, \"status\": \"%s\"",
        l->name, l->name, l->method, l->samples, l->batch_size, l->epochs, l->lr, l->dropout, status);
}

static void put_trial(const line *l, double base, bool all) {
    put_begin(l, "ok");
    put_score("val", 10, 3, base);
    put_score("test", 20, 20, base + 1000);
    if (all)
        put_score("all", 30, 0, base + 2000);
    put("}\n");
}

static void on_log(void *user, ll_log_level level, const char *message) {
    assert_int_equal(level, LL_LOG_WARNING);
    assert_non_null(strstr(message, "the line is skipped"));
    ++*(int *)user;
}

static ll_context *counting(int *warnings) {
    ll_context *ctx;
    ll_context_options options = ll_context_options_default();
    options.threads = 1;
    options.log = on_log;
    options.user = warnings;
    *warnings = 0;
    assert_int_equal(ll_context_new(&ctx, &options), LL_OK);
    return ctx;
}

static ll_results *read_back(ll_context *ctx) {
    ll_results *r;
    folder_write("runs.jsonl", text, length);
    CHECK_OK(ctx, ll_results_read(&r, ctx, folder_path(".")));
    length = 0;
    return r;
}

static void check_score(const ll_score *s, int n, int errors, double base) {
    assert_int_equal(s->n, n);
    assert_int_equal(s->errors, errors);
    const double one[] = {s->accuracy, s->nll, s->brier, s->ece, s->mce};
    const double *const each[] = {s->aurc, s->auroc, s->aupr_in, s->aupr_out, s->fpr95};
    for (int f = 0; f < 5; f++) {
        CHECK_NEAR(one[f], base + f, 0);
        for (int c = 0; c < LL_CONFIDENCE_COUNT; c++)
            CHECK_NEAR(each[f][c], base + 10 * (f + 1) + c, 0);
    }
}

static void test_numbers(void **state) {
    (void)state;
    int warnings;
    ll_context *ctx = counting(&warnings);
    put_trial(&(line){"one", "first", "0.25", "32", "5", "0.5", "7"}, 1, true);
    put_trial(&(line){"two", "second", "null", "null", "null", "null", "1"}, 5000, false);
    put_begin(&(line){"three", "second", "1e9", "0", "0", "null", "2"}, "diverged");
    put("}\n");
    ll_results *r = read_back(ctx);
    assert_int_equal(warnings, 0);
    assert_int_equal(ll_results_count(r), 3);
    assert_int_equal(lli_results_find(r, "two"), 1);
    assert_int_equal(lli_results_find(r, "three"), 0); /* lr 1e9 before none */
    assert_int_equal(lli_results_find(r, "one"), 2);
    assert_int_equal(lli_results_find(r, "thre"), -1);
    const ll_trial *one = ll_results_trial(r, 2), *two = ll_results_trial(r, 1), *three = ll_results_trial(r, 0);
    assert_null(ll_results_trial(r, 3));
    assert_null(ll_results_trial(r, -1));
    assert_string_equal(one->run, "run-one");
    assert_string_equal(one->method, "first");
    assert_true(one->samples == 7 && one->batch_size == 32 && one->epochs == 5 && !one->diverged);
    CHECK_NEAR(one->lr, 0.25, 0);
    CHECK_NEAR(one->dropout, 0.5, 0);
    CHECK_NEAR(one->seconds, 1.5, 0);
    check_score(&one->score[LL_SPLIT_VAL], 10, 3, 1);
    check_score(&one->score[LL_SPLIT_TEST], 20, 20, 1001);
    check_score(&one->score[LL_SPLIT_ALL], 30, 0, 2001);
    assert_true(two->samples == 1 && two->batch_size == 0 && two->epochs == 0 && isnan(two->lr) && isnan(two->dropout));
    check_score(&two->score[LL_SPLIT_ALL], 20, 20, 6000); /* those of the test where a line has no others */
    assert_true(three->diverged && three->lr == 1e9);
    assert_int_equal(ll_results_best(r, "first", "honest", NULL), 2);
    assert_int_equal(ll_results_best(r, "first", "dishonest", NULL), -1);
    assert_int_equal(ll_results_best(r, "first", "honest", "chance"), -1);
    assert_int_equal(ll_results_best(r, "gone", "honest", NULL), -1);
    ll_results_free(r);
    put_begin(&(line){"least", "first", "1", "1", "1", "0", "1"}, "ok"); /* of one row, wrong or right */
    put_score("val", 1, 1, 0);
    put_score("test", 1, 0, 0);
    put("}\n");
    r = read_back(ctx);
    assert_int_equal(warnings, 0);
    assert_int_equal(ll_results_count(r), 1);
    ll_results_free(r);
    assert_int_equal(ll_results_count(NULL), 0);
    assert_null(ll_results_trial(NULL, 0));
    assert_int_equal(ll_results_best(NULL, "first", "honest", NULL), -1);
    ll_results_free(NULL);
    ll_context_free(ctx);
}

/* By method in the order of the table, unknown ones last, then batch size, epochs, dropout, the largest lr, samples, the name. */
static const line ordered[] = {
    {"a", "second", "0.5", "16", "1", "0.1", "3"}, {"b", "second", "0.5", "16", "1", "0.1", "4"},
    {"c", "second", "0.5", "16", "1", "0.1", "4"}, {"d", "second", "0.1", "16", "1", "0.1", "2"},
    {"e", "second", "9", "16", "1", "0.2", "1"},   {"f", "second", "9", "16", "2", "0.1", "1"},
    {"g", "second", "9", "17", "1", "0.1", "1"},   {"h", "first", "9", "1", "1", "null", "1"},
    {"i", "first", "null", "1", "1", "0", "1"},    {"j", "gone", "9", "1", "1", "0", "1"},
};
enum { ORDERED = LLI_COUNT(ordered) };

static void check_order(const ll_results *r) {
    assert_int_equal(r->count, ORDERED);
    for (int i = 0; i < ORDERED; i++)
        assert_string_equal(r->trials[i].name, ordered[i].name);
}

static void test_order(void **state) {
    (void)state;
    int warnings;
    ll_context *ctx = counting(&warnings);
    for (int stride = 1; stride < ORDERED; stride++) {
        if (stride % 2 == 0 || stride % 5 == 0)
            continue; /* every line once only without a common divisor */
        for (int i = 0; i < ORDERED; i++)
            put_trial(&ordered[(i * stride + 3) % ORDERED], 1, false);
        ll_results *r = read_back(ctx), *grown;
        check_order(r);
        CHECK_OK(ctx, (folder_write("runs.jsonl", "", 0), ll_results_read(&grown, ctx, folder_path("."))));
        for (int i = 0; i < ORDERED; i++)
            CHECK_OK(ctx, lli_results_add(ctx, grown, &r->trials[(i * stride + 1) % ORDERED]));
        ll_results_free(r);
        check_order(grown);
        ll_results_free(grown);
    }
    ll_context_free(ctx);
}

/* Of lines of one name the first counts. More than 64 trials need more room. */
static void test_duplicates(void **state) {
    (void)state;
    int warnings;
    ll_context *ctx = counting(&warnings);
    enum { MANY = 150 };
    char name[16], samples[16];
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "t%d", i % 70);
        snprintf(samples, sizeof samples, "%d", i + 1);
        put_begin(&(line){name, "first", "1", "1", "1", "0", samples}, "diverged");
        put("}\n");
    }
    ll_results *r = read_back(ctx);
    assert_int_equal(r->count, 70);
    for (int i = 0; i < 70; i++) {
        snprintf(name, sizeof name, "t%d", i);
        assert_string_equal(r->trials[i].name, name);
        assert_int_equal(r->trials[i].samples, i + 1);
    }
    lli_results_keep(r, "t1\nt22\n\nt3\nt69\nt4");
    assert_int_equal(r->count, 3); /* t1 has no line break before it, t4 none behind, t2 and t6 are only parts of names */
    assert_string_equal(r->trials[0].name, "t3");
    assert_string_equal(r->trials[1].name, "t22");
    assert_string_equal(r->trials[2].name, "t69");
    lli_results_keep(r, "");
    assert_int_equal(r->count, 0);
    ll_results_free(r);
    ll_context_free(ctx);
}

/* A line with one thing wrong is skipped with a warning, its neighbours are not. */
static void test_damaged(void **state) {
    (void)state;
    static const struct {
        const char *from, *to;
    } damage[] = {
        {"\"trial\"", "\"trail\""},
        {"\"run\"", "\"ran\""},
        {"\"method\"", "\"mode\""},
        {"\"status\"", "\"state\""},
        {"\"ok\"", "\"no\""},
        {"\"samples\": 7", "\"samples\": 0"},
        {"32", "-1"},
        {"\"epochs\": 5", "\"epochs\": -5"},
        {"\"lr\"", "\"rl\""},
        {"\"dropout\"", "\"drop\""},
        {"\"seconds\"", "\"s\""},
        {"\"val\"", "\"vol\""},
        {"\"test\"", "\"rest\""},
        {"\"n\": 10", "\"n\": 0"},
        {"\"errors\": 3", "\"errors\": -3"},
        {"\"errors\": 3", "\"errors\": 11"},
        {"\"errors\": 20", "\"errors\": 21"},
        {"\"nll\"", "\"llm\""},
        {"\"fpr95\"", "\"fpr\""},
        {"{", "["},
        {"\"errors\": 0", "\"errors\": 31"},
    };
    int warnings;
    ll_context *ctx = counting(&warnings);
    for (size_t i = 0; i < LLI_COUNT(damage); i++) {
        warnings = 0;
        put_trial(&(line){"before", "first", "1", "1", "1", "0", "1"}, 1, false);
        size_t begin = length;
        put_trial(&(line){"one", "first", "0.25", "32", "5", "0.5", "7"}, 1, true);
        char *at = strstr(text + begin, damage[i].from), rest[8192];
        assert_non_null(at);
        snprintf(rest, sizeof rest, "%s", at + strlen(damage[i].from));
        length = (size_t)(at - text);
        put("%s%s", damage[i].to, rest);
        put_trial(&(line){"then", "second", "1", "1", "1", "0", "1"}, 1, false);
        ll_results *r = read_back(ctx);
        assert_int_equal(warnings, 1);
        assert_int_equal(r->count, 2);
        assert_string_equal(r->trials[0].name, "then");
        ll_results_free(r);
    }
    ll_context_free(ctx);
}

/* Whichever allocation fails: one sentence, nothing lost, nothing leaked. */
static void test_without_memory(void **state) {
    (void)state;
    int warnings;
    ll_context *ctx = counting(&warnings);
    for (int i = 0; i < ORDERED; i++)
        put_trial(&ordered[i], 1, true);
    put_trial(&ordered[0], 1, true);
    int64_t before = lli_memory_count(ctx);
    ll_results *r = read_back(ctx), *none;
    int64_t allocations = lli_memory_count(ctx) - before;
    assert_true(allocations > 3 * ORDERED);
    for (int64_t i = 1; i <= allocations; i++) {
        lli_memory_fail_at(ctx, i);
        assert_int_equal(ll_results_read(&none, ctx, folder_path(".")), LL_ERR_MEMORY);
        assert_null(none);
    }
    ll_results copy = {0};
    for (int64_t i = 1; i <= 4; i++) {
        lli_memory_fail_at(ctx, i);
        assert_int_equal(lli_results_add(ctx, &copy, &r->trials[0]), LL_ERR_MEMORY);
        assert_int_equal(copy.count, 0);
        lli_memory_free(copy.trials);
        copy = (ll_results){0};
    }
    lli_memory_fail_at(ctx, 0);
    ll_results_free(r);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers), cmocka_unit_test(test_order),          cmocka_unit_test(test_duplicates),
        cmocka_unit_test(test_damaged), cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
