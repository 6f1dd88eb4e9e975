/* SPDX-License-Identifier: MIT */
/* Where the rows of many files lie, and copies of them. */
#include "formats/row_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/lock.h"
#include "base/memory.h"
#include "formats/file.h"
#include "formats/file_list.h"
#include "formats/format.h"

typedef struct lli_row_file {
    char *where, *path; /* FILE:NAME, FILE */
    int64_t first;      /* where its bytes begin among all */
    int64_t offset;     /* and in the file; -1: they are not there as they are */
    int64_t size;       /* of the file, when it was looked at */
    struct timespec time;
    int handle; /* that has it open, or -1 */
} lli_row_file;

typedef struct lli_row_handle {
    int fd;
    int users;
    int64_t file; /* -1: none */
    uint64_t used;
} lli_row_handle;

static ll_status changed(ll_context *ctx, const lli_row_file *f) {
    return lli_fail(ctx, LL_ERR_READ,
                    "%s: was changed since it was first looked at; files of a data set must stay as they are while it is used", f->path);
}

static bool same_time(const struct stat *st, const lli_row_file *f) {
    return st->st_size == f->size && st->st_mtim.tv_sec == f->time.tv_sec && st->st_mtim.tv_nsec == f->time.tv_nsec;
}

static ll_status open_file(int *fd, ll_context *ctx, const lli_row_file *f) {
    struct stat st;
    *fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (*fd < 0)
        return lli_fail(ctx, LL_ERR_READ, "%s: cannot be opened again: %s", f->path, strerror(errno));
    if (fstat(*fd, &st) == 0 && same_time(&st, f))
        return LL_OK;
    close(*fd);
    *fd = -1;
    return changed(ctx, f);
}

/* The handle that nobody uses and that was used longest ago; -1 when all are in use. */
static int oldest(const lli_row_files *s) {
    int found = -1;
    for (int i = 0; i < LLI_ROW_FILES_OPEN; i++)
        if (s->handle[i].users == 0 && (found < 0 || s->handle[i].used < s->handle[found].used))
            found = i;
    return found;
}

/* *handle = -1: a file of its own, to close after use. */
static ll_status take(int *fd, int *handle, ll_context *ctx, lli_row_files *s, int64_t index) {
    lli_row_file *f = &s->file[index];
    ll_status status = LL_OK;
    lli_lock_take(s->lock);
    *handle = f->handle;
    if (*handle < 0 && (*handle = oldest(s)) >= 0) {
        lli_row_handle *h = &s->handle[*handle];
        if (h->file >= 0) {
            close(h->fd);
            s->file[h->file].handle = -1;
        }
        h->file = -1;
        status = open_file(&h->fd, ctx, f);
        if (status == LL_OK) {
            h->file = index;
            f->handle = *handle;
        }
    }
    if (status == LL_OK && *handle >= 0) {
        s->handle[*handle].users++;
        s->handle[*handle].used = ++s->clock;
        *fd = s->handle[*handle].fd;
    }
    lli_lock_give(s->lock);
    return status == LL_OK && *handle < 0 ? open_file(fd, ctx, f) : status;
}

static void give(lli_row_files *s, int fd, int handle) {
    if (handle < 0) {
        close(fd);
        return;
    }
    lli_lock_take(s->lock);
    s->handle[handle].users--;
    lli_lock_give(s->lock);
}

