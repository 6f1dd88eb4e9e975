/* SPDX-License-Identifier: MIT */
/* Reader of .safetensors: 8 bytes of header length, a JSON header, the data. Tensors are used in place. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "formats/bytes.h"
#include "formats/meta.h"
#include "formats/readers.h"
#include "formats/safetensors.h"
#include "formats/tree.h"

#define HEADER_MAX ((uint64_t)100000000) /* the limit of the format's own library */

static const char *const codes[] = {
    [LL_DTYPE_BOOL] = "BOOL", [LL_DTYPE_I8] = "I8",   [LL_DTYPE_U8] = "U8",   [LL_DTYPE_I16] = "I16", [LL_DTYPE_U16] = "U16",
    [LL_DTYPE_I32] = "I32",   [LL_DTYPE_U32] = "U32", [LL_DTYPE_I64] = "I64", [LL_DTYPE_U64] = "U64", [LL_DTYPE_F16] = "F16",
    [LL_DTYPE_BF16] = "BF16", [LL_DTYPE_F32] = "F32", [LL_DTYPE_F64] = "F64",
};

const char *lli_safetensors_code(ll_dtype dtype) {
    return codes[dtype];
}

static bool dtype_of(ll_dtype *out, const char *code) {
    for (size_t i = 0; i < LLI_COUNT(codes); i++)
        if (strcmp(codes[i], code) == 0) {
            *out = (ll_dtype)i;
            return true;
        }
    return false;
}

/* What the header says of a tensor. */
typedef struct tensor {
    const char *key;
    lli_raw raw;
    int64_t begin, end; /* in the data */
} tensor;

static int by_place(const void *a, const void *b) {
    const tensor *one = *(const tensor *const *)a, *other = *(const tensor *const *)b;
    if (one->begin != other->begin)
        return one->begin < other->begin ? -1 : 1;
    return one->end < other->end ? -1 : one->end > other->end;
}

/* The format wants every byte of the data to belong to one tensor. */
static ll_status check_places(ll_context *ctx, const tensor *tensors, int64_t count, uint64_t size, const char *name) {
    const tensor **sorted;
    int64_t at = 0;
    LLI_TRY(lli_memory_new(ctx, &sorted, count, sizeof *sorted));
    for (int64_t i = 0; i < count; i++)
        sorted[i] = &tensors[i];
    qsort(sorted, (size_t)count, sizeof *sorted, by_place);
    ll_status status = LL_OK;
    for (int64_t i = 0; i < count && status == LL_OK; at = sorted[i++]->end)
        if (sorted[i]->begin != at)
            status = lli_fail(ctx, LL_ERR_FORMAT,
                              "%s: \"%s\" begins at byte %" PRId64 " of the data and the tensor before it ends at %" PRId64
                              "; tensors must neither overlap nor leave gaps",
                              name, sorted[i]->key, sorted[i]->begin, at);
    lli_memory_free(sorted);
    if (status == LL_OK && (uint64_t)at != size)
        status = lli_fail(ctx, LL_ERR_FORMAT, "%s: %" PRIu64 " bytes of data belong to no tensor: the last one ends at byte %" PRId64, name,
                          size - (uint64_t)at, at);
    return status;
}

static ll_status read_tensor(tensor *out, ll_context *ctx, const lli_tree *info, uint64_t size, const char *name) {
    const lli_tree *shape = lli_tree_get(info, "shape"), *offsets = lli_tree_get(info, "data_offsets");
    const char *key = lli_tree_key(info), *code = lli_tree_text(lli_tree_get(info, "dtype"));
    if (!code || !lli_tree_is_list(shape) || lli_tree_count(offsets) != 2)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the header entry of \"%s\" is damaged; expected dtype, shape and two data_offsets", name,
                        key);
    lli_raw raw = {0};
    if (!dtype_of(&raw.dtype, code))
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: \"%s\" has the type %s, which is not read; expected F16 BF16 F32 F64, an integer or BOOL",
                        name, key, code);
    if (lli_tree_count(shape) > LL_ARRAY_RANK_MAX)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: \"%s\" has more than %d dimensions", name, key, LL_ARRAY_RANK_MAX);
    raw.rank = (int)lli_tree_count(shape);
    for (int i = 0; i < raw.rank; i++) {
        raw.shape[i] = lli_tree_whole(lli_tree_at(shape, i));
        if (raw.shape[i] < 0)
            return lli_fail(ctx, LL_ERR_FORMAT, "%s: the shape of \"%s\" is not a list of whole numbers", name, key);
    }
    int64_t begin = lli_tree_whole(lli_tree_at(offsets, 0)), end = lli_tree_whole(lli_tree_at(offsets, 1)), bytes;
    if (!lli_raw_bytes(&bytes, &raw))
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the shape of \"%s\" overflows", name, key);
    if (begin < 0 || end < begin || end - begin != bytes)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: \"%s\" needs %" PRId64 " bytes but its data_offsets are %" PRId64 " to %" PRId64, name,
                        key, bytes, begin, end);
    if ((uint64_t)end > size)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: \"%s\" ends at byte %" PRId64 " of the data but the file has %" PRIu64 "; it is truncated",
                        name, key, end, size);
    *out = (tensor){key, raw, begin, end};
    return LL_OK;
}

static ll_status parse_header(lli_tree **out, ll_context *ctx, const unsigned char *bytes, size_t size, const char *name) {
    char where[PATH_MAX];
    snprintf(where, sizeof where, "%s: the header", name);
    LLI_TRY(lli_tree_parse(out, ctx, (const char *)bytes, size, where));
    if (lli_tree_is_object(*out))
        return LL_OK;
    lli_tree_free(*out);
    return lli_fail(ctx, LL_ERR_FORMAT, "%s: the header is not a JSON object", name);
}

ll_status lli_safetensors_parse(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name) {
    if (size < 8)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: %zu bytes are too few for a .safetensors file; it is truncated", name, size);
    uint64_t length = lli_bytes_little(bytes, 8);
    if (length > HEADER_MAX)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: a .safetensors header of %" PRIu64 " bytes is impossible", name, length);
    if (length > size - 8)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the header promises %" PRIu64 " bytes but the file has %zu; it is truncated", name, length,
                        size - 8);
    const unsigned char *data = bytes + 8 + length;
    uint64_t data_size = size - 8 - length;
    lli_tree *header;
    tensor *tensors = NULL;
    int64_t count = 0;
    ll_status status = parse_header(&header, ctx, bytes + 8, (size_t)length, name);
    LLI_TRY(status);
    LLI_DO(lli_memory_new(ctx, &tensors, lli_tree_count(header), sizeof *tensors));
    for (int64_t i = 0; i < lli_tree_count(header); i++) {
        const lli_tree *value = lli_tree_at(header, i);
        if (strcmp(lli_tree_key(value), "__metadata__") == 0)
            LLI_DO(lli_meta_add(ctx, bundle, value, name));
        else
            LLI_DO(read_tensor(&tensors[count++], ctx, value, data_size, name));
    }
    LLI_DO(check_places(ctx, tensors, count, data_size, name));
    LLI_DO(lli_bundle_reserve(ctx, bundle, count));
    for (int64_t i = 0; i < count; i++)
        LLI_DO(lli_raw_add(ctx, bundle, tensors[i].key, &tensors[i].raw, data + tensors[i].begin, NULL));
done:
    lli_memory_free(tensors);
    lli_tree_free(header);
    return status;
}
