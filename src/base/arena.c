/* SPDX-License-Identifier: MIT */
/* Chunks that double up to a megabyte, so that a few small pieces cost little and many cost few blocks. */
#include "base/arena.h"

#include <string.h>

#include "base/memory.h"

typedef struct lli_arena_chunk {
    struct lli_arena_chunk *next;
    size_t used, size;
    _Alignas(16) char bytes[];
} chunk;

ll_status lli_arena_take(ll_context *ctx, lli_arena *arena, void *out, size_t bytes, size_t align) {
    enum { CHUNK_MIN = 1 << 10, CHUNK_MAX = 1 << 20 };
    chunk *c = arena->chunks;
    size_t at = c ? (c->used + align - 1) / align * align : 0;
    if (!c || at > c->size || bytes > c->size - at) {
        size_t size = LLI_MAX(bytes, LLI_MIN(c ? 2 * c->size : CHUNK_MIN, (size_t)CHUNK_MAX));
        LLI_TRY(lli_memory_new(ctx, &c, (int64_t)(sizeof *c + size), 1));
        c->next = arena->chunks;
        c->size = size;
        arena->chunks = c;
        at = 0;
    }
    void *place = c->bytes + at;
    c->used = at + bytes;
    memcpy(out, &place, sizeof place);
    return LL_OK;
}

ll_status lli_arena_text(ll_context *ctx, lli_arena *arena, char **out, const char *text) {
    size_t bytes = strlen(text) + 1;
    LLI_TRY(lli_arena_take(ctx, arena, out, bytes, 1));
    memcpy(*out, text, bytes);
    return LL_OK;
}

void lli_arena_release(lli_arena *arena) {
    for (chunk *c = arena->chunks, *next; c; c = next) {
        next = c->next;
        lli_memory_free(c);
    }
    arena->chunks = NULL;
}
