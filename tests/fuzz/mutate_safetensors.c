/* SPDX-License-Identifier: MIT */
/* safetensors: the header by its tokens, with its length put right; or a tensor of another shape or type, with all offsets put right. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "mutate.h"

enum { HEADER_MAX = 4096 };

static const struct {
    const char *code;
    size_t bytes;
} types[] = {{"F32", 4}, {"F64", 8}, {"F16", 2}, {"BF16", 2}, {"I64", 8}, {"I32", 4},
             {"I16", 2}, {"I8", 1},  {"U8", 1},  {"BOOL", 1}, {"U64", 8}};

/* The bytes a header's entry needs; a damaged one, or one beyond any room, counts as empty. */
static size_t tensor_bytes(const json_t *info) {
    const char *code = json_string_value(json_object_get(info, "dtype"));
    const json_t *shape = json_object_get(info, "shape");
    size_t bytes = 0;
    for (size_t i = 0; code && i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].code, code) == 0)
            bytes = types[i].bytes;
    for (size_t i = 0; i < json_array_size(shape); i++) {
        json_int_t n = json_integer_value(json_array_get(shape, i));
        if (n < 0 || n > 1 << 16 || bytes > 1 << 16)
            return 0;
        bytes *= (size_t)n;
    }
    return bytes;
}

static void change_tensor(mutation *m, json_t *info) {
    static const int sizes[] = {0, 1, 2, 3, 4, 5, 8, 16};
    json_t *shape = json_object_get(info, "shape");
    size_t rank = json_array_size(shape), at = rank ? mutate_below(m, rank) : 0;
    json_t *size = json_integer(sizes[mutate_below(m, sizeof sizes / sizeof *sizes)]);
    switch (mutate_below(m, 5)) {
    case 0: json_object_set_new(info, "dtype", json_string(types[mutate_below(m, sizeof types / sizeof *types)].code)); break;
    case 1: json_array_insert(shape, at, size); break;
    case 2: json_array_remove(shape, at); break;
    default: json_array_set(shape, at, size); break;
    }
    json_decref(size);
}

/* Gives every tensor its place behind the one before it. Returns the bytes of all. */
static size_t settle(json_t *header) {
    size_t end = 0;
    const char *key;
    json_t *info;
    json_object_foreach(header, key, info) {
        if (strcmp(key, "__metadata__") == 0)
            continue;
        size_t begin = end;
        end += tensor_bytes(info);
        json_object_set_new(info, "data_offsets", json_pack("[I,I]", (json_int_t)begin, (json_int_t)end));
    }
    return end;
}

/* One tensor becomes another; the data are cut or filled with zeros. */
static size_t reshape(mutation *m, uint8_t *data, size_t size, size_t most, size_t length) {
    json_t *header = json_loadb((const char *)data + 8, length, 0, NULL);
    size_t count = json_object_size(header), made = 0;
    char *text = NULL;
    if (!json_is_object(header) || count == 0)
        goto done;
    size_t chosen = mutate_below(m, count);
    const char *key;
    json_t *info;
    json_object_foreach(header, key, info) {
        if (chosen-- == 0 && json_is_object(info) && strcmp(key, "__metadata__") != 0)
            change_tensor(m, info);
    }
    size_t bytes = settle(header), have = size - 8 - length;
    text = json_dumps(header, JSON_COMPACT);
    if (!text || 8 + strlen(text) + bytes > most)
        goto done;
    size_t kept = bytes < have ? bytes : have, start = 8 + strlen(text);
    memmove(data + start, data + 8 + length, kept);
    memset(data + start + kept, 0, bytes - kept);
    memcpy(data + 8, text, strlen(text));
    mutate_put_little(data, strlen(text), 8);
    made = start + bytes;
done:
    free(text);
    json_decref(header);
    return made;
}

size_t mutate_safetensors(mutation *m, uint8_t *data, size_t size, size_t most) {
    size_t length = (size_t)mutate_little(data, 8);
    uint8_t header[HEADER_MAX];
    if (length > sizeof header)
        return 0;
    switch (mutate_below(m, 3)) {
    case 0: return reshape(m, data, size, most, length);
    case 1: { /* the numbers only */
        size_t start = 8 + length;
        return start < size ? start + LLVMFuzzerMutate(data + start, size - start, most - start) : 0;
    }
    default: break;
    }
    memcpy(header, data + 8, length);
    size_t changed = mutate_json(m, header, length, sizeof header);
    if (!changed || !mutate_splice(data, &size, most, 8, length, header, changed))
        return 0;
    mutate_put_little(data, changed, 8);
    return size;
}
