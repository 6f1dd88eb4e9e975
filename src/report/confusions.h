/* SPDX-License-Identifier: MIT */
/* Which classes are taken for which, at every cut of a series. */
#ifndef LLI_REPORT_CONFUSIONS_H
#define LLI_REPORT_CONFUSIONS_H

#include "report/view.h"

/* `truth` was called `label` count times; the first cuts that accept these errors are at first..first+count of the list, rising. */
typedef struct lli_confusion {
    int32_t truth, label;
    int64_t first, count;
} lli_confusion;

typedef struct lli_confusions {
    int64_t count;       /* of pairs */
    lli_confusion *pair; /* [count], the most frequent first; ties by truth, then label */
    int32_t *cut;        /* [errors] */
} lli_confusions;

ll_status lli_confusions_init(lli_confusions *confusions, ll_context *ctx, const lli_view *view, int64_t method,
                              ll_confidence by) LL_CHECK_RESULT;
void lli_confusions_release(lli_confusions *confusions);
/* Errors of a pair that the cut accepts. */
int64_t lli_confusions_kept(const lli_confusions *confusions, int64_t pair, int64_t cut);
/* The pairs in few bytes, the most frequent first, as long as they fit in `room` bytes. Returns how many did. */
int64_t lli_confusions_pack(lli_text *bytes, const lli_confusions *confusions, int64_t room);

#endif
