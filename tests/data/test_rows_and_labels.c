/* SPDX-License-Identifier: MIT */
/* Halves of rows, labels of every form up to their last row, and features that a store brings: the same data set as in memory. */
#include <math.h>

#include "base/half.h"
#include "check.h"
#include "data/dataset.h"
#include "data/dataset_select.h"
#include "data/split.h"
#include "problem.h"
#include "stored_rows.h"

/* N/2 rows rising, then the others rising; each row in the first half for half of the seeds. */
static void test_halves(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    int chosen[9] = {0};
    for (int64_t N = 0; N <= 9; N++)
        for (uint64_t seed = 0; seed < 300; seed++) {
            int64_t *rows;
            bool seen[9] = {false};
            CHECK_OK(ctx, lli_split_half(&rows, ctx, N, seed, LLI_PURPOSE_SPLIT));
            for (int64_t i = 0; i < N; i++) {
                assert_in_range(rows[i], 0, N - 1);
                assert_false(seen[rows[i]]);
                seen[rows[i]] = true;
                assert_true(i == 0 || i == N / 2 || rows[i] > rows[i - 1]);
                if (N == 9 && i < N / 2)
                    chosen[rows[i]]++;
            }
            lli_memory_free(rows);
        }
    for (int i = 0; i < 9; i++)
        assert_in_range(chosen[i], 300 * 4 / 9 - 45, 300 * 4 / 9 + 45); /* five standard deviations */
    for (int64_t i = 1; i <= 2; i++) {
        int64_t *rows;
        lli_memory_fail_at(ctx, i);
        assert_int_equal(lli_split_half(&rows, ctx, 9, 0, LLI_PURPOSE_SPLIT), LL_ERR_MEMORY);
        assert_null(rows);
    }
    ll_context_free(ctx);
}

enum { ROWS = 7, K = 4 };

static void test_one_hot(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    double hot[ROWS][K];
    int32_t *y;
    int64_t largest;
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < K; k++)
            hot[i][k] = k == i % 3;
    ll_array labels = ll_array_view(hot, LL_DTYPE_F64, 2, (int64_t[]){ROWS, K});
    CHECK_OK(ctx, lli_dataset_labels(ctx, &y, &largest, "y", labels, ROWS, 0));
    assert_int_equal(largest, K - 1); /* as many classes as columns */
    for (int i = 0; i < ROWS; i++)
        assert_int_equal(y[i], i % 3);
    lli_memory_free(y);
    static const struct {
        double row[K];
    } wrong[] = {{{0, 0, 0, 0}}, {{1, 1, 0, 0}}, {{0.5, 0.5, 0, 0}}, {{2, 0, 0, 0}}, {{1, 0, 0, 1e-9}}, {{-1, 1, 1, 0}}};
    for (size_t i = 0; i < LLI_COUNT(wrong); i++)
        for (int at = 0; at < ROWS; at += 3) {
            double kept[K];
            char words[100];
            memcpy(kept, hot[at], sizeof kept);
            memcpy(hot[at], wrong[i].row, sizeof kept);
            snprintf(words, sizeof words, "y: the labels are [7,4] f64, and row %d is not one-hot", at);
            CHECK_FAILS(ctx, LL_ERR_DATA, words, lli_dataset_labels(ctx, &y, &largest, "y", labels, ROWS, 0));
            assert_null(y);
            memcpy(hot[at], kept, sizeof kept);
        }
    ll_context_free(ctx);
}

