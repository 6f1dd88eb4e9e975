/* SPDX-License-Identifier: MIT */
/* Files in memory: the linker gives calls of the functions below to us (-Wl,--wrap), so that targets which read or write by path make no
 * system call. A path that no target named does not exist. */
#include "fuzz.h"

#include "base/memory.h"
#include "formats/file.h"
#include "store/journal.h"

enum { FILES_MAX = 8 };

static struct {
    const char *path;
    const unsigned char *bytes;
    size_t size;
} files[FILES_MAX];
static size_t file_count;

/* A work file; `grown` is what the block has room for. */
struct lli_outfile {
    unsigned char *bytes;
    int64_t size, grown;
};
static lli_outfile written;

void fuzz_file(const char *path, const void *bytes, size_t size) {
    if (file_count == FILES_MAX)
        abort();
    files[file_count].path = path;
    files[file_count].bytes = bytes;
    files[file_count++].size = size;
}

void fuzz_files_forget(void) {
    file_count = 0;
    lli_memory_free(written.bytes);
    written = (lli_outfile){0};
}

const unsigned char *fuzz_file_written(size_t *size) {
    *size = (size_t)written.size;
    return written.bytes;
}

static int find(const char *path) {
    for (size_t i = 0; i < file_count; i++)
        if (strcmp(files[i].path, path) == 0)
            return (int)i;
    return -1;
}

static ll_status missing(ll_context *ctx, const char *path) {
    return lli_fail(ctx, LL_ERR_READ, "%s: cannot be opened: it does not exist", path);
}

/* A block of its own for every reading, aligned as a mapping is, as long as the file and no longer: one byte too far shows. */
ll_status __wrap_lli_file_read(lli_file *out, ll_context *ctx, const char *path);
ll_status __wrap_lli_file_read(lli_file *out, ll_context *ctx, const char *path) {
    *out = (lli_file){0};
    int at = find(path);
    if (at < 0)
        return missing(ctx, path);
    if (files[at].size == 0)
        return lli_fail(ctx, LL_ERR_READ, "%s: is empty", path);
    void *bytes;
    if (posix_memalign(&bytes, 64, files[at].size) != 0)
        abort();
    memcpy(bytes, files[at].bytes, files[at].size);
    *out = (lli_file){.bytes = bytes, .size = files[at].size};
    return LL_OK;
}

void __wrap_lli_file_release(lli_file *file);
void __wrap_lli_file_release(lli_file *file) {
    free((void *)(uintptr_t)file->bytes);
    *file = (lli_file){0};
}

static void release(void *bytes, size_t size) {
    (void)size;
    free(bytes);
}

void __wrap_lli_file_give(lli_file *file, ll_bundle *bundle);
void __wrap_lli_file_give(lli_file *file, ll_bundle *bundle) {
    bundle->mapping = (void *)(uintptr_t)file->bytes;
    bundle->mapping_bytes = file->size;
    bundle->unmap = release;
    *file = (lli_file){0};
}

ll_status __wrap_lli_journal_read(char **out, int64_t *size, ll_context *ctx, const char *path);
ll_status __wrap_lli_journal_read(char **out, int64_t *size, ll_context *ctx, const char *path) {
    *out = NULL;
    *size = 0;
    int at = find(path);
    if (at < 0)
        return missing(ctx, path);
    LLI_TRY(lli_memory_new(ctx, out, (int64_t)files[at].size, 1));
    *size = (int64_t)files[at].size;
    if (*size)
        memcpy(*out, files[at].bytes, files[at].size);
    while (*size > 0 && (*out)[*size - 1] != '\n') /* whole lines only, as the real one */
        --*size;
    return LL_OK;
}

ll_status __wrap_lli_journal_open(lli_journal **out, ll_context *ctx, const char *path);
ll_status __wrap_lli_journal_open(lli_journal **out, ll_context *ctx, const char *path) {
    (void)ctx, (void)path;
    *out = NULL; /* nothing is appended; closing nothing is fine */
    return LL_OK;
}

ll_status __wrap_lli_file_make_folder(ll_context *ctx, const char *path);
ll_status __wrap_lli_file_make_folder(ll_context *ctx, const char *path) {
    (void)ctx, (void)path;
    return LL_OK;
}

bool __wrap_lli_file_exists(const char *path);
bool __wrap_lli_file_exists(const char *path) {
    return find(path) >= 0;
}

