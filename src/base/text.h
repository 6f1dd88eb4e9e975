/* SPDX-License-Identifier: MIT */
/* Text that grows, and JSON written into it. A failed allocation is remembered, so that only the end needs a check. */
#ifndef LLI_BASE_TEXT_H
#define LLI_BASE_TEXT_H

#include "base/context.h"

typedef struct lli_text {
    ll_context *ctx;
    char *data; /* NUL-terminated once something was added */
    int64_t length, capacity;
    ll_status status;
} lli_text;

void lli_text_init(lli_text *text, ll_context *ctx);
void lli_text_release(lli_text *text);
void lli_text_add(lli_text *text, const char *format, ...) LLI_PRINTF(2, 3);
void lli_text_append(lli_text *text, const char *bytes, int64_t count);
/* Hands the text over (never NULL on LL_OK), or frees it and returns the failure that happened on the way. */
ll_status lli_text_take(lli_text *text, char **out) LL_CHECK_RESULT;

/* What others wrote (a name from a file, a path), escaped by ll_text_escape: every text, table or JSON takes it through these. */
void lli_text_foreign(lli_text *text, const char *s);
void lli_text_json_string(lli_text *text, const char *s); /* quoted and escaped; bytes that are not UTF-8 become U+FFFD */
void lli_text_json_pair(lli_text *text, const char *before, const char *key, const char *value); /* before "key": "value" */
void lli_text_json_number(lli_text *text, double x); /* 17 significant digits, null where x is not finite */
/* A text that is there twice, NULL if there is none. Sorts them. */
const char *lli_text_twice(const char **texts, int64_t count);
/* Shortest decimal that reads back as x: 0.1, 1e-05, 250. */
void lli_text_number(lli_text *text, double x);

#endif
