/* SPDX-License-Identifier: MIT */
/* The abstention desk: choose how much to answer and see what that means. The page shows one choice; its script computes all others from
 * the cuts that lie in the page. */
#ifndef LLI_REPORT_DESK_H
#define LLI_REPORT_DESK_H

#include "report/gallery.h"

/* The cut that the desk opens with: most coverage at half the error rate, everything where no cut halves it. */
int64_t lli_desk_start(const lli_view_series *series);

ll_status lli_desk_html(lli_text *out, const lli_view *view, lli_thumbs *thumbs) LL_CHECK_RESULT;
/* The JSON of the script, inside its element. */
ll_status lli_desk_data(lli_text *out, const lli_view *view, lli_thumbs *thumbs) LL_CHECK_RESULT;

#endif
