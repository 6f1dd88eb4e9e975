/* SPDX-License-Identifier: MIT */
/* Reader of NumPy's .npy, versions 1 to 3: one array, native row-major data used in place. The header is a Python dictionary, of which
 * this reads exactly what numpy writes. */
#include <inttypes.h>
#include <string.h>

#include "formats/bytes.h"
#include "formats/readers.h"

enum { MAGIC = 6, DESCR_MAX = 32 };

typedef struct cursor {
    const char *p, *end;
} cursor;

typedef struct found {
    char descr[DESCR_MAX];
    bool descr_is_text; /* a list describes a structured array */
    bool has_descr, has_order, has_shape;
} found;

static void skip_space(cursor *c) {
    while (c->p < c->end && (*c->p == ' ' || *c->p == '\n' || *c->p == '\t' || *c->p == '\r'))
        c->p++;
}

static bool take(cursor *c, const char *word) {
    skip_space(c);
    size_t length = strlen(word);
    if ((size_t)(c->end - c->p) < length || memcmp(c->p, word, length) != 0)
        return false;
    c->p += length;
    return true;
}

/* 'text' or "text" without escapes. */
static bool take_text(char *out, size_t capacity, cursor *c) {
    skip_space(c);
    if (c->p == c->end || (*c->p != '\'' && *c->p != '"'))
        return false;
    char quote = *c->p++;
    const char *close = memchr(c->p, quote, (size_t)(c->end - c->p));
    if (!close || (size_t)(close - c->p) >= capacity)
        return false;
    size_t length = (size_t)(close - c->p);
    memcpy(out, c->p, length);
    out[length] = 0;
    c->p = close + 1;
    return true;
}

/* A number of at most 18 digits, with the L of Python 2. */
static bool take_dimension(int64_t *out, cursor *c) {
    skip_space(c);
    const char *start = c->p;
    int64_t x = 0;
    while (c->p < c->end && *c->p >= '0' && *c->p <= '9' && c->p - start < 18)
        x = 10 * x + (*c->p++ - '0');
    *out = x;
    bool some = c->p > start;
    (void)(some && take(c, "L"));
    return some;
}

/* (), (5,), (3, 4). rank becomes LL_ARRAY_RANK_MAX + 1 when there are too many. */
static bool take_shape(lli_raw *out, cursor *c) {
    if (!take(c, "("))
        return false;
    for (out->rank = 0; !take(c, ")");) {
        int64_t dimension;
        if (!take_dimension(&dimension, c))
            return false;
        if (out->rank < LL_ARRAY_RANK_MAX)
            out->shape[out->rank] = dimension;
        out->rank += out->rank <= LL_ARRAY_RANK_MAX;
        if (!take(c, ",") && (c->p == c->end || *c->p != ')'))
            return false;
    }
    return true;
}

static bool take_entry(lli_raw *out, found *f, cursor *c) {
    char key[DESCR_MAX];
    if (!take_text(key, sizeof key, c) || !take(c, ":"))
        return false;
    if (strcmp(key, "descr") == 0 && !f->has_descr) {
        f->has_descr = true;
        f->descr_is_text = take_text(f->descr, sizeof f->descr, c);
        return f->descr_is_text;
    }
    if (strcmp(key, "fortran_order") == 0 && !f->has_order) {
        f->has_order = true;
        out->fortran = take(c, "True");
        return out->fortran || take(c, "False");
    }
    if (strcmp(key, "shape") == 0 && !f->has_shape) {
        f->has_shape = true;
        return take_shape(out, c);
    }
    return false;
}

static bool take_dictionary(lli_raw *out, found *f, cursor *c) {
    if (!take(c, "{"))
        return false;
    while (!take(c, "}")) {
        if (!take_entry(out, f, c))
            return false;
        if (!take(c, ",") && (c->p == c->end || *c->p != '}'))
            return false;
    }
    skip_space(c);
    return c->p == c->end && f->has_descr && f->has_order && f->has_shape;
}

