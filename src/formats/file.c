/* SPDX-License-Identifier: MIT */
/* Reads a whole file: mapped if possible, otherwise read into memory. Does not know what the bytes mean. */
#include "formats/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

ll_status lli_file_wait(ll_context *ctx, int fd, bool to_write) {
    enum { LOOK_MS = 50 };
    struct pollfd end = {.fd = fd, .events = to_write ? POLLOUT : POLLIN};
    for (;;) {
        LLI_TRY(lli_cancel_check(ctx));
        int ready = poll(&end, 1, LOOK_MS);
        if (ready > 0 || (ready < 0 && errno != EINTR))
            return LL_OK; /* or a failure, which reading and writing will report */
    }
}

/* A stream has no size: it may bring what an empty file may make us take, so that an endless device does not fill the memory. */
static ll_status read_stream(lli_file *out, ll_context *ctx, int fd, const char *path) {
    unsigned char *bytes = NULL;
    int64_t size = 0, capacity = 0, most = lli_memory_budget_bytes(ctx, 0);
    ll_status status = LL_OK;
    for (;;) {
        LLI_DO(lli_file_wait(ctx, fd, false));
        if (size == capacity) {
            int64_t grown = LLI_MIN(LLI_MAX(1 << 16, 2 * capacity), most < INT64_MAX ? most + 1 : most);
            LLI_DO(lli_memory_grow(ctx, &bytes, size, grown, 1));
            capacity = grown;
        }
        ssize_t got = read(fd, bytes + size, (size_t)(capacity - size));
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got < 0) {
            status = lli_fail(ctx, LL_ERR_READ, "%s: cannot be read: %s", path, strerror(errno));
            goto done;
        }
        if (got == 0)
            break;
        size += got;
        if (size > most) {
            status = lli_fail(ctx, LL_ERR_MEMORY,
                              "%s: not a regular file, and it gave more than %" PRId64
                              " MiB; save it as a file first, or give `memory BYTES`",
                              path, most >> 20);
            goto done;
        }
    }
    *out = (lli_file){.bytes = bytes, .size = (size_t)size};
    bytes = NULL;
done:
    lli_memory_free(bytes);
    return status;
}

static ll_status read_regular(lli_file *out, ll_context *ctx, int fd, const char *path, int64_t size) {
    if (size == 0)
        return LL_OK;
    void *mapping = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapping == MAP_FAILED)
        return lli_fail(ctx, errno == ENOMEM ? LL_ERR_MEMORY : LL_ERR_READ, "%s: cannot be mapped into memory: %s", path, strerror(errno));
    *out = (lli_file){.bytes = mapping, .size = (size_t)size, .mapped = true};
    return LL_OK;
}

ll_status lli_file_read(lli_file *out, ll_context *ctx, const char *path) {
    *out = (lli_file){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK); /* a pipe without a writer must not block us */
    if (fd < 0)
        return lli_fail(ctx, LL_ERR_READ, "%s: cannot be opened: %s", path, strerror(errno));
    struct stat st;
    ll_status status = LL_OK;
    if (fstat(fd, &st) != 0)
        status = lli_fail(ctx, LL_ERR_READ, "%s: cannot be opened: %s", path, strerror(errno));
    else if (S_ISDIR(st.st_mode))
        status = lli_fail(ctx, LL_ERR_READ, "%s: is a folder; expected a file", path);
    else if (S_ISREG(st.st_mode))
        status = read_regular(out, ctx, fd, path, st.st_size);
    else
        status = read_stream(out, ctx, fd, path);
    close(fd);
    if (status == LL_OK && out->size == 0) {
        lli_file_release(out);
        status = lli_fail(ctx, LL_ERR_READ, "%s: is empty", path);
    }
    return status;
}

static void unmap(void *mapping, size_t bytes) {
    munmap(mapping, bytes);
}

static void forget(void *block, size_t bytes) {
    (void)bytes;
    lli_memory_free(block);
}

void lli_file_release(lli_file *file) {
    if (file->bytes)
        (file->mapped ? unmap : forget)((void *)(uintptr_t)file->bytes, file->size);
    *file = (lli_file){0};
}

void lli_file_give(lli_file *file, ll_bundle *bundle) {
    bundle->mapping = (void *)(uintptr_t)file->bytes;
    bundle->mapping_bytes = file->size;
    bundle->unmap = file->mapped ? unmap : forget;
    *file = (lli_file){0};
}

void lli_file_ahead(const void *bytes, size_t count) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)bytes / page * page;
    posix_madvise((void *)first, count + ((uintptr_t)bytes - first), POSIX_MADV_WILLNEED); /* advice: a refusal costs only time */
}

bool lli_file_same(const char *a, const char *b) {
    struct stat one, other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

bool lli_file_is_device(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

bool lli_file_exists(const char *path) {
    struct stat st;
    return stat(path, &st) == 0;
}

void lli_file_remove(const char *path) {
    unlink(path);
}

bool lli_file_is_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

ll_status lli_file_make_folder(ll_context *ctx, const char *path) {
    if (mkdir(path, 0777) == 0 || (errno == EEXIST && lli_file_is_folder(path)))
        return LL_OK;
    return lli_fail(ctx, LL_ERR_WRITE, "the folder %s cannot be made: %s", path, strerror(errno));
}
