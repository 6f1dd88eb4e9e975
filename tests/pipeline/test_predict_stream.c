/* SPDX-License-Identifier: MIT */
/* Predictions of a data set: the same file for any block size and any number of threads, and the old file or none where it fails. */
#include <math.h>

#include "base/array.h"
#include "base/half.h"
#include "check.h"
#include "folder.h"
#include "members.h"

/* Files, byte for byte, for any block and any number of threads: running scores and member arrays included. */
static void test_blocks_and_threads(void **state) {
    (void)state;
    static const double weight[S] = {9, 8, 7, 6, 5, 4, 3.5, 3.25, 3};
    for (int kind = 0; kind < 3; kind++) {
        folder_bytes first = {NULL, 0};
        for (int threads = 1; threads <= 3; threads++) {
            ll_context *ctx = check_context(threads);
            problem p = problem_new(ctx, N, D, K);
            ll_ensemble *e = members(ctx, kind == 1, kind == 2 ? weight : NULL);
            static const int64_t blocks[] = {1, 7, 32, 33, 100, 256, 5000};
            for (size_t i = 0; i < LLI_COUNT(blocks); i++) {
                ll_predict_options o = ll_predict_options_default();
                o.block = blocks[i];
                o.members = "0,699,3:7,31,32,33";
                o.threshold = 0.7;
                CHECK_OK(ctx, ll_predict_write(ctx, folder_path("p.npz"), e, p.data, &o));
                if (!first.data)
                    first = folder_read("p.npz");
                folder_check_same("p.npz", &first);
            }
            ll_ensemble_free(e);
            problem_free(&p);
            ll_context_free(ctx);
        }
        free(first.data);
    }
}

static const double *column(const ll_bundle *f, const char *name) {
    int64_t i = ll_bundle_find(f, name);
    assert_true(i >= 0);
    return ll_bundle_array(f, i).data;
}

/* A part of the rows, told where it lies in the whole, gets the answers of the whole. */
static void test_row_offset(void **state) {
    (void)state;
    ll_context *ctx = check_context(2);
    problem p = problem_new(ctx, N, D, K);
    ll_ensemble *e = members(ctx, true, NULL);
    enum { FROM = 137, PART = 300 };
    ll_dataset *part;
    CHECK_OK(ctx, ll_dataset_new(&part, ctx, ll_array_view(p.z + FROM * D, LL_DTYPE_F32, 2, (int64_t[]){PART, D}), NULL, 0));
    ll_predict_options o = ll_predict_options_default();
    CHECK_OK(ctx, ll_predict_write(ctx, folder_path("whole.npz"), e, p.data, &o));
    for (int told = 0; told < 2; told++) {
        o.row_offset = told ? FROM : 0;
        CHECK_OK(ctx, ll_predict_write(ctx, folder_path("part.npz"), e, part, &o));
        ll_bundle *whole, *some;
        CHECK_OK(ctx, ll_bundle_read(&whole, ctx, folder_path("whole.npz")));
        CHECK_OK(ctx, ll_bundle_read(&some, ctx, folder_path("part.npz")));
        static const char *const names[] = {"sr", "std", "entropy", "mi"};
        for (size_t i = 0; i < LLI_COUNT(names); i++)
            assert_int_equal(memcmp(column(whole, names[i]) + FROM, column(some, names[i]), PART * sizeof(double)) == 0, told);
        ll_bundle_free(whole);
        ll_bundle_free(some);
    }
    ll_dataset_free(part);
    ll_ensemble_free(e);
    problem_free(&p);
    ll_context_free(ctx);
}

/* f16 features give the answers of the same numbers in f32. */
static void test_half(void **state) {
    (void)state;
    ll_context *ctx = check_context(2);
    problem p = problem_new(ctx, 300, D, K);
    uint16_t *half = problem_room(300 * D, sizeof *half);
    for (int64_t i = 0; i < 300 * D; i++) {
        half[i] = lli_half_from_float(p.z[i]);
        p.z[i] = lli_half_to_float(half[i]);
    }
    ll_dataset *narrow, *wide;
    CHECK_OK(ctx, ll_dataset_new(&narrow, ctx, ll_array_view(half, LL_DTYPE_F16, 2, (int64_t[]){300, D}), NULL, 0));
    CHECK_OK(ctx, ll_dataset_new(&wide, ctx, ll_array_view(p.z, LL_DTYPE_F32, 2, (int64_t[]){300, D}), NULL, 0));
    ll_ensemble *e = members(ctx, false, NULL);
    CHECK_OK(ctx, ll_predict_write(ctx, folder_path("half.npz"), e, narrow, NULL));
    CHECK_OK(ctx, ll_predict_write(ctx, folder_path("wide.npz"), e, wide, NULL));
    ll_predictions *a, *b; /* the files themselves tell which rows they are of */
    CHECK_OK(ctx, ll_predictions_read(&a, ctx, folder_path("half.npz"), NULL));
    CHECK_OK(ctx, ll_predictions_read(&b, ctx, folder_path("wide.npz"), NULL));
    for (size_t f = 0; f < ll_field_count(); f++) {
        ll_array x = ll_predictions_array(a, ll_field_get(f)->name), y = ll_predictions_array(b, ll_field_get(f)->name);
        assert_int_equal(x.rank, y.rank);
        if (x.rank >= 0)
            assert_memory_equal(x.data, y.data, (size_t)lli_array_count(&x) * ll_dtype_size(x.dtype));
    }
    ll_predictions_free(a);
    ll_predictions_free(b);
    ll_ensemble_free(e);
    ll_dataset_free(narrow);
    ll_dataset_free(wide);
    free(half);
    problem_free(&p);
    ll_context_free(ctx);
}