/* A folder is what a file lies in. */
bool __wrap_lli_file_is_folder(const char *path);
bool __wrap_lli_file_is_folder(const char *path) {
    size_t length = strlen(path);
    for (size_t i = 0; i < file_count; i++)
        if (strncmp(files[i].path, path, length) == 0 && files[i].path[length] == '/')
            return true;
    return false;
}

/* No other program is started: the bytes are taken for its answer. */
ll_status __wrap_lli_hdf5_parse(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name);
ll_status __wrap_lli_hdf5_parse(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name) {
    unsigned char *answer;
    LLI_TRY(lli_memory_new(ctx, &answer, (int64_t)size, 1));
    if (size)
        memcpy(answer, bytes, size);
    ll_status status = lli_hdf5_answer(ctx, bundle, answer, size, name);
    bundle->block = answer;
    return status;
}

/* ---- outputs ---- */

static ll_status resize(ll_context *ctx, lli_outfile *file, int64_t size) {
    if (size > file->grown) {
        LLI_TRY(lli_memory_grow(ctx, &file->bytes, file->grown, size, 1));
        file->grown = size;
    }
    if (size > file->size)
        memset(file->bytes + file->size, 0, (size_t)(size - file->size));
    file->size = size;
    return LL_OK;
}

ll_status __wrap_lli_outfile_open(lli_outfile **out, bool *found, ll_context *ctx, const char *target, const char *suffix,
                                  lli_outfile_mode mode);
ll_status __wrap_lli_outfile_open(lli_outfile **out, bool *found, ll_context *ctx, const char *target, const char *suffix,
                                  lli_outfile_mode mode) {
    (void)suffix;
    *out = NULL;
    LLI_TRY(lli_memory_new(ctx, out, 1, sizeof **out));
    int at = mode == LLI_OUTFILE_RESUME ? find(target) : -1;
    if (found)
        *found = at >= 0 && files[at].size > 0;
    if (at < 0)
        return LL_OK;
    LLI_TRY(resize(ctx, *out, (int64_t)files[at].size));
    if (files[at].size)
        memcpy((*out)->bytes, files[at].bytes, files[at].size);
    return LL_OK;
}

ll_status __wrap_lli_outfile_write_at(ll_context *ctx, lli_outfile *file, int64_t offset, const void *bytes, size_t count);
ll_status __wrap_lli_outfile_write_at(ll_context *ctx, lli_outfile *file, int64_t offset, const void *bytes, size_t count) {
    if (offset + (int64_t)count > file->size)
        LLI_TRY(resize(ctx, file, offset + (int64_t)count));
    if (count)
        memcpy(file->bytes + offset, bytes, count);
    return LL_OK;
}

ll_status __wrap_lli_outfile_read_at(ll_context *ctx, lli_outfile *file, int64_t offset, void *bytes, size_t count);
ll_status __wrap_lli_outfile_read_at(ll_context *ctx, lli_outfile *file, int64_t offset, void *bytes, size_t count) {
    if (offset < 0 || offset + (int64_t)count > file->size)
        return lli_fail(ctx, LL_ERR_WRITE, "the work file ends before byte %lld", (long long)(offset + (int64_t)count));
    if (count)
        memcpy(bytes, file->bytes + offset, count);
    return LL_OK;
}

ll_status __wrap_lli_outfile_size(int64_t *out, ll_context *ctx, lli_outfile *file);
ll_status __wrap_lli_outfile_size(int64_t *out, ll_context *ctx, lli_outfile *file) {
    (void)ctx;
    *out = file->size;
    return LL_OK;
}

ll_status __wrap_lli_outfile_truncate(ll_context *ctx, lli_outfile *file, int64_t size);
ll_status __wrap_lli_outfile_truncate(ll_context *ctx, lli_outfile *file, int64_t size) {
    return resize(ctx, file, size);
}

void __wrap_lli_outfile_keep(lli_outfile *file, bool keep);
void __wrap_lli_outfile_keep(lli_outfile *file, bool keep) {
    (void)file, (void)keep;
}

void __wrap_lli_outfile_abandon(lli_outfile *file);
void __wrap_lli_outfile_abandon(lli_outfile *file) {
    if (file)
        lli_memory_free(file->bytes);
    lli_memory_free(file);
}

ll_status __wrap_lli_outfile_commit(ll_context *ctx, lli_outfile *file);
ll_status __wrap_lli_outfile_commit(ll_context *ctx, lli_outfile *file) {
    (void)ctx;
    lli_memory_free(written.bytes);
    written = *file;
    lli_memory_free(file);
    return LL_OK;
}
