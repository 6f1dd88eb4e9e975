/* SPDX-License-Identifier: MIT */
/* Writes a file so that its target is either the old one or the complete new one, whatever happens in between. Does not know what the
 * bytes mean. */
#define _GNU_SOURCE /* O_TMPFILE */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/memory.h"
#include "formats/file.h"

struct lli_outfile {
    char *target; /* with its symbolic links followed */
    char *work;   /* NULL while the work file is nameless */
    int fd;       /* of the work file */
    int device;   /* where commit copies to, -1 for a regular target */
    bool keep;
};

enum { LINKS_MAX = 40, COPY_BYTES = 1 << 16 };

static ll_status fail_write(ll_context *ctx, const char *target, const char *what) {
    return lli_fail(ctx, LL_ERR_WRITE, "%s: %s: %s", target, what, strerror(errno));
}

/* `name` in the folder of `path`, or `name` itself if it is absolute. */
static ll_status beside(char **out, ll_context *ctx, const char *path, const char *name) {
    const char *slash = strrchr(path, '/');
    size_t folder = name[0] != '/' && slash ? (size_t)(slash - path) + 1 : 0, length = strlen(name);
    LLI_TRY(lli_memory_new(ctx, out, (int64_t)(folder + length + 1), 1));
    memcpy(*out, path, folder);
    memcpy(*out + folder, name, length);
    return LL_OK;
}

/* Follows the symbolic links of the last component; the last of them may point at nothing. */
static ll_status follow(char **out, ll_context *ctx, const char *path) {
    LLI_TRY(lli_memory_text(ctx, out, path));
    for (int i = 0; i < LINKS_MAX; i++) {
        char link[PATH_MAX], *next;
        ssize_t length = readlink(*out, link, sizeof link - 1);
        if (length < 0)
            return LL_OK;
        link[length] = 0;
        ll_status status = beside(&next, ctx, *out, link);
        lli_memory_free(*out);
        *out = next;
        LLI_TRY(status);
    }
    return lli_fail(ctx, LL_ERR_WRITE, "%s: too many symbolic links", path);
}

