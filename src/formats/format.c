/* SPDX-License-Identifier: MIT */
/* Which format a file has, and the public readers. The content decides; the extension only tells .csv from other text and makes
 * messages precise. */
#include "formats/format.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/abi.h"
#include "base/memory.h"
#include "base/text.h"
#include "formats/bytes.h"
#include "formats/cifar.h"
#include "formats/file.h"
#include "formats/readers.h"

#define READ_FORMATS ".npy .npz .safetensors .idx .idx.gz .csv .bin .png .h5 .keras"

typedef ll_status parse_fn(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name);

typedef struct format {
    const char *name, *extension, *start; /* start: what a message says such a file begins with */
    bool (*detect)(const unsigned char *bytes, size_t size);
    parse_fn *parse;
    parse_fn *list; /* for formats where one array can be had without the others, else NULL */
    ll_status (*load)(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name, int64_t only);
    bool named; /* without a magic: told by the extension first, and by detect then */
} format;

static bool starts(const unsigned char *bytes, size_t size, const char *magic, size_t length) {
    return size >= length && memcmp(bytes, magic, length) == 0;
}

static bool is_npy(const unsigned char *bytes, size_t size) {
    return starts(bytes, size, "\x93NUMPY", 6);
}

static bool is_zip(const unsigned char *bytes, size_t size) {
    return starts(bytes, size, "PK\3\4", 4) || starts(bytes, size, "PK\5\6", 4);
}