/* Any row may hold the wrong label, the first and the last too. */
static void test_label_limits(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    int32_t *y;
    int64_t largest, given[ROWS], n = ROWS;
    char words[200];
    for (int at = 0; at < ROWS; at++) {
        static const struct {
            int64_t value;
            const char *words;
        } wrong[] = {{K, "is 4; expected 0 to 3 (classes count from 0; for labels from 1 save y - 1)"},
                     {-1, "is -1; expected 0 to 3 (for -1 and 1 save (y > 0).astype(int); rows without a label are left out)"},
                     {K + 1, "is 5; expected 0 to 3"},
                     {-2, "is -2; expected 0 to 3"}};
        for (int i = 0; i < 4; i++) {
            for (int r = 0; r < ROWS; r++)
                given[r] = r % K;
            given[at] = wrong[i].value;
            snprintf(words, sizeof words, "y: the label at row %d %s", at, wrong[i].words);
            CHECK_FAILS(ctx, LL_ERR_DATA, words,
                        lli_dataset_labels(ctx, &y, &largest, "y", ll_array_view(given, LL_DTYPE_I64, 1, &n), ROWS, K));
            if (i > 1)
                assert_null(strchr(ctx->message, '(')); /* no guess */
        }
        /* what a head or an ensemble of fewer classes cannot take */
        float z[ROWS] = {0};
        given[at] = K - 1;
        for (int r = 0; r < ROWS; r++)
            given[r] = r == at ? K - 1 : r % (K - 1);
        ll_dataset *data;
        ll_array labels = ll_array_view(given, LL_DTYPE_I64, 1, &n);
        CHECK_OK(ctx, ll_dataset_new(&data, ctx, ll_array_view(z, LL_DTYPE_F32, 2, (int64_t[]){ROWS, 1}), &labels, 0));
        CHECK_OK(ctx, lli_dataset_check_labels(ctx, data, K, "head"));
        snprintf(words, sizeof words, "the label at row %d is 3, but the head has 3 classes (0 to 2)", at);
        CHECK_FAILS(ctx, LL_ERR_DATA, words, lli_dataset_check_labels(ctx, data, K - 1, "head"));
        assert_true(strlen(data->labels_hash) == 64 && ll_dataset_classes(data) == K);
        lli_dataset_drop_labels(data);
        assert_string_equal(data->labels_hash, "");
        assert_true(!ll_dataset_labels(data) && ll_dataset_classes(data) == 0 && !data->K_given && !data->one_class);
        ll_dataset_free(data);
    }
    ll_context_cancel(ctx);
    assert_int_equal(lli_dataset_labels(ctx, &y, &largest, "y", ll_array_view(given, LL_DTYPE_I64, 1, &n), 1, K), LL_ERR_DATA);
    n = 1;
    assert_int_equal(lli_dataset_labels(ctx, &y, &largest, "y", ll_array_view(given, LL_DTYPE_I64, 1, &n), 1, K), LL_ERR_CANCELLED);
    assert_null(y);
    ll_context_free(ctx);
}

/* Features of a store have the hash and the mean square of the same bytes in memory; a value that is not finite is found in any row. */
static void test_stored(void **state) {
    (void)state;
    enum { N = 2500, D = 3 };
    ll_context *ctx = check_context(1);
    problem p = {.N = N, .D = D, .K = K, .z = problem_room(N * D, sizeof(float)), .y = problem_room(N, sizeof(int64_t))};
    for (int64_t i = 0; i < N * D; i++)
        p.z[i] = problem_number(2, i);
    for (int64_t i = 0; i < N; i++)
        p.y[i] = i % K;
    ll_array known = ll_array_view(p.y, LL_DTYPE_I64, 1, &p.N);
    CHECK_OK(ctx, ll_dataset_new(&p.data, ctx, ll_array_view(p.z, LL_DTYPE_F32, 2, (int64_t[]){N, D}), &known, K));
    stored_rows s;
    ll_dataset *stored = stored_rows_dataset(ctx, &s, &p), *again;
    assert_string_equal(stored->features_hash, p.data->features_hash);
    assert_string_equal(stored->labels_hash, p.data->labels_hash);
    CHECK_NEAR(stored->mean_square, p.data->mean_square, 0);
    assert_true(stored->rows.N == N && stored->rows.D == D && stored->K == K && !stored->hash_believed);
    int64_t reads = s.reads;
    char hash[LLI_HASH_TEXT];
    CHECK_OK(ctx, lli_dataset_known_hash(hash, ctx, stored));
    assert_string_equal(hash, p.data->features_hash);
    assert_int_equal(s.reads, reads); /* it was looked at already */
    lli_dataset_found found = {.mean_square = 7};
    strcpy(found.features_hash, "believed");
    ll_array spec = ll_array_view(NULL, LL_DTYPE_F32, 2, (int64_t[]){N, D}), labels = ll_array_view(p.y, LL_DTYPE_I64, 1, &p.N);
    CHECK_OK(ctx, lli_dataset_make_stored(&again, ctx, &s.store, &spec, &labels, K, &found, "features", "labels"));
    assert_int_equal(s.reads, reads); /* nor are believed ones */
    assert_true(again->hash_believed && again->mean_square == 7);
    assert_string_equal(again->features_hash, "believed");
    CHECK_OK(ctx, lli_dataset_known_hash(hash, ctx, again)); /* but where it matters */
    assert_string_equal(hash, p.data->features_hash);
    assert_int_equal(s.reads, 2 * reads);
    ll_dataset_free(again);
    assert_int_equal(s.released, 1);
    for (int64_t at = 1; at <= reads; at++) {
        s.reads = 0;
        s.fail_at = at;
        CHECK_FAILS(ctx, LL_ERR_READ, "the disk is gone",
                    lli_dataset_make_stored(&again, ctx, &s.store, &spec, &labels, K, NULL, "features", "labels"));
        assert_null(again);
    }
    s.fail_at = 0;
    assert_int_equal(s.released, 1); /* on failure it stays the caller's */
    static const int64_t places[] = {0, 1, D, N * D / 2, N * D - 1};
    for (size_t i = 0; i < LLI_COUNT(places); i++) {
        float kept = p.z[places[i]];
        char words[100];
        p.z[places[i]] = i % 2 ? NAN : INFINITY;
        snprintf(words, sizeof words, "row %d, column %d", (int)(places[i] / D), (int)(places[i] % D));
        CHECK_FAILS(ctx, LL_ERR_DATA, words, lli_dataset_make_stored(&again, ctx, &s.store, &spec, &labels, K, NULL, "features", "labels"));
        p.z[places[i]] = kept;
    }
    p.y[N - 1] = K;
    CHECK_FAILS(ctx, LL_ERR_DATA, "labels: the label at row 2499 is 4",
                lli_dataset_make_stored(&again, ctx, &s.store, &spec, &labels, K, NULL, "features", "labels"));
    ll_dataset_free(stored);
    ll_dataset_free(p.data);
    free(p.z);
    free(p.y);
    ll_context_free(ctx);
}

