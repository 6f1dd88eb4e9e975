/* SPDX-License-Identifier: MIT */
/* Arrays in memory (or mapped) into files, block by block: as they are, or with another type, scale or shape. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/abi.h"
#include "base/array.h"
#include "base/memory.h"
#include "base/option.h"
#include "formats/file.h"
#include "formats/bytes.h"
#include "formats/format.h"
#include "formats/safetensors.h"

enum { BLOCK_BYTES = 1 << 20 };

/* One array on its way: from[i] / divide, stored as `type`. */
typedef struct change {
    const char *name;
    ll_array from;
    ll_dtype type;
    double divide;
} change;

static bool is_plain(const change *c) {
    return c->type == c->from.dtype && c->divide == 1 && lli_array_is_dense(&c->from);
}

/* x is a whole number in the range of the integer type. */
static bool is_held(double x, ll_dtype type) {
    int bits = 8 * (int)ll_dtype_size(type);
    bool is_signed = type == LL_DTYPE_I8 || type == LL_DTYPE_I16 || type == LL_DTYPE_I32 || type == LL_DTYPE_I64;
    double top = ldexp(1, is_signed ? bits - 1 : bits), bottom = is_signed ? -top : 0;
    return x == trunc(x) && (type == LL_DTYPE_BOOL || (x >= bottom && x < top));
}

static void store_integer(void *out, ll_dtype type, int64_t i, int64_t x) {
    if (type == LL_DTYPE_I64 || type == LL_DTYPE_U64)
        ((int64_t *)out)[i] = x;
    else
        lli_array_store(out, type, i, (double)x);
}

/* Integers to integers without the detour through f64, which is exact only up to 2^53. */
static bool convert_integer(void *out, const change *c, int64_t i, int64_t from) {
    bool fits;
    int64_t x = lli_array_integer(&c->from, from, &fits);
    if (!fits || (c->type == LL_DTYPE_U64 ? x < 0 : c->type != LL_DTYPE_I64 && !is_held((double)x, c->type)))
        return false;
    store_integer(out, c->type, i, x);
    return true;
}

static bool convert_real(void *out, const change *c, int64_t i, int64_t from) {
    double x = lli_array_real(&c->from, from) / c->divide;
    if (lli_array_is_integer(c->type) && !is_held(x, c->type))
        return false;
    lli_array_store(out, c->type, i, x);
    ll_array stored = ll_array_view(out, c->type, 0, NULL);
    return !isfinite(x) || isfinite(lli_array_real(&stored, i));
}

static ll_status convert_run(void *out, ll_context *ctx, const change *c, int64_t first, int64_t count) {
    bool integers = lli_array_is_integer(c->type) && lli_array_is_integer(c->from.dtype) && c->divide == 1;
    for (int64_t i = 0; i < count; i++)
        if (!(integers ? convert_integer : convert_real)(out, c, i, first + i))
            return lli_fail(ctx, LL_ERR_DATA, "element %" PRId64 " of \"%s\" is %g, which does not fit %s%s", first + i, c->name,
                            lli_array_real(&c->from, first + i) / c->divide, ll_dtype_name(c->type),
                            lli_array_is_integer(c->type) ? "; expected a whole number in its range" : "");
    return LL_OK;
}

/* Rows of a view; a number of rank 0 is one row of one element. */
static int64_t row_count(const ll_array *a) {
    return a->rank > 0 ? a->shape[0] : 1;
}

/* All arrays advance together, so that a format that writes by row need not wait for one. */
static ll_status write_all(ll_context *ctx, lli_sink *sink, const change *changes, int64_t count, void *scratch, int64_t block) {
    int64_t rows = 0;
    for (int64_t k = 0; k < count; k++)
        rows = LLI_MAX(rows, row_count(&changes[k].from));
    for (int64_t first = 0; first < rows; first += block) {
        LLI_TRY(lli_cancel_check(ctx));
        for (int64_t k = 0; k < count; k++) {
            const change *c = &changes[k];
            int64_t there = LLI_MIN(row_count(&c->from) - first, block);
            if (there <= 0)
                continue;
            int64_t elements = lli_array_count(&c->from) / row_count(&c->from);
            const char *data = (const char *)c->from.data + first * elements * (int64_t)ll_dtype_size(c->from.dtype);
            if (!is_plain(c))
                LLI_TRY(convert_run(scratch, ctx, c, first * elements, there * elements));
            LLI_TRY(lli_sink_write(sink, ctx, k, first, there, is_plain(c) ? data : scratch));
        }
        lli_progress(ctx, "write", (double)LLI_MIN(first + block, rows), (double)rows);
    }
    return LL_OK;
}

