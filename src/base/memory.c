/* SPDX-License-Identifier: MIT */
/* Aligned, zeroed, counted allocation. */
#include "base/memory.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/shared.h"

enum { ALIGN = 64, HUGE = 2 << 20 };

int64_t lli_memory_physical(void) {
    return (int64_t)sysconf(_SC_PHYS_PAGES) * (int64_t)sysconf(_SC_PAGESIZE);
}

bool lli_multiply(int64_t *out, int64_t a, int64_t b) {
    return a >= 0 && b >= 0 && !__builtin_mul_overflow(a, b, out);
}

static bool injected_failure(ll_context *ctx) {
    atomic_fetch_add(&ctx->shared->allocations, 1);
    if (atomic_load(&ctx->shared->fail_at) == 0)
        return false;
    return atomic_fetch_sub(&ctx->shared->fail_at, 1) == 1;
}

/* Blocks of several huge pages ask for them: rows visited at random then cost no walk through the page tables. */
static void *block_new(size_t bytes) {
    size_t align = bytes >= 2 * HUGE ? HUGE : ALIGN;
    size_t rounded = (bytes + align) / align * align; /* aligned_alloc wants a multiple of the alignment */
    void *block = aligned_alloc(align, rounded);
#if defined(MADV_HUGEPAGE)
    if (block && align == HUGE)
        (void)madvise(block, rounded, MADV_HUGEPAGE);
#endif
    return block;
}

static ll_status allocate(ll_context *ctx, void **out, int64_t count, size_t size) {
    int64_t bytes;
    if (!lli_multiply(&bytes, count, (int64_t)size) || bytes > INT64_MAX - HUGE)
        return lli_fail(ctx, LL_ERR_MEMORY, "%" PRId64 " elements of %zu bytes are more than memory can address", count, size);
    void *block = injected_failure(ctx) ? NULL : block_new((size_t)bytes);
    if (!block)
        return lli_fail(ctx, LL_ERR_MEMORY, "memory ran out while asking for %" PRId64 " bytes", bytes);
    *out = block;
    return LL_OK;
}

ll_status lli_memory_new(ll_context *ctx, void *out, int64_t count, size_t size) {
    void *block = NULL;
    memcpy(out, &block, sizeof block);
    LLI_TRY(allocate(ctx, &block, count, size));
    memset(block, 0, (size_t)count * size);
    memcpy(out, &block, sizeof block);
    return LL_OK;
}

ll_status lli_memory_grow(ll_context *ctx, void *block, int64_t old_count, int64_t new_count, size_t size) {
    void *old, *grown = NULL;
    memcpy(&old, block, sizeof old);
    LLI_TRY(allocate(ctx, &grown, new_count, size));
    size_t kept = (size_t)old_count * size;
    if (kept)
        memcpy(grown, old, kept);
    memset((char *)grown + kept, 0, (size_t)(new_count - old_count) * size);
    free(old);
    memcpy(block, &grown, sizeof grown);
    return LL_OK;
}

void lli_memory_free(void *block) {
    free(block);
}

ll_status lli_memory_text(ll_context *ctx, char **out, const char *text) {
    size_t bytes = strlen(text) + 1;
    LLI_TRY(lli_memory_new(ctx, out, (int64_t)bytes, 1));
    memcpy(*out, text, bytes);
    return LL_OK;
}

int64_t lli_memory_count(const ll_context *ctx) {
    return atomic_load(&ctx->shared->allocations);
}

void lli_memory_fail_at(ll_context *ctx, int64_t n) {
    atomic_store(&ctx->shared->fail_at, n);
}
