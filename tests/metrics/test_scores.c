/* SPDX-License-Identifier: MIT */
/* Scores of probabilities, runs of bins and summaries of chains, each against plain loops over the definition. */
#include <math.h>

#include "base/costs.h"
#include "heard.h"
#include "metrics/diagnosis.h"
#include "metrics/miscalibration.h"
#include "metrics/calibration.h"
#include "metrics/proper_scores.h"
#include "metrics/resample.h"
#include "metrics/sample.h"

enum { K = 3 };

static double *probabilities(int64_t n, double total) {
    double *p = sample_zeros(n * K, 8);
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int k = 0; k < K; k++)
            sum += p[i * K + k] = check_uniform(90, i * K + k) + 0.01;
        for (int k = 0; k < K; k++)
            p[i * K + k] *= total / sum;
    }
    return p;
}

/* Rows that sum to something else are divided by it; log_true is taken where it is a number; errors are those of a mean. */
static void test_proper(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    static const int64_t sizes[] = {1, 2, 300};
    for (int c = 0; c < 12; c++) {
        int64_t n = sizes[c % 3];
        bool known = c / 3 % 2, single = c >= 6;
        double *p = probabilities(n, single ? 1 : 1.25), *log_true = sample_zeros(n, 8), *rows = sample_zeros(2 * n, 8);
        float *narrow = sample_zeros(n * K, 4);
        int32_t *truth = sample_zeros(n, 4);
        double nll = 0, brier = 0, nll_squares = 0, brier_squares = 0;
        for (int64_t i = 0; i < n * K; i++)
            narrow[i] = (float)p[i];
        for (int64_t i = 0; i < n; i++) {
            truth[i] = (int32_t)(i % K);
            log_true[i] = i % 4 == 3 ? NAN : -0.5 - (double)i / 300;
        }
        ll_array probs = ll_array_view(single ? (const void *)narrow : p, single ? LL_DTYPE_F32 : LL_DTYPE_F64, 2, (int64_t[]){n, K});
        lli_proper_scores s;
        CHECK_OK(ctx, lli_proper_scores_measure(&s, ctx, &probs, truth, known ? log_true : NULL, rows));
        double *one = sample_zeros(2 * n, 8);
        for (int64_t i = 0; i < n; i++) {
            double sum = 0, square = 0;
            for (int k = 0; k < K; k++)
                sum += single ? (double)narrow[i * K + k] : p[i * K + k];
            for (int k = 0; k < K; k++)
                square += pow((single ? (double)narrow[i * K + k] : p[i * K + k]) / sum - (k == truth[i]), 2);
            int64_t at = i * K + truth[i];
            one[i] = known && i % 4 != 3 ? -log_true[i] : -log((single ? (double)narrow[at] : p[at]) / sum);
            one[n + i] = square;
            nll += one[i] / (double)n;
            brier += square / (double)n;
        }
        for (int64_t i = 0; i < n; i++) {
            nll_squares += pow(one[i] - nll, 2);
            brier_squares += pow(one[n + i] - brier, 2);
            CHECK_NEAR(rows[i], one[i], 1e-12);
            CHECK_NEAR(rows[n + i], one[n + i], 1e-12);
        }
        CHECK_NEAR(s.nll, nll, 1e-12);
        CHECK_NEAR(s.brier, brier, 1e-12);
        assert_true(s.zeros == 0 && s.rounded == 0);
        if (n == 1)
            assert_true(isnan(s.nll_error) && isnan(s.brier_error));
        else {
            CHECK_NEAR(s.nll_error, sqrt(nll_squares / ((double)n * (double)(n - 1))), 1e-9);
            CHECK_NEAR(s.brier_error, sqrt(brier_squares / ((double)n * (double)(n - 1))), 1e-9);
        }
        free(p), free(log_true), free(rows), free(narrow), free(truth), free(one);
    }
    ll_context_free(ctx);
}

