/* SPDX-License-Identifier: MIT */
/* Numbers at the ends of their ranges: what a test writes down for each option, its taker must accept, and what lies beyond refuse. */
#ifndef TESTS_OPTION_ENDS_H
#define TESTS_OPTION_ENDS_H

#include <math.h>

#include "base/option.h"
#include "check.h"

typedef struct option_ends {
    const char *name;
    double least, most;
    bool least_open, most_open; /* the end itself is out */
    bool zero;                  /* 0 means unset, whatever the range */
} option_ends;

typedef ll_status option_take(ll_context *ctx, const void *options);

static inline void option_ends_try(ll_context *ctx, const ll_option *row, void *options, option_take *take, double value, bool fits) {
    double before = lli_option_number(row, options);
    lli_option_set_number(row, options, value);
    ll_status status = take(ctx, options);
    if (fits != (status == LL_OK))
        fail_msg("%s = %.17g is %s", row->name, value, fits ? ctx->message : "taken");
    if (!fits)
        assert_int_equal(status, LL_ERR_USAGE);
    lli_option_set_number(row, options, before);
}

/* `options` is accepted as it is. Every option with a range must be among the ends. */
static inline void option_ends_check(ll_context *ctx, const ll_option *table, size_t count, void *options, option_take *take,
                                     const option_ends *ends, size_t end_count) {
    size_t numbers = 0;
    for (size_t i = 0; i < count; i++) {
        const ll_option *row = &table[i];
        if (row->type != LL_OPTION_INT && row->type != LL_OPTION_REAL)
            continue;
        numbers++;
        const option_ends *e = NULL;
        for (size_t j = 0; j < end_count; j++)
            e = strcmp(ends[j].name, row->name) == 0 ? &ends[j] : e;
        if (!e)
            fail_msg("the ends of %s are not known to this test", row->name);
        bool whole = row->type == LL_OPTION_INT;
        option_ends_try(ctx, row, options, take, e->least, !e->least_open || (e->zero && e->least == 0));
        option_ends_try(ctx, row, options, take, e->most, !e->most_open);
        option_ends_try(ctx, row, options, take, whole ? e->least - 1 : nextafter(e->least, -INFINITY), e->zero && e->least - 1 == 0);
        option_ends_try(ctx, row, options, take, whole ? e->most + 1 : nextafter(e->most, INFINITY), false);
        option_ends_try(ctx, row, options, take, whole ? e->least + 1 : nextafter(e->least, INFINITY), true);
        option_ends_try(ctx, row, options, take, whole ? e->most - 1 : nextafter(e->most, -INFINITY), true);
        if (!whole) {
            option_ends_try(ctx, row, options, take, NAN, false);
            option_ends_try(ctx, row, options, take, INFINITY, false);
        }
    }
    assert_int_equal(numbers, end_count);
}

#endif
