/* SPDX-License-Identifier: MIT */
/* Reader of HDF5, the format of Keras' .h5 files: each numeric data set is an array named by its path, /dense_1/dense_1/kernel:0; texts
 * among the attributes of the groups / and /model_weights are metadata, lists joined by commas. The only file that knows libhdf5.
 *
 * What a file could use to reach beyond itself or to run other code is refused: external and virtual storage, filters other than deflate,
 * shuffle and checksum. libhdf5 has state of its own, so one thread at a time is in here. */
#include <hdf5.h>
#include <inttypes.h>
#include <string.h>

#include "base/lock.h"
#include "base/memory.h"
#include "base/text.h"
#include "formats/raw.h"
#include "formats/readers.h"

typedef struct walk {
    ll_context *ctx;
    ll_bundle *bundle;
    const char *name;
    size_t size; /* of the file */
    ll_status status;
} walk;

static ll_status damaged(walk *w, const char *what) {
    return lli_fail(w->ctx, LL_ERR_FORMAT, "%s: the HDF5 file is damaged or truncated: %s cannot be read", w->name, what);
}

/* The type in memory: *native for libhdf5, *out for us. False for what is no number. */
static bool find_type(ll_dtype *out, hid_t *native, hid_t type) {
    size_t size = H5Tget_size(type);
    if (H5Tget_class(type) == H5T_FLOAT) {
        *out = size > 4 ? LL_DTYPE_F64 : LL_DTYPE_F32;
        *native = size > 4 ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT;
        return size == 2 || size == 4 || size == 8;
    }
    if (H5Tget_class(type) != H5T_INTEGER)
        return false;
    bool is_signed = H5Tget_sign(type) == H5T_SGN_2;
    switch (size) {
    case 1: *out = is_signed ? LL_DTYPE_I8 : LL_DTYPE_U8; *native = is_signed ? H5T_NATIVE_INT8 : H5T_NATIVE_UINT8; return true;
    case 2: *out = is_signed ? LL_DTYPE_I16 : LL_DTYPE_U16; *native = is_signed ? H5T_NATIVE_INT16 : H5T_NATIVE_UINT16; return true;
    case 4: *out = is_signed ? LL_DTYPE_I32 : LL_DTYPE_U32; *native = is_signed ? H5T_NATIVE_INT32 : H5T_NATIVE_UINT32; return true;
    case 8: *out = is_signed ? LL_DTYPE_I64 : LL_DTYPE_U64; *native = is_signed ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64; return true;
    default: return false;
    }
}

static ll_status check_storage(walk *w, hid_t set, const char *path) {
    hid_t list = H5Dget_create_plist(set);
    if (list < 0)
        return damaged(w, path);
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
    if (fine && filters >= 0)
        return LL_OK;
    return lli_fail(w->ctx, LL_ERR_FORMAT,
                    "%s: \"%s\" is stored outside the file, or compressed in a way that is not read; expected plain or gzip", w->name,
                    path);
}

/* The shape and type of a data set. *found = false: not an array of numbers, which is passed over. */
static ll_status read_shape(lli_raw *raw, hid_t *native, bool *found, walk *w, hid_t set, const char *path) {
    hsize_t extent[LL_ARRAY_RANK_MAX];
    hid_t type = H5Dget_type(set), space = H5Dget_space(set);
    ll_status status = LL_OK;
    *found = false;
    if (type < 0 || space < 0)
        status = damaged(w, path);
    else if (find_type(&raw->dtype, native, type) && H5Sget_simple_extent_type(space) != H5S_NULL) {
        raw->rank = H5Sget_simple_extent_ndims(space);
        if (raw->rank < 0)
            status = damaged(w, path);
        else if (raw->rank > LL_ARRAY_RANK_MAX)
            status = lli_fail(w->ctx, LL_ERR_FORMAT, "%s: \"%s\" has more than %d dimensions", w->name, path, LL_ARRAY_RANK_MAX);
        else if (raw->rank > 0 && H5Sget_simple_extent_dims(space, extent, NULL) < 0)
            status = damaged(w, path);
        for (int i = 0; i < raw->rank && status == LL_OK; i++)
            raw->shape[i] = extent[i] > INT64_MAX ? INT64_MAX : (int64_t)extent[i];
        *found = status == LL_OK;
    }
    if (type >= 0)
        H5Tclose(type);
    if (space >= 0)
        H5Sclose(space);
    return status;
}

