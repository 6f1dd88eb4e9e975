/* SPDX-License-Identifier: MIT */
/* What options become before a fit: limits as the manual has them, defaults by method and data, the texts of `shuffle`, totals, and the
 * warning about files that memory cannot hold. Only lli_fit_resolve runs, so numbers of rows are what we say they are. */
#include <math.h>

#include "base/memory.h"
#include "base/option.h"
#include "capability.h"
#include "check.h"

typedef struct heard {
    int warnings, notes;
    char warning[1000], note[1000];
} heard;

static void on_log(void *user, ll_log_level level, const char *message) {
    heard *h = user;
    if (level == LL_LOG_WARNING)
        h->warnings++, snprintf(h->warning, sizeof h->warning, "%s", message);
    else
        h->notes++, snprintf(h->note, sizeof h->note, "%s", message);
}

static ll_context *hearing(heard *h) {
    ll_context *ctx;
    ll_context_options options = ll_context_options_default();
    options.threads = 1;
    options.log = on_log;
    options.user = h;
    *h = (heard){0};
    assert_int_equal(ll_context_new(&ctx, &options), LL_OK);
    return ctx;
}

static ll_dataset rows(int64_t N, int64_t D) {
    return (ll_dataset){.rows = {.N = N, .D = D}, .mean_square = 3};
}

