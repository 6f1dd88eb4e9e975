/* SPDX-License-Identifier: MIT */
/* Reader of comma-separated numbers. "array" is the whole table, [N,C] or [N] for one column: i64 if every field is a whole number,
 * else f64. A first line that is not numbers names the columns: then each is also an array of its own name, and neighbours called
 * NAME_0, NAME_1, ... are together the array NAME, which is how a matrix is written. Lines that begin with # are skipped. */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "formats/number.h"
#include "formats/readers.h"

enum { NAMED_MAX = 100000 };
#define EXACT ((int64_t)1 << 53) /* whole numbers up to here survive f64 */

typedef struct reader {
    const char *p, *end;
    int64_t line, blank; /* number of this line, and of an empty one before it (0 = none) */
    const char *file;
} reader;

typedef struct field {
    const char *text;
    size_t size;
    bool last; /* of its line */
    bool torn; /* a quotation mark is not closed, or there is text after the closing one */
} field;

typedef struct table {
    const char *start; /* of the first row */
    int64_t line;      /* its number */
    int64_t rows, columns;
    bool integers; /* every field is an integer that fits i64 */
    bool *integer; /* [columns] all integers, exact in f64 */
    char **names;  /* [columns] or NULL */
} table;

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

/* Goes to the next line that holds something; false at the end of the file. */
static bool next_line(reader *r) {
    r->blank = 0;
    while (r->p < r->end) {
        r->line++;
        const char *stop = memchr(r->p, '\n', (size_t)(r->end - r->p)), *q = r->p;
        stop = stop ? stop : r->end;
        while (q < stop && is_blank(*q))
            q++;
        if (q < stop && *q != '#')
            return true;
        if (q == stop && !r->blank)
            r->blank = r->line;
        r->p = stop + (stop < r->end);
    }
    return false;
}

static void next_field(field *out, reader *r) {
    while (r->p < r->end && is_blank(*r->p))
        r->p++;
    const char *start = r->p, *stop = NULL;
    bool torn = false;
    if (r->p < r->end && *r->p == '"') {
        start = ++r->p;
        while (r->p < r->end && (*r->p != '"' || (r->p + 1 < r->end && r->p[1] == '"')) && *r->p != '\n')
            r->p += *r->p == '"' ? 2 : 1;
        stop = r->p;
        torn = r->p == r->end || *r->p != '"';
        r->p += !torn;
    }
    for (; r->p < r->end && *r->p != ',' && *r->p != '\n'; r->p++)
        torn |= stop && !is_blank(*r->p);
    if (!stop)
        for (stop = r->p; stop > start && is_blank(stop[-1]);)
            stop--;
    *out = (field){start, (size_t)(stop - start), r->p == r->end || *r->p == '\n', torn};
    r->p += r->p < r->end;
}

/* The field for a message: short and printable. */
static const char *show(char out[32], const field *f) {
    size_t length = LLI_MIN(f->size, (size_t)24);
    for (size_t i = 0; i < length; i++)
        out[i] = f->text[i] >= ' ' && f->text[i] < 127 ? f->text[i] : '?';
    memcpy(out + length, f->size > length ? "..." : "", f->size > length ? 4 : 1);
    return out;
}

static ll_status refuse(ll_context *ctx, const reader *r, int64_t column, const field *f, const char *why) {
    char text[32];
    return lli_fail(ctx, LL_ERR_FORMAT, "%s: line %" PRId64 ", column %" PRId64 ": \"%s\" %s", r->file, r->line, column, show(text, f),
                    why);
}

static const char text_field[] = "is not a number; a column of class names is numbered by t = pandas.read_csv(FILE); "
                                 "t[COLUMN], names = pandas.factorize(t[COLUMN], sort=True); t.to_csv(FILE, index=False)";
static const char torn_quotes[] = "has a quotation mark that is not closed, or text after the closing one";

/* Counts the columns of the first line and says whether it is a header: if any field is text. An empty field is not text but a missing
 * value. */