/* p of the true class below the normal numbers of f32, and 0; log_true tells it all the same. A sum keeps what is 1e-16 of it. */
static void test_small(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    float p[] = {1, 0, 0, 1, 1e-39f, 0, 1, 1.2e-38f, 0, 0.5f, 0.25f, 0.25f};
    double wide[12], log_true[] = {-1, NAN, -90, -1};
    int32_t truth[] = {1, 1, 1, 1};
    for (int i = 0; i < 12; i++)
        wide[i] = (double)p[i];
    ll_array single = ll_array_view(p, LL_DTYPE_F32, 2, (int64_t[]){4, 3}), plain = ll_array_view(wide, LL_DTYPE_F64, 2, (int64_t[]){4, 3});
    lli_proper_scores s;
    CHECK_OK(ctx, lli_proper_scores_measure(&s, ctx, &single, truth, NULL, NULL));
    assert_true(s.zeros == 1 && s.rounded == 2 && isinf(s.nll) && s.nll > 0 && isnan(s.nll_error) && s.brier_error > 0);
    CHECK_OK(ctx, lli_proper_scores_measure(&s, ctx, &plain, truth, NULL, NULL));
    assert_true(s.zeros == 1 && s.rounded == 0);
    CHECK_OK(ctx, lli_proper_scores_measure(&s, ctx, &single, truth, log_true, NULL));
    assert_true(s.zeros == 0 && s.rounded == 1);
    CHECK_NEAR(s.nll, (1 - log(1e-39f) + 90 + 1) / 4, 1e-12);
    float least[] = {1, 0x1p-126f, 0}; /* the least normal number is not rounded */
    ll_array normal = ll_array_view(least, LL_DTYPE_F32, 2, (int64_t[]){1, 3});
    CHECK_OK(ctx, lli_proper_scores_measure(&s, ctx, &normal, truth, NULL, NULL));
    assert_true(s.zeros == 0 && s.rounded == 0);
    double zeros[] = {0, 0, 0}; /* a row without a sum is left as it is */
    ll_array none = ll_array_view(zeros, LL_DTYPE_F64, 2, (int64_t[]){1, 3});
    CHECK_OK(ctx, lli_proper_scores_measure(&s, ctx, &none, truth, log_true, NULL));
    CHECK_NEAR(s.brier, 1, 0);
    double costs[] = {1e16, 1, -1e16, 0};
    int32_t of[] = {0, 0, 1, 1}, decided[] = {0, 1, 0, 1};
    CHECK_NEAR(lli_proper_scores_cost(decided, of, 4, costs, 2), 0.25, 0);
    ll_context_free(ctx);
}

/* The class of least expected cost, the first of equals, in blocks on any number of threads. */
static void test_decide(void **state) {
    (void)state;
    static const double costs[K * K] = {0, 1, 4, 2, 0, 0.5, 3, 1, -1};
    for (int threads = 1; threads <= 3; threads += 2) {
        int64_t n = 700;
        ll_context *ctx = check_context(threads);
        double *p = probabilities(n, 1), mean = 0;
        int32_t *decision = sample_zeros(n, 4), *truth = sample_zeros(n, 4);
        ll_array probs = ll_array_view(p, LL_DTYPE_F64, 2, (int64_t[]){n, K});
        CHECK_OK(ctx, lli_proper_scores_decide(decision, ctx, &probs, costs));
        for (int64_t i = 0; i < n; i++) {
            int best = 0;
            double least = INFINITY;
            for (int d = 0; d < K; d++) {
                double expected = 0;
                for (int k = 0; k < K; k++)
                    expected += p[i * K + k] * costs[k * K + d];
                best = expected < least ? d : best;
                least = fmin(least, expected);
            }
            assert_int_equal(decision[i], best);
            truth[i] = (int32_t)(i % K);
            mean += costs[i % K * K + best] / (double)n;
        }
        CHECK_NEAR(lli_proper_scores_cost(decision, truth, n, costs, K), mean, 1e-12);
        free(p), free(decision), free(truth);
        ll_context_free(ctx);
    }
}

/* ---- runs ---- */

