/* SPDX-License-Identifier: MIT */
/* The JSON reader. Our own, because memory for a header must be counted against the limit of its file, and because lack of memory must
 * not be reported as bad text. */
#include "formats/tree.h"

#include <inttypes.h>
#include <math.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/memory.h"
#include "formats/file.h"
#include "formats/number.h"

typedef enum kind { NOTHING, FALSE, TRUE, NUMBER, TEXT, LIST, OBJECT } kind;

struct lli_tree {
    const char *key;
    union {
        const char *text;
        double number;
        const lli_tree **child; /* [count] */
    };
    union {
        int64_t whole; /* of a number, -1 unless it is whole and at least 0 */
        int64_t count; /* of a list or an object */
    };
    kind kind;
};

typedef struct document {
    lli_tree root;   /* first: the caller holds its address */
    lli_arena arena; /* of nodes and texts */
} document;

typedef struct reader {
    ll_context *ctx;
    const char *name;
    const char *text, *p, *end;
    document *doc;
    lli_tree **open; /* children of the containers that are not closed yet: a stack */
    int64_t open_count, open_capacity;
    int depth;
} reader;

static ll_status bad(reader *r, const char *at, const char *what) {
    int64_t line = 1, column = 1;
    for (const char *p = r->text; p < at; p++) {
        column = *p == '\n' ? 1 : column + 1;
        line += *p == '\n';
    }
    return lli_fail(r->ctx, LL_ERR_FORMAT, "%s: not JSON: %s at line %" PRId64 ", column %" PRId64, r->name, what, line, column);
}

static void skip_space(reader *r) {
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' || *r->p == '\n' || *r->p == '\r'))
        r->p++;
}

/* The next sign that is not white space, or 0 at the end. */
static char peek(reader *r) {
    skip_space(r);
    return r->p < r->end ? *r->p : 0;
}

/* ---- texts ---- */

/* Length of the UTF-8 sequence at p, 0 if it is none: no overlong form, no surrogate, nothing above U+10FFFF. */
static size_t utf8(const char *p, const char *end) {
    const unsigned char *u = (const unsigned char *)p;
    size_t left = (size_t)(end - p), length = u[0] < 0x80 ? 1 : u[0] < 0xC2 ? 0 : u[0] < 0xE0 ? 2 : u[0] < 0xF0 ? 3 : u[0] < 0xF5 ? 4 : 0;
    if (length > left)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((u[i] & 0xC0) != 0x80)
            return 0;
    bool overlong = (u[0] == 0xE0 && u[1] < 0xA0) || (u[0] == 0xF0 && u[1] < 0x90);
    bool beyond = (u[0] == 0xED && u[1] >= 0xA0) || (u[0] == 0xF4 && u[1] >= 0x90);
    return overlong || beyond ? 0 : length;
}

static size_t put_utf8(char *out, uint32_t c) {
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t length = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = length; i-- > 1; c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3F));
    out[0] = (char)((0xF00u >> length & 0xF0u) | c);
    return length;
}

/* Four hexadecimal digits at p, or -1. */
static int64_t hex4(const char *p, const char *end) {
    int64_t value = 0;
    if (end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        char c = p[i], low = (char)(c | 32);
        if (!((c >= '0' && c <= '9') || (low >= 'a' && low <= 'f')))
            return -1;
        value = 16 * value + (c <= '9' ? c - '0' : low - 'a' + 10);
    }
    return value;
}

/* \uXXXX, with the second half of a pair where there is one; r->p stands behind the u. */
static ll_status read_unicode(reader *r, char *out, size_t *length) {
    int64_t c = hex4(r->p, r->end);
    bool high = c >= 0xD800 && c < 0xDC00;
    if (high && r->end - r->p >= 10 && r->p[4] == '\\' && r->p[5] == 'u') {
        int64_t low = hex4(r->p + 6, r->end);
        if (low >= 0xDC00 && low < 0xE000) {
            *length += put_utf8(out + *length, (uint32_t)(0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00)));
            r->p += 10;
            return LL_OK;
        }
    }
    if (c <= 0 || (c >= 0xD800 && c < 0xE000))
        return bad(r, r->p, c == 0 ? "a zero character in a text" : "a damaged \\u");
    *length += put_utf8(out + *length, (uint32_t)c);
    r->p += 4;
    return LL_OK;
}

