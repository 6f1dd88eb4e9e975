/* SPDX-License-Identifier: MIT */
/* The table of what predictions hold: docs say the same, and each row goes through memory and files. */
#include <math.h>

#include "check.h"
#include "folder.h"
#include "members.h"
#include "predict/predictions.h"

/* The table of the manual is this one, line by line. */
static void test_manual(void **state) {
    (void)state;
    static char manual[1 << 16];
    char path[4096], line[1024];
    const char *source = getenv("LASTLAYER_SOURCE");
    snprintf(path, sizeof path, "%s/docs/manual/files.md", source ? source : ".");
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    manual[fread(manual, 1, sizeof manual - 1, file)] = 0;
    fclose(file);
    const char *at = strstr(manual, "| array | type | shape | when | what |\n|---|---|---|---|---|\n");
    for (size_t i = 0; i <= ll_field_count(); i++) {
        at = at ? strchr(at, '\n') + 1 : NULL; /* the line of dashes first */
        at = at && i == 0 ? strchr(at, '\n') + 1 : at;
        const ll_field *f = ll_field_get(i);
        if (f)
            snprintf(line, sizeof line, "| `%s` | %s | $%s$ | %s | %s |\n", f->name, ll_dtype_name(f->dtype), f->shape, f->when,
                     f->meaning);
        else
            strcpy(line, "\n");
        if (!at || strncmp(at, line, strlen(line)) != 0)
            fail_msg("docs/manual/files.md: row %d of the table of predictions should be %s", (int)i, line);
    }
}

/* Every confidence and every pointer of an outcome is a row, under its own name and in its own place. */
static void test_rows(void **state) {
    (void)state;
    for (int c = 0; c < LL_CONFIDENCE_COUNT; c++) {
        int f = lli_schema_find(ll_confidence_name((ll_confidence)c));
        assert_true(f >= 0);
        assert_int_equal(lli_schema_get(f)->in_outcome, offsetof(ll_outcome, confidence) + (size_t)c * sizeof(double *));
        assert_int_equal(lli_schema_get(f)->in_prediction, offsetof(ll_prediction, confidence) + (size_t)c * sizeof(double *));
        assert_int_equal(lli_schema_get(f)->when == LLI_WHEN_MEMBERS, ll_confidence_needs_members((ll_confidence)c));
    }
    for (int f = 0; f < lli_schema_count(); f++) {
        assert_int_equal(lli_schema_find(lli_schema_get(f)->info.name), f);
        assert_true(strlen(lli_schema_get(f)->info.name) + strlen(LLI_SCHEMA_OUT) < LLI_FIELD_NAME);
        for (int g = 0; g < f; g++)
            assert_true(!lli_schema_get(f)->in_outcome || lli_schema_get(f)->in_outcome != lli_schema_get(g)->in_outcome);
    }
    assert_int_equal(lli_schema_find("magic"), -1);
}

static ll_predict_options everything(const ll_dataset *out, const ll_array *costs) {
    ll_predict_options o = ll_predict_options_default();
    o.members = "0,699,3:7,31";
    o.threshold = 0.7;
    o.out = out;
    o.costs = costs;
    return o;
}

/* Memory and then a file is the streaming pass, byte for byte; and what is read back is what was in memory. */
static void test_memory_is_file(void **state) {
    (void)state;
    static const double costs[K * K] = {0, 1, 5, 1, 1, 0, 1, 1, 9, 1, 0, 1, 1, 1, 1, 0};
    const ll_array matrix = ll_array_view(costs, LL_DTYPE_F64, 2, (int64_t[]){K, K});
    for (int kind = 0; kind < 4; kind++)
        for (int threads = 1; threads <= 2; threads++) {
            ll_context *ctx = check_context(threads);
            problem p = problem_new(ctx, N, D, K), q = problem_new(ctx, 50, D, K);
            ll_ensemble *e = members(ctx, kind == 1, NULL);
            ll_predict_options o = everything(kind < 3 ? q.data : NULL, kind == 2 ? &matrix : NULL);
            o.no_probs = kind == 3;
            for (int table = 0; table < 2; table++) {
                const char *file = table ? "streamed.csv" : "streamed.npz";
                o.members = table ? NULL : o.members;
                ll_predictions *points, *back;
                CHECK_OK(ctx, ll_predict_write(ctx, folder_path(file), e, p.data, &o));
                folder_bytes streamed = folder_read(file);
                CHECK_OK(ctx, ll_predict(&points, ctx, e, p.data, &o));
                CHECK_OK(ctx, ll_predictions_write(ctx, folder_path(file), points));
                folder_check_same(file, &streamed);
                CHECK_OK(ctx, ll_predictions_read(&back, ctx, folder_path(file), NULL));
                if (!table)
                    CHECK_OK(ctx, ll_predictions_write(ctx, folder_path(file), back));
                folder_check_same(file, &streamed);
                assert_true(ll_predictions_view(points)->truth != p.data->labels); /* its own: the data may go */
                ll_predictions_free(points);
                ll_predictions_free(back);
                free(streamed.data);
            }
            ll_ensemble_free(e);
            problem_free(&p);
            problem_free(&q);
            ll_context_free(ctx);
        }
}