/* The first entry of the archive is one of those that Keras writes. */
static bool is_keras(const unsigned char *bytes, size_t size) {
    static const char *const names[] = {"metadata.json", "config.json", "model.weights.h5"};
    enum { NAME_LENGTH = 26, NAME = 30 };
    for (size_t i = 0; i < LLI_COUNT(names) && is_zip(bytes, size); i++)
        if (size >= NAME + strlen(names[i]) && lli_bytes_little(bytes + NAME_LENGTH, 2) == strlen(names[i]) &&
            memcmp(bytes + NAME, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static bool is_safetensors(const unsigned char *bytes, size_t size) {
    return size > 8 && bytes[8] == '{' && lli_bytes_little(bytes, 8) <= 100000000;
}

static bool is_idx(const unsigned char *bytes, size_t size) {
    return size >= 4 && bytes[0] == 0 && bytes[1] == 0 && bytes[2] >= 8 && bytes[2] <= 14 && bytes[3] >= 1 && bytes[3] <= LL_ARRAY_RANK_MAX;
}

static bool is_gzip(const unsigned char *bytes, size_t size) {
    return starts(bytes, size, "\x1f\x8b", 2);
}

static bool is_text(const unsigned char *bytes, size_t size) {
    size_t look = LLI_MIN(size, (size_t)4096);
    for (size_t i = 0; i < look; i++)
        if (bytes[i] < 32 && bytes[i] != '\n' && bytes[i] != '\r' && bytes[i] != '\t')
            return false;
    return true;
}

static bool is_pickle(const unsigned char *bytes, size_t size) {
    return size >= 2 && bytes[0] == 0x80 && bytes[1] >= 2 && bytes[1] <= 5;
}

static bool is_hdf5(const unsigned char *bytes, size_t size) {
    return starts(bytes, size, "\x89HDF\r\n\x1a\n", 8);
}

static bool is_png(const unsigned char *bytes, size_t size) {
    return starts(bytes, size, "\x89PNG\r\n\x1a\n", 8);
}

/* A first label is at most 19, so no magic but that of IDX, and the length of a .safetensors header, can be taken for one. */
static bool is_cifar(const unsigned char *bytes, size_t size) {
    return lli_cifar_length(size) && bytes[0] < LLI_CIFAR100_COARSE;
}

ll_status lli_pickle_refuse(ll_context *ctx, const char *name) {
    return lli_fail(ctx, LL_ERR_FORMAT,
                    "%s: a PyTorch pickle is not read, because loading one can run any code in it; this line of Python converts it: "
                    "import numpy, torch; numpy.savez(\"model.npz\", "
                    "**{k: v.float().numpy() for k, v in torch.load(\"%s\", map_location=\"cpu\").items()})  # makes model.npz",
                    name, name);
}

static ll_status refuse_pickle(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name) {
    (void)bundle, (void)bytes, (void)size;
    return lli_pickle_refuse(ctx, name);
}

#ifndef LLI_WITH_PNG
ll_status lli_png_parse(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name) {
    (void)bundle, (void)bytes, (void)size;
    return lli_fail(ctx, LL_ERR_FORMAT, "%s: PNG is not read, because this lastlayer was built without libpng", name);
}
#endif

/* In the order of trial. The length that begins a .safetensors file may look like another's magic, so it comes first; text comes last. */
static const format formats[] = {
    {"cifar", ".bin", "a label", is_cifar, lli_cifar_parse, NULL, NULL, true},
    {"safetensors", ".safetensors", "the length of a JSON header", is_safetensors, lli_safetensors_parse, NULL, NULL, false},
    {"npy", ".npy", "\\x93NUMPY", is_npy, lli_npy_parse, NULL, NULL, false},
    {"keras", ".keras", "PK and what Keras puts into an archive", is_keras, lli_keras_parse, NULL, NULL, false},
    {"npz", ".npz", "PK", is_zip, lli_npz_parse, lli_npz_list, lli_npz_load, false},
    {"idx", ".idx", "two zero bytes, a type and a rank", is_idx, lli_idx_parse, NULL, NULL, false},
    {"idx", ".gz", "\\x1f\\x8b", is_gzip, lli_idx_gz_parse, NULL, NULL, false},
    {"pickle", ".pt", "PK or \\x80", is_pickle, refuse_pickle, NULL, NULL, false},
    {"hdf5", ".h5", "\\x89HDF", is_hdf5, lli_hdf5_parse, NULL, NULL, false},
    {"png", ".png", "\\x89PNG", is_png, lli_png_parse, NULL, NULL, false},
    {"csv", ".csv", "text", is_text, lli_csv_parse, NULL, NULL, false},
};

static bool has_extension(const char *path, const char *extension) {
    size_t length = strlen(path), size = strlen(extension);
    return length >= size && strcmp(path + length - size, extension) == 0;
}

static ll_status detect(const format **out, ll_context *ctx, const lli_file *file, const char *path) {
    const format *promised = NULL;
    for (size_t i = 0; i < LLI_COUNT(formats); i++)
        if (has_extension(path, formats[i].extension))
            promised = &formats[i];
    for (size_t i = 0; i < LLI_COUNT(formats); i++) {
        bool last = i + 1 == LLI_COUNT(formats);
        bool other = promised && promised != &formats[i];
        if (!formats[i].detect(file->bytes, file->size) || (last && other) || (formats[i].named && (other || !promised)))
            continue;
        *out = &formats[i];
        return LL_OK;
    }
    *out = promised;
    if (promised && promised->named)
        return LL_OK; /* its reader says what is wrong */
    if (promised)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: not a %s file, or truncated: it should begin with %s", path, promised->extension,
                        promised->start);
    return lli_fail(ctx, LL_ERR_FORMAT, "%s: its format is not known; expected one of " READ_FORMATS, path);
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static ll_status check_names(ll_context *ctx, const ll_bundle *bundle, const char *path) {
    const char **names;
    ll_status status = LL_OK;
    LLI_TRY(lli_memory_new(ctx, &names, bundle->count, sizeof *names));
    for (int64_t i = 0; i < bundle->count; i++)
        names[i] = bundle->items[i].name;
    qsort(names, (size_t)bundle->count, sizeof *names, by_name);
    for (int64_t i = 1; i < bundle->count && status == LL_OK; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            status = lli_fail(ctx, LL_ERR_FORMAT, "%s: two arrays have the name \"%s\"", path, names[i]);
    lli_memory_free(names);
    return status;
}

/* ": a, b, c" with at most eight names. */
static void list_names(lli_text *out, const ll_bundle *bundle) {
    enum { SHOWN = 8 };
    for (int64_t i = 0; i < bundle->count && i < SHOWN; i++)
        lli_text_add(out, "%s%s", i ? ", " : "", bundle->items[i].name);
    if (bundle->count > SHOWN)
        lli_text_add(out, ", ...");
}

/* The index of the array meant by NAME, or by the candidates when there is none. A .csv by itself means its whole table. */
static ll_status pick(int64_t *out, ll_context *ctx, const ll_bundle *bundle, const char *path, const char *name,
                      const char *const *names) {
    *out = name ? ll_bundle_find(bundle, name) : -1;
    if (!name && (bundle->count == 1 || strcmp(bundle->format, "csv") == 0))
        *out = 0;
    for (; !name && *out < 0 && names && *names; names++)
        *out = ll_bundle_find(bundle, *names);
    if (*out >= 0 && *out < bundle->count)
        return LL_OK;
    lli_text list;
    lli_text_init(&list, ctx);
    list_names(&list, bundle);
    const char *shown = list.data ? list.data : "nothing";
    ll_status status;
    if (name)
        status = lli_fail(ctx, LL_ERR_USAGE, "%s: has no array \"%s\"; it holds %s", path, name, shown);
    else if (bundle->count == 0)
        status = lli_fail(ctx, LL_ERR_FORMAT, "%s: holds no array", path);
    else
        status = lli_fail(ctx, LL_ERR_USAGE, "%s: holds several arrays (%s); choose one with %s:NAME", path, shown, path);
    lli_text_release(&list);
    return status;
}

/* Leaves only array `only`. */
static void keep_one(ll_bundle *bundle, int64_t only) {
    for (int64_t i = 0; i < bundle->count; i++) {
        if (i == only)
            continue;
        lli_memory_free(bundle->items[i].name);
        lli_memory_free(bundle->items[i].owned);
    }
    bundle->items[0] = bundle->items[only];
    bundle->count = 1;
}

/* All arrays of the file, or with `one` the one that name and names mean; of a table all but the column `without`, if that is not NULL. */
static ll_status read_bundle(ll_bundle **out, ll_context *ctx, const char *path, bool one, const char *name, const char *const *names,
                             const char *without) {
    lli_file file = {0};
    lli_budget budget = NULL;
    ll_bundle *bundle = NULL;
    const format *f = NULL;
    int64_t only = 0;
    ll_status status;
    *out = NULL;
    LLI_DO(lli_file_read(&file, ctx, path));
    LLI_DO(lli_budget_begin(&budget, ctx, path, file.size));
    LLI_DO(detect(&f, ctx, &file, path));
    LLI_DO(lli_bundle_new(&bundle, ctx, f->name));
    if (without && f->parse == lli_csv_parse)
        LLI_DO(lli_csv_without(ctx, bundle, file.bytes, file.size, path, without));
    else
        LLI_DO((one && f->list ? f->list : f->parse)(ctx, bundle, file.bytes, file.size, path));
    LLI_DO(check_names(ctx, bundle, path));
    if (one) {
        LLI_DO(pick(&only, ctx, bundle, path, name, names));
        if (f->load)
            LLI_DO(f->load(ctx, bundle, file.bytes, file.size, path, only));
        keep_one(bundle, only);
    }
    lli_file_give(&file, bundle);
    *out = bundle;
    bundle = NULL;
done:
    ll_bundle_free(bundle);
    lli_budget_end(&budget, ctx);
    lli_file_release(&file);
    return status;
}

ll_status ll_bundle_read(ll_bundle **out, ll_context *ctx, const char *path) {
    LLI_NEED(ctx, out, path);
    return read_bundle(out, ctx, path, false, NULL, NULL, NULL);
}

/* Length of FILE in FILE or FILE:NAME. */
static size_t split_point(const char *where) {
    struct stat st;
    char path[PATH_MAX];
    size_t length = strlen(where);
    if (length >= sizeof path || stat(where, &st) == 0)
        return length;
    for (size_t i = length; i-- > 1;) {
        if (where[i] != ':')
            continue;
        memcpy(path, where, i);
        path[i] = 0;
        if (stat(path, &st) == 0)
            return i;
    }
    return length;
}

ll_status lli_format_split(char **file, const char **name, ll_context *ctx, const char *where) {
    size_t length = split_point(where);
    LLI_TRY(lli_memory_text(ctx, file, where));
    (*file)[length] = 0;
    *name = where[length] ? where + length + 1 : NULL;
    return LL_OK;
}

ll_status ll_array_read(ll_bundle **out, ll_array *array, ll_context *ctx, const char *where, const char *const *names) {
    LLI_NEED(ctx, out, array, where);
    return lli_format_read(out, array, ctx, where, names, NULL);
}

ll_status lli_format_read(ll_bundle **out, ll_array *array, ll_context *ctx, const char *where, const char *const *names,
                          const char *without) {
    char *file;
    const char *name;
    *out = NULL;
    ll_status status = lli_format_split(&file, &name, ctx, where);
    if (status == LL_OK)
        status = read_bundle(out, ctx, file, true, name, names, name ? NULL : without);
    if (status == LL_OK)
        *array = ll_bundle_array(*out, 0);
    lli_memory_free(file);
    return status;
}
