/* SPDX-License-Identifier: MIT */
/* A folder of its own for a test that writes files, and whole files as bytes. */
#ifndef TESTS_FOLDER_H
#define TESTS_FOLDER_H

#include <dirent.h>

#include "check.h"

static char folder_name[2048];

static inline int folder_setup(void **state) {
    (void)state;
    const char *parent = getenv("TMPDIR");
    snprintf(folder_name, sizeof folder_name, "%s/lastlayer-test-XXXXXX", parent && parent[0] ? parent : "/tmp");
    return mkdtemp(folder_name) ? 0 : -1;
}

/* Removes every file in it. */
static inline void folder_clear(void) {
    DIR *dir = opendir(folder_name);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        char path[sizeof folder_name + sizeof entry->d_name + 2];
        snprintf(path, sizeof path, "%s/%s", folder_name, entry->d_name);
        unlink(path);
    }
    closedir(dir);
}

static inline int folder_teardown(void **state) {
    (void)state;
    folder_clear();
    return rmdir(folder_name);
}

/* Removes a folder with all that is in it. */
static inline void folder_remove(const char *path) {
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        size_t size = strlen(path) + sizeof entry->d_name + 2;
        char *inner = malloc(size);
        snprintf(inner, size, "%s/%s", path, entry->d_name);
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && unlink(inner) != 0)
            folder_remove(inner);
        free(inner);
    }
    if (dir)
        closedir(dir);
    rmdir(path);
}

/* Path of a file in it; the last 32 stay valid. */
static inline const char *folder_path(const char *name) {
    static char paths[32][sizeof folder_name + 256];
    static int next;
    char *path = paths[next++ % 32];
    snprintf(path, sizeof paths[0], "%s/%s", folder_name, name);
    return path;
}

static inline bool folder_has(const char *name) {
    return access(folder_path(name), F_OK) == 0;
}

static inline int64_t folder_count(void) {
    DIR *dir = opendir(folder_name);
    assert_non_null(dir);
    int64_t count = 0;
    for (struct dirent *entry; (entry = readdir(dir));)
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

typedef struct folder_bytes {
    unsigned char *data;
    size_t size;
} folder_bytes;

static inline folder_bytes folder_read(const char *name) {
    FILE *file = fopen(folder_path(name), "rb");
    if (!file)
        fail_msg("%s is not there", name);
    folder_bytes bytes = {NULL, 0};
    fseek(file, 0, SEEK_END);
    bytes.size = (size_t)ftell(file);
    rewind(file);
    bytes.data = malloc(bytes.size + 1);
    assert_non_null(bytes.data);
    assert_int_equal(fread(bytes.data, 1, bytes.size, file), bytes.size);
    bytes.data[bytes.size] = 0;
    fclose(file);
    return bytes;
}

static inline void folder_write(const char *name, const void *data, size_t size) {
    FILE *file = fopen(folder_path(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static inline void folder_check_same(const char *name, const folder_bytes *expected) {
    folder_bytes found = folder_read(name);
    if (found.size != expected->size || memcmp(found.data, expected->data, found.size) != 0)
        fail_msg("%s has other bytes than expected", name);
    free(found.data);
}

#endif