/* argmin over decisions of the expected cost, in long double. */
static void test_costs(void **state) {
    (void)state;
    static const double costs[K * K] = {0, 1, 5, 1, 1, 0, 1, 1, 9, 1, 0, 1, 1, 1, 1, 0};
    const ll_array matrix = ll_array_view(costs, LL_DTYPE_F64, 2, (int64_t[]){K, K});
    ll_context *ctx = check_context(2);
    problem p = problem_new(ctx, N, D, K);
    ll_ensemble *e = members(ctx, false, NULL);
    ll_predictions *plain, *decided;
    ll_predict_options o = ll_predict_options_default();
    CHECK_OK(ctx, ll_predict(&plain, ctx, e, p.data, &o));
    o.costs = &matrix;
    o.no_probs = true;
    CHECK_OK(ctx, ll_predict(&decided, ctx, e, p.data, &o));
    const float *probs = ll_predictions_array(plain, "probs").data;
    int moved = 0;
    for (int64_t i = 0; i < N; i++) {
        long double least = INFINITY;
        int32_t best = -1;
        for (int j = 0; j < K; j++) {
            long double expected = 0;
            for (int k = 0; k < K; k++)
                expected += (long double)probs[i * K + k] * costs[k * K + j];
            if (expected < least - 1e-12L) {
                least = expected;
                best = j;
            }
        }
        assert_int_equal(ll_predictions_view(decided)->label[i], best);
        moved += best != ll_predictions_view(plain)->label[i];
    }
    assert_true(moved > 10);
    assert_int_equal(ll_predictions_array(decided, "probs").rank, -1);
    ll_predictions_free(plain);
    o.classifier = "votes";
    CHECK_FAILS(ctx, LL_ERR_USAGE, "both decide the class", ll_predict(&plain, ctx, e, p.data, &o));
    assert_null(plain);
    ll_array wrong = ll_array_view(costs, LL_DTYPE_F64, 2, (int64_t[]){2, 2});
    o = ll_predict_options_default();
    o.costs = &wrong;
    CHECK_FAILS(ctx, LL_ERR_DATA, "expected [4,4]", ll_predict(&plain, ctx, e, p.data, &o));
    wrong.rank = 99;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "costs", ll_predict(&plain, ctx, e, p.data, &o));
    ll_predictions_free(decided);
    ll_ensemble_free(e);
    problem_free(&p);
    ll_context_free(ctx);
}

/* Arrays of a file that are not what the schema says. */
static void test_misfits(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    static const int32_t label[4] = {0, 1, 2, 1};
    static const double numbers[16] = {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5};
    static const int64_t rows[2] = {1, 4};
    const int64_t four = 4, two = 2;
    const struct {
        const char *name, *words;
        ll_array array;
    } cases[] = {
        {"sr", "the array sr is [2] f64; expected [4]", ll_array_view(numbers, LL_DTYPE_F64, 1, &two)},
        {"probs", "expected [4,K]", ll_array_view(numbers, LL_DTYPE_F64, 2, (int64_t[]){2, 4})},
        {"probs", "expected [4,K]", ll_array_view(numbers, LL_DTYPE_F64, 2, (int64_t[]){4, 1})},
        {"probs", "expected real numbers", ll_array_view(label, LL_DTYPE_I8, 2, (int64_t[]){4, 4})},
        {"running", "expected [S,3]", ll_array_view(numbers, LL_DTYPE_F64, 2, (int64_t[]){3, 4})},
        {"member_row", "expected whole numbers", ll_array_view(numbers, LL_DTYPE_F64, 1, &two)},
        {"member_row", "member_row 1 is not one of the 4 rows", ll_array_view(rows, LL_DTYPE_I64, 1, &two)},
        {"abstain", "expected whole numbers", ll_array_view(numbers, LL_DTYPE_F64, 1, &four)},
    };
    for (size_t i = 0; i < LLI_COUNT(cases); i++) {
        const ll_named_array arrays[] = {{"label", ll_array_view(label, LL_DTYPE_I32, 1, &four)}, {cases[i].name, cases[i].array}};
        ll_predictions *points;
        CHECK_OK(ctx, ll_bundle_write(ctx, folder_path("m.npz"), arrays, 2, NULL, 0));
        CHECK_FAILS(ctx, LL_ERR_DATA, cases[i].words, ll_predictions_read(&points, ctx, folder_path("m.npz"), NULL));
        assert_null(points);
    }
    ll_context_free(ctx);
}

/* Each allocation fails once: a sentence, and nothing is left. */
static void test_no_memory(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    problem p = problem_new(ctx, N, D, K);
    ll_ensemble *e = members(ctx, false, NULL);
    ll_predict_options o = everything(p.data, NULL);
    for (int64_t n = 1;; n++) {
        ll_predictions *points;
        lli_memory_fail_at(ctx, n);
        ll_status status = ll_predict(&points, ctx, e, p.data, &o);
        lli_memory_fail_at(ctx, 0);
        if (status == LL_OK) {
            ll_predictions_free(points);
            assert_true(n > 30);
            break;
        }
        assert_int_equal(status, LL_ERR_MEMORY);
        assert_null(points);
    }
    ll_ensemble_free(e);
    problem_free(&p);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_manual), cmocka_unit_test(test_rows),    cmocka_unit_test(test_memory_is_file),
        cmocka_unit_test(test_costs),  cmocka_unit_test(test_misfits), cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
