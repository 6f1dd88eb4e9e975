/* SPDX-License-Identifier: MIT */
/* Reads option structs through their tables. */
#include "base/option.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/abi.h"

#define MEMBER(type, options, option) (*(type const *)(const void *)((const char *)(options) + (option)->offset))

/* Word i of "a|b|c": where it begins, and its length; NULL behind the last. */
static const char *word_at(const char *choices, int i, size_t *length) {
    for (const char *p = choices; p && *p; i--) {
        *length = strcspn(p, "|");
        if (i == 0)
            return p;
        p += *length + (p[*length] == '|');
    }
    return NULL;
}

/* The word that a number stands for; NULL: it is a number. */
static const char *word_of(const ll_option *option, double x, size_t *length) {
    const char *word;
    for (int i = 0; (word = word_at(option->choices, i, length)); i++)
        if (x == LL_OPTION_WORD(i))
            return word;
    return NULL;
}

static void add_real(lli_text *out, const ll_option *option, double x) {
    size_t length;
    const char *word = word_of(option, x, &length);
    if (word)
        lli_text_add(out, "%.*s", (int)length, word);
    else
        lli_text_number(out, x);
}

void lli_option_text(lli_text *out, const ll_option *option, const void *options) {
    switch (option->type) {
    case LL_OPTION_FLAG: lli_text_add(out, "%s", MEMBER(bool, options, option) ? "true" : "false"); break;
    case LL_OPTION_INT: lli_text_add(out, "%" PRId64, MEMBER(int64_t, options, option)); break;
    case LL_OPTION_SEED: lli_text_add(out, "%" PRIu64, MEMBER(uint64_t, options, option)); break;
    case LL_OPTION_REAL: add_real(out, option, MEMBER(double, options, option)); break;
    case LL_OPTION_TEXT:
    case LL_OPTION_CHOICE: {
        const char *text = MEMBER(const char *, options, option);
        lli_text_add(out, "%s", text ? text : "");
        break;
    }
    }
}

void lli_option_range(lli_text *out, const ll_option *option) {
    if (option->type == LL_OPTION_CHOICE) {
        lli_text_add(out, "one of %s", option->choices);
        return;
    }
    bool low = option->min > -INFINITY, high = option->max < INFINITY;
    const char *kind = option->type == LL_OPTION_INT ? "a whole number" : "a number";
    lli_text_add(out, "%s", kind);
    if (low && high) {
        lli_text_add(out, " in %c", option->open_min ? '(' : '[');
        lli_text_number(out, option->min);
        lli_text_add(out, ",");
        lli_text_number(out, option->max);
        lli_text_add(out, "%c", option->open_max ? ')' : ']');
    } else if (low) {
        lli_text_add(out, option->open_min ? " above " : " of at least ");
        lli_text_number(out, option->min);
    }
    if (option->choices)
        lli_text_add(out, ", or one of %s", option->choices);
}

static bool is_choice(const char *choices, const char *word) {
    size_t length;
    const char *known;
    for (int i = 0; (known = word_at(choices, i, &length)); i++)
        if (strlen(word) == length && memcmp(known, word, length) == 0)
            return true;
    return false;
}

double lli_option_number(const ll_option *option, const void *options) {
    return option->type == LL_OPTION_INT ? (double)MEMBER(int64_t, options, option) : MEMBER(double, options, option);
}

void lli_option_set_number(const ll_option *option, void *options, double value) {
    int64_t whole = (int64_t)value;
    if (option->type == LL_OPTION_INT)
        memcpy((char *)options + option->offset, &whole, sizeof whole);
    else
        memcpy((char *)options + option->offset, &value, sizeof value);
}

static bool in_range(const ll_option *o, double x) {
    size_t length;
    if (word_of(o, x, &length))
        return true;
    if (o->unset == LL_OPTION_UNSET_NAN ? isnan(x) : o->unset == LL_OPTION_UNSET_ZERO && x == 0)
        return true;
    return (o->open_min ? x > o->min : x >= o->min) && (o->open_max ? x < o->max : x <= o->max);
}

