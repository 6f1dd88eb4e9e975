/* SPDX-License-Identifier: MIT */
/* The context, its error sentence, and the callbacks of its host. */
#include "base/context.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/abi.h"
#include "base/account.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/pool.h"
#include "base/shared.h"

void ll_context_options_init(ll_context_options *options, size_t struct_size) {
    const ll_context_options defaults = {0};
    lli_abi_give(options, struct_size, &defaults, sizeof defaults);
}

ll_status ll_context_new(ll_context **out, const ll_context_options *given) {
    if (!out)
        return LL_ERR_USAGE;
    *out = NULL;
    /* An unusable context still carries the sentence that says why: the caller frees it as any other. */
    ll_context *ctx = calloc(1, sizeof *ctx);
    struct lli_shared *shared = calloc(1, sizeof *shared);
    lli_account *account = lli_account_new();
    if (!ctx || !shared || !account || pthread_mutex_init(&shared->lock, NULL) != 0) {
        free(ctx);
        free(shared);
        free(account);
        return LL_ERR_MEMORY;
    }
    ctx->shared = shared;
    ctx->account = account;
    shared->alone = lli_team_alone();
    ctx->team = &shared->alone;
    *out = ctx;
    ll_context_options options = ll_context_options_default();
    LLI_TRY(lli_abi_take(ctx, "ll_context_options", &options, sizeof options, given, 0));
    shared->progress = options.progress;
    shared->log = options.log;
    shared->user = options.user;
    if (options.option_style != LL_OPTION_STYLE_MEMBER && options.option_style != LL_OPTION_STYLE_FLAG)
        return lli_fail(ctx, LL_ERR_USAGE, "option_style is %d; expected LL_OPTION_STYLE_MEMBER or LL_OPTION_STYLE_FLAG",
                        (int)options.option_style);
    shared->option_style = options.option_style;
    if (options.threads < 0 || options.threads > 1024)
        return lli_fail(ctx, LL_ERR_USAGE, "threads is %d; expected 1 to 1024, or 0 for all", options.threads);
    if (options.memory < 0)
        return lli_fail(ctx, LL_ERR_USAGE, "memory is %" PRId64 " bytes; expected at least 1, or 0 for the machine's own limit",
                        options.memory);
    lli_account_limit(account, options.memory);
    int threads = options.threads > 0 ? options.threads : lli_clock_processors();
    if (lli_pool_new(&ctx->pool, threads) != LL_OK)
        return lli_fail(ctx, LL_ERR_MEMORY, "cannot start %d worker threads; ask for fewer", threads);
    return LL_OK;
}

void ll_context_free(ll_context *ctx) {
    if (!ctx)
        return;
    lli_pool_free(ctx->pool);
    pthread_mutex_destroy(&ctx->shared->lock);
    free(ctx->shared);
    lli_account_release(ctx->account);
    free(ctx);
}

void lli_context_child(ll_context *child, const ll_context *parent) {
    child->shared = parent->shared;
    child->account = parent->account;
    child->pool = NULL;
    child->team = &parent->shared->alone;
    child->quiet = parent->quiet;
    child->message[0] = 0;
}

const char *ll_context_message(const ll_context *ctx) {
    return ctx ? ctx->message : "there is no context: memory ran out, or NULL was given";
}

int ll_context_threads(const ll_context *ctx) {
    return ctx ? lli_pool_workers(ctx) : 0;
}

void ll_context_cancel(ll_context *ctx) {
    if (ctx)
        atomic_store(&ctx->shared->cancel, true);
}

void ll_context_uncancel(ll_context *ctx) {
    if (ctx)
        atomic_store(&ctx->shared->cancel, false);
}

bool lli_cancelled(const ll_context *ctx) {
    return atomic_load_explicit(&ctx->shared->cancel, memory_order_relaxed);
}

ll_status lli_cancel_check(ll_context *ctx) {
    return lli_cancelled(ctx) ? lli_fail(ctx, LL_ERR_CANCELLED, "interrupted") : LL_OK;
}

ll_option_style lli_option_style(const ll_context *ctx) {
    return ctx->shared ? ctx->shared->option_style : LL_OPTION_STYLE_MEMBER; /* none: a context that only takes a sentence */
}

lli_option_word lli_option_name(const ll_context *ctx, const char *name) {
    lli_option_word quoted, word;
    snprintf(quoted.text, sizeof quoted.text, "`%s`", name);
    ll_option_words(word.text, sizeof word.text, quoted.text, lli_option_style(ctx));
    return word;
}

/* A sentence is one line of harmless text, whatever the names it quotes hold. Options are filled in before these names, so a backquote
 * in a name is not taken for an option. */
static void sentence(char out[LLI_MESSAGE_MAX], const ll_context *ctx, const char *format, va_list args) {
    char raw[LLI_MESSAGE_MAX], styled[LLI_MESSAGE_MAX];
    bool whole = ll_option_words(styled, sizeof styled, format, lli_option_style(ctx)) < sizeof styled;
    vsnprintf(raw, sizeof raw, whole ? styled : format, args);
    ll_text_escape(out, LLI_MESSAGE_MAX, raw, LL_TEXT_PLAIN);
}

ll_status lli_fail(ll_context *ctx, ll_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    sentence(ctx->message, ctx, format, args);
    va_end(args);
    return status;
}

void lli_log(ll_context *ctx, ll_log_level level, const char *format, ...) {
    struct lli_shared *shared = ctx->shared;
    if (!shared->log || ctx->quiet)
        return;
    char said[LLI_MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    sentence(said, ctx, format, args);
    va_end(args);
    pthread_mutex_lock(&shared->lock);
    shared->log(shared->user, level, said);
    pthread_mutex_unlock(&shared->lock);
}

void lli_progress(ll_context *ctx, const char *what, double done, double total) {
    struct lli_shared *shared = ctx->shared;
    if (!shared->progress)
        return;
    double now = lli_clock_seconds();
    bool last = done >= total;
    if (!last && now - atomic_load_explicit(&shared->reported, memory_order_relaxed) < 0.1)
        return;
    pthread_mutex_lock(&shared->lock);
    if (last || now - atomic_load(&shared->reported) >= 0.1) {
        atomic_store(&shared->reported, now);
        shared->progress(shared->user, what, done, total);
    }
    pthread_mutex_unlock(&shared->lock);
}

const char *ll_status_name(ll_status status) {
    switch (status) {
    case LL_OK: return "ok";
    case LL_ERR_INTERNAL: return "internal";
    case LL_ERR_USAGE: return "usage";
    case LL_ERR_READ: return "read";
    case LL_ERR_FORMAT: return "format";
    case LL_ERR_DATA: return "data";
    case LL_ERR_WRITE: return "write";
    case LL_ERR_DIVERGED: return "diverged";
    case LL_ERR_MEMORY: return "memory";
    case LL_ERR_CANCELLED: return "cancelled";
    }
    return "unknown";
}

const char *ll_version(void) {
    return LL_VERSION;
}

int ll_version_number(void) {
    return LL_VERSION_NUMBER;
}
