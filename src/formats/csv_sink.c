/* SPDX-License-Identifier: MIT */
/* Writer of .csv: a line of column names, then one line per row. A matrix NAME [N,C] becomes the columns NAME_0 .. NAME_{C-1}. Rows wait
 * until every array has them. */
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "formats/number.h"
#include "formats/file_sink.h"

/* The scratch block collects text; it goes to the file when less than one field fits. */
typedef struct writer {
    lli_sink_file *sink;
    ll_context *ctx;
    size_t used;
} writer;

static ll_status flush(writer *w) {
    LLI_TRY(lli_outfile_write_at(w->ctx, w->sink->file, w->sink->end, w->sink->scratch, w->used));
    w->sink->end += (int64_t)w->used;
    w->used = 0;
    return LL_OK;
}

static ll_status put(writer *w, const char *text, size_t length) {
    while (length > 0) {
        if (w->used == LLI_SINK_SCRATCH)
            LLI_TRY(flush(w));
        size_t piece = LLI_MIN(length, LLI_SINK_SCRATCH - w->used);
        memcpy(w->sink->scratch + w->used, text, piece);
        w->used += piece;
        text += piece;
        length -= piece;
    }
    return LL_OK;
}

/* Quoted where the name would otherwise end the field early. */
static ll_status put_name(writer *w, const char *name, int64_t column) {
    bool quote = strpbrk(name, ",\"\n\r") != NULL;
    char tail[24];
    if (quote)
        LLI_TRY(put(w, "\"", 1));
    for (const char *p = name; *p; p++) {
        if (*p == '"')
            LLI_TRY(put(w, "\"", 1));
        LLI_TRY(put(w, *p == '\n' || *p == '\r' ? " " : p, 1));
    }
    if (column >= 0) {
        LLI_TRY(put(w, "_", 1));
        LLI_TRY(put(w, tail, (size_t)lli_number_integer(tail, column)));
    }
    return quote ? put(w, "\"", 1) : LL_OK;
}

static ll_status put_element(writer *w, const ll_array *a, int64_t i) {
    char text[LLI_NUMBER_TEXT];
    bool fits = true;
    int length;
    if (lli_array_is_real(a->dtype)) {
        length = lli_number_text(text, lli_array_real(a, i), a->dtype != LL_DTYPE_F64);
    } else {
        int64_t x = lli_array_integer(a, i, &fits);
        length = lli_number_integer(text, x);
    }
    if (!fits)
        return lli_fail(w->ctx, LL_ERR_DATA, "%s: an unsigned number above the largest i64 cannot be written", w->sink->base.name);
    return put(w, text, (size_t)length);
}

static ll_status put_row(writer *w, int64_t row) {
    for (int64_t k = 0; k < w->sink->base.count; k++) {
        const lli_sink_array *a = &w->sink->base.arrays[k];
        ll_array view = a->spec;
        view.data = a->place->pending;
        for (int64_t c = 0; c < a->row_elements; c++) {
            if (k + c > 0)
                LLI_TRY(put(w, ",", 1));
            LLI_TRY(put_element(w, &view, row * a->row_elements + c));
        }
    }
    return put(w, "\n", 1);
}

/* Writes the rows that every array has, and moves the others to the front. */
static ll_status emit(lli_sink_file *sink, ll_context *ctx) {
    int64_t ready = INT64_MAX;
    for (int64_t k = 0; k < sink->base.count; k++)
        ready = LLI_MIN(ready, sink->base.arrays[k].done - sink->emitted);
    writer w = {sink, ctx, 0};
    for (int64_t row = 0; row < ready; row++)
        LLI_TRY(put_row(&w, row));
    LLI_TRY(flush(&w));
    for (int64_t k = 0; k < sink->base.count; k++) {
        lli_sink_array *a = &sink->base.arrays[k];
        size_t rest = (size_t)((a->done - sink->emitted - ready) * a->row_bytes);
        memmove(a->place->pending, a->place->pending + ready * a->row_bytes, rest);
        sink->behind += rest == 0;
    }
    sink->emitted += ready;
    return LL_OK;
}

static ll_status write_rows(lli_sink_file *sink, ll_context *ctx, lli_sink_array *a, int64_t first_row, int64_t rows, const void *data) {
    int64_t waiting = first_row - sink->emitted;
    if (rows == 0)
        return LL_OK;
    if (waiting + rows > a->place->capacity) {
        int64_t capacity = LLI_MAX(waiting + rows, 2 * a->place->capacity);
        LLI_TRY(lli_memory_grow(ctx, &a->place->pending, waiting * a->row_bytes, capacity * a->row_bytes, 1));
        a->place->capacity = capacity;
    }
    memcpy(a->place->pending + waiting * a->row_bytes, data, (size_t)(rows * a->row_bytes));
    sink->behind -= a->done == sink->emitted;
    a->done += rows;
    return sink->behind > 0 ? LL_OK : emit(sink, ctx);
}

static ll_status check(const lli_sink_file *sink, ll_context *ctx) {
    for (int64_t k = 0; k < sink->base.count; k++) {
        const lli_sink_array *a = &sink->base.arrays[k], *first = &sink->base.arrays[0];
        if (a->spec.rank < 1 || a->spec.rank > 2 || a->row_elements == 0)
            return lli_fail(ctx, LL_ERR_USAGE, "%s: .csv holds arrays of one or two dimensions; \"%s\" has %d (`flatten` makes them two)",
                            sink->base.name, a->name, a->spec.rank);
        if (a->rows != first->rows)
            return lli_fail(ctx, LL_ERR_USAGE,
                            "%s: the arrays of a .csv need the same number of rows; \"%s\" has %" PRId64 " and \"%s\" %" PRId64,
                            sink->base.name, first->name, first->rows, a->name, a->rows);
    }
    return LL_OK;
}

ll_status lli_sink_csv(lli_sink_file *sink, ll_context *ctx, const ll_meta *meta, int64_t meta_count) {
    (void)meta, (void)meta_count;
    LLI_TRY(check(sink, ctx));
    sink->write = write_rows;
    sink->behind = sink->base.count;
    writer w = {sink, ctx, 0};
    for (int64_t k = 0; k < sink->base.count; k++) {
        const lli_sink_array *a = &sink->base.arrays[k];
        for (int64_t c = 0; c < a->row_elements; c++) {
            if (k + c > 0)
                LLI_TRY(put(&w, ",", 1));
            LLI_TRY(put_name(&w, a->name, a->spec.rank == 2 ? c : -1));
        }
    }
    LLI_TRY(put(&w, "\n", 1));
    return flush(&w);
}