static const ll_option *named(const char *name) {
    size_t count;
    const ll_option *table = ll_fit_options_table(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    fail_msg("no option %s", name);
    return NULL;
}

/* The last number that is taken and the first that is not, at both ends. */
static void test_limits(void **state) {
    (void)state;
    static const struct {
        const char *name;
        double low, below, high, above; /* NaN: that end is open, or has no number next to it */
    } limits[] = {
        {"samples", 1, -1, NAN, NAN},
        {"lr", 1e-300, -1e-300, 1e6, 1e6 * (1 + 1e-15)},
        {"batch-size", 1, 0, 1 << 24, (1 << 24) + 1},
        {"epochs", 1, -1, 1e6, 1e6 + 1},
        {"dropout", 1e-300, 0, 1 - 1e-15, 1},
        {"prior-precision", 0, -1e-300, 1e12, 1e12 * (1 + 1e-15)},
        {"thin", 1, -1, 1e12, 1e12 + 1},
        {"burn-in", 0, -1, 1e6, 1e6 + 1},
        {"lr-t0", 1e-300, -1e-300, 1e15, 1e15 * (1 + 1e-15)},
        {"lr-power", 0, -1e-300, 10, 10 * (1 + 1e-15)},
        {"layers", 1, 0, 3, 4},
        {"chains", 1, 0, 1, 10001},
    };
    heard h;
    ll_context *ctx = hearing(&h);
    for (size_t i = 0; i < LLI_COUNT(limits); i++) {
        const ll_option *option = named(limits[i].name);
        const double values[] = {limits[i].low, limits[i].high, limits[i].below, limits[i].above};
        for (int v = 0; v < 4; v++) {
            if (isnan(values[v]))
                continue;
            ll_fit_options o = ll_fit_options_default(), out;
            const ll_dataset data = rows(1, 1);
            o.samples = 1; /* so that no total is too large */
            o.epochs = 1;
            char *member = (char *)&o + option->offset;
            if (option->type == LL_OPTION_INT)
                *(int64_t *)(void *)member = (int64_t)values[v];
            else
                *(double *)(void *)member = values[v];
            bool total = option->type == LL_OPTION_INT && values[v] >= 2e9; /* taken as a number, refused as a sum */
            if (v < 2 && !total)
                CHECK_OK(ctx, lli_fit_resolve(ctx, &out, &o, &data, o.layers > 1));
            else
                CHECK_FAILS(ctx, LL_ERR_USAGE, v < 2 ? "more than 4e9 steps" : "expected",
                            lli_fit_resolve(ctx, &out, &o, &data, o.layers > 1));
        }
    }
    ll_context_free(ctx);
}

/* A fit may be asked for so many steps and for none more. */
static void test_totals(void **state) {
    (void)state;
    static const struct {
        int64_t N, samples, thin, burn_in, epochs;
        bool fits;
    } totals[] = {
        {1000, 1, 1999999999, 0, 1, true},  {1000, 1, 2000000000, 0, 1, false}, {1000, 20000, 99999, 0, 1, true},
        {1000, 20000, 100000, 0, 1, false}, {200001, 1, 1, 9999, 1, true},      {200001, 1, 1, 10000, 1, false},
        {200000, 1, 1, 10000, 1, false},    {199999, 1, 1, 10000, 1, true},     {199900, 1, 1, 10000, 1, true},
        {400000, 1, 1, 0, 9999, true},      {400000, 1, 1, 0, 10000, false},    {399900, 1, 1, 0, 10000, true},
    };
    heard h;
    ll_context *ctx = hearing(&h);
    for (size_t i = 0; i < LLI_COUNT(totals); i++) {
        ll_fit_options o = ll_fit_options_default(), out;
        o.batch_size = 1;
        o.samples = totals[i].samples;
        o.thin = totals[i].thin;
        o.burn_in = totals[i].burn_in;
        o.epochs = totals[i].epochs;
        const ll_dataset data = rows(totals[i].N, 1);
        ll_status status = lli_fit_resolve(ctx, &out, &o, &data, false);
        if (status != (totals[i].fits ? LL_OK : LL_ERR_USAGE))
            fail_msg("total %zu: %s", i, ll_context_message(ctx));
    }
    ll_context_free(ctx);
}

static void test_defaults(void **state) {
    (void)state;
    heard h;
    ll_context *ctx = hearing(&h);
    float weights[2] = {1, 1};
    for (size_t m = 0; m < ll_method_count(); m++)
        for (int network = 0; network < 2; network++) {
            const ll_method_info *info = ll_method_get(m);
            if (!applies(info->name, network ? LLI_PLACE_NETWORK : LLI_PLACE_HEAD))
                continue;
            ll_fit_options o = ll_fit_options_default(), out;
            o.method = info->name;
            ll_dataset data = rows(129, 4);
            h.notes = 0;
            CHECK_OK(ctx, lli_fit_resolve(ctx, &out, &o, &data, network));
            assert_int_equal(out.samples, info->samples);
            assert_int_equal(out.epochs, info->epochs);
            assert_int_equal(out.thin, has_cycles(info->name) ? 1 : 2); /* steps of 128 rows in an epoch of 129, or a fifth of it */
            double factor = lr_factor(info->name);
            CHECK_NEAR(out.lr, factor * (network ? 0.01 : 0.25), 0);
            assert_int_equal(h.notes, reads_option(info->name, LLI_READS(lr)));
            char words[100];
            if (network)
                snprintf(words, sizeof words, "lr = %.4g, which is the lesser of %g and %g/(1 + mean |x|^2)", out.lr, factor * 0.01,
                         factor);
            else
                snprintf(words, sizeof words, "lr = %.4g, which is %g/(1 + mean |z|^2)", out.lr, factor);
            if (h.notes)
                assert_non_null(strstr(h.note, words));
            data.mean_square = 999; /* below the limit of networks */
            CHECK_OK(ctx, lli_fit_resolve(ctx, &out, &o, &data, network));
            CHECK_NEAR(out.lr, factor * 0.001, 1e-18);
            data.weights = weights;
            data.weight_sum = 129 * 3; /* of mean 3 */
            CHECK_OK(ctx, lli_fit_resolve(ctx, &out, &o, &data, network));
            CHECK_NEAR(out.lr, factor / 2998, 1e-18);
            if (h.notes > 1)
                assert_non_null(strstr(h.note, "mean weight x mean"));
            o.samples = 17;
            o.epochs = 18;
            o.thin = 19;
            o.lr = 0.125;
            CHECK_OK(ctx, lli_fit_resolve(ctx, &out, &o, &data, network));
            assert_int_equal(out.samples, reads_option(info->name, LLI_READS(samples)) ? 17 : info->samples);
            assert_true(out.epochs == 18 && out.thin == 19);
            CHECK_NEAR(out.lr, 0.125, 0);
        }
    ll_context_free(ctx);
}

static void test_shuffle(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t rows;
    } cases[] = {
        {NULL, 0},
        {"full", 0},
        {"independent", 0},
        {"block:1", 1},
        {"block:16384", 16384},
        {"block:907", 907},
        {"block:", -1},
        {"block:0", -1},
        {"block:-1", -1},
        {"block:1x", -1},
        {"block:/", -1},
        {"block::", -1},
        {"block", -1},
        {"blocks:3", -1},
        {"Full", -1},
        {"", -1},
        {"block:1 ", -1},
        {"block:1125899906842624", 1125899906842624},
        {"block:12000000000000000", -1},
        {"block:99999999999999999999", -1},
    };
    for (size_t i = 0; i < LLI_COUNT(cases); i++) {
        assert_int_equal(lli_fit_block_rows(cases[i].text), cases[i].rows);
        lli_chain_options chain = {0};
        lli_fit_set_shuffle(&chain, cases[i].text);
        assert_int_equal(chain.independent, cases[i].text && strcmp(cases[i].text, "independent") == 0);
    }
    assert_int_equal(lli_fit_drop16(0), 1);
    assert_int_equal(lli_fit_drop16(0.5), 32768);
    assert_int_equal(lli_fit_drop16(0.1), 6554); /* 6553.6 */
    assert_int_equal(lli_fit_drop16(1), 65535);
}

