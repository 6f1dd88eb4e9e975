/* SPDX-License-Identifier: MIT */
/* Another program as a reader: bytes in through its stdin; through its stdout 8 bytes, little-endian, that say how many follow, and these;
 * one sentence through its stderr. */
#ifndef LLI_FORMATS_HELPER_H
#define LLI_FORMATS_HELPER_H

#include "base/context.h"

enum { LLI_HELPER_SAID_MAX = 400 };

typedef enum lli_helper_end {
    LLI_HELPER_ENDED,    /* by itself */
    LLI_HELPER_TOO_MUCH, /* stopped: it wanted to write more than the limit */
    LLI_HELPER_TOO_LONG  /* stopped: nothing moved for too long */
} lli_helper_end;

typedef struct lli_helper_answer {
    unsigned char *bytes;           /* what it wrote; to free */
    int64_t size;                   /* less than it promised, if it ended early */
    char said[LLI_HELPER_SAID_MAX]; /* the first line of stderr, without control characters; may be empty */
    lli_helper_end end;
    int signal, code; /* that ended it, or its exit code; 0 also where that is not known (a host that ignores SIGCHLD is not told) */
} lli_helper_answer;

typedef struct lli_helper {
    const char *program, *argument;
    int64_t limit;   /* bytes that it may write */
    double patience; /* seconds without a byte in either direction until it is stopped */
} lli_helper;

/* Runs the program with an empty environment and waits for it. LL_ERR_READ if it cannot be started, LL_ERR_CANCELLED, LL_ERR_MEMORY;
 * whatever it does itself is LL_OK and in the answer. It is gone when this returns. Touches no signal and no other child of the process;
 * any thread may call. `name` is what messages call the bytes. */
ll_status lli_helper_ask(lli_helper_answer *out, ll_context *ctx, const lli_helper *helper, const unsigned char *bytes, size_t size,
                         const char *name) LL_CHECK_RESULT;
void lli_helper_release(lli_helper_answer *answer);

#endif