static bool acceptable(const ll_option *option, const void *options) {
    switch (option->type) {
    case LL_OPTION_INT:
    case LL_OPTION_REAL: return in_range(option, lli_option_number(option, options));
    case LL_OPTION_CHOICE: {
        const char *word = MEMBER(const char *, options, option);
        return !word || is_choice(option->choices, word);
    }
    case LL_OPTION_FLAG:
    case LL_OPTION_SEED:
    case LL_OPTION_TEXT: break;
    }
    return true;
}

static const char *or_unset(const ll_option *option, const ll_context *ctx) {
    if (option->unset == LL_OPTION_UNSET_ZERO)
        return lli_option_style(ctx) == LL_OPTION_STYLE_FLAG ? ", or auto" : ", or 0 for the default";
    return "";
}

ll_status ll_option_check(ll_context *ctx, const ll_option *table, size_t count, const void *options) {
    LLI_NEED(ctx, table, options);
    for (size_t i = 0; i < count; i++) {
        if (acceptable(&table[i], options))
            continue;
        lli_text value, range;
        lli_text_init(&value, ctx);
        lli_text_init(&range, ctx);
        lli_option_text(&value, &table[i], options);
        lli_option_range(&range, &table[i]);
        ll_status status = lli_fail(ctx, LL_ERR_USAGE, "%s is %s; expected %s%s", lli_option_name(ctx, table[i].name).text,
                                    value.data ? value.data : "?", range.data ? range.data : "?", or_unset(&table[i], ctx));
        lli_text_release(&value);
        lli_text_release(&range);
        return status;
    }
    return LL_OK;
}

static size_t append(char *out, size_t size, size_t at, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (at + i + 1 < size)
            out[at + i] = text[i];
    return at + length;
}

/* `quoted` is NAME or NAME VALUE. */
static size_t append_option(char *out, size_t size, size_t at, const char *quoted, size_t length, ll_option_style style) {
    bool flag = style == LL_OPTION_STYLE_FLAG;
    size_t name = 0;
    at = append(out, size, at, "--", flag ? 2 : 0);
    for (; name < length && quoted[name] != ' '; name++)
        at = append(out, size, at, !flag && quoted[name] == '-' ? "_" : &quoted[name], 1);
    if (name == length)
        return at;
    at = append(out, size, at, flag ? " " : "=", 1);
    return append(out, size, at, quoted + name + 1, length - name - 1);
}

size_t ll_option_words(char *out, size_t size, const char *text, ll_option_style style) {
    size_t at = 0;
    for (const char *p = text ? text : ""; *p;) {
        const char *end = *p == '`' ? strchr(p + 1, '`') : NULL;
        at = end ? append_option(out, size, at, p + 1, (size_t)(end - p - 1), style) : append(out, size, at, p, 1);
        p = end ? end + 1 : p + 1;
    }
    if (out && size > 0)
        out[at < size ? at : size - 1] = 0;
    return at;
}

ll_status lli_option_take(ll_context *ctx, const char *name, void *out, size_t size, const void *given, const ll_option *table,
                          size_t count) {
    enum { OPTIONS_BYTES = 512 };
    _Alignas(max_align_t) char defaults[OPTIONS_BYTES];
    if (size > sizeof defaults)
        return lli_fail(ctx, LL_ERR_INTERNAL, "%s has %zu bytes; lli_option_take holds at most %d", name, size, OPTIONS_BYTES);
    memcpy(defaults, out, size);
    LLI_TRY(lli_abi_take(ctx, name, out, size, given, 0));
    for (size_t i = 0; i < count; i++)
        if (table[i].type == LL_OPTION_CHOICE && !MEMBER(const char *, out, &table[i]))
            memcpy((char *)out + table[i].offset, defaults + table[i].offset, sizeof(const char *));
    return ll_option_check(ctx, table, count, out);
}
