/* SPDX-License-Identifier: MIT */
/* What the user sees on the terminal: errors, notes, a progress bar; and what the terminal sends us: Ctrl-C. */
#ifndef CLI_TERM_H
#define CLI_TERM_H

#include "lastlayer.h"

#define TERM_PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))

/* Keeps one sentence for main to print, and returns `status`: return complain(LL_ERR_USAGE, "..."); */
ll_status complain(ll_status status, const char *format, ...) TERM_PRINTF(2, 3);
/* Prints "lastlayer fit: sentence." : the kept one, else that of the context, else `otherwise`. */
void term_error(const char *command, const ll_context *ctx, const char *otherwise);

void term_note(const char *format, ...) TERM_PRINTF(1, 2);

/* A context whose notes and progress come to stderr and which Ctrl-C cancels. On failure *out carries the sentence. */
ll_status term_context_new(ll_context **out, int threads) LL_CHECK_RESULT;
void term_context_free(ll_context *ctx);

/* Everything printed on stdout has arrived, or LL_ERR_WRITE. */
ll_status term_flush(void) LL_CHECK_RESULT;

double term_seconds(void); /* a clock for durations */

/* Text of others on our terminal: control characters become '?'. */
void term_print_safe(const char *text);
void term_print_json_string(const char *text);
void term_print_json_number(double x); /* null where x is not finite */

#endif