static ll_status read_first(table *t, reader *r, ll_context *ctx) {
    if (!next_line(r))
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: holds no numbers", r->file);
    reader again = *r;
    bool header = false;
    field f;
    do {
        lli_number x;
        next_field(&f, r);
        t->columns++;
        if (f.torn)
            return refuse(ctx, r, t->columns, &f, torn_quotes);
        header |= f.size > 0 && !lli_number_parse(&x, f.text, f.size);
    } while (!f.last);
    if (!header) {
        *r = again;
        r->line--;
        return LL_OK;
    }
    if (t->columns > NAMED_MAX)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: more than %d named columns", r->file, NAMED_MAX);
    LLI_TRY(lli_memory_new(ctx, &t->names, t->columns, sizeof *t->names));
    for (int64_t c = 0; c < t->columns; c++) {
        next_field(&f, &again);
        LLI_TRY(lli_memory_new(ctx, &t->names[c], (int64_t)f.size + 1, 1));
        size_t length = 0;
        for (size_t i = 0; i < f.size; i++) {
            t->names[c][length++] = f.text[i];
            i += f.text[i] == '"'; /* a quote inside quotes is written twice */
        }
    }
    return LL_OK;
}

static ll_status measure_line(table *t, reader *r, ll_context *ctx) {
    int64_t c = 0;
    for (field f = {0}; !f.last; c++) {
        lli_number x;
        LLI_TRY(lli_cancel_check(ctx));
        next_field(&f, r);
        if (f.torn)
            return refuse(ctx, r, c + 1, &f, torn_quotes);
        if (!lli_number_parse(&x, f.text, f.size))
            return refuse(ctx, r, c + 1, &f, f.size ? text_field : "is not a number");
        if (x.beyond)
            return refuse(ctx, r, c + 1, &f, "is too large for f64; write inf if an infinite value is meant");
        if (c < t->columns) {
            t->integers &= x.is_integer;
            t->integer[c] &= x.is_integer && x.integer <= EXACT && x.integer >= -EXACT;
        }
    }
    if (c != t->columns)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: line %" PRId64 " has %" PRId64 " columns where the first has %" PRId64, r->file, r->line,
                        c, t->columns);
    return LL_OK;
}

/* First pass: the shape, the types, and that every field is a number. */
static ll_status measure(table *t, reader *r, ll_context *ctx) {
    LLI_TRY(read_first(t, r, ctx));
    LLI_TRY(lli_memory_new(ctx, &t->integer, t->columns, sizeof *t->integer));
    for (int64_t c = 0; c < t->columns; c++)
        t->integer[c] = true;
    t->integers = true;
    t->start = r->p;
    t->line = r->line;
    while (next_line(r)) {
        if (r->blank)
            return lli_fail(ctx, LL_ERR_FORMAT, "%s: line %" PRId64 " is empty", r->file, r->blank);
        LLI_TRY(measure_line(t, r, ctx));
        t->rows++;
    }
    if (t->rows == 0)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: has the names of %" PRId64 " columns but no row", r->file, t->columns);
    return LL_OK;
}

/* Second pass: `data` [rows,columns], without the column `skip` if that is not -1. */
static ll_status fill(void *data, const table *t, reader *r, ll_context *ctx, int64_t skip) {
    int64_t i = 0;
    r->p = t->start;
    while (next_line(r)) {
        field f = {0};
        for (int64_t c = 0; !f.last; c++) {
            lli_number x = {0};
            LLI_TRY(lli_cancel_check(ctx));
            next_field(&f, r);
            if (c == skip)
                continue;
            lli_number_parse(&x, f.text, f.size);
            if (t->integers)
                ((int64_t *)data)[i++] = x.integer;
            else
                ((double *)data)[i++] = x.real;
        }
    }
    return LL_OK;
}

/* Columns first..first+count-1 of the table as an array of their own. */
static ll_status add_columns(ll_context *ctx, ll_bundle *bundle, const table *t, const void *data, const char *name, int64_t first,
                             int64_t count, int rank) {
    bool integers = true;
    for (int64_t c = first; c < first + count; c++)
        integers &= t->integers || t->integer[c];
    ll_array array = ll_array_view(NULL, integers ? LL_DTYPE_I64 : LL_DTYPE_F64, rank, (int64_t[]){t->rows, count});
    void *owned;
    LLI_TRY(lli_cancel_check(ctx));
    LLI_TRY(lli_memory_new(ctx, &owned, t->rows * count, 8));
    for (int64_t n = 0; n < t->rows; n++)
        for (int64_t c = 0; c < count; c++) {
            int64_t from = n * t->columns + first + c, to = n * count + c;
            if (!integers)
                ((double *)owned)[to] = ((const double *)data)[from];
            else
                ((int64_t *)owned)[to] = t->integers ? ((const int64_t *)data)[from] : (int64_t)((const double *)data)[from];
        }
    array.data = owned;
    return lli_bundle_add(ctx, bundle, name, array, owned);
}

