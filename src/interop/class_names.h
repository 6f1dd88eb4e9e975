/* SPDX-License-Identifier: MIT */
/* The names of classes: a text file, one name per line. */
#ifndef LLI_INTEROP_CLASS_NAMES_H
#define LLI_INTEROP_CLASS_NAMES_H

#include "base/context.h"

typedef struct lli_class_names {
    char *text;        /* the file, lines ended by NUL */
    const char **list; /* [count] */
    int64_t count;
} lli_class_names;

/* K lines are expected; 0 = any number of them. What a failure leaves is fit for release, as is a struct of zeros. */
ll_status lli_class_names_read(lli_class_names *out, ll_context *ctx, const char *path, int64_t K) LL_CHECK_RESULT;
void lli_class_names_release(lli_class_names *names);

#endif