static ll_status read_range(ll_context *ctx, int fd, const lli_row_file *f, char *out, int64_t offset, int64_t count) {
    while (count > 0) {
        ssize_t got = pread(fd, out, (size_t)count, f->offset + offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return lli_fail(ctx, LL_ERR_READ, "%s: cannot be read: %s", f->path, strerror(errno));
        if (got == 0)
            return changed(ctx, f);
        out += got;
        offset += got;
        count -= got;
    }
    return LL_OK;
}

/* The file that has byte `offset` of all: the last one that begins there or before. */
static int64_t find(const lli_row_files *s, int64_t offset) {
    int64_t low = 0, high = s->count;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (s->file[middle].first <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static int64_t end_of(const lli_row_files *s, int64_t index) {
    return index + 1 < s->count ? s->file[index + 1].first : lli_array_count(&s->array) * (int64_t)ll_dtype_size(s->array.dtype);
}

static ll_status read_store(lli_row_store *store, ll_context *ctx, void *out, int64_t offset, int64_t count) {
    lli_row_files *s = (lli_row_files *)store;
    char *to = out;
    for (int64_t index = find(s, offset); count > 0; index++) {
        const lli_row_file *f = &s->file[index];
        int64_t some = LLI_MIN(count, end_of(s, index) - offset);
        int fd = -1, handle;
        if (some <= 0)
            continue; /* a file without rows */
        LLI_TRY(take(&fd, &handle, ctx, s, index));
        ll_status status = read_range(ctx, fd, f, to, offset - f->first, some);
        give(s, fd, handle);
        LLI_TRY(status);
        to += some;
        offset += some;
        count -= some;
    }
    return LL_OK;
}

static void ahead_store(lli_row_store *store, ll_context *ctx, int64_t offset, int64_t count) {
    lli_row_files *s = (lli_row_files *)store;
    ll_context quiet; /* this is advice only; the read that follows reports what is wrong */
    lli_context_child(&quiet, ctx);
    for (int64_t index = find(s, offset); count > 0 && index < s->count; index++) {
        const lli_row_file *f = &s->file[index];
        int64_t some = LLI_MIN(count, end_of(s, index) - offset);
        int fd = -1, handle;
        if (some <= 0)
            continue;
        if (take(&fd, &handle, &quiet, s, index) != LL_OK)
            return;
        posix_fadvise(fd, f->offset + offset - f->first, some, POSIX_FADV_WILLNEED);
        give(s, fd, handle);
        offset += some;
        count -= some;
    }
}

static void release_store(lli_row_store *store) {
    lli_row_files_free((lli_row_files *)store);
}

void lli_row_files_free(lli_row_files *s) {
    if (!s)
        return;
    for (int i = 0; s->handle && i < LLI_ROW_FILES_OPEN; i++)
        if (s->handle[i].file >= 0)
            close(s->handle[i].fd);
    lli_memory_free(s->handle);
    lli_memory_free(s->file);
    lli_lock_free(s->lock);
    lli_arena_release(&s->texts);
    lli_memory_free(s);
}

static ll_status refuse_other(ll_context *ctx, const lli_row_files *s, int64_t index, const ll_array *a, const char *what) {
    char one[LLI_ARRAY_TEXT], other[LLI_ARRAY_TEXT];
    ll_array whole = s->array;
    whole.shape[0] = end_of(s, 0) / LLI_MAX(1, (int64_t)ll_dtype_size(whole.dtype));
    for (int i = 1; i < whole.rank; i++)
        whole.shape[0] /= LLI_MAX(1, whole.shape[i]);
    return lli_fail(ctx, LL_ERR_DATA,
                    "%s: its %s are %s and those of %s are %s; expected the same type and the same shape but for the rows",
                    s->file[index].where, what, lli_array_text(one, a), s->file[0].where, lli_array_text(other, &whole));
}

/* Takes note of one file; *end = where the bytes of all have come to. */
static ll_status look(ll_context *ctx, lli_row_files *s, int64_t index, int64_t *end, const char *const *names, const char *what) {
    lli_row_file *f = &s->file[index];
    ll_bundle *bundle;
    ll_array a;
    struct stat st;
    if (stat(f->path, &st) != 0)
        return lli_fail(ctx, LL_ERR_READ, "%s: cannot be opened: %s", f->path, strerror(errno));
    f->size = st.st_size;
    f->time = st.st_mtim;
    LLI_TRY(lli_format_read(&bundle, &a, ctx, f->where, names, NULL));
    const char *mapped = bundle->mapping, *data = a.data;
    bool inside = mapped && data >= mapped && data <= mapped + bundle->mapping_bytes && S_ISREG(st.st_mode) && lli_array_is_dense(&a);
    f->offset = inside ? data - mapped : -1;
    s->in_place = s->in_place && inside;
    ll_bundle_free(bundle);
    f->first = *end;
    bool same = index == 0 || (a.dtype == s->array.dtype && a.rank == s->array.rank);
    for (int i = 1; i < a.rank; i++)
        same = same && (index == 0 || a.shape[i] == s->array.shape[i]);
    if (a.rank < 1)
        return lli_fail(ctx, LL_ERR_DATA, "%s: its %s are a single number; expected rows", f->where, what);
    if (!same)
        return refuse_other(ctx, s, index, &a, what);
    int64_t rows = index ? s->array.shape[0] + a.shape[0] : a.shape[0], elements = lli_array_count(&a);
    if (index == 0)
        s->array = ll_array_view(NULL, a.dtype, a.rank, a.shape);
    s->array.shape[0] = rows;
    int64_t unused;
    if (!lli_array_count_checked(&unused, s->array.rank, s->array.shape, ll_dtype_size(a.dtype)))
        return lli_fail(ctx, LL_ERR_DATA, "%s: with this file the %s are more than a machine can count", f->where, what);
    *end += elements * (int64_t)ll_dtype_size(a.dtype);
    return LL_OK;
}

static void identify(lli_row_files *s) {
    lli_hash hash;
    lli_hash_array(&hash, s->array.dtype, s->array.rank, s->array.shape);
    for (int64_t i = 0; i < s->count; i++) {
        const lli_row_file *f = &s->file[i];
        char *real = realpath(f->path, NULL);
        const char *path = real ? real : f->path;
        const int64_t numbers[] = {f->first, f->offset, f->size, (int64_t)f->time.tv_sec, (int64_t)f->time.tv_nsec};
        lli_hash_add(&hash, path, strlen(path) + 1);
        lli_hash_add(&hash, numbers, sizeof numbers);
        free(real);
    }
    lli_hash_text(&hash, s->key);
}

ll_status lli_row_files_open(lli_row_files **out, ll_context *ctx, const ll_files *files, const char *const *names, const char *what) {
    *out = NULL;
    lli_row_files *s;
    int64_t end = 0;
    ll_status status;
    LLI_TRY(lli_memory_new(ctx, &s, 1, sizeof *s));
    s->store = (lli_row_store){read_store, ahead_store, release_store};
    s->in_place = true;
    s->count = files->count;
    LLI_DO(lli_memory_new(ctx, &s->file, s->count, sizeof *s->file));
    LLI_DO(lli_memory_new(ctx, &s->handle, LLI_ROW_FILES_OPEN, sizeof *s->handle));
    for (int i = 0; i < LLI_ROW_FILES_OPEN; i++)
        s->handle[i] = (lli_row_handle){.fd = -1, .file = -1};
    LLI_DO(lli_lock_new(&s->lock, ctx));
    for (int64_t i = 0; i < s->count; i++) {
        char *path;
        const char *name;
        LLI_DO(lli_cancel_check(ctx));
        s->file[i].handle = -1;
        LLI_DO(lli_arena_text(ctx, &s->texts, &s->file[i].where, files->where[i]));
        LLI_DO(lli_format_split(&path, &name, ctx, files->where[i]));
        status = lli_arena_text(ctx, &s->texts, &s->file[i].path, path);
        lli_memory_free(path);
        LLI_DO(status);
        LLI_DO(look(ctx, s, i, &end, names, what));
    }
    identify(s);
    *out = s;
    s = NULL;
done:
    lli_row_files_free(s);
    return status;
}

/* A file whose bytes are not as they are in memory: read whole, then copied. */
static ll_status copy_file(ll_context *ctx, const lli_row_files *s, int64_t index, char *to, const char *const *names) {
    ll_bundle *bundle;
    ll_array a;
    int64_t bytes = end_of(s, index) - s->file[index].first;
    LLI_TRY(lli_format_read(&bundle, &a, ctx, s->file[index].where, names, NULL));
    bool same = a.dtype == s->array.dtype && lli_array_count(&a) * (int64_t)ll_dtype_size(a.dtype) == bytes;
    if (same)
        lli_array_copy(to, &a, 0, lli_array_count(&a));
    ll_bundle_free(bundle);
    return same ? LL_OK : changed(ctx, &s->file[index]);
}

ll_status lli_row_files_join(void **block, ll_array *array, ll_context *ctx, lli_row_files *s, const char *const *names) {
    char *all;
    *block = NULL;
    LLI_TRY(lli_memory_new(ctx, &all, lli_array_count(&s->array), ll_dtype_size(s->array.dtype)));
    ll_status status = LL_OK;
    for (int64_t i = 0; i < s->count && status == LL_OK; i++) {
        const lli_row_file *f = &s->file[i];
        int64_t bytes = end_of(s, i) - f->first;
        status = lli_cancel_check(ctx);
        if (status == LL_OK && bytes > 0)
            status = f->offset >= 0 ? read_store(&s->store, ctx, all + f->first, f->first, bytes)
                                    : copy_file(ctx, s, i, all + f->first, names);
    }
    if (status != LL_OK) {
        lli_memory_free(all);
        return status;
    }
    *array = ll_array_view(all, s->array.dtype, s->array.rank, s->array.shape);
    *block = all;
    return LL_OK;
}
