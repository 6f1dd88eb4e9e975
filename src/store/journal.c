/* SPDX-License-Identifier: MIT */
/* Lines at the end of a file. Knows nothing of what they mean. */
#include "store/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/memory.h"

struct lli_journal {
    int fd;
    char *path;
    lli_lock *lock;
    char *line; /* room for the line with its newline, so that it goes out in one write */
    int64_t capacity;
};

static ll_status read_all(char **out, int64_t *size, ll_context *ctx, int fd, const char *path) {
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return lli_fail(ctx, LL_ERR_READ, "%s: is not a regular file", path);
    LLI_TRY(lli_memory_new(ctx, out, st.st_size + 1, 1));
    *size = 0;
    while (*size < st.st_size) {
        ssize_t got = pread(fd, *out + *size, (size_t)(st.st_size - *size), *size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return lli_fail(ctx, LL_ERR_READ, "%s: cannot be read: %s", path, strerror(errno));
        if (got == 0)
            break;
        *size += got;
    }
    return LL_OK;
}

/* Bytes up to and with the last newline. */
static int64_t whole_lines(const char *text, int64_t size) {
    while (size > 0 && text[size - 1] != '\n')
        size--;
    return size;
}

ll_status lli_journal_read(char **out, int64_t *size, ll_context *ctx, const char *path) {
    *out = NULL;
    *size = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return lli_fail(ctx, LL_ERR_READ, "%s: cannot be opened: %s", path, strerror(errno));
    ll_status status = read_all(out, size, ctx, fd, path);
    close(fd);
    if (status == LL_OK) {
        *size = whole_lines(*out, *size);
    } else {
        lli_memory_free(*out);
        *out = NULL;
    }
    return status;
}

/* The end of a line that a kill cut short was never there. */
static ll_status cut_tail(ll_context *ctx, lli_journal *j) {
    char *text = NULL;
    int64_t size = 0;
    ll_status status;
    LLI_DO(read_all(&text, &size, ctx, j->fd, j->path));
    int64_t complete = whole_lines(text, size);
    if (complete < size && ftruncate(j->fd, complete) != 0)
        LLI_DO(lli_fail(ctx, LL_ERR_WRITE, "%s: its unfinished last line cannot be cut off: %s", j->path, strerror(errno)));
done:
    lli_memory_free(text);
    return status;
}

ll_status lli_journal_open(lli_journal **out, ll_context *ctx, const char *path) {
    *out = NULL;
    lli_journal *j;
    LLI_TRY(lli_memory_new(ctx, &j, 1, sizeof *j));
    j->fd = -1;
    ll_status status;
    LLI_DO(lli_memory_text(ctx, &j->path, path));
    LLI_DO(lli_lock_new(&j->lock, ctx));
    j->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (j->fd < 0)
        LLI_DO(lli_fail(ctx, LL_ERR_WRITE, "%s: cannot be opened for writing: %s", path, strerror(errno)));
    int locked;
    do
        locked = flock(j->fd, LOCK_EX | LOCK_NB);
    while (locked != 0 && errno == EINTR);
    if (locked != 0 && errno == EWOULDBLOCK) /* a file system without locks counts as not held */
        LLI_DO(lli_fail(ctx, LL_ERR_WRITE, "%s is locked: another process is writing it; wait for it to end", path));
    LLI_DO(cut_tail(ctx, j));
    *out = j;
    j = NULL;
done:
    lli_journal_close(j);
    return status;
}

static ll_status append(ll_context *ctx, lli_journal *j, const char *line, int64_t length) {
    if (length + 1 > j->capacity) {
        LLI_TRY(lli_memory_grow(ctx, &j->line, j->capacity, 2 * length + 1, 1));
        j->capacity = 2 * length + 1;
    }
    memcpy(j->line, line, (size_t)length);
    j->line[length] = '\n';
    struct stat st;
    if (fstat(j->fd, &st) != 0)
        return lli_fail(ctx, LL_ERR_WRITE, "%s: cannot be written: %s", j->path, strerror(errno));
    int64_t done = 0;
    while (done <= length) {
        ssize_t put = write(j->fd, j->line + done, (size_t)(length + 1 - done));
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            break;
        done += put;
    }
    if (done > length && (fsync(j->fd) == 0 || errno == EINVAL || errno == ENOTSUP))
        return LL_OK;
    ll_status status = lli_fail(ctx, LL_ERR_WRITE, "%s: cannot be written: %s", j->path, strerror(errno));
    if (ftruncate(j->fd, st.st_size) != 0)
        return status; /* the next open cuts the rest off */
    return status;
}

ll_status lli_journal_append(ll_context *ctx, lli_journal *j, const char *line, int64_t length) {
    lli_lock_take(j->lock);
    ll_status status = append(ctx, j, line, length);
    lli_lock_give(j->lock);
    return status;
}

void lli_journal_close(lli_journal *j) {
    if (!j)
        return;
    if (j->fd >= 0)
        close(j->fd);
    lli_lock_free(j->lock);
    lli_memory_free(j->line);
    lli_memory_free(j->path);
    lli_memory_free(j);
}
