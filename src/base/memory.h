/* SPDX-License-Identifier: MIT */
/* All memory of the library. Blocks are aligned to 64 bytes, sizes are checked for overflow, allocations are counted. What a context and
 * its children use together stays within its limit, and what the reader of a file uses within the limit of the file. */
#ifndef LLI_BASE_MEMORY_H
#define LLI_BASE_MEMORY_H

#include "base/context.h"

/* Sets *(T **)out to `count` zeroed elements of `size` bytes (a count of 0 gives a valid, empty block). */
ll_status lli_memory_new(ll_context *ctx, void *out, int64_t count, size_t size) LL_CHECK_RESULT;
/* Grows *(T **)block from old_count to new_count elements; what it held is kept, the rest is zero. */
ll_status lli_memory_grow(ll_context *ctx, void *block, int64_t old_count, int64_t new_count, size_t size) LL_CHECK_RESULT;
void lli_memory_free(void *block);                                                        /* NULL is fine */
ll_status lli_memory_text(ll_context *ctx, char **out, const char *text) LL_CHECK_RESULT; /* a copy */

int64_t lli_memory_physical(void);              /* bytes of memory that this machine has */
int64_t lli_memory_left(const ll_context *ctx); /* bytes up to the limit of the context */

/* From here to lli_memory_budget_end, what is allocated through `ctx` may take 64 times `size`, the bytes of the file, plus 32 MiB; if
 * the user gave a limit of memory, only that applies. `file` is its name in messages. Blocks may outlive the budget. Budgets nest. */
typedef struct lli_account *lli_budget;
ll_status lli_memory_budget_begin(lli_budget *out, ll_context *ctx, const char *file, size_t size) LL_CHECK_RESULT;
void lli_memory_budget_end(lli_budget *budget, ll_context *ctx); /* of NULL: nothing */
/* Bytes that a budget has for a file of this size; INT64_MAX where the user gave a limit. */
int64_t lli_memory_budget_bytes(const ll_context *ctx, size_t size);

bool lli_multiply(int64_t *out, int64_t a, int64_t b); /* false on overflow or a negative factor */

/* For tests: allocations made so far through this context, and "the n-th from now fails" (n = 0: none). */
int64_t lli_memory_count(const ll_context *ctx);
void lli_memory_fail_at(ll_context *ctx, int64_t n);

#endif
