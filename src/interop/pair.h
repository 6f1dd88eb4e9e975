/* SPDX-License-Identifier: MIT */
/* Rows and their labels from files. */
#ifndef LLI_INTEROP_PAIR_H
#define LLI_INTEROP_PAIR_H

#include "base/context.h"

extern const char *const lli_pair_label_names[]; /* of labels in a file that holds more, NULL behind the last */
extern const char *const lli_pair_feature_names[];

/* The array `from` (FILE or FILE:NAME, found by one of `names`), which messages call `what`, and its labels; `labels` may be NULL. Where
 * both come from one table (.csv), the column that holds the labels is left out of the rest, and a note says what is left. *x and *y lie
 * in `files`, to free, also after a failure. */
ll_status lli_pair_read(ll_bundle *files[2], ll_array *x, ll_array *y, ll_context *ctx, const char *what, const char *from,
                        const char *const *names, const char *labels) LL_CHECK_RESULT;

#endif
