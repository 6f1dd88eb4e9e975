/* SPDX-License-Identifier: MIT */
/* Reader of .safetensors: 8 bytes of header length, a JSON header, the data. Tensors are used in place. */
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "formats/bytes.h"
#include "formats/meta.h"
#include "formats/readers.h"
#include "formats/safetensors.h"

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

/* Element i of a JSON list of whole numbers >= 0, or -1. */
static int64_t whole_number(const json_t *list, size_t i) {
    const json_t *x = json_array_get(list, i);
    return json_is_integer(x) && json_integer_value(x) >= 0 ? (int64_t)json_integer_value(x) : -1;
}

static ll_status read_tensor(ll_context *ctx, ll_bundle *bundle, const char *key, const json_t *info, const unsigned char *data,
                             uint64_t size, const char *name) {
    const json_t *shape = json_object_get(info, "shape"), *offsets = json_object_get(info, "data_offsets");
    const char *code = json_string_value(json_object_get(info, "dtype"));
    if (!code || !json_is_array(shape) || json_array_size(offsets) != 2)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the header entry of \"%s\" is damaged; expected dtype, shape and two data_offsets", name,
                        key);
    lli_raw raw = {0};
    if (!dtype_of(&raw.dtype, code))
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: \"%s\" has the type %s, which is not read; expected F16 BF16 F32 F64, an integer or BOOL",
                        name, key, code);
    if (json_array_size(shape) > LL_ARRAY_RANK_MAX)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: \"%s\" has more than %d dimensions", name, key, LL_ARRAY_RANK_MAX);
    raw.rank = (int)json_array_size(shape);
    for (int i = 0; i < raw.rank; i++) {
        raw.shape[i] = whole_number(shape, (size_t)i);
        if (raw.shape[i] < 0)
            return lli_fail(ctx, LL_ERR_FORMAT, "%s: the shape of \"%s\" is not a list of whole numbers", name, key);
    }
    int64_t begin = whole_number(offsets, 0), end = whole_number(offsets, 1), bytes;
    if (!lli_raw_bytes(&bytes, &raw))
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the shape of \"%s\" overflows", name, key);
    if (begin < 0 || end < begin || end - begin != bytes)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: \"%s\" needs %" PRId64 " bytes but its data_offsets are %" PRId64 " to %" PRId64, name,
                        key, bytes, begin, end);
    if ((uint64_t)end > size)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: \"%s\" ends at byte %" PRId64 " of the data but the file has %" PRIu64 "; it is truncated",
                        name, key, end, size);
    return lli_raw_add(ctx, bundle, key, &raw, data + begin, NULL);
}

ll_status lli_safetensors_parse(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name) {
    if (size < 8)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: %zu bytes are no .safetensors file; it is truncated", name, size);
    uint64_t length = lli_bytes_little(bytes, 8);
    if (length > HEADER_MAX)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: a .safetensors header of %" PRIu64 " bytes is impossible", name, length);
    if (length > size - 8)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the header promises %" PRIu64 " bytes but the file has %zu; it is truncated", name, length,
                        size - 8);
    json_error_t error;
    json_t *header = json_loadb((const char *)bytes + 8, (size_t)length, JSON_REJECT_DUPLICATES, &error);
    ll_status status = LL_OK;
    if (!header)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the header is not JSON: %s at byte %d", name, error.text, error.position);
    if (!json_is_object(header)) {
        status = lli_fail(ctx, LL_ERR_FORMAT, "%s: the header is not a JSON object", name);
        goto done;
    }
    const char *key;
    json_t *value;
    json_object_foreach(header, key, value) {
        if (strcmp(key, "__metadata__") == 0)
            LLI_DO(lli_meta_add(ctx, bundle, value, name));
        else
            LLI_DO(read_tensor(ctx, bundle, key, value, bytes + 8 + length, size - 8 - length, name));
    }
done:
    json_decref(header);
    return status;
}
