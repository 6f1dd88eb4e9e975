/* SPDX-License-Identifier: MIT */
/* A text file that grows by whole lines and survives a kill: one writer at a time, readers at any time. */
#ifndef LLI_STORE_JOURNAL_H
#define LLI_STORE_JOURNAL_H

#include "base/context.h"

typedef struct lli_journal lli_journal;

/* Opens or creates `path` and locks it; LL_ERR_WRITE when another process has it. A last line without its end, left by a kill, is cut
 * off. */
ll_status lli_journal_open(lli_journal **out, ll_context *ctx, const char *path) LL_CHECK_RESULT;
/* Adds the line (which has no newline) with one write and flushes it. Any thread may call it. After a failure the file is as it was. */
ll_status lli_journal_append(ll_context *ctx, lli_journal *journal, const char *line, int64_t length) LL_CHECK_RESULT;
void lli_journal_close(lli_journal *journal); /* NULL is fine */

/* The bytes of all whole lines, to free with lli_memory_free. Takes no lock. */
ll_status lli_journal_read(char **out, int64_t *size, ll_context *ctx, const char *path) LL_CHECK_RESULT;

#endif
