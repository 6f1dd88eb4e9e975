/* SPDX-License-Identifier: MIT */
/* Option tables: range checks and the provenance record. */
#ifndef LLI_BASE_OPTION_H
#define LLI_BASE_OPTION_H

#include "base/text.h"

/* The value as text: "0.05", "sgld", "true". */
void lli_option_text(lli_text *out, const ll_option *option, const void *options);
/* "a value in (0,1)", "one of a|b|c" */
void lli_option_range(lli_text *out, const ll_option *option);

#endif
