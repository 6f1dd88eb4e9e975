/* SPDX-License-Identifier: MIT */
/* Which files a source of images is made of, and their arrays. */
#include "interop/image_source.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "formats/folder.h"
#include "formats/format.h"

enum { FILES_MAX = 5 };

/* The files of a folder. Labels NULL: they are in the same file as the images. */
typedef struct layout {
    const char *train[FILES_MAX], *train_labels, *test, *test_labels;
    int64_t classes; /* 0: as many as the labels say */
} layout;

enum { IDX, IDX_DOTTED, CIFAR10, CIFAR100, QUICKDRAW };

static const layout layouts[] = {
    [IDX] = {{"train-images-idx3-ubyte"}, "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte", 0},
    [IDX_DOTTED] = {{"train-images.idx3-ubyte"}, "train-labels.idx1-ubyte", "t10k-images.idx3-ubyte", "t10k-labels.idx1-ubyte", 0},
    [CIFAR10] = {{"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"},
                 NULL,
                 "test_batch.bin",
                 NULL,
                 10},
    [CIFAR100] = {{"train.bin"}, NULL, "test.bin", NULL, 100},
    [QUICKDRAW] = {{"train-drawings-idx3-ubyte"}, "train-classes-idx1-short", "test-drawings-idx3-ubyte", "test-classes-idx1-short", 0},
};

static const struct {
    const char *name;
    int first, last;       /* layouts it may have */
    const char *elsewhere; /* where a distribution puts it, or NULL */
    const char *advice;
} names[] = {
    {"mnist", IDX, IDX_DOTTED, NULL, "tools/get-data mnist fetches it"},
    {"fashion", IDX, IDX_DOTTED, "/usr/share/datasets/fashion-mnist", "tools/get-data fashion fetches it"},
    {"cifar10", CIFAR10, CIFAR10, NULL, "tools/get-data cifar10 fetches it"},
    {"cifar100", CIFAR100, CIFAR100, NULL, "put train.bin and test.bin of the binary version there"},
    {"quickdraw", QUICKDRAW, QUICKDRAW, NULL, "tools/get-data quickdraw fetches it"},
};

/* What the arrays of a file are called that holds the parts by themselves. */
static const char *const train_images[] = {"x_train", "images_train", "train_images", NULL};
static const char *const train_labels[] = {"y_train", "labels_train", "train_labels", NULL};
static const char *const test_images[] = {"x_test", "images_test", "test_images", NULL};
static const char *const test_labels[] = {"y_test", "labels_test", "test_labels", NULL};
static const char *const plain_images[] = {"images", "x", "array", NULL};
static const char *const plain_labels[] = {"labels", "y", NULL};

/* Files being read: what joins into one part. */
typedef struct pile {
    lli_images_file files[FILES_MAX];
    ll_array labels[FILES_MAX];
    ll_bundle *bundles[2 * FILES_MAX];
    char *paths[2 * FILES_MAX];
    int64_t count, bundle_count, path_count;
} pile;

static void release_pile(pile *p) {
    for (int64_t i = 0; i < p->bundle_count; i++)
        ll_bundle_free(p->bundles[i]);
    for (int64_t i = 0; i < p->path_count; i++)
        lli_memory_free(p->paths[i]);
}

static int64_t find_any(const ll_bundle *bundle, const char *const *candidates) {
    int64_t found = -1;
    for (; *candidates && found < 0; candidates++)
        found = ll_bundle_find(bundle, *candidates);
    return found;
}

/* The path of a file that the folder must have. */
static ll_status require_file(const char **out, ll_context *ctx, pile *p, const char *folder, const char *name, const char *advice) {
    char *path;
    LLI_TRY(lli_folder_find(&path, ctx, folder, name));
    if (!path)
        return lli_fail(ctx, LL_ERR_READ, "%s: has no %s%s%s", folder, name, advice ? "; " : "", advice ? advice : "");
    p->paths[p->path_count++] = path;
    *out = path;
    return LL_OK;
}

static ll_status add_file(ll_context *ctx, pile *p, const char *folder, const char *images, const char *labels, const char *advice) {
    const char *path = NULL, *labels_path = NULL;
    ll_array array;
    LLI_TRY(require_file(&path, ctx, p, folder, images, advice));
    if (labels)
        LLI_TRY(require_file(&labels_path, ctx, p, folder, labels, advice));
    ll_array *y = &p->labels[p->count];
    if (labels) {
        LLI_TRY(ll_array_read(&p->bundles[p->bundle_count], &array, ctx, path, plain_images));
        p->bundle_count++;
        LLI_TRY(ll_array_read(&p->bundles[p->bundle_count], y, ctx, labels_path, plain_labels));
        p->bundle_count++;
    } else {
        ll_bundle *bundle;
        LLI_TRY(ll_bundle_read(&bundle, ctx, path));
        p->bundles[p->bundle_count++] = bundle;
        int64_t x = find_any(bundle, plain_images), k = find_any(bundle, plain_labels);
        if (x < 0 || k < 0)
            return lli_fail(ctx, LL_ERR_FORMAT, "%s: is no CIFAR file", path);
        array = ll_bundle_array(bundle, x);
        *y = ll_bundle_array(bundle, k);
    }
    p->files[p->count++] = (lli_images_file){path, array, y};
    return LL_OK;
}

static ll_status read_part(ll_dataset **out, ll_context *ctx, const layout *l, bool train, const char *folder, const char *advice,
                           int64_t classes) {
    pile p = {0};
    ll_status status = LL_OK;
    *out = NULL;
    if (!train)
        LLI_DO(add_file(ctx, &p, folder, l->test, l->test_labels, advice));
    for (int i = 0; train && i < FILES_MAX && l->train[i]; i++)
        LLI_DO(add_file(ctx, &p, folder, l->train[i], l->train_labels, advice));
    LLI_DO(lli_images_join(out, ctx, p.files, p.count, classes));
done:
    release_pile(&p);
    return status;
}