/* The rows, labels and weights of a selection, in both types, from memory or a store; no hash, and the mean square of all. */
static void test_look(void **state) {
    (void)state;
    enum { N = 60, D = 3, CHOSEN = 4 };
    static const int64_t rows[CHOSEN] = {7, 59, 0, 7};
    ll_context *ctx = check_context(1);
    problem p = {.N = N, .D = D, .K = K, .z = problem_room(N * D, sizeof(float)), .y = problem_room(N, sizeof(int64_t))};
    uint16_t half[N * D];
    double weights[N];
    for (int64_t i = 0; i < N * D; i++) {
        p.z[i] = problem_number(2, i);
        half[i] = lli_half_from_float(p.z[i]);
    }
    for (int64_t i = 0; i < N; i++) {
        p.y[i] = i % K;
        weights[i] = 1 + (double)i;
    }
    ll_array y = ll_array_view(p.y, LL_DTYPE_I64, 1, &p.N), w = ll_array_view(weights, LL_DTYPE_F64, 1, &p.N);
    ll_dataset *given[3], *look, *chosen;
    stored_rows s;
    CHECK_OK(ctx, ll_dataset_new(&given[0], ctx, ll_array_view(p.z, LL_DTYPE_F32, 2, (int64_t[]){N, D}), &y, K));
    CHECK_OK(ctx, ll_dataset_weigh(ctx, given[0], &w, NULL));
    CHECK_OK(ctx, ll_dataset_new(&given[1], ctx, ll_array_view(half, LL_DTYPE_F16, 2, (int64_t[]){N, D}), &y, K));
    given[2] = stored_rows_dataset(ctx, &s, &p);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(ctx, lli_dataset_select(&chosen, ctx, given[i], rows, CHOSEN, NULL, 0));
        CHECK_OK(ctx, lli_dataset_look(&look, ctx, given[i], rows, CHOSEN));
        assert_true(look->rows.N == CHOSEN && look->rows.D == D && look->K == K && look->rows.half == (i == 1));
        assert_memory_equal(look->rows.features, chosen->rows.features, CHOSEN * D * lli_rows_size(&look->rows));
        assert_memory_equal(look->labels, chosen->labels, CHOSEN * sizeof *look->labels);
        assert_true(!look->weights == (i > 0));
        if (look->weights)
            assert_memory_equal(look->weights, chosen->weights, CHOSEN * sizeof *look->weights);
        assert_string_equal(look->features_hash, "");
        assert_string_not_equal(chosen->features_hash, "");
        CHECK_NEAR(look->mean_square, given[i]->mean_square, 0);
        ll_dataset_free(look);
        ll_dataset_free(chosen);
        for (int64_t at = 1;; at++) {
            lli_memory_fail_at(ctx, at);
            ll_status status = lli_dataset_look(&look, ctx, given[i], rows, CHOSEN);
            lli_memory_fail_at(ctx, 0);
            if (status == LL_OK)
                break;
            assert_null(look);
        }
        ll_dataset_free(look);
    }
    for (int i = 0; i < 3; i++)
        ll_dataset_free(given[i]);
    free(p.z);
    free(p.y);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_halves), cmocka_unit_test(test_one_hot), cmocka_unit_test(test_label_limits),
                                       cmocka_unit_test(test_stored), cmocka_unit_test(test_look)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