/* "<f4", "|u1", ">i8"; an order of "=" or none is the machine's own. */
static bool dtype_of(lli_raw *out, const char *descr) {
    static const struct {
        const char *code;
        ll_dtype dtype;
    } codes[] = {{"b1", LL_DTYPE_BOOL}, {"?", LL_DTYPE_BOOL}, {"i1", LL_DTYPE_I8},  {"u1", LL_DTYPE_U8},  {"i2", LL_DTYPE_I16},
                 {"u2", LL_DTYPE_U16},  {"i4", LL_DTYPE_I32}, {"u4", LL_DTYPE_U32}, {"i8", LL_DTYPE_I64}, {"u8", LL_DTYPE_U64},
                 {"f2", LL_DTYPE_F16},  {"f4", LL_DTYPE_F32}, {"f8", LL_DTYPE_F64}};
    out->big = descr[0] == '>' || (descr[0] != '<' && LLI_BYTES_BIG_HOST);
    descr += strchr("<>=|", descr[0]) && descr[0] ? 1 : 0;
    for (size_t i = 0; i < LLI_COUNT(codes); i++)
        if (strcmp(codes[i].code, descr) == 0) {
            out->dtype = codes[i].dtype;
            return true;
        }
    return false;
}

ll_status lli_npy_header(lli_raw *out, size_t *offset, ll_context *ctx, const unsigned char *bytes, size_t size, const char *name) {
    *out = (lli_raw){0};
    if (size < 10 || memcmp(bytes, "\x93NUMPY", MAGIC) != 0)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: does not start like an .npy file, or is truncated", name);
    int version = bytes[MAGIC], width = version == 1 ? 2 : 4;
    if (version < 1 || version > 3)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: .npy version %d is not known; expected 1, 2 or 3", name, version);
    size_t start = (size_t)MAGIC + 2 + (size_t)width;
    uint64_t length = size < start ? UINT64_MAX : lli_bytes_little(bytes + MAGIC + 2, width);
    if (size < start || length > size - start)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the file ends inside its .npy header; it is truncated", name);
    found f = {0};
    cursor c = {(const char *)bytes + start, (const char *)bytes + start + length};
    bool complete = take_dictionary(out, &f, &c);
    if (f.has_descr && !f.descr_is_text)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: a structured array is not read; save each field as its own array", name);
    if (!complete)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the .npy header is damaged; expected a dictionary with descr, fortran_order and shape",
                        name);
    if (strchr(f.descr, 'O'))
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: holds Python objects; convert them to a number type before saving", name);
    if (strchr(f.descr, 'U') || strchr(f.descr, 'S'))
        return lli_fail(ctx, LL_ERR_FORMAT,
                        "%s: holds texts, which are not read; expected numbers: names, y = numpy.unique(labels, return_inverse=True); "
                        "numpy.save(\"labels.npy\", "
                        "y); the names, one per line, are a file for `class-names`",
                        name);
    if (!dtype_of(out, f.descr))
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the type \"%s\" is not read; expected f2 f4 f8, an integer or bool", name, f.descr);
    if (out->rank > LL_ARRAY_RANK_MAX)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the array has more than %d dimensions", name, LL_ARRAY_RANK_MAX);
    *offset = start + (size_t)length;
    return LL_OK;
}

ll_status lli_npy_check(lli_raw *out, size_t *offset, ll_context *ctx, const unsigned char *bytes, size_t size, const char *name) {
    LLI_TRY(lli_npy_header(out, offset, ctx, bytes, size, name));
    int64_t expected, there = (int64_t)(size - *offset);
    if (!lli_raw_bytes(&expected, out))
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the header promises a shape that overflows", name);
    if (expected > there)
        return lli_fail(ctx, LL_ERR_FORMAT,
                        "%s: the header promises %" PRId64 " bytes of data but the file has %" PRId64 "; it is truncated", name, expected,
                        there);
    if (expected < there)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the header promises %" PRId64 " bytes of data but the file has %" PRId64, name, expected,
                        there);
    return LL_OK;
}

ll_status lli_npy_parse(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name) {
    lli_raw raw;
    size_t offset;
    LLI_TRY(lli_npy_check(&raw, &offset, ctx, bytes, size, name));
    return lli_raw_add(ctx, bundle, "array", &raw, bytes + offset, NULL);
}
