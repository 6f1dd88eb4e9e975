/* SPDX-License-Identifier: MIT */
/* lastlayer-h5 BYTES: reads an .h5 of Keras from stdin and writes what is in it on the pipe that is stdout: 8 bytes with the length of the
 * rest, and that as .safetensors, at most BYTES.
 *
 * The only program that links libhdf5, which a hostile file can crash, send round in circles or make hungry. So it first reads all of
 * stdin, then locks itself in (cage.c), and only then looks at the bytes. Whoever started it takes its death for a damaged file; for what
 * it refuses itself it leaves one sentence on stderr and exit code 1, or 3 where the file holds more than BYTES.
 *
 * Each numeric data set is a tensor named by its path, /dense_1/dense_1/kernel:0; one that several links lead to is written once, under its
 * first name. A few texts among the attributes of / and /model_weights are metadata, lists joined by commas. */
#define _GNU_SOURCE /* mremap */
#include <errno.h>
#include <hdf5.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cage.h"

typedef struct set {
    char *path;
    hid_t type; /* in memory and in the output: little-endian */
    uint64_t bytes;
} set;

typedef struct content {
    char *header; /* JSON */
    size_t length, room;
    set *sets;
    size_t count, capacity;
    uint64_t bytes, limit; /* of all sets; of them and the header at most */
} content;

enum { REFUSED = 1, TOO_MUCH = 3 }; /* exit codes */

static noreturn void fail(const char *format, ...) {
    char text[400];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    ssize_t said = length > 0 ? write(STDERR_FILENO, text, strlen(text)) : 0;
    (void)said; /* nobody is left to be told */
    _exit(REFUSED);
}

static noreturn void damaged(const char *what) {
    fail("the HDF5 file is damaged or truncated: %s cannot be read", what);
}

static void *need(void *block) {
    if (!block)
        fail("the HDF5 file asks for more memory than a file of its size may take");
    return block;
}

/* ---- the header ---- */

static void add(content *c, const char *bytes, size_t count) {
    if (c->length + count > c->room) {
        c->room = 2 * (c->length + count);
        c->header = need(realloc(c->header, c->room));
    }
    memcpy(c->header + c->length, bytes, count);
    c->length += count;
}

static void add_plain(content *c, const char *text) {
    add(c, text, strlen(text));
}

static void add_number(content *c, const char *before, uint64_t number) {
    char text[64];
    add(c, text, (size_t)snprintf(text, sizeof text, "%s%" PRIu64, before, number));
}

/* Quoted. What is not UTF-8 is left for the reader to refuse. */
static void add_text(content *c, const char *text, size_t count) {
    add_plain(c, "\"");
    for (size_t i = 0; i < count; i++) {
        unsigned char byte = (unsigned char)text[i];
        char escaped[8];
        if (byte < 32 || byte == '"' || byte == '\\')
            add(c, escaped, (size_t)snprintf(escaped, sizeof escaped, "\\u%04x", byte));
        else
            add(c, text + i, 1);
    }
    add_plain(c, "\"");
}

/* ---- pass 1: what there is ---- */

static const struct {
    H5T_class_t class;
    size_t size;
    bool is_signed;
    const char *code;
    hid_t *type;
} types[] = {
    /* clang-format off */
    {H5T_FLOAT, 2, true, "F32", &H5T_IEEE_F32LE_g}, {H5T_FLOAT, 4, true, "F32", &H5T_IEEE_F32LE_g},
    {H5T_FLOAT, 8, true, "F64", &H5T_IEEE_F64LE_g},
    {H5T_INTEGER, 1, true, "I8", &H5T_STD_I8LE_g}, {H5T_INTEGER, 1, false, "U8", &H5T_STD_U8LE_g},
    {H5T_INTEGER, 2, true, "I16", &H5T_STD_I16LE_g}, {H5T_INTEGER, 2, false, "U16", &H5T_STD_U16LE_g},
    {H5T_INTEGER, 4, true, "I32", &H5T_STD_I32LE_g}, {H5T_INTEGER, 4, false, "U32", &H5T_STD_U32LE_g},
    {H5T_INTEGER, 8, true, "I64", &H5T_STD_I64LE_g}, {H5T_INTEGER, 8, false, "U64", &H5T_STD_U64LE_g},
    /* clang-format on */
};

