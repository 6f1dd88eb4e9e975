/* SPDX-License-Identifier: MIT */
/* Reads option structs through their tables. */
#include "base/option.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/abi.h"

#define MEMBER(type, options, option) (*(type const *)(const void *)((const char *)(options) + (option)->offset))

void lli_option_text(lli_text *out, const ll_option *option, const void *options) {
    switch (option->type) {
    case LL_OPTION_FLAG: lli_text_add(out, "%s", MEMBER(bool, options, option) ? "true" : "false"); break;
    case LL_OPTION_INT: lli_text_add(out, "%" PRId64, MEMBER(int64_t, options, option)); break;
    case LL_OPTION_SEED: lli_text_add(out, "%" PRIu64, MEMBER(uint64_t, options, option)); break;
    case LL_OPTION_REAL: lli_text_number(out, MEMBER(double, options, option)); break;
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
}

static bool is_choice(const char *choices, const char *word) {
    size_t length = strlen(word);
    for (const char *p = choices; *p;) {
        size_t size = strcspn(p, "|");
        if (size == length && memcmp(p, word, size) == 0)
            return true;
        p += size + (p[size] == '|');
    }
    return false;
}

/* An option without any bound may be NaN: not set. */
static bool in_range(const ll_option *o, double x) {
    if (isnan(x))
        return o->min == -INFINITY && o->max == INFINITY;
    return (o->open_min ? x > o->min : x >= o->min) && (o->open_max ? x < o->max : x <= o->max);
}

static bool acceptable(const ll_option *option, const void *options) {
    switch (option->type) {
    case LL_OPTION_INT: return in_range(option, (double)MEMBER(int64_t, options, option));
    case LL_OPTION_REAL: return in_range(option, MEMBER(double, options, option));
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
        ll_status status = lli_fail(ctx, LL_ERR_USAGE, "--%s is %s; expected %s", table[i].name, value.data ? value.data : "?",
                                    range.data ? range.data : "?");
        lli_text_release(&value);
        lli_text_release(&range);
        return status;
    }
    return LL_OK;
}

ll_status lli_option_take(ll_context *ctx, const char *name, void *out, size_t size, const void *given, const ll_option *table,
                          size_t count) {
    enum { OPTIONS_BYTES = 512 };
    _Alignas(max_align_t) char defaults[OPTIONS_BYTES];
    if (size > sizeof defaults)
        return lli_fail(ctx, LL_ERR_INTERNAL, "%s has %zu bytes; lli_option_take has room for %d", name, size, OPTIONS_BYTES);
    memcpy(defaults, out, size);
    LLI_TRY(lli_abi_take(ctx, name, out, size, given, 0));
    for (size_t i = 0; i < count; i++)
        if (table[i].type == LL_OPTION_CHOICE && !MEMBER(const char *, out, &table[i]))
            memcpy((char *)out + table[i].offset, defaults + table[i].offset, sizeof(const char *));
    return ll_option_check(ctx, table, count, out);
}