/* The text that begins at r->p, a quotation mark. */
static ll_status read_text(reader *r, const char **out) {
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char *begin = r->p++, *close = r->p;
    while (close < r->end && *close != '"')
        close += *close == '\\' && close + 1 < r->end ? 2 : 1;
    if (close >= r->end)
        return bad(r, begin, "a text that does not end");
    char *copy;
    size_t length = 0;
    LLI_TRY(lli_arena_take(r->ctx, &r->doc->arena, &copy, (size_t)(close - begin), 1)); /* no escape is shorter than what it stands for */
    while (*r->p != '"') {
        size_t sequence = utf8(r->p, r->end);
        if (sequence == 0)
            return bad(r, r->p, "a text that is not UTF-8");
        if ((unsigned char)*r->p < 0x20)
            return bad(r, r->p, "a control character in a text");
        if (*r->p != '\\') {
            memcpy(copy + length, r->p, sequence);
            length += sequence;
            r->p += sequence;
            continue;
        }
        const char *which = r->p[1] ? strchr(names, r->p[1]) : NULL;
        r->p += 2;
        if (which)
            copy[length++] = values[which - names];
        else if (r->p[-1] == 'u')
            LLI_TRY(read_unicode(r, copy, &length));
        else
            return bad(r, r->p - 2, "an unknown escape in a text");
    }
    r->p++;
    copy[length] = 0;
    *out = copy;
    return LL_OK;
}

/* ---- other values ---- */

static bool digits(const char **p, const char *end) {
    const char *begin = *p;
    while (*p < end && **p >= '0' && **p <= '9')
        ++*p;
    return *p > begin;
}

static ll_status read_number(reader *r, lli_tree *out) {
    const char *begin = r->p, *p = r->p + (*r->p == '-');
    bool zero = p < r->end && *p == '0';
    bool fine = digits(&p, r->end) && !(zero && p - begin > 1 + (*begin == '-'));
    if (fine && p < r->end && *p == '.')
        fine = (p++, digits(&p, r->end));
    if (fine && p < r->end && (*p == 'e' || *p == 'E')) {
        p++;
        p += p < r->end && (*p == '-' || *p == '+');
        fine = digits(&p, r->end);
    }
    lli_number number;
    if (!fine || !lli_number_parse(&number, begin, (size_t)(p - begin)))
        return bad(r, begin, "a damaged number");
    if (isinf(number.real))
        return bad(r, begin, "a number that is too large");
    out->kind = NUMBER;
    out->number = number.real;
    out->whole = number.is_integer && number.integer >= 0 ? number.integer : -1;
    r->p = p;
    return LL_OK;
}

static ll_status read_word(reader *r, lli_tree *out) {
    static const struct {
        const char *word;
        kind kind;
    } words[] = {{"null", NOTHING}, {"false", FALSE}, {"true", TRUE}};
    for (size_t i = 0; i < LLI_COUNT(words); i++) {
        size_t length = strlen(words[i].word);
        if ((size_t)(r->end - r->p) >= length && memcmp(r->p, words[i].word, length) == 0) {
            out->kind = words[i].kind;
            r->p += length;
            return LL_OK;
        }
    }
    return bad(r, r->p, r->p == r->end ? "the text ends too early" : "an unexpected sign");
}

static ll_status read_value(reader *r, lli_tree *out);

static ll_status push(reader *r, lli_tree *child) {
    if (r->open_count == r->open_capacity) {
        int64_t grown = LLI_MAX(64, 2 * r->open_capacity);
        LLI_TRY(lli_memory_grow(r->ctx, &r->open, r->open_count, grown, sizeof *r->open));
        r->open_capacity = grown;
    }
    r->open[r->open_count++] = child;
    return LL_OK;
}

static int by_key(const void *a, const void *b) {
    return strcmp((*(const lli_tree *const *)a)->key, (*(const lli_tree *const *)b)->key);
}

/* The children since `first` become those of `out`. Keys are compared in a sorted copy, which takes the stack's place. */
static ll_status close_container(reader *r, lli_tree *out, int64_t first, const char *begin) {
    out->count = r->open_count - first;
    size_t bytes = (size_t)out->count * sizeof *out->child;
    LLI_TRY(lli_arena_take(r->ctx, &r->doc->arena, &out->child, bytes, alignof(lli_tree *)));
    if (bytes == 0)
        return LL_OK;
    memcpy(out->child, r->open + first, bytes);
    r->open_count = first;
    if (out->kind == LIST)
        return LL_OK;
    lli_tree **sorted = r->open + first;
    qsort(sorted, (size_t)out->count, sizeof *sorted, by_key);
    for (int64_t i = 1; i < out->count; i++)
        if (strcmp(sorted[i - 1]->key, sorted[i]->key) == 0)
            return bad(r, begin, "an object that has a key twice");
    return LL_OK;
}

