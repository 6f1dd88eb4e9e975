/* SPDX-License-Identifier: MIT */
/* Which numbers differ from those of the first method by no more than chance would make them: paired tests on the same points, adjusted by
 * Holm for the number of methods. */
#ifndef LLI_REPORT_NOISE_H
#define LLI_REPORT_NOISE_H

#include "metrics/contrast.h"
#include "report/page.h"

typedef struct lli_noise {
    int64_t tested;                  /* methods that were compared with the first */
    bool (*within)[LL_METRIC_COUNT]; /* [page->count]; ranking metrics are those of sr */
} lli_noise;

ll_status lli_noise_init(lli_noise *noise, ll_context *ctx, const lli_page *page) LL_CHECK_RESULT;
void lli_noise_release(lli_noise *noise);

#endif
