/* SPDX-License-Identifier: MIT */
/* Committed results of oracles: tests/fixtures/NAME.json, made by tests/oracle/NAME.py. */
#ifndef TESTS_FIXTURE_H
#define TESTS_FIXTURE_H

#include <jansson.h>

#include "check.h"

static inline json_t *fixture_read(const char *name) {
    const char *source = getenv("LASTLAYER_SOURCE");
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/fixtures/%s.json", source ? source : ".", name);
    json_error_t error;
    json_t *root = json_load_file(path, 0, &error);
    if (!root)
        fail_msg("%s: %s", path, error.text);
    return root;
}

static inline json_t *fixture_get(json_t *object, const char *key) {
    json_t *value = json_object_get(object, key);
    if (!value)
        fail_msg("the fixture has no %s", key);
    return value;
}

static inline double fixture_real(json_t *object, const char *key) {
    return json_number_value(fixture_get(object, key));
}

static inline int64_t fixture_integer(json_t *object, const char *key) {
    return json_integer_value(fixture_get(object, key));
}

/* The numbers of a flat list; free it. */
static inline double *fixture_reals(json_t *object, const char *key, int64_t count) {
    json_t *list = fixture_get(object, key);
    assert_int_equal(json_array_size(list), count);
    double *out = malloc((size_t)count * sizeof *out);
    assert_non_null(out);
    for (int64_t i = 0; i < count; i++)
        out[i] = json_number_value(json_array_get(list, (size_t)i));
    return out;
}

#endif
