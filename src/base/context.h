/* SPDX-License-Identifier: MIT */
/* The context: what a call may use (workers, callbacks) and where it says what went wrong.
 * Inside a parallel task each worker has a child context of its own, so error texts never race. */
#ifndef LLI_BASE_CONTEXT_H
#define LLI_BASE_CONTEXT_H

#include "base/status.h"

struct lli_pool;
struct lli_team;

enum { LLI_MESSAGE_MAX = 1024 };

struct lli_shared; /* counters, lock and callbacks that a context and its children share */

struct ll_context {
    struct lli_shared *shared;
    struct lli_account *account; /* what memory is charged to: the context's own or, while one is read, that of a file */
    struct lli_pool *pool;       /* NULL in a child that has siblings: parallel work inside a task runs on that task's thread */
    struct lli_team *team;       /* never NULL; in a child a process alone */
    bool quiet;                  /* says nothing through the log */
    char message[LLI_MESSAGE_MAX];
};

/* Records the sentence and returns `status`: return lli_fail(ctx, LL_ERR_DATA, "...", ...);
 * An option in a sentence is written in backquotes, without dashes, alone or with its value: "`batch-size` is %d", "use `by sr`". The
 * context writes it in its style, batch_size and by=sr or --batch-size and --by sr. */
ll_status lli_fail(ll_context *ctx, ll_status status, const char *format, ...) LLI_PRINTF(3, 4);
void lli_log(ll_context *ctx, ll_log_level level, const char *format, ...) LLI_PRINTF(3, 4);
/* The same for a name that is not known before: lli_fail(ctx, LL_ERR_USAGE, "%s is ...", lli_option_name(ctx, name).text, ...). */
typedef struct lli_option_word {
    char text[64];
} lli_option_word;
lli_option_word lli_option_name(const ll_context *ctx, const char *name);
ll_option_style lli_option_style(const ll_context *ctx);
bool lli_cancelled(const ll_context *ctx);
ll_status lli_cancel_check(ll_context *ctx) LL_CHECK_RESULT; /* LL_ERR_CANCELLED with its sentence, or LL_OK */

/* Reports at most ten times a second, and always done == total. Cheap enough for every step. */
void lli_progress(ll_context *ctx, const char *what, double done, double total);

void lli_context_child(ll_context *child, const ll_context *parent);

#endif