/* The layout, of first to last, whose first file is there. */
static ll_status find_layout(const layout **out, ll_context *ctx, const char *folder, int first, int last) {
    *out = NULL;
    for (int i = first; i <= last && !*out; i++) {
        char *path;
        LLI_TRY(lli_folder_find(&path, ctx, folder, layouts[i].train[0]));
        if (path)
            *out = &layouts[i];
        lli_memory_free(path);
    }
    return LL_OK;
}

static ll_status read_folder(lli_image_source *out, ll_context *ctx, const char *folder, int first, int last, const char *advice) {
    const layout *l;
    LLI_TRY(find_layout(&l, ctx, folder, first, last));
    if (!l && advice)
        return lli_fail(ctx, LL_ERR_READ, "%s: has no %s; %s", folder, layouts[first].train[0], advice);
    if (!l)
        return lli_fail(ctx, LL_ERR_READ,
                        "%s: holds no known image files; expected train-images-idx3-ubyte (also .gz), data_batch_1.bin (CIFAR-10), "
                        "train.bin (CIFAR-100) or train-drawings-idx3-ubyte (quickdraw) and the files that go with it",
                        folder);
    LLI_TRY(read_part(&out->train, ctx, l, true, folder, advice, l->classes));
    return read_part(&out->test, ctx, l, false, folder, advice, out->train->K);
}

static ll_status read_name(lli_image_source *out, ll_context *ctx, size_t i) {
    lli_text folder;
    lli_text_init(&folder, ctx);
    lli_text_add(&folder, "%s/%s", lli_folder_data(), names[i].name);
    ll_status status = folder.status;
    if (status == LL_OK && lli_folder_is(folder.data))
        status = read_folder(out, ctx, folder.data, names[i].first, names[i].last, names[i].advice);
    else if (status == LL_OK && names[i].elsewhere && lli_folder_is(names[i].elsewhere))
        status = read_folder(out, ctx, names[i].elsewhere, names[i].first, names[i].last, names[i].advice);
    else if (status == LL_OK)
        status = lli_fail(ctx, LL_ERR_READ, "the data set %s is missing: there is no folder %s (LASTLAYER_DATA chooses another place); %s",
                          names[i].name, folder.data, names[i].advice);
    lli_text_release(&folder);
    return status;
}

/* One part of a file, where it has images by one of the names. */
static ll_status read_arrays(ll_dataset **out, ll_context *ctx, const ll_bundle *bundle, const char *path, const char *const *images,
                             const char *const *labels, int64_t classes) {
    int64_t x = find_any(bundle, images), y = find_any(bundle, labels);
    *out = NULL;
    if (x < 0)
        return LL_OK;
    ll_array array = y >= 0 ? ll_bundle_array(bundle, y) : (ll_array){0};
    lli_images_file file = {path, ll_bundle_array(bundle, x), y >= 0 ? &array : NULL};
    return lli_images_join(out, ctx, &file, 1, classes);
}

/* FILE:NAME is images alone, and so is a file with one array. */
static ll_status read_file(lli_image_source *out, ll_context *ctx, const char *where) {
    ll_bundle *bundle = NULL;
    char *file = NULL;
    const char *name;
    ll_status status;
    LLI_DO(lli_format_split(&file, &name, ctx, where));
    if (name) {
        lli_images_file one = {where, {0}, NULL};
        LLI_DO(ll_array_read(&bundle, &one.images, ctx, where, NULL));
        LLI_DO(lli_images_join(&out->test, ctx, &one, 1, 0));
        goto done;
    }
    LLI_DO(ll_bundle_read(&bundle, ctx, file));
    LLI_DO(read_arrays(&out->train, ctx, bundle, file, train_images, train_labels, 0));
    LLI_DO(read_arrays(&out->test, ctx, bundle, file, test_images, test_labels, out->train ? out->train->K : 0));
    if (!out->train && !out->test)
        LLI_DO(read_arrays(&out->test, ctx, bundle, file, plain_images, plain_labels, 0));
    if (!out->train && !out->test)
        status = lli_fail(ctx, LL_ERR_USAGE,
                          "%s: holds no images; expected x_train, y_train, x_test and y_test, or images (and labels), or choose one array "
                          "with %s:NAME",
                          file, file);
done:
    ll_bundle_free(bundle);
    lli_memory_free(file);
    return status;
}

ll_status lli_image_source_read(lli_image_source *out, ll_context *ctx, const char *data) {
    ll_status status = LL_OK;
    size_t i = 0;
    *out = (lli_image_source){0};
    while (i < LLI_COUNT(names) && strcmp(names[i].name, data) != 0)
        i++;
    if (i < LLI_COUNT(names))
        status = read_name(out, ctx, i);
    else if (lli_folder_is(data))
        status = read_folder(out, ctx, data, 0, (int)LLI_COUNT(layouts) - 1, NULL);
    else
        status = read_file(out, ctx, data);
    if (status == LL_OK && out->train && out->test) {
        const lli_rows *rows = &out->train->rows;
        status = lli_images_check_shape(ctx, out->test, "the test part", rows->height, rows->width, rows->channels, "the training part");
    }
    if (status != LL_OK)
        lli_image_source_release(out);
    return status;
}

void lli_image_source_release(lli_image_source *source) {
    ll_dataset_free(source->train);
    ll_dataset_free(source->test);
    *source = (lli_image_source){0};
}
