/* SPDX-License-Identifier: MIT */
/* The paper's tables for people. */
#ifndef LLI_PAPER_PAPER_TABLES_H
#define LLI_PAPER_PAPER_TABLES_H

#include "paper/reproduction.h"

/* As Markdown, or as LaTeX with the rules of booktabs. A failure is remembered in `out`. */
void lli_paper_tables(lli_text *out, const lli_reproduction *reproduction, bool latex);

#endif