/* `shapes`: what the file shall say; the elements are those of the changes. */
static ll_status write_file(ll_context *ctx, const char *path, const change *changes, const ll_named_array *shapes, int64_t count,
                            const ll_meta *meta, int64_t meta_count) {
    lli_sink *sink = NULL;
    void *scratch = NULL;
    int64_t widest = 1;
    ll_status status;
    LLI_DO(lli_file_sink_open(&sink, ctx, path, shapes, count, meta, meta_count));
    for (int64_t k = 0; k < count; k++)
        if (row_count(&changes[k].from) > 0)
            widest = LLI_MAX(widest, lli_array_count(&changes[k].from) / row_count(&changes[k].from) * 8);
    int64_t block = LLI_MAX(1, BLOCK_BYTES / widest);
    LLI_DO(lli_memory_new(ctx, &scratch, block, (size_t)widest));
    LLI_DO(write_all(ctx, sink, changes, count, scratch, block));
    status = lli_sink_commit(sink, ctx);
    sink = NULL;
done:
    lli_sink_abandon(sink);
    lli_memory_free(scratch);
    return status;
}

/* What a caller gives to be written. */
static ll_status check_given(ll_context *ctx, const ll_named_array *arrays, int64_t count, const ll_meta *meta, int64_t meta_count) {
    if (count < 0 || meta_count < 0 || (count > 0 && !arrays) || (meta_count > 0 && !meta))
        return lli_fail(ctx, LL_ERR_USAGE, "ll_bundle_write: %" PRId64 " arrays and %" PRId64 " pairs of metadata are to be written, %s",
                        count, meta_count, count < 0 || meta_count < 0 ? "and neither can be below 0" : "and NULL was given for them");
    for (int64_t i = 0; i < count; i++) {
        if (!arrays[i].name)
            return lli_fail(ctx, LL_ERR_USAGE, "ll_bundle_write: the name of array %" PRId64 " is NULL", i);
        LLI_TRY(lli_array_check(ctx, arrays[i].name, &arrays[i].array));
    }
    for (int64_t i = 0; i < meta_count; i++)
        if (!meta[i].key || !meta[i].value)
            return lli_fail(ctx, LL_ERR_USAGE, "ll_bundle_write: pair %" PRId64 " of the metadata has a %s that is NULL", i,
                            meta[i].key ? "value" : "key");
    return LL_OK;
}

ll_status ll_bundle_write(ll_context *ctx, const char *path, const ll_named_array *arrays, int64_t count, const ll_meta *meta,
                          int64_t meta_count) {
    LLI_NEED(ctx, path);
    LLI_TRY(check_given(ctx, arrays, count, meta, meta_count));
    change *changes;
    LLI_TRY(lli_memory_new(ctx, &changes, count, sizeof *changes));
    for (int64_t i = 0; i < count; i++)
        changes[i] = (change){arrays[i].name, arrays[i].array, arrays[i].array.dtype, 1};
    ll_status status = write_file(ctx, path, changes, arrays, count, meta, meta_count);
    lli_memory_free(changes);
    return status;
}

ll_status lli_format_bytes(void **out, size_t *size, ll_context *ctx, const ll_named_array *arrays, int64_t count, const ll_meta *meta,
                           int64_t meta_count) {
    int64_t *offsets = NULL, end;
    char *bytes = NULL;
    lli_text header;
    ll_status status;
    lli_text_init(&header, ctx);
    LLI_DO(lli_memory_new(ctx, &offsets, count, sizeof *offsets));
    LLI_DO(lli_safetensors_header(&header, offsets, &end, ctx, arrays, count, meta, meta_count));
    LLI_DO(lli_memory_new(ctx, &bytes, end, 1));
    memcpy(bytes, header.data, (size_t)header.length);
    for (int64_t k = 0; k < count; k++) {
        int64_t elements = lli_array_count(&arrays[k].array);
        size_t width = ll_dtype_size(arrays[k].array.dtype);
        lli_array_copy(bytes + offsets[k], &arrays[k].array, 0, elements);
        if (LLI_BYTES_BIG_HOST && width > 1)
            lli_bytes_swap(bytes + offsets[k], bytes + offsets[k], elements, width);
    }
    *out = bytes;
    *size = (size_t)end;
done:
    lli_text_release(&header);
    lli_memory_free(offsets);
    return status;
}

void ll_bytes_free(void *bytes) {
    lli_memory_free(bytes);
}

void ll_convert_options_init(ll_convert_options *options, size_t struct_size) {
    const ll_convert_options defaults = {.divide = 1};
    lli_abi_give(options, struct_size, &defaults, sizeof defaults);
}

