/* SPDX-License-Identifier: MIT */
/* Tables of text cells, written as aligned plain text, Markdown, CSV or LaTeX. */
#ifndef LLI_REPORT_TABLE_H
#define LLI_REPORT_TABLE_H

#include "base/text.h"

enum { LLI_TABLE_COLUMNS_MAX = 24 };

/* Cells come row by row; the first row is the heading. */
typedef struct lli_table {
    const char *align; /* one letter per column: l or r */
    int columns;
    int64_t cells;
    lli_text text; /* all cells, each ended by NUL */
} lli_table;

void lli_table_init(lli_table *table, ll_context *ctx, const char *align);
void lli_table_release(lli_table *table);
void lli_table_cell(lli_table *table, const char *text);
void lli_table_strong(lli_table *table, const char *text); /* bold where the form has it */
void lli_table_count(lli_table *table, int64_t count);
/* As a person reads it: see lli_table_number_text. */
void lli_table_number(lli_table *table, double x);
void lli_table_interval(lli_table *table, ll_interval x); /* "[0.931, 0.941]": two digits of its width; empty if none */
void lli_table_seconds(lli_table *table, double x);       /* two decimals */
/* Shortest decimal that reads back as x, for machines; empty where x is NaN. */
void lli_table_exact(lli_table *table, double x);
/* Adds the table to `out`; form is LL_TEXT_PLAIN, LL_TEXT_MARKDOWN or LL_TEXT_CSV. A failure is remembered in `out`. */
void lli_table_write(const lli_table *table, lli_text *out, ll_text_form form);
/* The same as a LaTeX tabular with the rules of booktabs. `groups`: a first heading row, LaTeX of ours, or NULL. */
void lli_table_latex(const lli_table *table, lli_text *out, const char *groups);

/* Five significant digits, no exponent from 1e-6 up: "0.0066580", "12345". NaN is "-", infinity "inf". */
void lli_table_number_text(lli_text *out, double x);
void lli_table_interval_text(lli_text *out, ll_interval x); /* as lli_table_interval */

#endif