static bool same_inode(int fd, const char *path) {
    struct stat here, there;
    return fstat(fd, &here) == 0 && stat(path, &there) == 0 && here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

/* Waits for a pipe to get a reader, unless the call is cancelled. */
static ll_status open_device(lli_outfile *file, ll_context *ctx, bool pipe) {
    for (;;) {
        file->device = open(file->target, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (file->device >= 0 || !pipe || errno != ENXIO)
            break;
        LLI_TRY(lli_cancel_check(ctx));
        poll(NULL, 0, 50);
    }
    if (file->device < 0)
        return fail_write(ctx, file->target, "cannot be opened for writing");
    const char *folder = getenv("TMPDIR");
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/lastlayer-XXXXXX", folder && folder[0] ? folder : "/tmp");
    if (length < 0 || length >= (int)sizeof path)
        return lli_fail(ctx, LL_ERR_WRITE, "%s: the path in TMPDIR is too long", file->target);
    file->fd = mkstemp(path);
    if (file->fd < 0)
        return fail_write(ctx, file->target, "no temporary file can be made for it");
    unlink(path);
    fcntl(file->fd, F_SETFD, FD_CLOEXEC);
    return LL_OK;
}

/* False when another process holds the lock. A file system without locks counts as not held. */
static bool lock(int fd) {
    int locked;
    do
        locked = flock(fd, LOCK_EX | LOCK_NB);
    while (locked != 0 && errno == EINTR);
    return locked == 0 || errno != EWOULDBLOCK;
}

/* A hidden name in the folder of the target that follows from the target's and is short, whatever the target's length. Those of one target
 * are few, so that a later run finds what a killed one left. Sets file->work. */
static ll_status name_work(lli_outfile *file, ll_context *ctx, int n) {
    char digest[LLI_HASH_TEXT], name[64];
    const char *slash = strrchr(file->target, '/'), *base = slash ? slash + 1 : file->target;
    lli_hash hash;
    lli_hash_init(&hash);
    lli_hash_add(&hash, base, strlen(base));
    lli_hash_text(&hash, digest);
    snprintf(name, sizeof name, ".lastlayer-%.16s-%d.tmp", digest, n);
    lli_memory_free(file->work);
    return beside(&file->work, ctx, file->target, name);
}

static void forget_work(lli_outfile *file) {
    lli_memory_free(file->work);
    file->work = NULL;
}

/* Removes what a killed writer of the same target left. Its lock went with it; a writer that lives holds its own. */
static ll_status sweep(lli_outfile *file, ll_context *ctx) {
    enum { NAMES = 4 };
    for (int n = 0; n < NAMES; n++) {
        LLI_TRY(name_work(file, ctx, n));
        int fd = open(file->work, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd < 0)
            continue;
        if (flock(fd, LOCK_EX | LOCK_NB) == 0 && same_inode(fd, file->work))
            unlink(file->work);
        close(fd);
    }
    forget_work(file);
    return LL_OK;
}

/* Where the system knows no nameless files. Between open and lock another's sweep may have taken the name back. */
static ll_status open_new(lli_outfile *file, ll_context *ctx) {
    for (int n = 0; file->fd < 0; n++) {
        LLI_TRY(name_work(file, ctx, n));
        file->fd = open(file->work, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (file->fd < 0 && errno != EEXIST)
            return fail_write(ctx, file->target, "cannot be written");
        if (file->fd >= 0 && !(lock(file->fd) && same_inode(file->fd, file->work))) {
            close(file->fd);
            file->fd = -1;
        }
    }
    return LL_OK;
}

/* A file in the folder of the target that has no name until it is complete, so that a killed process leaves nothing. If the system has
 * no such files, one with a temporary name. */
static ll_status open_unnamed(lli_outfile *file, ll_context *ctx) {
    char *folder;
    LLI_TRY(beside(&folder, ctx, file->target, "."));
    file->fd = access("/proc/self/fd", X_OK) == 0 ? open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666) : -1;
    bool there = access(folder, F_OK) == 0;
    lli_memory_free(folder);
    if (!there)
        return lli_fail(ctx, LL_ERR_WRITE, "%s: cannot be written: its folder does not exist", file->target);
    LLI_TRY(sweep(file, ctx));
    return file->fd >= 0 ? LL_OK : open_new(file, ctx);
}

/* Gives a file without a name the target's, if that is free, else one for the rename, and a lock before that. */
static ll_status link_work(ll_context *ctx, lli_outfile *file) {
    char from[32];
    snprintf(from, sizeof from, "/proc/self/fd/%d", file->fd);
    (void)lock(file->fd); /* nobody else can have it open */
    if (linkat(AT_FDCWD, from, AT_FDCWD, file->target, AT_SYMLINK_FOLLOW) == 0)
        return LL_OK;
    for (int n = 0; errno == EEXIST; n++) {
        LLI_TRY(name_work(file, ctx, n));
        errno = 0;
        if (linkat(AT_FDCWD, from, AT_FDCWD, file->work, AT_SYMLINK_FOLLOW) == 0)
            return LL_OK;
    }
    forget_work(file);
    return fail_write(ctx, file->target, "cannot be put in its place");
}

/* Opens and locks TARGET + suffix. The previous holder of the lock may have renamed or removed the file that was just opened: then the
 * name means another file, or none, and we start again. */
static ll_status open_beside(lli_outfile *file, ll_context *ctx, const char *suffix, bool join) {
    size_t target = strlen(file->target), tail = strlen(suffix);
    LLI_TRY(lli_memory_new(ctx, &file->work, (int64_t)(target + tail + 1), 1));
    memcpy(file->work, file->target, target);
    memcpy(file->work + target, suffix, tail);
    for (;;) {
        int fd = open(file->work, O_RDWR | (join ? 0 : O_CREAT) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
        if (fd < 0 && errno == ENOENT)
            return lli_fail(ctx, LL_ERR_WRITE, "%s: cannot be written: its %s", file->target,
                            join ? "work file, which rank 0 made, is not there: all ranks must see one folder" : "folder does not exist");
        if (fd < 0 && errno == ENAMETOOLONG)
            return lli_fail(ctx, LL_ERR_WRITE, "the name of the output is too long for its work file, which adds %s: %s", suffix,
                            file->target);
        if (fd < 0)
            return lli_fail(ctx, LL_ERR_WRITE, "%s: the work file %s cannot be opened: %s", file->target, file->work, strerror(errno));
        struct stat st;
        if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
            close(fd);
            return lli_fail(ctx, LL_ERR_WRITE, "%s: %s is in the way; it is not a regular file", file->target, file->work);
        }
        if (!join && !lock(fd)) {
            close(fd);
            return lli_fail(ctx, LL_ERR_WRITE, "%s: another process is writing it (%s is locked)", file->target, file->work);
        }
        if (same_inode(fd, file->work)) {
            file->fd = fd;
            return LL_OK;
        }
        close(fd);
    }
}

/* What the work file holds so far decides whether it is refused, cleared or resumed. A new file gets the mode of the one it replaces. */
static ll_status settle(lli_outfile *file, bool *found, ll_context *ctx, lli_outfile_mode mode, const struct stat *old) {
    struct stat st;
    if (fstat(file->fd, &st) != 0)
        return fail_write(ctx, file->target, "its work file cannot be read");
    if (mode == LLI_OUTFILE_NEW && st.st_size > 0)
        return lli_fail(ctx, LL_ERR_WRITE, "%s: %s holds an unfinished run; continue it with `resume`, or delete it to start over",
                        file->target, file->work);
    if (mode == LLI_OUTFILE_RESUME || mode == LLI_OUTFILE_JOIN)
        *found = st.st_size > 0;
    else if (ftruncate(file->fd, 0) != 0)
        return fail_write(ctx, file->target, "its work file cannot be cleared");
    if (old && fchmod(file->fd, old->st_mode & 0777) != 0)
        return fail_write(ctx, file->target, "its work file cannot get the mode of the file it replaces");
    return LL_OK;
}

ll_status lli_outfile_open(lli_outfile **out, bool *found, ll_context *ctx, const char *target, const char *suffix, lli_outfile_mode mode) {
    bool unused;
    found = found ? found : &unused;
    *found = false;
    *out = NULL;
    lli_outfile *file;
    LLI_TRY(lli_memory_new(ctx, &file, 1, sizeof *file));
    file->fd = file->device = -1;
    file->keep = mode != LLI_OUTFILE_REPLACE;
    struct stat st, end;
    bool exists = stat(target, &st) == 0;
    int missing = exists ? 0 : errno;
    ll_status status = LL_OK;
    if (!target[0])
        status = lli_fail(ctx, LL_ERR_WRITE, "the name of the output is empty");
    else if (missing == ENAMETOOLONG)
        status = lli_fail(ctx, LL_ERR_WRITE, "the name of the output is too long: %s", target);
    else if (exists && S_ISDIR(st.st_mode))
        status = lli_fail(ctx, LL_ERR_WRITE, "%s: is a folder; expected the name of a file", target);
    if (status != LL_OK)
        goto done;
    LLI_DO(follow(&file->target, ctx, target));
    /* A link whose target has no name: /dev/stdout of a pipe, or of a file that was removed. */
    bool strange = exists && (stat(file->target, &end) != 0 || end.st_dev != st.st_dev || end.st_ino != st.st_ino);
    if (exists && (strange || !S_ISREG(st.st_mode))) {
        lli_memory_free(file->target);
        LLI_DO(lli_memory_text(ctx, &file->target, target));
        LLI_DO(open_device(file, ctx, S_ISFIFO(st.st_mode)));
    } else if (exists && access(file->target, W_OK) != 0) {
        status = fail_write(ctx, file->target, "cannot be replaced");
        goto done;
    } else {
        LLI_DO(mode == LLI_OUTFILE_REPLACE ? open_unnamed(file, ctx) : open_beside(file, ctx, suffix, mode == LLI_OUTFILE_JOIN));
        LLI_DO(settle(file, found, ctx, mode, exists ? &st : NULL));
    }
    *out = file;
    file = NULL;
done:
    lli_outfile_abandon(file);
    return status;
}

ll_status lli_outfile_write_at(ll_context *ctx, lli_outfile *file, int64_t offset, const void *bytes, size_t count) {
    const char *p = bytes;
    while (count > 0) {
        ssize_t put = pwrite(file->fd, p, count, offset);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return fail_write(ctx, file->target, "cannot be written");
        p += put;
        offset += put;
        count -= (size_t)put;
    }
    return LL_OK;
}

ll_status lli_outfile_read_at(ll_context *ctx, lli_outfile *file, int64_t offset, void *bytes, size_t count) {
    char *p = bytes;
    while (count > 0) {
        ssize_t got = pread(file->fd, p, count, offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_write(ctx, file->target, "its work file cannot be read");
        if (got == 0)
            return lli_fail(ctx, LL_ERR_WRITE, "%s: its work file ends at byte %lld, where more was expected", file->target,
                            (long long)offset);
        p += got;
        offset += got;
        count -= (size_t)got;
    }
    return LL_OK;
}

ll_status lli_outfile_size(int64_t *out, ll_context *ctx, lli_outfile *file) {
    struct stat st;
    if (fstat(file->fd, &st) != 0)
        return fail_write(ctx, file->target, "its work file cannot be read");
    *out = st.st_size;
    return LL_OK;
}

ll_status lli_outfile_truncate(ll_context *ctx, lli_outfile *file, int64_t size) {
    int result;
    do
        result = ftruncate(file->fd, size);
    while (result != 0 && errno == EINTR);
    return result == 0 ? LL_OK : fail_write(ctx, file->target, "cannot be written");
}

void lli_outfile_keep(lli_outfile *file, bool keep) {
    file->keep = keep;
}

/* A file system that cannot flush (EINVAL, ENOTSUP) is no failure of the file. */
static bool flush(int fd) {
    int result;
    do
        result = fsync(fd);
    while (result != 0 && errno == EINTR);
    return result == 0 || errno == EINVAL || errno == ENOTSUP;
}

static ll_status copy_to_device(ll_context *ctx, lli_outfile *file) {
    char block[COPY_BYTES];
    int64_t size = 0;
    LLI_TRY(lli_outfile_size(&size, ctx, file));
    for (int64_t offset = 0; offset < size;) {
        size_t count = (size_t)LLI_MIN(size - offset, (int64_t)sizeof block);
        LLI_TRY(lli_outfile_read_at(ctx, file, offset, block, count));
        offset += (int64_t)count;
        for (const char *p = block; count > 0;) {
            LLI_TRY(lli_file_wait(ctx, file->device, true));
            ssize_t put = write(file->device, p, count);
            if (put < 0 && (errno == EINTR || errno == EAGAIN))
                continue;
            if (put < 0)
                return fail_write(ctx, file->target, "cannot be written");
            p += put;
            count -= (size_t)put;
        }
    }
    int closed = close(file->device);
    file->device = -1;
    return closed == 0 || errno == EINTR ? LL_OK : fail_write(ctx, file->target, "cannot be written");
}

static ll_status replace_target(ll_context *ctx, lli_outfile *file) {
    char *folder;
    LLI_TRY(beside(&folder, ctx, file->target, "."));
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    lli_memory_free(folder);
    ll_status status = LL_OK;
    if (!flush(file->fd))
        status = fail_write(ctx, file->target, "cannot be flushed to disk");
    else if (!file->work)
        status = link_work(ctx, file);
    if (status == LL_OK && file->work && rename(file->work, file->target) != 0)
        status = fail_write(ctx, file->target, "cannot be replaced");
    if (status == LL_OK)
        forget_work(file); /* nothing is left to remove */
    if (fd >= 0) {         /* a folder that may be written but not read cannot be flushed; the file itself was */
        flush(fd);
        close(fd);
    }
    return status;
}

ll_status lli_outfile_commit(ll_context *ctx, lli_outfile *file) {
    ll_status status = file->device >= 0 ? copy_to_device(ctx, file) : replace_target(ctx, file);
    lli_outfile_abandon(file);
    return status;
}

void lli_outfile_abandon(lli_outfile *file) {
    if (!file)
        return;
    if (file->fd >= 0) {
        if (file->work && !file->keep && same_inode(file->fd, file->work))
            unlink(file->work);
        close(file->fd);
    }
    if (file->device >= 0)
        close(file->device);
    lli_memory_free(file->work);
    lli_memory_free(file->target);
    lli_memory_free(file);
}
