/* SPDX-License-Identifier: MIT */
/* What a manager reads in ten seconds, and the tables for those who stay. */
#ifndef LLI_REPORT_SUMMARY_H
#define LLI_REPORT_SUMMARY_H

#include "report/view.h"

ll_status lli_summary_html(lli_text *out, const lli_view *view) LL_CHECK_RESULT;
ll_status lli_tables_html(lli_text *out, const lli_view *view) LL_CHECK_RESULT;
ll_status lli_class_table_html(lli_text *out, const lli_view *view) LL_CHECK_RESULT;
/* <details>: the rule that made each number, and where the predictions come from. */
ll_status lli_provenance_table_html(lli_text *out, const lli_view *view) LL_CHECK_RESULT;

/* A table that can be sorted by its columns and copied as CSV. */
void lli_tables_open(lli_text *out, const char *id, const char *caption, const char *const *columns /* NULL-terminated */);
void lli_tables_close(lli_text *out);

#endif