static void ahead(const void *bytes, size_t count) {
    (void)bytes, (void)count;
}

/* Twice what memory holds: half of the rows come from disk, 0.1 ms each. */
static void test_larger_than_memory(void **state) {
    (void)state;
    heard h;
    ll_context *ctx = hearing(&h);
    double memory = 0.9 * (double)lli_memory_physical();
    const int64_t D = 1 << 20, N = (int64_t)(2 * memory / (4.0 * (double)D)) + 1;
    ll_fit_options o = ll_fit_options_default(), out;
    ll_dataset data = rows(N, D);
    o.samples = 1;
    CHECK_OK(ctx, lli_fit_resolve(ctx, &out, &o, &data, false));
    assert_int_equal(h.warnings, 0); /* not in a file */
    data.rows.ahead = ahead;
    CHECK_OK(ctx, lli_fit_resolve(ctx, &out, &o, &data, false));
    assert_int_equal(h.warnings, 1);
    double bytes, had, seconds;
    assert_int_equal(sscanf(h.warning,
                            "the features take %lf GB and memory has %lf GB: shuffle=full reads single rows from disk, about %lf s", &bytes,
                            &had, &seconds),
                     3);
    CHECK_NEAR(bytes, 4e-9 * (double)N * (double)D, 0.05 + 1e-6);
    CHECK_NEAR(had, memory * 1e-9, 0.05 + 1e-6);
    CHECK_NEAR(seconds, (double)N * (1 - memory / (4.0 * (double)N * (double)D)) * 1e-4, 0.5 + 1e-6);
    data.rows.half = true; /* half the bytes, and 2 % less: it fits */
    data.rows.N -= N / 50;
    CHECK_OK(ctx, lli_fit_resolve(ctx, &out, &o, &data, false));
    assert_int_equal(h.warnings, 1);
    data.rows.half = false;
    o.shuffle = "block:100";
    CHECK_OK(ctx, lli_fit_resolve(ctx, &out, &o, &data, false));
    assert_int_equal(h.warnings, 1);
    o.shuffle = "independent";
    CHECK_OK(ctx, lli_fit_resolve(ctx, &out, &o, &data, false));
    assert_int_equal(h.warnings, 2);
    assert_non_null(strstr(h.warning, "shuffle=independent reads"));
    for (size_t m = 0; m < ll_method_count(); m++) { /* only methods that shuffle */
        o.method = ll_method_get(m)->name;
        if (!applies(o.method, LLI_PLACE_HEAD))
            continue;
        h.warnings = 0;
        CHECK_OK(ctx, lli_fit_resolve(ctx, &out, &o, &data, false));
        assert_int_equal(h.warnings, reads_option(o.method, LLI_READS(shuffle)));
    }
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_totals),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_shuffle),
        cmocka_unit_test(test_larger_than_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
