/* SPDX-License-Identifier: MIT */
/* Faults on order, for LD_PRELOAD: one allocation of the process fails, or one call of the write path fails, is cut short, or is the last
 * thing the process does. LASTLAYER_FAULT says which:
 *
 *     count:FILE      nothing fails; at the end FILE gets the number of allocations and of calls
 *     alloc:N         allocation N fails
 *     call:N:ERRNO    call N fails with this number
 *     short:N         call N, if it writes, writes half
 *     kill:N          SIGKILL before call N
 *
 * Numbers start at 1. Allocations are malloc and its family and mmap; calls are those that make, change, name or close files. What the C
 * library does inside itself (the buffers of stdio, stacks of threads) is seen as far as it goes through malloc. */
#define _GNU_SOURCE
#undef _FILE_OFFSET_BITS /* which would give pwrite and pwrite64 one name */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t align, size_t size);

static atomic_long allocations, calls;
static long fail_allocation, fail_call, short_call, kill_call; /* 0 = none */
static int fail_errno;
static const char *count_file;

__attribute__((constructor)) static void read_order(void) {
    const char *order = getenv("LASTLAYER_FAULT");
    if (!order)
        return;
    sscanf(order, "alloc:%ld", &fail_allocation);
    sscanf(order, "call:%ld:%d", &fail_call, &fail_errno);
    sscanf(order, "short:%ld", &short_call);
    sscanf(order, "kill:%ld", &kill_call);
    if (strncmp(order, "count:", 6) == 0)
        count_file = order + 6;
    atomic_store(&allocations, 0); /* what came before is the loader's */
}

__attribute__((destructor)) static void write_counts(void) {
    if (!count_file)
        return;
    char line[64];
    int length = snprintf(line, sizeof line, "%ld %ld\n", atomic_load(&allocations), atomic_load(&calls));
    int fd = (int)syscall(SYS_openat, AT_FDCWD, count_file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || syscall(SYS_write, fd, line, (size_t)length) != length)
        _exit(99);
}

static bool allocation_fails(void) {
    if (atomic_fetch_add(&allocations, 1) + 1 != fail_allocation)
        return false;
    errno = ENOMEM;
    return true;
}

/* Counts a call of the write path. True where it has to fail; *half where it may write only half. */
static bool call_fails(bool *half) {
    long n = atomic_fetch_add(&calls, 1) + 1;
    if (n == kill_call)
        kill(getpid(), SIGKILL);
    if (half)
        *half = n == short_call;
    if (n == fail_call)
        errno = fail_errno;
    return n == fail_call;
}

void *malloc(size_t size) {
    return allocation_fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    return allocation_fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *block, size_t size) {
    return allocation_fails() ? NULL : __libc_realloc(block, size);
}

void *aligned_alloc(size_t align, size_t size) {
    return allocation_fails() ? NULL : __libc_memalign(align, size);
}

void *memalign(size_t align, size_t size) {
    return aligned_alloc(align, size);
}

int posix_memalign(void **out, size_t align, size_t size) {
    void *block = aligned_alloc(align, size);
    if (!block)
        return ENOMEM;
    *out = block;
    return 0;
}

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
    return allocation_fails() ? MAP_FAILED : (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}

void *mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
    return mmap(at, size, protection, flags, fd, offset);
}

static int open_file(int folder, const char *path, int flags, mode_t mode) {
    bool writes = (flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT);
    return writes && call_fails(NULL) ? -1 : (int)syscall(SYS_openat, folder, path, flags, mode);
}

#define MODE_OF(flags)                                         \
    mode_t mode = 0;                                           \
    if ((flags)&O_CREAT || ((flags)&O_TMPFILE) == O_TMPFILE) { \
        va_list more;                                          \
        va_start(more, flags);                                 \
        mode = va_arg(more, mode_t);                           \
        va_end(more);                                          \
    }

int open(const char *path, int flags, ...) {
    MODE_OF(flags)
    return open_file(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    MODE_OF(flags)
    return open_file(AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...) {
    MODE_OF(flags)
    return open_file(folder, path, flags, mode);
}

int openat64(int folder, const char *path, int flags, ...) {
    MODE_OF(flags)
    return open_file(folder, path, flags, mode);
}

int __open_2(const char *path, int flags);
int __open_2(const char *path, int flags) {
    return open_file(AT_FDCWD, path, flags, 0);
}

int __open64_2(const char *path, int flags);
int __open64_2(const char *path, int flags) {
    return open_file(AT_FDCWD, path, flags, 0);
}

int mkstemp(char *template) {
    if (call_fails(NULL))
        return -1;
    int (*real)(char *) = (int (*)(char *))dlsym(RTLD_NEXT, "mkstemp");
    return real(template);
}

int mkstemp64(char *template) {
    return mkstemp(template);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
    bool half;
    return call_fails(&half) ? -1 : syscall(SYS_pwrite64, fd, bytes, half ? (count + 1) / 2 : count, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off_t offset) {
    return pwrite(fd, bytes, count, offset);
}

ssize_t write(int fd, const void *bytes, size_t count) {
    bool half;
    return call_fails(&half) ? -1 : syscall(SYS_write, fd, bytes, half ? (count + 1) / 2 : count);
}

int close(int fd) { /* one that fails has closed its file all the same */
    int saved = (int)syscall(SYS_close, fd);
    return call_fails(NULL) ? -1 : saved;
}

#define CALL(name, types, values)                           \
    int name types {                                        \
        return call_fails(NULL) ? -1 : (int)syscall values; \
    }

CALL(fsync, (int fd), (SYS_fsync, fd))
CALL(fdatasync, (int fd), (SYS_fdatasync, fd))
CALL(ftruncate, (int fd, off_t size), (SYS_ftruncate, fd, size))
CALL(ftruncate64, (int fd, off_t size), (SYS_ftruncate, fd, size))
CALL(fchmod, (int fd, mode_t mode), (SYS_fchmod, fd, mode))
CALL(flock, (int fd, int how), (SYS_flock, fd, how))
CALL(unlink, (const char *path), (SYS_unlinkat, AT_FDCWD, path, 0))
CALL(mkdir, (const char *path, mode_t mode), (SYS_mkdirat, AT_FDCWD, path, mode))
CALL(rename, (const char *from, const char *to), (SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0))
CALL(renameat2, (int a, const char *from, int b, const char *to, unsigned flags), (SYS_renameat2, a, from, b, to, flags))
CALL(linkat, (int a, const char *from, int b, const char *to, int flags), (SYS_linkat, a, from, b, to, flags))
