/* SPDX-License-Identifier: MIT */
/* Aligned, zeroed, counted allocation. */
#include "base/memory.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/account.h"
#include "base/shared.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(begin, bytes) ((void)(begin), (void)(bytes))
#endif

enum { ALIGN = 64, HUGE = 2 << 20 };

/* How much memory the reader of a file may use: a multiple of its size, plus a constant. */
enum { BUDGET_FACTOR = 64, BUDGET_MORE = 32 << 20 };
#define BUDGET_TEXT "64 times its size plus 32 MiB"

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

/* What stands before a block. */
typedef struct block_head {
    void *base; /* what malloc gave */
    lli_account *account;
    int64_t charged;
} block_head;

static block_head *head_of(void *block) {
    return (block_head *)(void *)((char *)block - sizeof(block_head));
}

/* What a block takes from its account, its head and the way to its alignment included. */
static int64_t charge_of(int64_t bytes) {
    return (bytes + ALIGN - 1) / ALIGN * ALIGN + 2 * ALIGN;
}

/* Blocks of several huge pages ask for them: rows visited at random then cost no walk through the page tables. */
static void *block_new(size_t bytes) {
    size_t align = bytes >= 2 * HUGE ? HUGE : ALIGN;
    size_t rounded = (bytes + align - 1) / align * align, all = sizeof(block_head) + align + rounded;
    char *base = malloc(all);
    if (!base)
        return NULL;
    char *block = base + sizeof(block_head) + align - ((uintptr_t)base + sizeof(block_head)) % align;
#if defined(MADV_HUGEPAGE)
    if (align == HUGE)
        (void)madvise(block, rounded, MADV_HUGEPAGE);
#endif
    head_of(block)->base = base;
    /* AddressSanitizer guards the ends of what malloc gave; these are the ends of what was asked for. */
    ASAN_POISON_MEMORY_REGION(base, (size_t)((char *)head_of(block) - base));
    ASAN_POISON_MEMORY_REGION(block + bytes, (size_t)(base + all - (block + bytes)));
    return block;
}

static ll_status refuse(ll_context *ctx, const lli_account *full, int64_t bytes) {
    int64_t taken = atomic_load(&full->taken);
    if (full->file)
        return lli_fail(ctx, LL_ERR_MEMORY,
                        "%s: reading it needs %" PRId64 " bytes of memory, more than " BUDGET_TEXT
                        "; if you trust the file, give `memory BYTES`",
                        full->file, taken + bytes);
    return lli_fail(ctx, LL_ERR_MEMORY,
                    "%" PRId64 " bytes of memory are needed, %" PRId64 " are in use and the limit is %" PRId64 "; `memory BYTES` raises it",
                    bytes, taken, full->limit);
}

/* NULL: LL_ERR_MEMORY, with its sentence. */
static void *allocate(ll_context *ctx, int64_t count, size_t size) {
    int64_t bytes;
    if (!lli_multiply(&bytes, count, (int64_t)size) || bytes > INT64_MAX - 2 * HUGE) {
        lli_fail(ctx, LL_ERR_MEMORY, "%" PRId64 " elements of %zu bytes are more than memory can address", count, size);
        return NULL;
    }
    bool fails = injected_failure(ctx);
    const lli_account *full;
    int64_t charged = charge_of(bytes);
    if (!lli_account_charge(ctx->account, charged, &full)) {
        refuse(ctx, full, bytes);
        return NULL;
    }
    void *block = fails ? NULL : block_new((size_t)bytes);
    if (!block) {
        lli_account_discharge(ctx->account, charged);
        lli_fail(ctx, LL_ERR_MEMORY, "memory ran out while asking for %" PRId64 " bytes", bytes);
        return NULL;
    }
    head_of(block)->account = ctx->account;
    head_of(block)->charged = charged;
    atomic_fetch_add(&ctx->account->holders, 1);
    return block;
}

/* The system needs seconds to provide gigabytes: cancelling does not wait for them. */
static ll_status clear(ll_context *ctx, void *block, size_t bytes) {
    const size_t piece = (size_t)1 << 24;
    for (size_t at = 0; at < bytes; at += piece) {
        if (at > 0)
            LLI_TRY(lli_cancel_check(ctx));
        memset((char *)block + at, 0, LLI_MIN(piece, bytes - at));
    }
    return LL_OK;
}

ll_status lli_memory_new(ll_context *ctx, void *out, int64_t count, size_t size) {
    void *block = allocate(ctx, count, size);
    memcpy(out, &block, sizeof block);
    if (!block)
        return LL_ERR_MEMORY;
    ll_status status = clear(ctx, block, (size_t)count * size);
    if (status != LL_OK) {
        lli_memory_free(block);
        block = NULL;
        memcpy(out, &block, sizeof block);
        return status;
    }
    return LL_OK;
}

ll_status lli_memory_grow(ll_context *ctx, void *block, int64_t old_count, int64_t new_count, size_t size) {
    void *old, *grown = allocate(ctx, new_count, size);
    if (!grown)
        return LL_ERR_MEMORY;
    memcpy(&old, block, sizeof old);
    size_t kept = (size_t)old_count * size;
    if (kept)
        memcpy(grown, old, kept);
    memset((char *)grown + kept, 0, (size_t)(new_count - old_count) * size);
    lli_memory_free(old);
    memcpy(block, &grown, sizeof grown);
    return LL_OK;
}

void lli_memory_free(void *block) {
    if (!block)
        return;
    block_head head = *head_of(block);
    free(head.base);
    lli_account_discharge(head.account, head.charged);
    lli_account_release(head.account);
}

int64_t lli_memory_left(const ll_context *ctx) {
    const lli_account *account = ctx->account;
    while (account->parent)
        account = account->parent;
    return account->limit - atomic_load(&account->taken);
}

int64_t lli_memory_budget_bytes(const ll_context *ctx, size_t size) {
    const lli_account *account = ctx->account;
    while (account->parent)
        account = account->parent;
    int64_t bytes;
    return account->given || !lli_multiply(&bytes, (int64_t)size, BUDGET_FACTOR) || bytes > INT64_MAX - BUDGET_MORE ? INT64_MAX
                                                                                                                    : bytes + BUDGET_MORE;
}

ll_status lli_memory_budget_begin(lli_budget *out, ll_context *ctx, const char *file, size_t size) {
    lli_account *account;
    *out = NULL;
    LLI_TRY(lli_memory_new(ctx, &account, 1, sizeof *account));
    account->parent = ctx->account;
    account->limit = lli_memory_budget_bytes(ctx, size);
    account->file = file;
    atomic_init(&account->holders, 1);
    ctx->account = account;
    *out = account;
    return LL_OK;
}

void lli_memory_budget_end(lli_budget *budget, ll_context *ctx) {
    if (!*budget)
        return;
    ctx->account = (*budget)->parent;
    lli_account_release(*budget);
    *budget = NULL;
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