static void test_memory(void **state) {
    (void)state;
    folder_clear();
    for (int threads = 1; threads <= 2; threads++) {
        ll_context *ctx = check_context(threads);
        problem p = problem_new(ctx, 100, D, K);
        ll_ensemble *e = members(ctx, true, NULL);
        for (int64_t n = 1;; n++) {
            ll_predictor *predictor;
            lli_memory_fail_at(ctx, n);
            ll_status status = ll_predictor_new(&predictor, ctx, e);
            lli_memory_fail_at(ctx, 0);
            if (status == LL_OK) {
                assert_true(n > 10);
                ll_predictor_free(predictor);
                break;
            }
            assert_int_equal(status, LL_ERR_MEMORY);
            assert_null(predictor);
        }
        ll_predict_options o = ll_predict_options_default();
        o.members = "1,5";
        for (int64_t n = 1;; n++) {
            lli_memory_fail_at(ctx, n);
            ll_status status = ll_predict_write(ctx, folder_path("m.npz"), e, p.data, &o);
            lli_memory_fail_at(ctx, 0);
            if (status == LL_OK) {
                assert_true(n > 30);
                break;
            }
            assert_int_equal(status, LL_ERR_MEMORY);
            assert_int_equal(folder_count(), 0);
        }
        folder_clear();
        ll_ensemble_free(e);
        problem_free(&p);
        ll_context_free(ctx);
    }
}

/* Ten times the rows take not one allocation more. */
static void test_no_allocation_per_row(void **state) {
    (void)state;
    ll_context *ctx = check_context(2);
    int64_t counts[2];
    for (int i = 0; i < 2; i++) {
        problem p = problem_new(ctx, i ? 20000 : 2000, D, K);
        folder_clear(); /* replacing a file takes an allocation more */
        ll_ensemble *e = members(ctx, false, NULL);
        ll_predict_options o = ll_predict_options_default();
        o.block = 64;
        int64_t before = lli_memory_count(ctx);
        CHECK_OK(ctx, ll_predict_write(ctx, folder_path("n.npz"), e, p.data, &o));
        counts[i] = lli_memory_count(ctx) - before;
        ll_ensemble_free(e);
        problem_free(&p);
    }
    assert_int_equal(counts[0], counts[1]);
    ll_context_free(ctx);
}

static void cancel_soon(void *user, const char *what, double done, double total) {
    (void)what;
    if (done > 0 && done < total)
        ll_context_cancel(*(ll_context **)user);
}

/* Cancelled in the middle: no file, and the old one stays. */
static void test_cancel(void **state) {
    (void)state;
    folder_clear();
    for (int threads = 1; threads <= 2; threads++) {
        ll_context *ctx = NULL, *quiet = check_context(1);
        ll_context_options options = ll_context_options_default();
        options.threads = threads;
        options.progress = cancel_soon;
        options.user = &ctx;
        assert_int_equal(ll_context_new(&ctx, &options), LL_OK);
        problem p = problem_new(quiet, 20000, D, K);
        ll_ensemble *e = members(quiet, false, NULL);
        folder_write("old.npz", "old", 3);
        ll_predict_options o = ll_predict_options_default();
        o.block = 32;
        CHECK_FAILS(ctx, LL_ERR_CANCELLED, "interrupted", ll_predict_write(ctx, folder_path("old.npz"), e, p.data, &o));
        assert_int_equal(folder_count(), 1);
        folder_check_same("old.npz", &(folder_bytes){(unsigned char *)"old", 3});
        ll_ensemble_free(e);
        problem_free(&p);
        ll_context_free(quiet);
        ll_context_free(ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_and_threads),
        cmocka_unit_test(test_half),
        cmocka_unit_test(test_row_offset),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_no_allocation_per_row),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
