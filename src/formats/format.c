/* SPDX-License-Identifier: MIT */
/* Which format a file has, and the public readers. The content decides; the extension only separates .csv from other text and makes
 * messages precise. */
#include "formats/format.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/abi.h"
#include "base/memory.h"
#include "base/text.h"
#include "formats/bytes.h"
#include "formats/cifar.h"
#include "formats/file.h"
#include "formats/readers.h"
#include "formats/refused.h"

#define READ_FORMATS ".npy .npz .safetensors .idx .idx.gz .csv .bin .png .h5 .keras"

typedef ll_status parse_fn(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name);

typedef struct format {
    const char *name, *extension, *start; /* start: what a message says such a file begins with */
    bool (*detect)(const unsigned char *bytes, size_t size);
    parse_fn *parse;
    parse_fn *list; /* for formats where one array can be had without the others, else NULL */
    ll_status (*load)(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name, int64_t only);
    bool named; /* without a magic number: the extension decides first, then detect */
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

static bool is_parquet(const unsigned char *bytes, size_t size) {
    return starts(bytes, size, "PAR1", 4);
}

static bool is_any(const unsigned char *bytes, size_t size) {
    (void)bytes, (void)size;
    return true;
}

static bool has_extension(const char *path, const char *extension) {
    size_t length = strlen(path), size = strlen(extension);
    return length >= size && strcmp(path + length - size, extension) == 0;
}

/* In the order of trial. The length that begins a .safetensors file may look like another's magic, so it comes first; text comes last. */
static const format formats[] = {
    {"onnx", ".onnx", "a model", is_any, lli_refused_onnx, NULL, NULL, true},
    {"joblib", ".joblib", "\\x80", is_any, lli_refused_pickle, NULL, NULL, true},
    {"pickle", ".pkl", "\\x80", is_pickle, lli_refused_pickle, NULL, NULL, true},
    {"pickle", ".pickle", "\\x80", is_pickle, lli_refused_pickle, NULL, NULL, true},
    {"parquet", ".parquet", "PAR1", is_parquet, lli_refused_parquet, NULL, NULL, false},
    {"cifar", ".bin", "a label", is_cifar, lli_cifar_parse, NULL, NULL, true},
    {"safetensors", ".safetensors", "the length of a JSON header", is_safetensors, lli_safetensors_parse, NULL, NULL, false},
    {"npy", ".npy", "\\x93NUMPY", is_npy, lli_npy_parse, NULL, NULL, false},
    {"keras", ".keras", "PK and the files of a Keras archive", is_keras, lli_keras_parse, NULL, NULL, false},
    {"npz", ".npz", "PK", is_zip, lli_npz_parse, lli_npz_list, lli_npz_load, false},
    {"idx", ".idx", "two zero bytes, a type and a rank", is_idx, lli_idx_parse, NULL, NULL, false},
    {"idx", ".gz", "\\x1f\\x8b", is_gzip, lli_idx_gz_parse, NULL, NULL, false},
    {"pickle", ".pt", "PK or \\x80", is_pickle, lli_refused_pickle, NULL, NULL, false},
    {"hdf5", ".h5", "\\x89HDF", is_hdf5, lli_hdf5_parse, NULL, NULL, false},
    {"png", ".png", "\\x89PNG", is_png, lli_png_parse, NULL, NULL, false},
    {"csv", ".csv", "text", is_text, lli_csv_parse, NULL, NULL, false},
};

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

static ll_status check_names(ll_context *ctx, const ll_bundle *bundle, const char *path) {
    const char **names, *twice;
    LLI_TRY(lli_memory_new(ctx, &names, bundle->count, sizeof *names));
    for (int64_t i = 0; i < bundle->count; i++)
        names[i] = bundle->items[i].name;
    twice = lli_text_twice(names, bundle->count);
    lli_memory_free(names);
    return twice ? lli_fail(ctx, LL_ERR_FORMAT, "%s: two arrays have the name \"%s\"", path, twice) : LL_OK;
}

/* ": a, b, c" with at most eight names. */
static void list_names(lli_text *out, const ll_bundle *bundle) {
    enum { SHOWN = 8 };
    for (int64_t i = 0; i < bundle->count && i < SHOWN; i++)
        lli_text_add(out, "%s%s", i ? ", " : "", bundle->items[i].name);
    if (bundle->count > SHOWN)
        lli_text_add(out, ", ...");
}

/* The only one of the names that is there; -1 if none is, or several, such as x_train and x_test. */
static int64_t only_one(const ll_bundle *bundle, const char *const *names) {
    int64_t found = -1;
    for (; *names; names++) {
        int64_t i = ll_bundle_find(bundle, *names);
        if (i >= 0 && found >= 0)
            return -1;
        found = i >= 0 ? i : found;
    }
    return found;
}

ll_status lli_format_pick(int64_t *out, ll_context *ctx, const ll_bundle *bundle, const char *name, const char *const *names) {
    const char *path = ll_bundle_path(bundle);
    *out = name ? ll_bundle_find(bundle, name) : -1;
    if (!name && (bundle->count == 1 || strcmp(bundle->format, "csv") == 0))
        *out = 0;
    for (; !name && *out < 0 && names && *names && **names; names++)
        *out = ll_bundle_find(bundle, *names);
    if (!name && *out < 0 && names && *names)
        *out = only_one(bundle, names + 1);
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

/* Which arrays of a file are wanted: all, or the one that name and names mean, and with it the one that the table of partners gives it. */
typedef struct wanted {
    bool one;
    const char *name, *const *names, *without; /* `without`: of a whole table all but this column */
    const lli_format_partner *partners;        /* ended by {NULL}; NULL: none */
} wanted;

/* The array beside `one`: the same beginning, the partner's ending. -1 if there is none. */
static ll_status find_partner(int64_t *out, ll_context *ctx, const ll_bundle *bundle, int64_t one, const lli_format_partner *partners) {
    const char *name = bundle->items[one].name;
    size_t length = strlen(name);
    ll_status status = LL_OK;
    *out = -1;
    for (; partners && partners->ending && *out < 0 && status == LL_OK; partners++) {
        size_t ending = strlen(partners->ending);
        if (length < ending || strcmp(name + length - ending, partners->ending) != 0)
            continue;
        lli_text text;
        lli_text_init(&text, ctx);
        lli_text_add(&text, "%.*s%s", (int)(length - ending), name, partners->partner);
        status = text.status;
        if (status == LL_OK)
            *out = ll_bundle_find(bundle, text.data);
        lli_text_release(&text);
    }
    return status;
}

/* Leaves only these arrays, in this order; none is -1 but the last. */
static void keep_only(ll_bundle *bundle, const int64_t kept[2]) {
    const lli_bundle_item items[2] = {bundle->items[kept[0]], bundle->items[LLI_MAX(0, kept[1])]};
    for (int64_t i = 0; i < bundle->count; i++)
        if (i != kept[0] && i != kept[1])
            lli_memory_free(bundle->items[i].owned);
    bundle->items[0] = items[0];
    bundle->count = 1;
    if (kept[1] >= 0)
        bundle->items[bundle->count++] = items[1];
}

/* Takes the file over. */
static ll_status read_bundle(ll_bundle **out, ll_context *ctx, lli_file *file, const char *path, const wanted *w) {
    lli_budget budget = NULL;
    ll_bundle *bundle = NULL;
    const format *f = NULL;
    int64_t kept[2] = {0, -1};
    ll_status status;
    *out = NULL;
    LLI_DO(lli_memory_budget_begin(&budget, ctx, path, file->size));
    LLI_DO(detect(&f, ctx, file, path));
    LLI_DO(lli_bundle_new(&bundle, ctx, f->name));
    LLI_DO(lli_arena_text(ctx, &bundle->texts, &bundle->path, path));
    if (w->without && f->parse == lli_csv_parse)
        LLI_DO(lli_csv_without(ctx, bundle, file->bytes, file->size, path, w->without));
    else
        LLI_DO((w->one && f->list ? f->list : f->parse)(ctx, bundle, file->bytes, file->size, path));
    LLI_DO(check_names(ctx, bundle, path));
    if (w->one) {
        LLI_DO(lli_format_pick(&kept[0], ctx, bundle, w->name, w->names));
        LLI_DO(find_partner(&kept[1], ctx, bundle, kept[0], w->partners));
        for (int i = 0; f->load && i < 2; i++)
            if (kept[i] >= 0)
                LLI_DO(f->load(ctx, bundle, file->bytes, file->size, path, kept[i]));
        keep_only(bundle, kept);
    }
    lli_file_give(file, bundle);
    *out = bundle;
    bundle = NULL;
done:
    ll_bundle_free(bundle);
    lli_memory_budget_end(&budget, ctx);
    lli_file_release(file);
    return status;
}

ll_status ll_bundle_read(ll_bundle **out, ll_context *ctx, const char *path) {
    LLI_NEED(ctx, out, path);
    lli_file file;
    *out = NULL;
    LLI_TRY(lli_file_read(&file, ctx, path));
    return read_bundle(out, ctx, &file, path, &(wanted){.one = false});
}

ll_status ll_bundle_read_bytes(ll_bundle **out, ll_context *ctx, const void *bytes, size_t size, const char *name) {
    LLI_NEED(ctx, out, bytes);
    const char *called = name ? name : "the bytes";
    void *copy;
    *out = NULL;
    if (size < 1 || size > INT64_MAX)
        return lli_fail(ctx, size ? LL_ERR_USAGE : LL_ERR_FORMAT, "%s: %s", called, size ? "no memory has that many" : "there are none");
    LLI_TRY(lli_memory_new(ctx, &copy, (int64_t)size, 1));
    memcpy(copy, bytes, size);
    return read_bundle(out, ctx, &(lli_file){copy, size, false}, called, &(wanted){.one = false});
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

/* Splits FILE:NAME and reads what is wanted of the file. */
static ll_status read_wanted(ll_bundle **out, ll_context *ctx, const char *where, wanted w) {
    char *file;
    lli_file bytes;
    *out = NULL;
    ll_status status = lli_format_split(&file, &w.name, ctx, where);
    if (status == LL_OK)
        status = lli_file_read(&bytes, ctx, file);
    if (w.name)
        w.without = NULL;
    if (status == LL_OK)
        status = read_bundle(out, ctx, &bytes, file, &w);
    lli_memory_free(file);
    return status;
}

ll_status lli_format_read(ll_bundle **out, ll_array *array, ll_context *ctx, const char *where, const char *const *names,
                          const char *without) {
    LLI_TRY(read_wanted(out, ctx, where, (wanted){.one = true, .names = names, .without = without}));
    *array = ll_bundle_array(*out, 0);
    return LL_OK;
}

ll_status lli_format_read_both(ll_bundle **out, ll_array *array, ll_array *partner, bool *found, ll_context *ctx, const char *where,
                               const char *const *names, const lli_format_partner *partners) {
    LLI_TRY(read_wanted(out, ctx, where, (wanted){.one = true, .names = names, .partners = partners}));
    *array = ll_bundle_array(*out, 0);
    *found = (*out)->count > 1;
    if (*found)
        *partner = ll_bundle_array(*out, 1);
    return LL_OK;
}
