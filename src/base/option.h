/* SPDX-License-Identifier: MIT */
/* Option tables: range checks and the provenance record. */
#ifndef LLI_BASE_OPTION_H
#define LLI_BASE_OPTION_H

#include "base/text.h"

/* The value as text: "0.05", "sgld", "true". */
void lli_option_text(lli_text *out, const ll_option *option, const void *options);
/* A number through its row; of the types LL_OPTION_INT and LL_OPTION_REAL. */
double lli_option_number(const ll_option *option, const void *options);
void lli_option_set_number(const ll_option *option, void *options, double value);
/* "a value in (0,1)", "one of a|b|c" */
void lli_option_range(lli_text *out, const ll_option *option);

/* Reads the caller's options, or NULL, over `out`, which holds the defaults; a choice that is NULL takes its default. Checks them. */
#define LLI_OPTION_TAKE(ctx, type, out, given, table, count) lli_option_take(ctx, #type, out, sizeof(type), given, table, count)
ll_status lli_option_take(ll_context *ctx, const char *name, void *out, size_t size, const void *given, const ll_option *table,
                          size_t count) LL_CHECK_RESULT;

#endif
