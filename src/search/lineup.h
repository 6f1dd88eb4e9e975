/* SPDX-License-Identifier: MIT */
/* Which methods stand side by side, group by group. */
#ifndef LLI_SEARCH_LINEUP_H
#define LLI_SEARCH_LINEUP_H

#include "methods/method.h"

typedef struct lli_lineup_row {
    const lli_method *method;
    const lli_variant *variant; /* NULL: the method as it is */
    bool named;                 /* by the caller, one by one */
} lli_lineup_row;

typedef struct lli_lineup {
    lli_lineup_row *rows; /* [count] point is the first */
    int64_t count;
} lli_lineup;

/* `methods` as in ll_compare_options. A name that does not apply at `place` is refused; of "all" it is left out, which a note says.
 * `given` are the options of every method: a variant that they ask for already is the method itself. */
ll_status lli_lineup_init(lli_lineup *out, ll_context *ctx, const char *methods, lli_place place,
                          const ll_fit_options *given) LL_CHECK_RESULT;
void lli_lineup_release(lli_lineup *lineup);

const char *lli_lineup_name(const lli_lineup_row *row);

#endif