/* Runs of 4096 of a bin have its right points before its wrong ones, each by falling confidence, and the ends of what is in them. */
static void test_runs(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    int64_t n = 21000;
    sample s = sample_random(95, n, 0.4, 0);
    uint8_t *mark = sample_zeros(n, 1);
    for (int64_t i = 0; i < n; i++) {
        s.confidence[0][i] = i % 3 ? 0.5 + s.confidence[0][i] / 2 : i % 2 ? 1 + 1e-13 : -1e-13; /* the ends round beyond [0,1] */
        mark[i] = s.truth[i] != 0;
    }
    lli_curve curve;
    ll_bin bin[4];
    double ece, mce;
    CHECK_OK(ctx, lli_curve_init(&curve, ctx, n));
    lli_curve_add(&curve, s.confidence[0], n, false, mark, false);
    CHECK_OK(ctx, lli_curve_close(ctx, &curve));
    for (int drop = 0; drop < 2; drop++) {
        int64_t bins = lli_calibration_measure(&ece, &mce, bin, &curve, 4, LLI_CALIBRATION_LEFT, drop);
        lli_bin_runs r;
        CHECK_OK(ctx, lli_bin_runs_init(&r, ctx, &curve, bin, bins));
        assert_int_equal(r.count, 5);
        assert_int_equal(r.end[4], n);
        int64_t begin = 0, run = 0;
        for (int b = 0; b < 5; b++) {
            double lo = b ? (4 - b) / 4.0 : 1, hi = b ? (5 - b) / 4.0 : 2, expected = 0; /* bin 0: what was dropped */
            int64_t size = 0, wrong = 0;
            for (int64_t i = 0; i < n; i++) {
                double c = s.confidence[0][i];
                bool in = b == 0 ? drop && c >= 1 : (c >= lo || b == 4) && (c < hi || (b == 1 && !drop));
                size += in;
                wrong += in && mark[i];
                expected += in ? c : 0;
            }
            assert_int_equal(r.end[b] - begin, size);
            assert_int_equal(r.end[b] - r.wrong[b], wrong);
            CHECK_NEAR(r.expected[b], expected, 1e-8);
            for (int64_t i = begin + 1; i < r.end[b]; i++)
                assert_true(i == r.wrong[b] || r.confidence[i] <= r.confidence[i - 1]);
            for (int64_t first = begin; first < r.end[b]; first += 4096, run++) {
                double least = 1, most = 0;
                for (int64_t i = first; i < first + 4096 && i < r.end[b]; i++) {
                    least = fmin(least, fmax(0, r.confidence[i]));
                    most = fmax(most, fmin(1, r.confidence[i]));
                }
                assert_true(r.lo[run] == least && r.hi[run] == most);
            }
            begin = r.end[b];
        }
        /* the chance to reach an ECE: the share of draws of labels that do, the one at hand among them */
        int64_t reached = 1, right[5];
        double p, *of = sample_zeros(LLI_RESAMPLE_DRAWS, 8);
        for (int64_t d = 0; d < LLI_RESAMPLE_DRAWS; d++) {
            lli_bin_runs_labels(right, &r, 9, d);
            for (int b = 1; b < 5; b++)
                of[d] += fabs((double)right[b] - r.expected[b]) / (double)n;
        }
        for (int64_t d = 0; d < LLI_RESAMPLE_DRAWS; d++)
            reached += of[d] >= of[7] * (1 - 1e-12);
        CHECK_OK(ctx, lli_miscalibration_p(&p, ctx, &r, of[7], 9));
        CHECK_NEAR(p, (double)reached / (LLI_RESAMPLE_DRAWS + 1), 1e-15);
        CHECK_OK(ctx, lli_miscalibration_p(&p, ctx, &r, 2, 9));
        CHECK_NEAR(p, 1.0 / (LLI_RESAMPLE_DRAWS + 1), 1e-15);
        free(of);
        lli_bin_runs_release(&r);
    }
    lli_curve_release(&curve);
    sample_free(&s);
    free(mark);
    ll_context_free(ctx);
}

