/* SPDX-License-Identifier: MIT */
/* A stand-in for the part of jansson that reads fixtures, for machines where there is a C library and no more. The fixtures are our own
 * files: strings in them have no escapes, and what is not JSON ends the reading with NULL. */
#ifndef TESTS_CROSS_JANSSON_H
#define TESTS_CROSS_JANSSON_H

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct json_t {
    char kind; /* '{' '[' '"' '0' (a number) 't' 'f' 'n' */
    double number;
    char *text;           /* of a string */
    char *key;            /* of a member of an object */
    struct json_t *first; /* of the members of an array or object */
    struct json_t *next;
    size_t count; /* of members */
} json_t;

typedef long long json_int_t;
typedef struct json_error_t {
    char text[64];
} json_error_t;

static inline void json_decref(json_t *value) {
    if (!value)
        return;
    for (json_t *child = value->first, *next; child; child = next) {
        next = child->next;
        json_decref(child);
    }
    free(value->text);
    free(value->key);
    free(value);
}

static inline const char *json_space(const char *at) {
    return at + strspn(at, " \t\r\n");
}

/* The string whose opening quote is at *at, which moves behind it; NULL if there is none. */
static inline char *json_quoted(const char **at) {
    const char *end = **at == '"' ? strchr(*at + 1, '"') : NULL;
    if (!end)
        return NULL;
    char *text = strndup(*at + 1, (size_t)(end - *at - 1));
    *at = end + 1;
    return text;
}

static inline json_t *json_value(const char **at);

/* The members of `list` up to its closing bracket. */
static inline bool json_members(json_t *list, const char **at) {
    char close = list->kind == '{' ? '}' : ']';
    json_t **tail = &list->first;
    *at = json_space(*at + 1);
    while (**at != close) {
        char *key = list->kind == '{' ? json_quoted(at) : NULL;
        *at = json_space(*at);
        if (list->kind == '{' && (!key || *(*at)++ != ':')) {
            free(key);
            return false;
        }
        json_t *child = *tail = json_value(at);
        if (!child) {
            free(key);
            return false;
        }
        child->key = key;
        tail = &child->next;
        list->count++;
        *at = json_space(*at);
        if (**at == ',')
            *at = json_space(*at + 1);
        else if (**at != close)
            return false;
    }
    (*at)++;
    return true;
}

static inline bool json_word(const char **at, const char *word) {
    if (strncmp(*at, word, strlen(word)) != 0)
        return false;
    *at += strlen(word);
    return true;
}

static inline json_t *json_value(const char **at) {
    json_t *value = calloc(1, sizeof *value);
    if (!value)
        return NULL;
    *at = json_space(*at);
    value->kind = isdigit((unsigned char)**at) || **at == '-' ? '0' : **at;
    bool good = false;
    char *end;
    switch (value->kind) {
    case '{':
    case '[': good = json_members(value, at); break;
    case '"': good = (value->text = json_quoted(at)) != NULL; break;
    case 't': good = json_word(at, "true"); break;
    case 'f': good = json_word(at, "false"); break;
    case 'n': good = json_word(at, "null"); break;
    case '0':
        value->number = strtod(*at, &end);
        good = end > *at;
        *at = end;
    }
    if (good)
        return value;
    json_decref(value);
    return NULL;
}

static inline json_t *json_load_file(const char *path, size_t flags, json_error_t *error) {
    (void)flags;
    snprintf(error->text, sizeof error->text, "cannot be read, or is not JSON");
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file);
    rewind(file);
    char *text = calloc(size + 1, 1);
    json_t *root = NULL;
    if (text && fread(text, 1, size, file) == size) {
        const char *at = text;
        root = json_value(&at);
    }
    free(text);
    fclose(file);
    return root;
}

static inline json_t *json_object_get(const json_t *object, const char *key) {
    for (json_t *child = object->first; child; child = child->next)
        if (child->key && strcmp(child->key, key) == 0)
            return child;
    return NULL;
}

static inline size_t json_array_size(const json_t *array) {
    return array->kind == '[' ? array->count : 0;
}

static inline json_t *json_array_get(const json_t *array, size_t i) {
    json_t *child = array->kind == '[' ? array->first : NULL;
    for (; child && i > 0; i--)
        child = child->next;
    return child;
}

static inline double json_number_value(const json_t *value) {
    return value->number;
}

static inline json_int_t json_integer_value(const json_t *value) {
    return (json_int_t)value->number;
}

static inline const char *json_string_value(const json_t *value) {
    return value->text;
}

#define json_is_null(value) ((value)->kind == 'n')
#define json_is_true(value) ((value)->kind == 't')
#define json_array_foreach(array, i, value) for (i = 0; i < json_array_size(array) && ((value) = json_array_get(array, i)); i++)

#endif
