/* SPDX-License-Identifier: MIT */
/* What the tests of compare share. */
#ifndef TESTS_COMPARING_H
#define TESTS_COMPARING_H

#include <math.h>

#include "pipeline/capability.h"
#include "check.h"
#include "problem.h"

/* A row of a method that does not diverge. */
static inline void check_row(const ll_compare_row *r, const lli_method *method, int64_t samples) {
    bool several = lli_method_reads(method, LLI_READS(samples));
    assert_string_equal(r->method, method->info.name);
    assert_ptr_equal(r->group, method->info.group);
    assert_false(r->diverged);
    assert_int_equal(r->samples, several ? samples : 1);
    assert_true(r->seconds_fit > 0 && r->seconds_predict > 0 && r->seconds_per_thousand > 0 && r->bytes > 0);
    for (int c = 0; c < LL_CONFIDENCE_MSP; c++) {
        bool exists = several || !ll_confidence_needs_members((ll_confidence)c);
        assert_int_equal(isnan(r->evaluation->selective[c].aurc), !exists);
    }
}

/* Every method that applies to heads, does not take too long and need not be named, group by group in the order of the table; of `all`
 * every one that applies, and its variants. */
static inline void check_rows(const ll_comparison *found, int64_t samples, bool at_map, bool all) {
    int64_t rows = 0;
    for (int g = 0; g < LLI_GROUPS; g++)
        for (size_t m = 0; m < ll_method_count(); m++) {
            const lli_method *method = row_of(ll_method_get(m)->name);
            const char *name = method->info.name;
            bool seldom = method->needs & (LLI_NEEDS_TIME | LLI_NEEDS_NAMING);
            if (strcmp(method->info.group, lli_method_groups[g]) != 0 || !applies(name, LLI_PLACE_HEAD) || (seldom && !all) ||
                (at_map && refits(name)))
                continue;
            check_row(ll_comparison_row(found, rows), method, samples);
            assert_string_equal(ll_comparison_row(found, rows++)->name, name);
            for (const lli_variant *v = method->variants; all && v && v->name; v++) {
                check_row(ll_comparison_row(found, rows), method, samples);
                assert_string_equal(ll_comparison_row(found, rows++)->name, v->name);
            }
        }
    assert_int_equal(ll_comparison_count(found), rows);
    assert_null(ll_comparison_row(found, rows));
}

static inline bool same_numbers(const ll_compare_row *a, const ll_compare_row *b) {
    const ll_evaluation *x = a->evaluation, *y = b->evaluation;
    return x->errors == y->errors && x->nll == y->nll && x->brier == y->brier &&
           memcmp(x->selective, y->selective, sizeof x->selective) == 0 && memcmp(&x->intervals, &y->intervals, sizeof x->intervals) == 0;
}

static inline ll_comparison *compare(ll_context *ctx, const problem *p, const ll_dataset *test, ll_compare_options o) {
    ll_fit_options fit = ll_fit_options_default();
    fit.samples = 4;
    fit.epochs = 2;
    fit.seed = 5;
    o.fit = &fit;
    ll_comparison *c;
    CHECK_OK(ctx, ll_compare(&c, ctx, p->data, test, NULL, &o));
    return c;
}

#endif