/* How many neighbours from column `first` on are called NAME_0, NAME_1, ...; *length = of NAME. */
static int64_t group_size(const table *t, int64_t first, size_t *length) {
    int64_t count = 0;
    size_t size = strlen(t->names[first]);
    if (size < 3 || strcmp(t->names[first] + size - 2, "_0") != 0)
        return 0;
    *length = size - 2;
    while (first + count < t->columns) {
        char tail[24];
        const char *name = t->names[first + count];
        lli_number_integer(tail, count);
        if (strncmp(name, t->names[first], *length + 1) != 0 || strcmp(name + *length + 1, tail) != 0)
            break;
        count++;
    }
    return count;
}

/* The name "array" always means the whole table. */
static bool is_free(const char *name) {
    return name[0] && strcmp(name, "array") != 0;
}

static ll_status add_named(ll_context *ctx, ll_bundle *bundle, const table *t, const void *data) {
    for (int64_t c = 0; c < t->columns; c++) {
        size_t length;
        int64_t count = group_size(t, c, &length);
        if (count > 0) {
            t->names[c][length] = 0;
            ll_status status = is_free(t->names[c]) ? add_columns(ctx, bundle, t, data, t->names[c], c, count, 2) : LL_OK;
            t->names[c][length] = '_';
            LLI_TRY(status);
        }
        if (is_free(t->names[c]))
            LLI_TRY(add_columns(ctx, bundle, t, data, t->names[c], c, 1, 1));
    }
    return LL_OK;
}

/* The names but that of column `skip`, as the entry "columns". */
static ll_status tell_columns(ll_context *ctx, ll_bundle *bundle, const table *t, int64_t skip) {
    enum { SHOWN = 8 };
    lli_text text;
    char *list;
    lli_text_init(&text, ctx);
    for (int64_t c = 0, shown = 0; c < t->columns && shown <= SHOWN; c++) {
        if (c == skip)
            continue;
        lli_text_add(&text, "%s%s", shown ? ", " : "", shown < SHOWN ? t->names[c] : "...");
        shown++;
    }
    LLI_TRY(lli_text_take(&text, &list));
    ll_status status = lli_bundle_add_meta(ctx, bundle, "columns", list);
    lli_memory_free(list);
    return status;
}

static int64_t find_column(const table *t, const char *name) {
    for (int64_t c = 0; t->names && name && c < t->columns; c++)
        if (strcmp(t->names[c], name) == 0)
            return c;
    return -1;
}

ll_status lli_csv_without(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name,
                          const char *column) {
    reader r = {.p = (const char *)bytes, .end = (const char *)bytes + size, .file = name};
    table t = {0};
    void *data = NULL;
    ll_status status;
    if (size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0)
        r.p += 3;
    LLI_DO(measure(&t, &r, ctx));
    int64_t skip = find_column(&t, column), columns = t.columns - (skip >= 0);
    LLI_DO(lli_memory_new(ctx, &data, t.rows * columns, 8));
    LLI_DO(fill(data, &t, &r, ctx, skip));
    ll_array array = ll_array_view(data, t.integers ? LL_DTYPE_I64 : LL_DTYPE_F64, t.columns == 1 ? 1 : 2, (int64_t[]){t.rows, columns});
    const void *cells = data;
    status = lli_bundle_add(ctx, bundle, "array", array, data);
    data = NULL;
    LLI_DO(status);
    if (skip >= 0)
        LLI_DO(tell_columns(ctx, bundle, &t, skip));
    else if (t.names)
        LLI_DO(add_named(ctx, bundle, &t, cells));
done:
    for (int64_t c = 0; t.names && c < t.columns; c++)
        lli_memory_free(t.names[c]);
    lli_memory_free(t.names);
    lli_memory_free(t.integer);
    lli_memory_free(data);
    return status;
}

ll_status lli_csv_parse(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name) {
    return lli_csv_without(ctx, bundle, bytes, size, name, NULL);
}
