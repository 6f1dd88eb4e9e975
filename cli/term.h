/* SPDX-License-Identifier: MIT */
/* What the user sees on the terminal: errors, notes, a progress bar; and what the terminal sends us: Ctrl-C. */
#ifndef CLI_TERM_H
#define CLI_TERM_H

#include <stdio.h>

#include "lastlayer.h"

#define TERM_PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))

/* Keeps one sentence for main to print, and returns `status`: return complain(LL_ERR_USAGE, "..."); */
ll_status complain(ll_status status, const char *format, ...) TERM_PRINTF(2, 3);
/* Prints "lastlayer fit: sentence." : the kept one, else that of the context, else `otherwise`. */
void term_error(const char *command, const ll_context *ctx, const char *otherwise);

/* From now on no sentences and no progress: another process says what there is to say. */
void term_silence(void);
void term_note(const char *format, ...) TERM_PRINTF(1, 2);

/* A context of so many threads and bytes (0: the default) whose notes and progress come to stderr and which Ctrl-C cancels. On failure
 * *out carries the sentence. */
ll_status term_context_new(ll_context **out, int threads, int64_t memory) LL_CHECK_RESULT;
void term_context_free(ll_context *ctx);

/* ---- stdout, or stderr where stdout takes the output. Nothing else of the command prints results: what these print is escaped ---- */

/* A piece of a line. Only the line breaks that begin or end the format are breaks; those in what it quotes are not. */
void term_print(FILE *to, const char *format, ...) TERM_PRINTF(2, 3);
void term_print_text(const char *text); /* a text of the library, as it is: its names have gone through ll_text_escape */
void term_print_json_string(const char *text);
void term_print_json_number(double x); /* null where x is not finite */

/* A file is whole: should standard output fail afterwards, the sentence says so. */
void term_written(const char *path);
/* Everything printed on stdout has arrived, or LL_ERR_WRITE. */
ll_status term_flush(void) LL_CHECK_RESULT;

double term_seconds(void); /* a clock for durations */

#endif
