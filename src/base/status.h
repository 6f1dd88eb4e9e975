/* SPDX-License-Identifier: MIT */
/* Errors inside the library: one status, one sentence. A sentence says what, where, expected, found, what to do. */
#ifndef LLI_BASE_STATUS_H
#define LLI_BASE_STATUS_H

#include "lastlayer.h"

#if defined(__GNUC__)
#define LLI_PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))
#else
#define LLI_PRINTF(text, first)
#endif

/* Forwards a failure. For functions without anything to free; the others go to done:. */
#define LLI_TRY(call)                       \
    do {                                    \
        ll_status lli_try_status_ = (call); \
        if (lli_try_status_ != LL_OK)       \
            return lli_try_status_;         \
    } while (0)

/* The same, for functions that free at the label done: and return `status`. */
#define LLI_DO(call)         \
    do {                     \
        status = (call);     \
        if (status != LL_OK) \
            goto done;       \
    } while (0)

#define LLI_MIN(a, b) ((a) < (b) ? (a) : (b))
#define LLI_MAX(a, b) ((a) > (b) ? (a) : (b))
#define LLI_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