/* sum of n_b/n [gap^2 - a (1 - a)/(n_b - 1)]: bins of none and of one point have no second part. */
static void test_l2(void **state) {
    (void)state;
    const ll_bin bin[] = {{.n = 10, .accuracy = 0.6, .confidence = 0.5},
                          {.n = 0, .accuracy = NAN, .confidence = NAN},
                          {.n = 1, .accuracy = 1, .confidence = 0.75},
                          {.n = 2, .accuracy = 0.5, .confidence = 1}};
    CHECK_NEAR(lli_miscalibration_l2(bin, 4, 13), 10 / 13.0 * (0.01 - 0.24 / 9) + 1 / 13.0 * 0.0625 + 2 / 13.0 * (0.25 - 0.25), 1e-15);
}

/* Without a level nothing is drawn, and there is no interval and no p. */
static void test_no_intervals(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    sample s = sample_random(96, 300, 0.3, 0), far = sample_random(97, 100, 0.3, 0);
    ll_outcome points = sample_view(&s), outside = sample_view(&far);
    for (int given = 0; given < 2; given++) {
        ll_evaluation *e;
        ll_evaluate_options o = ll_evaluate_options_default();
        o.interval = given ? 0.9 : 0;
        CHECK_OK(ctx, ll_evaluate(&e, ctx, &points, &outside, &o));
        const ll_intervals *i = &e->intervals;
        const ll_interval all[] = {i->accuracy,     i->aurc[0],      i->augrc[0], i->eaurc[0], i->failure_auroc[0], i->coverage_at_risk[0],
                                   i->ood_auroc[0], i->ood_fpr95[0], i->ece};
        for (size_t k = 0; k < LLI_COUNT(all); k++)
            if (k != 5) /* at this risk no cut may be found */
                assert_int_equal(isnan(all[k].lo) || isnan(all[k].hi), !given);
        assert_int_equal(isnan(e->ece_p), !given);
        ll_evaluation_free(e);
    }
    sample_free(&s);
    sample_free(&far);
    ll_context_free(ctx);
}

/* ---- chains ---- */

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Median, least and largest of the numbers there are. */
static void check_summary(const double *x, int64_t n, double median, double extreme, bool most) {
    double *kept = sample_zeros(n, 8);
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        if (!isnan(x[i]))
            kept[count++] = x[i];
    qsort(kept, (size_t)count, sizeof *kept, compare);
    if (count == 0)
        assert_true(isnan(median) && isnan(extreme));
    else {
        CHECK_NEAR(median, count % 2 ? kept[count / 2] : (kept[count / 2 - 1] + kept[count / 2]) / 2, 1e-12);
        CHECK_NEAR(extreme, kept[most ? count - 1 : 0], 0);
    }
    free(kept);
}

/* Rows of white noise; of the first `apart` the chains lie apart; members of the first `slow` repeat each other; of the last `equal` all
 * are equal. */
static ll_diagnosis *diagnose(ll_context *ctx, int64_t chains, int64_t rows, int64_t apart, int64_t slow, int64_t equal) {
    int64_t S = 60 * chains, *row;
    double *draws;
    CHECK_OK(ctx, lli_memory_new(ctx, &row, rows, sizeof *row));
    CHECK_OK(ctx, lli_memory_new(ctx, &draws, rows * S, sizeof *draws));
    for (int64_t r = 0; r < rows; r++) {
        row[r] = 5 * r;
        double x = 0;
        for (int64_t i = 0; i < S; i++) {
            double noise = check_uniform(98, r * S + i) - 0.5;
            x = r < slow ? 0.97 * x + noise : noise;
            draws[r * S + i] = r >= rows - equal ? 1 : x + (r < apart ? 3.0 * (double)(i / 60) : 0);
        }
    }
    ll_diagnosis *d;
    CHECK_OK(ctx, lli_diagnosis_new(&d, ctx, "sgld", chains, S, rows, 1000, row, draws));
    return d;
}

