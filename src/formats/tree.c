/* SPDX-License-Identifier: MIT */
/* The JSON reader: a thin coat over jansson, so that no other room sees it. */
#include "formats/tree.h"

#include <jansson.h>
#include <math.h>

ll_status lli_tree_parse(lli_tree **out, ll_context *ctx, const char *text, size_t size, const char *name) {
    json_error_t error;
    *out = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    if (!*out)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: not JSON: %s at line %d, column %d", name, error.text, error.line, error.column);
    return LL_OK;
}

void lli_tree_free(lli_tree *tree) {
    json_decref(tree);
}

const lli_tree *lli_tree_get(const lli_tree *object, const char *key) {
    return object ? json_object_get(object, key) : NULL;
}

int64_t lli_tree_count(const lli_tree *list) {
    return list ? (int64_t)json_array_size(list) : 0;
}

const lli_tree *lli_tree_at(const lli_tree *list, int64_t i) {
    return list && i >= 0 ? json_array_get(list, (size_t)i) : NULL;
}

const char *lli_tree_text(const lli_tree *value) {
    return value ? json_string_value(value) : NULL;
}

double lli_tree_number(const lli_tree *value) {
    return value && json_is_number(value) ? json_number_value(value) : NAN;
}

int64_t lli_tree_whole(const lli_tree *value) {
    return value && json_is_integer(value) && json_integer_value(value) >= 0 ? (int64_t)json_integer_value(value) : -1;
}

bool lli_tree_true(const lli_tree *value) {
    return value && json_is_true(value);
}

bool lli_tree_is_list(const lli_tree *value) {
    return value && json_is_array(value);
}

bool lli_tree_is_null(const lli_tree *value) {
    return value && json_is_null(value);
}
