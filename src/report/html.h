/* SPDX-License-Identifier: MIT */
/* Pieces of an HTML page. Whatever a user wrote passes through one of these escapes, or it is not on the page. */
#ifndef LLI_REPORT_HTML_H
#define LLI_REPORT_HTML_H

#include "base/text.h"

/* As text or as the value of an attribute. Bytes that are not UTF-8 and control characters become U+FFFD. */
void lli_html_text(lli_text *out, const char *s);
/* As a JSON string inside a script element: no "<" survives. */
void lli_html_json(lli_text *out, const char *s);
void lli_html_base64(lli_text *out, const void *bytes, int64_t count);

/* A part that was written aside: true if it can be used. Its failure becomes that of `out`. */
bool lli_html_use(lli_text *out, const lli_text *part);

/* "12.34": so many decimals, whatever the host's locale. NaN is an en dash. */
void lli_html_fixed(lli_text *out, double x, int decimals);
void lli_html_percent(lli_text *out, double share); /* "84.39 %", the blank does not break */
void lli_html_count(lli_text *out, int64_t count);  /* "10 000", with narrow blanks */
void lli_html_number(lli_text *out, double x);      /* five significant digits */
/* A cell of a table that sorts by the exact value and shows five digits. */
void lli_html_cell(lli_text *out, double x);
void lli_html_cell_percent(lli_text *out, double share);
/* With its interval in small below; `noise`: greyed. */
void lli_html_cell_interval(lli_text *out, double x, ll_interval interval, bool noise);
void lli_html_cell_text(lli_text *out, const char *s);

/* Whole numbers of any size in few bytes: seven bits each, the lowest first, the top bit says that more follow. */
void lli_html_varint(lli_text *bytes, int64_t value);

#endif