static void test_diagnosis(void **state) {
    (void)state;
    static const struct {
        int64_t chains, rows, apart, slow, equal;
        bool far, repeats;
    } cases[] = {{4, 20, 0, 0, 0, false, false},  {4, 40, 4, 0, 0, true, false},   {4, 19, 1, 0, 0, true, false},
                 {4, 100, 5, 0, 0, false, false}, {4, 100, 6, 0, 0, true, false},  {4, 100, 5, 0, 50, true, false},
                 {1, 21, 0, 11, 0, false, true},  {1, 21, 0, 10, 0, false, false}, {2, 5, 0, 0, 5, false, false}};
    ll_context *ctx = check_context(1);
    for (size_t c = 0; c < LLI_COUNT(cases); c++) {
        ll_diagnosis *d = diagnose(ctx, cases[c].chains, cases[c].rows, cases[c].apart, cases[c].slow, cases[c].equal);
        const ll_diagnosis_info *i = ll_diagnosis_view(d);
        int64_t rows = cases[c].rows, S = 60 * cases[c].chains, above = 0;
        assert_string_equal(i->method, "sgld");
        assert_true(i->members == S && i->chains == cases[c].chains && i->rows == rows && i->among == 1000);
        assert_int_equal(isnan(i->rhat_limit), cases[c].chains == 1);
        for (int64_t r = 0; r < rows; r++) {
            lli_mixing m;
            CHECK_OK(ctx, lli_mixing_of(&m, ctx, d->draws + r * S, cases[c].chains, 60));
            double rhat = cases[c].chains > 1 ? m.rhat : NAN;
            assert_memory_equal(&d->bulk[r], &m.bulk, sizeof m.bulk);
            assert_memory_equal(&d->tail[r], &m.tail, sizeof m.tail);
            assert_true(d->rhat[r] == rhat || (isnan(rhat) && isnan(d->rhat[r])));
            above += rhat > lli_mixing_rhat_limit(cases[c].chains, 60);
        }
        assert_int_equal(i->above, above);
        check_summary(d->rhat, rows, i->rhat_median, i->rhat_most, true);
        check_summary(d->bulk, rows, i->bulk_median, i->bulk_least, false);
        check_summary(d->tail, rows, i->tail_median, i->tail_least, false);
        int64_t tell = cases[c].chains > 1 ? rows - cases[c].equal : 0;
        assert_int_equal(i->apart, 20 * above > tell);
        if (cases[c].apart)
            assert_true(above >= cases[c].apart);
        assert_int_equal(i->repeating, i->bulk_median < (double)S / 4);
        assert_int_equal(i->repeating, cases[c].repeats);
        static const char *const names[] = {"row", "rhat", "bulk", "tail", "draws"};
        const void *at[] = {d->row, d->rhat, d->bulk, d->tail, d->draws};
        for (int a = 0; a < 5; a++) {
            ll_array view = ll_diagnosis_array(d, names[a]);
            assert_ptr_equal(view.data, at[a]);
            assert_true(view.rank == (a == 4 ? 2 : 1) && view.shape[0] == rows && (a < 4 || view.shape[1] == S));
            assert_int_equal(view.dtype, a ? LL_DTYPE_F64 : LL_DTYPE_I64);
        }
        assert_true(ll_diagnosis_array(d, "other").rank == -1 && ll_diagnosis_array(NULL, "row").rank == -1 &&
                    ll_diagnosis_array(d, NULL).rank == -1);
        ll_diagnosis_free(d);
    }
    assert_null(ll_diagnosis_view(NULL));
    ll_diagnosis_free(NULL);
    for (int64_t at = 3;; at++) { /* the caller's arrays go, whatever fails; two are made here */
        int64_t *row;
        double *draws;
        ll_diagnosis *d;
        CHECK_OK(ctx, lli_memory_new(ctx, &row, 2, sizeof *row));
        CHECK_OK(ctx, lli_memory_new(ctx, &draws, 2 * 32, sizeof *draws));
        lli_memory_fail_at(ctx, at - 2);
        ll_status status = lli_diagnosis_new(&d, ctx, "sgd", 2, 32, 2, 10, row, draws);
        lli_memory_fail_at(ctx, 0);
        if (status == LL_OK) {
            ll_diagnosis_free(d);
            break;
        }
        assert_int_equal(status, LL_ERR_MEMORY);
        assert_null(d);
    }
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_proper), cmocka_unit_test(test_small),        cmocka_unit_test(test_decide),    cmocka_unit_test(test_runs),
        cmocka_unit_test(test_l2),     cmocka_unit_test(test_no_intervals), cmocka_unit_test(test_diagnosis),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
