/* SPDX-License-Identifier: MIT */
/* The figures of a page as SVG files of their own, for documents: the same drawings, with legend and colours inside. */
#ifndef LLI_REPORT_FIGURE_FILE_H
#define LLI_REPORT_FIGURE_FILE_H

#include "report/page.h"

/* Takes one file: its name without ending, and the text. */
typedef ll_status lli_figure_file_take(ll_context *ctx, void *state, const char *name, const lli_text *svg);

/* risk-coverage, bars, histograms, reliability, ood, running: those that have something to show. Of the confidences in risk-coverage only
 * sr is drawn where there are several methods, else sr, std and hq. */
ll_status lli_figure_file_each(ll_context *ctx, const lli_page *page, lli_figure_file_take *take, void *state) LL_CHECK_RESULT;

#endif