static ll_status add_array(walk *w, hid_t set, const char *path) {
    lli_raw raw = {0};
    hid_t native;
    bool found;
    int64_t bytes;
    unsigned char *data;
    LLI_TRY(read_shape(&raw, &native, &found, w, set, path));
    if (!found)
        return LL_OK;
    LLI_TRY(check_storage(w, set, path));
    if (!lli_raw_bytes(&bytes, &raw) || (uint64_t)bytes / LLI_INFLATE_RATIO > w->size)
        return lli_fail(w->ctx, LL_ERR_FORMAT, "%s: \"%s\" promises more numbers than %zu bytes can hold", w->name, path, w->size);
    LLI_TRY(lli_memory_new(w->ctx, &data, bytes, 1));
    if (bytes > 0 && H5Dread(set, native, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0) {
        lli_memory_free(data);
        return damaged(w, path);
    }
    return lli_bundle_add(w->ctx, w->bundle, path, ll_array_view(data, raw.dtype, raw.rank, raw.shape), data);
}

static herr_t visit(hid_t group, const char *name, const H5L_info_t *info, void *arg) {
    walk *w = arg;
    if (info->type != H5L_TYPE_HARD)
        return 0;
    hid_t object = H5Oopen(group, name, H5P_DEFAULT);
    if (object < 0) {
        w->status = damaged(w, name);
        return -1;
    }
    if (H5Iget_type(object) == H5I_DATASET) {
        lli_text path;
        lli_text_init(&path, w->ctx);
        lli_text_add(&path, "/%s", name);
        w->status = path.status != LL_OK ? path.status : add_array(w, object, path.data);
        lli_text_release(&path);
    }
    H5Oclose(object);
    return w->status == LL_OK ? 0 : -1;
}

/* The texts of an attribute, joined by commas; *out stays empty for what is no text. */
static ll_status read_texts(lli_text *out, walk *w, hid_t attribute) {
    enum { BYTES_MAX = 1 << 20 };
    hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    hssize_t count = space >= 0 ? H5Sget_simple_extent_npoints(space) : -1;
    size_t size = type >= 0 ? H5Tget_size(type) : 0;
    bool text = size > 0 && H5Tget_class(type) == H5T_STRING, pointers = text && H5Tis_variable_str(type) > 0;
    char *data = NULL;
    ll_status status = LL_OK;
    if (!text || count < 1 || (uint64_t)count > BYTES_MAX / size)
        goto done;
    LLI_DO(lli_memory_new(w->ctx, &data, count + 1, size));
    hid_t memory = pointers ? H5Tcopy(type) : type; /* texts of any length come as pointers, others in place */
    if (H5Aread(attribute, memory, data) >= 0) {
        for (hssize_t i = 0; i < count; i++) {
            const char *one = data + (size_t)i * size;
            if (pointers)
                memcpy(&one, data + (size_t)i * size, sizeof one);
            lli_text_add(out, "%s%.*s", i ? "," : "", pointers ? BYTES_MAX : (int)size, one ? one : "");
        }
        status = out->status;
        if (pointers)
            H5Dvlen_reclaim(memory, space, H5P_DEFAULT, data);
    }
    if (pointers)
        H5Tclose(memory);
done:
    lli_memory_free(data);
    if (type >= 0)
        H5Tclose(type);
    if (space >= 0)
        H5Sclose(space);
    return status;
}

static herr_t visit_attribute(hid_t group, const char *name, const H5A_info_t *info, void *arg) {
    walk *w = arg;
    lli_text text;
    (void)info;
    hid_t attribute = H5Aopen(group, name, H5P_DEFAULT);
    if (attribute < 0)
        return 0; /* metadata that cannot be read are no reason to refuse the numbers */
    lli_text_init(&text, w->ctx);
    w->status = read_texts(&text, w, attribute);
    if (w->status == LL_OK && text.length > 0 && !lli_bundle_meta(w->bundle, name))
        w->status = lli_bundle_add_meta(w->ctx, w->bundle, name, text.data);
    lli_text_release(&text);
    H5Aclose(attribute);
    return w->status == LL_OK ? 0 : -1;
}

static void read_attributes(walk *w, hid_t file) {
    static const char *const groups[] = {"/", "/model_weights"};
    for (size_t i = 0; i < LLI_COUNT(groups) && w->status == LL_OK; i++) {
        hid_t group = H5Gopen2(file, groups[i], H5P_DEFAULT);
        if (group < 0)
            continue;
        hsize_t start = 0;
        H5Aiterate2(group, H5_INDEX_NAME, H5_ITER_INC, &start, visit_attribute, w);
        H5Gclose(group);
    }
}

/* Opens the bytes as if they were a file. */
static ll_status open_bytes(hid_t *out, walk *w, const unsigned char *bytes) {
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    *out = -1;
    if (access < 0)
        return lli_fail(w->ctx, LL_ERR_INTERNAL, "%s: libhdf5 cannot start", w->name);
    if (H5Pset_fapl_core(access, 1 << 16, 0) >= 0 && H5Pset_file_image(access, (void *)(uintptr_t)bytes, w->size) >= 0)
        *out = H5Fopen("bytes", H5F_ACC_RDONLY, access);
    H5Pclose(access);
    return *out >= 0 ? LL_OK : damaged(w, "its first block");
}

static void read_all(walk *w, const unsigned char *bytes) {
    hid_t file;
    w->status = open_bytes(&file, w, bytes);
    if (w->status != LL_OK)
        return;
    if (H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, visit, w) < 0 && w->status == LL_OK)
        w->status = damaged(w, "its directory");
    read_attributes(w, file);
    H5Fclose(file);
    if (w->status == LL_OK && w->bundle->count == 0)
        w->status = lli_fail(w->ctx, LL_ERR_FORMAT, "%s: the HDF5 file holds no array of numbers", w->name);
}

ll_status lli_hdf5_parse(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name) {
    walk w = {ctx, bundle, name, size, LL_OK};
    lli_lock_take(lli_lock_foreign());
    H5E_BEGIN_TRY { /* libhdf5 prints nothing meanwhile */
        read_all(&w, bytes);
    }
    H5E_END_TRY;
    lli_lock_give(lli_lock_foreign());
    return w.status;
}
