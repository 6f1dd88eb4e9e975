/* SPDX-License-Identifier: MIT */
/* The words name=value that the contestants of the bench are started with. */
#ifndef BENCH_WORDS_H
#define BENCH_WORDS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lastlayer.h"

static char **words; /* NULL-terminated */

static inline void fail(const char *what, const char *why) {
    fprintf(stderr, "bench: %s: %s\n", what, why);
    exit(1);
}

/* The value of a word; without a standard it must be there. */
static inline const char *text(const char *name, const char *standard) {
    size_t length = strlen(name);
    for (char **word = words; *word; word++)
        if (strncmp(*word, name, length) == 0 && (*word)[length] == '=')
            return *word + length + 1;
    if (!standard)
        fail(name, "is missing");
    return standard;
}

static inline int64_t number(const char *name, const char *standard) {
    return strtoll(text(name, standard), NULL, 10);
}

static inline void check(const ll_context *ctx, ll_status status) {
    if (status != LL_OK)
        fail(ll_status_name(status), ll_context_message(ctx));
}

#endif