const ll_option *ll_convert_options_table(size_t *count) {
    static const ll_option table[] = {
        {.name = "dtype",
         .type = LL_OPTION_CHOICE,
         .offset = offsetof(ll_convert_options, dtype),
         .arg = "TYPE",
         .choices = "bool|i8|u8|i16|u16|i32|u32|i64|u64|f16|bf16|f32|f64",
         .standard = "as it is",
         .help = "type of the numbers written"},
        {.name = "divide",
         .type = LL_OPTION_REAL,
         .offset = offsetof(ll_convert_options, divide),
         .arg = "X",
         .min = 0,
         .max = INFINITY,
         .open_min = true,
         .open_max = true,
         .standard = "1",
         .help = "divide every value by X; integers become f32 unless `dtype` is given"},
        {.name = "flatten",
         .type = LL_OPTION_FLAG,
         .offset = offsetof(ll_convert_options, flatten),
         .help = "make [N,a,b,...] an [N,a*b*...]"},
        {.name = "labels",
         .type = LL_OPTION_TEXT,
         .offset = offsetof(ll_convert_options, labels),
         .arg = "FILE[:NAME]",
         .help = "also write these labels, unchanged, under the name \"labels\""},
    };
    if (count)
        *count = LLI_COUNT(table);
    return table;
}

static ll_array flattened(ll_array a) {
    for (int i = 2; i < a.rank; i++)
        a.shape[1] *= a.shape[i];
    a.rank = LLI_MIN(a.rank, 2);
    return a;
}

/* Fills the plan for arrays 0..count-1 of the bundle. */
static void plan(change *changes, ll_named_array *shapes, const ll_bundle *bundle, int64_t count, const ll_convert_options *options) {
    for (int64_t i = 0; i < count; i++) {
        ll_array a = ll_bundle_array(bundle, i);
        ll_dtype type = options->divide != 1 && lli_array_is_integer(a.dtype) ? LL_DTYPE_F32 : a.dtype;
        if (options->dtype)
            lli_array_dtype_parse(&type, options->dtype);
        changes[i] = (change){ll_bundle_name(bundle, i), a, type, options->divide};
        shapes[i] = (ll_named_array){ll_bundle_name(bundle, i), options->flatten ? flattened(a) : a};
        shapes[i].array.dtype = type;
    }
}

/* `labels` may be NULL. */
static ll_status convert_bundle(ll_context *ctx, const char *to, const ll_bundle *bundle, const ll_array *labels,
                                const ll_convert_options *options) {
    change *changes = NULL;
    ll_named_array *shapes = NULL;
    ll_meta *meta = NULL;
    ll_status status;
    /* The table of a .csv replaces its columns. */
    int64_t count = strcmp(bundle->format, "csv") == 0 ? LLI_MIN(bundle->count, 1) : bundle->count;
    LLI_DO(lli_memory_new(ctx, &changes, count + 1, sizeof *changes));
    LLI_DO(lli_memory_new(ctx, &shapes, count + 1, sizeof *shapes));
    LLI_DO(lli_memory_new(ctx, &meta, bundle->meta_count, sizeof *meta));
    plan(changes, shapes, bundle, count, options);
    if (labels) {
        changes[count] = (change){"labels", *labels, labels->dtype, 1};
        shapes[count++] = (ll_named_array){"labels", *labels};
    }
    for (int64_t i = 0; i < bundle->meta_count; i++)
        meta[i] = (ll_meta){bundle->meta[i].key, bundle->meta[i].value};
    LLI_DO(write_file(ctx, to, changes, shapes, count, meta, bundle->meta_count));
done:
    lli_memory_free(changes);
    lli_memory_free(shapes);
    lli_memory_free(meta);
    return status;
}

ll_status ll_convert(ll_context *ctx, const char *to, const char *from, const ll_convert_options *options) {
    LLI_NEED(ctx, to, from);
    ll_convert_options chosen = ll_convert_options_default();
    static const char *const label_names[] = {"labels", "y", NULL};
    ll_bundle *bundle = NULL, *beside = NULL;
    char *file = NULL;
    const char *name;
    ll_array unused, labels;
    size_t count;
    const ll_option *table = ll_convert_options_table(&count);
    ll_status status;
    LLI_DO(LLI_OPTION_TAKE(ctx, ll_convert_options, &chosen, options, table, count));
    LLI_DO(lli_file_sink_check(ctx, to));
    LLI_DO(lli_format_split(&file, &name, ctx, from));
    if (lli_file_same(file, to)) {
        status = lli_fail(ctx, LL_ERR_USAGE, "%s: the output would replace its own input; choose another name", to);
        goto done;
    }
    LLI_DO(name ? ll_array_read(&bundle, &unused, ctx, from, NULL) : ll_bundle_read(&bundle, ctx, file));
    if (chosen.labels)
        LLI_DO(ll_array_read(&beside, &labels, ctx, chosen.labels, label_names));
    LLI_DO(convert_bundle(ctx, to, bundle, chosen.labels ? &labels : NULL, &chosen));
done:
    ll_bundle_free(bundle);
    ll_bundle_free(beside);
    lli_memory_free(file);
    return status;
}