/* The row of `types`, or -1 for what is no number. */
static int find_type(hid_t type) {
    H5T_class_t class = H5Tget_class(type);
    bool is_signed = class != H5T_INTEGER || H5Tget_sign(type) == H5T_SGN_2;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i].class == class && types[i].size == H5Tget_size(type) && types[i].is_signed == is_signed)
            return (int)i;
    return -1;
}

/* Refuses what reaches beyond the file or runs other code: external and virtual storage, filters other than deflate, shuffle, checksum. */
static void check_storage(hid_t dataset, const char *path) {
    hid_t list = H5Dget_create_plist(dataset);
    if (list < 0)
        damaged(path);
    H5D_layout_t layout = H5Pget_layout(list);
    bool fine = (layout == H5D_CONTIGUOUS || layout == H5D_COMPACT || layout == H5D_CHUNKED) && H5Pget_external_count(list) == 0;
    int filters = H5Pget_nfilters(list);
    for (int i = 0; i < filters && fine; i++) {
        unsigned flags, config;
        size_t values = 0;
        H5Z_filter_t filter = H5Pget_filter2(list, (unsigned)i, &flags, &values, NULL, 0, NULL, &config);
        fine = filter == H5Z_FILTER_DEFLATE || filter == H5Z_FILTER_SHUFFLE || filter == H5Z_FILTER_FLETCHER32;
    }
    H5Pclose(list);
    if (!fine || filters < 0)
        fail("\"%s\" is stored outside the file, or compressed in a way that is not read; expected plain or gzip", path);
}

/* Rank, or -1 for no array at all; *count elements. */
static int read_shape(hsize_t extent[H5S_MAX_RANK], uint64_t *count, const content *c, hid_t dataset, const char *path) {
    hid_t space = H5Dget_space(dataset);
    int rank = space >= 0 ? H5Sget_simple_extent_ndims(space) : -1;
    if (rank < 0 || rank > H5S_MAX_RANK || (rank > 0 && H5Sget_simple_extent_dims(space, extent, NULL) != rank))
        damaged(path);
    bool array = H5Sget_simple_extent_type(space) != H5S_NULL;
    H5Sclose(space);
    *count = 1;
    for (int i = 0; i < rank && array; i++) {
        if (extent[i] > c->limit || (extent[i] > 0 && *count > c->limit / extent[i]))
            _exit(TOO_MUCH);
        *count *= extent[i];
    }
    return array ? rank : -1;
}

static void add_set(content *c, hid_t dataset, const char *path) {
    hsize_t extent[H5S_MAX_RANK];
    hid_t type = H5Dget_type(dataset);
    uint64_t count;
    if (type < 0)
        damaged(path);
    int row = find_type(type), rank = row >= 0 ? read_shape(extent, &count, c, dataset, path) : -1;
    H5Tclose(type);
    if (rank < 0)
        return;
    check_storage(dataset, path);
    size_t size = H5Tget_size(*types[row].type);
    if (count > c->limit / size || count * size > c->limit - c->bytes)
        _exit(TOO_MUCH);
    add_plain(c, ",");
    add_text(c, path, strlen(path));
    add_plain(c, ":{\"dtype\":");
    add_text(c, types[row].code, strlen(types[row].code));
    add_plain(c, ",\"shape\":[");
    for (int i = 0; i < rank; i++)
        add_number(c, i ? "," : "", extent[i]);
    add_number(c, "],\"data_offsets\":[", c->bytes);
    add_number(c, ",", c->bytes += count * size);
    add_plain(c, "]}");
    if (c->count == c->capacity) {
        c->capacity = c->capacity ? 2 * c->capacity : 64;
        c->sets = need(realloc(c->sets, c->capacity * sizeof *c->sets));
    }
    c->sets[c->count++] = (set){need(strdup(path)), *types[row].type, count * size};
}

