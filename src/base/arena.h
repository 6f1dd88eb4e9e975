/* SPDX-License-Identifier: MIT */
/* Many small pieces that are freed together. They follow each other in chunks: a separate block for each would cost more than it holds. */
#ifndef LLI_BASE_ARENA_H
#define LLI_BASE_ARENA_H

#include "base/context.h"

typedef struct lli_arena {
    struct lli_arena_chunk *chunks; /* the newest first; NULL is an empty arena */
} lli_arena;

/* Sets *(T **)out to `bytes` zeroed bytes, aligned to `align`, a power of two of at most 16. */
ll_status lli_arena_take(ll_context *ctx, lli_arena *arena, void *out, size_t bytes, size_t align) LL_CHECK_RESULT;
ll_status lli_arena_text(ll_context *ctx, lli_arena *arena, char **out, const char *text) LL_CHECK_RESULT; /* a copy */
void lli_arena_release(lli_arena *arena);

#endif
