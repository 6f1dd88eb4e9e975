/* SPDX-License-Identifier: MIT */
/* Columns by the Arrow C data interface: pyarrow, polars and others. A column of numbers is [N], one of fixed-size lists of numbers [N,D].
 * A single chunk is used in place, several are put behind each other. The structs are those of the Arrow specification. */
#include <stdlib.h>
#include <string.h>

#include "native.h"

struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

/* What a column is made of. */
typedef struct column {
    ll_dtype dtype;
    int64_t width; /* D of lists, 0 for plain numbers */
} column;

static int number_type(const char *format) {
    static const char letters[] = "cCsSiIlLefg";
    static const ll_dtype types[] = {LL_DTYPE_I8,  LL_DTYPE_U8,  LL_DTYPE_I16, LL_DTYPE_U16, LL_DTYPE_I32, LL_DTYPE_U32,
                                     LL_DTYPE_I64, LL_DTYPE_U64, LL_DTYPE_F16, LL_DTYPE_F32, LL_DTYPE_F64};
    const char *at = *format && !format[1] ? strchr(letters, *format) : NULL;
    return at ? (int)types[at - letters] : -1;
}

static int describe(column *out, const struct ArrowSchema *schema) {
    const struct ArrowSchema *numbers = schema;
    out->width = 0;
    if (strncmp(schema->format, "+w:", 3) == 0 && schema->n_children == 1) {
        out->width = strtoll(schema->format + 3, NULL, 10);
        numbers = schema->children[0];
    }
    int dtype = numbers->dictionary ? -1 : number_type(numbers->format);
    if (dtype < 0 || out->width < 0) {
        PyErr_Format(PyExc_TypeError,
                     "the Arrow column has the type '%s'; expected numbers, or lists of numbers that all have the same length "
                     "(FixedSizeList in Arrow, Array in polars)",
                     schema->format);
        return -1;
    }
    out->dtype = (ll_dtype)dtype;
    return 0;
}

/* The first element of a chunk; NULL with an exception where some are missing. */
static const char *elements(const struct ArrowArray *chunk, const column *c) {
    const struct ArrowArray *numbers = c->width ? chunk->children[0] : chunk;
    bool missing = chunk->null_count > 0 || numbers->null_count > 0;
    /* null_count -1: not counted; a bitmap may have missing ones anywhere */
    missing = missing || (chunk->null_count < 0 && chunk->buffers[0]) || (numbers->null_count < 0 && numbers->buffers[0]);
    if (missing) {
        PyErr_SetString(PyExc_ValueError, "the Arrow column has missing values; drop or fill them first");
        return NULL;
    }
    int64_t first = c->width ? chunk->offset * c->width + numbers->offset : chunk->offset;
    return numbers->buffers[1] ? (const char *)numbers->buffers[1] + first * (int64_t)ll_dtype_size(c->dtype) : "";
}

static void shape_view(given_array *out, const void *data, const column *c, int64_t rows) {
    const int64_t shape[] = {rows, c->width};
    out->view = ll_array_view(data, c->dtype, c->width ? 2 : 1, shape);
}

static void release_array(void *resource) {
    struct ArrowArray *array = resource;
    if (array->release)
        array->release(array);
    free(array);
}

/* The one chunk, moved out of its place. */
static int take_chunk(given_array *out, struct ArrowArray *chunk, const column *c) {
    struct ArrowArray *kept = malloc(sizeof *kept);
    const char *data = elements(chunk, c);
    if (!kept || !data) {
        free(kept);
        if (data)
            PyErr_NoMemory();
        return -1;
    }
    *kept = *chunk;
    chunk->release = NULL;
    out->release = release_array;
    out->resource = kept;
    shape_view(out, data, c, kept->length);
    return 1;
}

typedef struct chunks {
    struct ArrowArray *list;
    size_t count;
    int64_t rows;
} chunks;

static int take_chunks(given_array *out, const chunks *all, const column *c) {
    size_t row = (size_t)(c->width ? c->width : 1) * ll_dtype_size(c->dtype), at = 0;
    char *joined = malloc((size_t)all->rows * row + 1);
    if (!joined) {
        PyErr_NoMemory();
        return -1;
    }
    out->release = free;
    out->resource = joined;
    for (size_t i = 0; i < all->count; i++) {
        const char *data = elements(&all->list[i], c);
        if (!data)
            return -1;
        memcpy(joined + at, data, (size_t)all->list[i].length * row);
        at += (size_t)all->list[i].length * row;
    }
    shape_view(out, joined, c, all->rows);
    return 1;
}

static int read_chunks(chunks *all, struct ArrowArrayStream *stream) {
    for (;;) {
        struct ArrowArray chunk = {0};
        if (stream->get_next(stream, &chunk) != 0) {
            const char *why = stream->get_last_error(stream);
            PyErr_Format(PyExc_ValueError, "the Arrow stream failed: %s", why ? why : "no reason given");
            return -1;
        }
        if (!chunk.release)
            return 0;
        struct ArrowArray *more = realloc(all->list, (all->count + 1) * sizeof *more);
        if (!more) {
            chunk.release(&chunk);
            PyErr_NoMemory();
            return -1;
        }
        all->list = more;
        all->list[all->count++] = chunk;
        all->rows += chunk.length;
    }
}

static int take_stream(given_array *out, struct ArrowArrayStream *stream) {
    struct ArrowSchema schema = {0};
    chunks all = {0};
    column c;
    int taken = -1;
    if (stream->get_schema(stream, &schema) != 0)
        PyErr_SetString(PyExc_ValueError, "the Arrow stream has no schema");
    else if (describe(&c, &schema) == 0 && read_chunks(&all, stream) == 0)
        taken = all.count == 1 ? take_chunk(out, &all.list[0], &c) : take_chunks(out, &all, &c);
    for (size_t i = 0; i < all.count; i++)
        if (all.list[i].release)
            all.list[i].release(&all.list[i]);
    free(all.list);
    if (schema.release)
        schema.release(&schema);
    return taken;
}

static int take_pair(given_array *out, PyObject *pair) {
    PyObject *first, *second;
    column c;
    if (!PyArg_ParseTuple(pair, "OO", &first, &second))
        return -1;
    const struct ArrowSchema *schema = PyCapsule_GetPointer(first, "arrow_schema");
    struct ArrowArray *array = schema ? PyCapsule_GetPointer(second, "arrow_array") : NULL;
    return !array || describe(&c, schema) != 0 ? -1 : take_chunk(out, array, &c);
}

int given_arrow_take(given_array *out, PyObject *object) {
    const char *ways[] = {"__arrow_c_array__", "__arrow_c_stream__"};
    for (int i = 0; i < 2; i++) {
        if (!PyObject_HasAttrString(object, ways[i]))
            continue;
        out->how = "arrow";
        PyObject *given = PyObject_CallMethod(object, ways[i], NULL);
        int taken = -1;
        if (given && i == 0)
            taken = take_pair(out, given);
        else if (given) {
            struct ArrowArrayStream *stream = PyCapsule_GetPointer(given, "arrow_array_stream");
            taken = stream ? take_stream(out, stream) : -1;
        }
        Py_XDECREF(given);
        return taken;
    }
    return 0;
}