static herr_t visit(hid_t root, const char *name, const H5O_info_t *info, void *arg) {
    if (info->type != H5O_TYPE_DATASET)
        return 0;
    char *path = need(malloc(strlen(name) + 2));
    path[0] = '/';
    strcpy(path + 1, name);
    hid_t dataset = H5Dopen2(root, name, H5P_DEFAULT);
    if (dataset < 0)
        damaged(path);
    add_set(arg, dataset, path);
    H5Dclose(dataset);
    free(path);
    return 0;
}

/* ---- metadata ---- */

/* Adds `"name":"a,b,c"` of the texts of an attribute; nothing for what is no text. */
static void add_texts(content *c, hid_t attribute, const char *name) {
    enum { BYTES_MAX = 1 << 20 };
    hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    hssize_t count = space >= 0 ? H5Sget_simple_extent_npoints(space) : -1;
    size_t size = type >= 0 ? H5Tget_size(type) : 0, length = 0;
    if (count < 0 || size == 0)
        damaged(name);
    if (H5Tget_class(type) != H5T_STRING || count == 0)
        return;
    if ((uint64_t)count > BYTES_MAX / size)
        fail("the attribute %s of the HDF5 file is longer than 1 MB", name);
    bool pointers = H5Tis_variable_str(type) > 0; /* texts of any length come as pointers, others in place */
    char *data = need(calloc((size_t)count, size)), *joined = need(malloc(BYTES_MAX));
    if (H5Aread(attribute, type, data) < 0)
        damaged(name);
    for (hssize_t i = 0; i < count; i++) {
        const char *one = data + (size_t)i * size;
        if (pointers)
            memcpy(&one, data + (size_t)i * size, sizeof one);
        size_t bytes = one ? strnlen(one, pointers ? BYTES_MAX : size) : 0;
        if (bytes + 1 > BYTES_MAX - length)
            fail("the attribute %s of the HDF5 file is longer than 1 MB", name);
        if (i > 0)
            joined[length++] = ',';
        memcpy(joined + length, one ? one : "", bytes);
        length += bytes;
    }
    if (c->header[c->length - 1] != '{')
        add_plain(c, ",");
    add_text(c, name, strlen(name));
    add_plain(c, ":");
    add_text(c, joined, length);
    free(joined);
    free(data);
    H5Tclose(type);
    H5Sclose(space);
}

/* The header begins with the metadata: of each name that of the first group that has it. */
static void add_metadata(content *c, hid_t file) {
    static const char *const groups[] = {"/", "/model_weights"}, *const names[] = {"layer_names", "keras_version", "backend",
                                                                                   "model_config"};
    add_plain(c, "{\"__metadata__\":{");
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++)
        for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++) {
            if (H5Lexists(file, groups[g], H5P_DEFAULT) <= 0 || H5Aexists_by_name(file, groups[g], names[n], H5P_DEFAULT) <= 0)
                continue;
            hid_t attribute = H5Aopen_by_name(file, groups[g], names[n], H5P_DEFAULT, H5P_DEFAULT);
            if (attribute < 0)
                damaged(names[n]);
            add_texts(c, attribute, names[n]);
            H5Aclose(attribute);
            break;
        }
    add_plain(c, "}");
}

/* ---- pass 2: out ---- */

static void put(const void *bytes, size_t count) {
    for (const char *p = bytes; count > 0;) {
        ssize_t done = write(STDOUT_FILENO, p, count);
        if (done < 0 && errno != EINTR)
            fail("the pipe cannot be written: %s", strerror(errno));
        p += done > 0 ? done : 0;
        count -= done > 0 ? (size_t)done : 0;
    }
}

static void put_length(uint64_t length) {
    unsigned char bytes[8];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(length >> (8 * i) & 0xff);
    put(bytes, sizeof bytes);
}

static void put_header(content *c) {
    enum { PREFIX = 8 };
    add_plain(c, "}");
    while ((c->length + PREFIX) % 64 != 0) /* where the data begin */
        add_plain(c, " ");
    if (c->length + PREFIX > c->limit - c->bytes)
        _exit(TOO_MUCH);
    put_length(PREFIX + c->length + c->bytes);
    put_length(c->length);
    put(c->header, c->length);
}