static ll_status read_container(reader *r, lli_tree *out) {
    const char *begin = r->p++, close = *begin == '[' ? ']' : '}';
    int64_t first = r->open_count;
    out->kind = *begin == '[' ? LIST : OBJECT;
    if (++r->depth > LLI_TREE_DEPTH)
        return bad(r, begin, "lists and objects nested too deeply");
    for (bool more = peek(r) != close; more; r->p += more) {
        lli_tree *child;
        LLI_TRY(lli_arena_take(r->ctx, &r->doc->arena, &child, sizeof *child, alignof(lli_tree)));
        if (out->kind == OBJECT) {
            if (peek(r) != '"')
                return bad(r, r->p, "no key where one was expected");
            LLI_TRY(read_text(r, &child->key));
            if (peek(r) != ':')
                return bad(r, r->p, "no colon after a key");
            r->p++;
        }
        LLI_TRY(read_value(r, child));
        LLI_TRY(push(r, child));
        more = peek(r) == ',';
    }
    if (peek(r) != close)
        return bad(r, r->p, "neither a comma nor an end after a value");
    r->p++;
    r->depth--;
    return close_container(r, out, first, begin);
}

static ll_status read_value(reader *r, lli_tree *out) {
    char c = peek(r);
    if (c == '[' || c == '{')
        return read_container(r, out);
    if (c == '-' || (c >= '0' && c <= '9'))
        return read_number(r, out);
    if (c != '"')
        return read_word(r, out);
    out->kind = TEXT;
    return read_text(r, &out->text);
}

ll_status lli_tree_parse(lli_tree **out, ll_context *ctx, const char *text, size_t size, const char *name) {
    reader r = {.ctx = ctx, .name = name, .text = text, .p = text, .end = text + size};
    ll_status status;
    *out = NULL;
    LLI_TRY(lli_memory_new(ctx, &r.doc, 1, sizeof *r.doc));
    LLI_DO(read_value(&r, &r.doc->root));
    if (peek(&r) != 0 || r.p < r.end) {
        status = bad(&r, r.p, "more text after the end");
        goto done;
    }
    *out = &r.doc->root;
    r.doc = NULL;
done:
    lli_memory_free(r.open);
    lli_tree_free(r.doc ? &r.doc->root : NULL);
    return status;
}

ll_status lli_tree_read(lli_tree **out, ll_context *ctx, const char *path) {
    lli_file file;
    lli_budget budget;
    *out = NULL;
    LLI_TRY(lli_file_read(&file, ctx, path));
    ll_status status = lli_memory_budget_begin(&budget, ctx, path, file.size);
    if (status == LL_OK)
        status = lli_tree_parse(out, ctx, (const char *)file.bytes, file.size, path);
    lli_memory_budget_end(&budget, ctx);
    lli_file_release(&file);
    return status;
}

void lli_tree_free(lli_tree *tree) {
    document *doc = (document *)tree;
    if (!doc)
        return;
    lli_arena_release(&doc->arena);
    lli_memory_free(doc);
}

/* ---- what it holds ---- */

const lli_tree *lli_tree_get(const lli_tree *object, const char *key) {
    for (int64_t i = 0; lli_tree_is_object(object) && i < object->count; i++)
        if (strcmp(object->child[i]->key, key) == 0)
            return object->child[i];
    return NULL;
}

int64_t lli_tree_count(const lli_tree *value) {
    return value && (value->kind == LIST || value->kind == OBJECT) ? value->count : 0;
}

const lli_tree *lli_tree_at(const lli_tree *value, int64_t i) {
    return i >= 0 && i < lli_tree_count(value) ? value->child[i] : NULL;
}

const char *lli_tree_key(const lli_tree *value) {
    return value ? value->key : NULL;
}

const char *lli_tree_text(const lli_tree *value) {
    return value && value->kind == TEXT ? value->text : NULL;
}

double lli_tree_number(const lli_tree *value) {
    return value && value->kind == NUMBER ? value->number : (double)NAN;
}

int64_t lli_tree_whole(const lli_tree *value) {
    return value && value->kind == NUMBER ? value->whole : -1;
}

bool lli_tree_true(const lli_tree *value) {
    return value && value->kind == TRUE;
}

bool lli_tree_is_list(const lli_tree *value) {
    return value && value->kind == LIST;
}

bool lli_tree_is_object(const lli_tree *value) {
    return value && value->kind == OBJECT;
}

bool lli_tree_is_null(const lli_tree *value) {
    return value && value->kind == NOTHING;
}
