/* SPDX-License-Identifier: MIT */
/* The files behind 'emb/part-*.npy', @list.txt and a folder. */
#include "formats/file_list.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/abi.h"
#include "base/memory.h"
#include "base/text.h"
#include "formats/file.h"

enum { NAMES_MAX = 1 << 24 };

static bool is_one(const char *where) {
    return where[0] == '@' || strpbrk(where, "*?[") || lli_file_is_folder(where);
}

/* Length of SET in SET or SET:NAME: a colon divides them if what stands before it is a set and nothing after it is a path. */
static size_t set_length(const char *where) {
    const char *colon = strrchr(where, ':');
    char path[PATH_MAX];
    if (!colon || strchr(colon, '/') || (size_t)(colon - where) >= sizeof path || lli_file_is_folder(where))
        return strlen(where);
    memcpy(path, where, (size_t)(colon - where));
    path[colon - where] = 0;
    return is_one(path) ? (size_t)(colon - where) : strlen(where);
}

bool lli_file_list_is(const char *where) {
    char path[PATH_MAX];
    size_t length = set_length(where);
    if ((lli_file_exists(where) && !lli_file_is_folder(where)) || length >= sizeof path)
        return false;
    memcpy(path, where, length);
    path[length] = 0;
    return is_one(path);
}

/* Adds FOLDER/FILE:NAME; the folder and the name may be NULL. */
static ll_status add(ll_context *ctx, ll_files *files, const char *folder, const char *file, const char *name) {
    if (files->count == NAMES_MAX)
        return lli_fail(ctx, LL_ERR_DATA, "these are more than %d files", NAMES_MAX);
    if (files->count == files->capacity) {
        int64_t grown = LLI_MAX(64, 2 * files->capacity);
        LLI_TRY(lli_memory_grow(ctx, &files->where, files->count, grown, sizeof *files->where));
        files->capacity = grown;
    }
    lli_text text;
    lli_text_init(&text, ctx);
    lli_text_add(&text, "%s%s%s%s%s", folder ? folder : "", folder ? "/" : "", file, name ? ":" : "", name ? name : "");
    ll_status status = text.status;
    if (status == LL_OK)
        status = lli_arena_text(ctx, &files->texts, &files->where[files->count], text.data);
    files->count += status == LL_OK;
    lli_text_release(&text);
    return status;
}

static int by_bytes(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static ll_status match(ll_context *ctx, ll_files *files, const char *pattern, const char *name) {
    glob_t found;
    ll_status status = LL_OK;
    int result = glob(pattern, GLOB_NOSORT, NULL, &found);
    if (result == GLOB_NOSPACE)
        status = lli_fail(ctx, LL_ERR_MEMORY, "%s: memory ran out while its files were looked for", pattern);
    for (size_t i = 0; result == 0 && i < found.gl_pathc && status == LL_OK; i++)
        status = add(ctx, files, NULL, found.gl_pathv[i], name);
    globfree(&found);
    return status;
}

static bool is_data(const char *file) {
    static const char *const endings[] = {".npy", ".npz", ".safetensors"};
    size_t length = strlen(file);
    for (size_t i = 0; i < LLI_COUNT(endings); i++)
        if (file[0] != '.' && length > strlen(endings[i]) && strcmp(file + length - strlen(endings[i]), endings[i]) == 0)
            return true;
    return false;
}

static ll_status look_into(ll_context *ctx, ll_files *files, const char *folder, const char *name) {
    DIR *opened = opendir(folder);
    if (!opened)
        return lli_fail(ctx, LL_ERR_READ, "%s: cannot be opened: %s", folder, strerror(errno));
    ll_status status = LL_OK;
    for (struct dirent *entry; status == LL_OK && (entry = readdir(opened));)
        if (is_data(entry->d_name))
            status = add(ctx, files, folder, entry->d_name, name);
    closedir(opened);
    return status;
}

/* One file a line; a path that is not absolute begins where the list lies. */
static ll_status read_list(ll_context *ctx, ll_files *files, const char *path, const char *name) {
    lli_file text;
    char *folder = NULL, *line = NULL;
    ll_status status;
    LLI_TRY(lli_file_read(&text, ctx, path));
    LLI_DO(lli_memory_text(ctx, &folder, path));
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = 0;
    LLI_DO(lli_memory_new(ctx, &line, PATH_MAX, 1));
    for (size_t at = 0, length; at < text.size; at += length + 1) {
        const char *start = (const char *)text.bytes + at, *end = memchr(start, '\n', text.size - at);
        length = end ? (size_t)(end - start) : text.size - at;
        size_t used = length && start[length - 1] == '\r' ? length - 1 : length;
        if (!used)
            continue;
        if (used >= PATH_MAX || memchr(start, 0, used))
            LLI_DO(lli_fail(ctx, LL_ERR_FORMAT, "%s: its line %lld is no path; expected a text file with one file a line", path,
                            (long long)files->count + 1));
        memcpy(line, start, used);
        line[used] = 0;
        LLI_DO(add(ctx, files, slash && line[0] != '/' ? folder : NULL, line, name));
    }
done:
    lli_memory_free(folder);
    lli_memory_free(line);
    lli_file_release(&text);
    return status;
}

ll_status ll_files_find(ll_files **out, ll_context *ctx, const char *where) {
    LLI_NEED(ctx, out, where);
    *out = NULL;
    ll_files *files = NULL;
    char *set = NULL;
    ll_status status;
    LLI_DO(lli_memory_new(ctx, &files, 1, sizeof *files));
    if (!lli_file_list_is(where)) {
        LLI_DO(add(ctx, files, NULL, where, NULL));
    } else {
        LLI_DO(lli_memory_text(ctx, &set, where));
        size_t length = set_length(where);
        const char *name = where[length] ? where + length + 1 : NULL;
        set[length] = 0;
        bool listed = set[0] == '@';
        if (listed)
            LLI_DO(read_list(ctx, files, set + 1, name));
        else if (lli_file_is_folder(set))
            LLI_DO(look_into(ctx, files, set, name));
        else
            LLI_DO(match(ctx, files, set, name));
        if (!listed && files->count)
            qsort(files->where, (size_t)files->count, sizeof *files->where, by_bytes);
    }
    if (!files->count)
        LLI_DO(lli_fail(ctx, LL_ERR_READ, "%s: there is no such file; expected at least one%s", where,
                        set && lli_file_is_folder(set) ? " that ends in .npy, .npz or .safetensors" : ""));
    *out = files;
    files = NULL;
done:
    lli_memory_free(set);
    ll_files_free(files);
    return status;
}

int64_t ll_files_count(const ll_files *files) {
    return files ? files->count : 0;
}

const char *ll_files_at(const ll_files *files, int64_t i) {
    return files && i >= 0 && i < files->count ? files->where[i] : NULL;
}

void ll_files_free(ll_files *files) {
    if (!files)
        return;
    lli_memory_free(files->where);
    lli_arena_release(&files->texts);
    lli_memory_free(files);
}