static void put_set(hid_t file, const set *s) {
    void *data = need(malloc(s->bytes + 1));
    hid_t dataset = H5Dopen2(file, s->path, H5P_DEFAULT);
    if (dataset < 0 || (s->bytes > 0 && H5Dread(dataset, s->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0))
        damaged(s->path);
    put(data, s->bytes);
    H5Dclose(dataset);
    free(data);
}

/* ---- the bytes as a file ---- */

static void *read_all(size_t *size) {
    size_t room = 1 << 20;
    char *bytes = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *size = 0;
    for (;;) {
        ssize_t got = bytes == MAP_FAILED ? -1 : read(STDIN_FILENO, bytes + *size, room - *size);
        if (got == 0)
            return bytes;
        if (got < 0 && (bytes == MAP_FAILED || errno != EINTR))
            fail("the HDF5 file cannot be taken over: %s", strerror(errno));
        *size += got > 0 ? (size_t)got : 0;
        if (*size == room) {
            bytes = mremap(bytes, room, 2 * room, MREMAP_MAYMOVE);
            room *= 2;
        }
    }
}

/* libhdf5 would copy the bytes for itself; it is given ours instead. It asks for a block, copies into it, and frees it at the end. */
static void *lend(size_t size, H5FD_file_image_op_t op, void *bytes) {
    (void)size, (void)op;
    return bytes;
}

static void *keep(void *to, const void *from, size_t size, H5FD_file_image_op_t op, void *bytes) {
    (void)from, (void)size, (void)op, (void)bytes;
    return to;
}

static herr_t forget(void *block, H5FD_file_image_op_t op, void *bytes) {
    (void)block, (void)op, (void)bytes;
    return 0;
}

static void *same(void *bytes) {
    return bytes;
}

static herr_t leave(void *bytes) {
    (void)bytes;
    return 0;
}

static hid_t open_bytes(void *bytes, size_t size) {
    H5FD_file_image_callbacks_t lent = {lend, keep, NULL, forget, same, leave, bytes};
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), file = -1;
    if (H5Pset_fapl_core(access, 1 << 16, 0) >= 0 && H5Pset_file_image_callbacks(access, &lent) >= 0 &&
        H5Pset_file_image(access, bytes, size) >= 0)
        file = H5Fopen("/stdin", H5F_ACC_RDONLY, access);
    if (file < 0)
        damaged("its first block");
    return file;
}

/* Locks the process in. The room for the arrays, `limit` bytes, is kept back until they are read: what comes before needs little. */
static void *lock_in(size_t size, uint64_t limit) {
    const uint64_t work = ((uint64_t)32 << 20) + 4 * (uint64_t)size;
    uint64_t microseconds = 100000 + limit / 64; /* inflating is faster than 64 bytes a microsecond even where all is slow */
    void *room = mmap(NULL, limit, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    const char *refused = room == MAP_FAILED ? "memory" : cage_close(work, microseconds);
    if (refused)
        fail("lastlayer-h5 reads no file because it cannot lock itself in: %s: %s", refused, strerror(errno));
    return room;
}

int main(int argc, char **argv) {
    size_t size;
    char *end = NULL;
    content c = {.limit = argc == 2 ? strtoull(argv[1], &end, 10) : 0};
    if (!end || *end || c.limit == 0)
        fail("lastlayer-h5 is a part of lastlayer and is started by it");
    cage_leave_alone();
    void *bytes = read_all(&size);
    if (H5open() < 0 || H5Eset_auto2(H5E_DEFAULT, NULL, NULL) < 0 || H5PLset_loading_state(0) < 0)
        fail("libhdf5 cannot start");
    void *room = lock_in(size, c.limit);
    hid_t file = open_bytes(bytes, size);
    add_metadata(&c, file);
    if (H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_INC, visit, &c, H5O_INFO_BASIC) < 0)
        damaged("its directory");
    put_header(&c);
    munmap(room, c.limit);
    for (size_t i = 0; i < c.count; i++)
        put_set(file, &c.sets[i]);
    _exit(0); /* nothing of libhdf5's own end is needed, and some of it is not allowed any more */
}
