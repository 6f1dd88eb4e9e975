/* SPDX-License-Identifier: MIT */
/* Growing text and JSON pieces. */
#include "base/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void lli_text_init(lli_text *text, ll_context *ctx) {
    *text = (lli_text){.ctx = ctx};
}

void lli_text_release(lli_text *text) {
    lli_memory_free(text->data);
    text->data = NULL;
    text->length = text->capacity = 0;
}

static bool reserve(lli_text *text, int64_t more) {
    if (text->status != LL_OK)
        return false;
    if (text->length + more + 1 <= text->capacity)
        return true;
    int64_t capacity = LLI_MAX(2 * text->capacity, text->length + more + 64);
    text->status = lli_memory_grow(text->ctx, &text->data, text->length, capacity, 1);
    if (text->status != LL_OK)
        return false;
    text->capacity = capacity;
    return true;
}

void lli_text_append(lli_text *text, const char *bytes, int64_t count) {
    if (!reserve(text, count))
        return;
    memcpy(text->data + text->length, bytes, (size_t)count);
    text->length += count;
    text->data[text->length] = 0;
}

void lli_text_add(lli_text *text, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int count = vsnprintf(NULL, 0, format, args);
    if (count >= 0 && reserve(text, count)) {
        vsnprintf(text->data + text->length, (size_t)count + 1, format, again);
        text->length += count;
    }
    va_end(again);
    va_end(args);
}

ll_status lli_text_take(lli_text *text, char **out) {
    *out = NULL;
    lli_text_append(text, "", 0);
    if (text->status != LL_OK) {
        lli_text_release(text);
        return text->status;
    }
    *out = text->data;
    text->data = NULL;
    text->length = text->capacity = 0;
    return LL_OK;
}

static void escape(lli_text *text, const char *s, ll_text_form form) {
    int64_t count = (int64_t)ll_text_escape(NULL, 0, s, form);
    if (!reserve(text, count))
        return;
    ll_text_escape(text->data + text->length, (size_t)count + 1, s, form);
    text->length += count;
}

void lli_text_foreign(lli_text *text, const char *s) {
    escape(text, s, LL_TEXT_PLAIN);
}

void lli_text_json_string(lli_text *text, const char *s) {
    escape(text, s, LL_TEXT_JSON);
}

void lli_text_json_pair(lli_text *text, const char *before, const char *key, const char *value) {
    lli_text_add(text, "%s\"%s\": ", before, key);
    lli_text_json_string(text, value);
}

/* printf follows the host's locale; its decimal separator is replaced by a point. */
static void append_number(lli_text *text, const char *digits) {
    bool point = false;
    for (const char *p = digits; *p; p++) {
        bool plain = (*p >= '0' && *p <= '9') || *p == '+' || *p == '-' || *p == 'e';
        if (plain || !point)
            lli_text_append(text, plain ? p : ".", 1);
        point = !plain;
    }
}

void lli_text_json_number(lli_text *text, double x) {
    if (!isfinite(x)) {
        lli_text_append(text, "null", 4);
        return;
    }
    char digits[40];
    snprintf(digits, sizeof digits, "%.17g", x);
    append_number(text, digits);
}

void lli_text_number(lli_text *text, double x) {
    if (!isfinite(x) || (fabs(x) < 1e15 && x == trunc(x))) {
        lli_text_add(text, "%.0f", x);
        return;
    }
    char digits[40];
    for (int precision = 1; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, x);
        if (strtod(digits, NULL) == x)
            break;
    }
    append_number(text, digits);
}

static int by_bytes(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *lli_text_twice(const char **texts, int64_t count) {
    qsort(texts, (size_t)count, sizeof *texts, by_bytes);
    for (int64_t i = 1; i < count; i++)
        if (strcmp(texts[i - 1], texts[i]) == 0)
            return texts[i];
    return NULL;
}
