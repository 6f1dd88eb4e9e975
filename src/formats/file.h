/* SPDX-License-Identifier: MIT */
/* Files as bytes. Reading maps the whole file; writing goes to a work file next to the target that replaces it in one step. */
#ifndef LLI_FORMATS_FILE_H
#define LLI_FORMATS_FILE_H

#include "base/bundle.h"

/* ---- reading ---- */

typedef struct lli_file {
    const unsigned char *bytes; /* at least one */
    size_t size;
    bool mapped; /* false: read into memory, because a pipe or device cannot be mapped */
} lli_file;

/* LL_ERR_READ when missing, empty, a folder or unreadable. A mapped file must not shrink while it is in use: that is a bus error. */
ll_status lli_file_read(lli_file *out, ll_context *ctx, const char *path) LL_CHECK_RESULT;
void lli_file_release(lli_file *file);
/* From now on the bundle releases the bytes. */
void lli_file_give(lli_file *file, ll_bundle *bundle);

/* Waits until the pipe or device can be read or written, or until the call is cancelled. */
ll_status lli_file_wait(ll_context *ctx, int fd, bool to_write) LL_CHECK_RESULT;

/* Starts to read mapped bytes that will be needed soon. */
void lli_file_ahead(const void *bytes, size_t count);

/* Both exist and are one file, through whatever links: an output that would replace its own input. */
bool lli_file_same(const char *a, const char *b);
/* Exists and is neither a regular file nor a folder: written directly, never replaced. */
bool lli_file_is_device(const char *path);

/* ---- writing ---- */

/* Makes the folder unless it is there. LL_ERR_WRITE. */
ll_status lli_file_make_folder(ll_context *ctx, const char *path) LL_CHECK_RESULT;
bool lli_file_exists(const char *path);
void lli_file_remove(const char *path); /* if it is there */
bool lli_file_is_folder(const char *path);

/* The work file lies in the folder of what TARGET resolves to through symbolic links. One that is kept for later is TARGET + suffix, and a
 * lock on it refuses a second writer; another (suffix NULL) has no name before it is whole, and the last of several writers wins. Should
 * the process die while it takes the place of an older file, the next writer of that target removes what was left. A target that exists and
 * is not a regular file (a device, a pipe) is never replaced: the work file is a nameless one, and commit copies its bytes.
 * Every failure here is LL_ERR_WRITE and names the target, but for LL_ERR_CANCELLED while a pipe is waited for. */
typedef struct lli_outfile lli_outfile;

typedef enum lli_outfile_mode {
    LLI_OUTFILE_REPLACE, /* a new work file; abandon removes it */
    LLI_OUTFILE_NEW,     /* a work file that holds something is refused, so that nothing is lost; abandon keeps it */
    LLI_OUTFILE_RESUME,  /* a work file that exists is opened as it is; abandon keeps it */
    LLI_OUTFILE_JOIN     /* the work file of another process that lives, which has the lock and will commit; abandon keeps it */
} lli_outfile_mode;

/* *found (may be NULL): a work file with something in it was opened (LLI_OUTFILE_RESUME and JOIN only). */
ll_status lli_outfile_open(lli_outfile **out, bool *found, ll_context *ctx, const char *target, const char *suffix,
                           lli_outfile_mode mode) LL_CHECK_RESULT;
ll_status lli_outfile_write_at(ll_context *ctx, lli_outfile *file, int64_t offset, const void *bytes, size_t count) LL_CHECK_RESULT;
/* Fails if the file ends before. */
ll_status lli_outfile_read_at(ll_context *ctx, lli_outfile *file, int64_t offset, void *bytes, size_t count) LL_CHECK_RESULT;
ll_status lli_outfile_size(int64_t *out, ll_context *ctx, lli_outfile *file) LL_CHECK_RESULT;
ll_status lli_outfile_truncate(ll_context *ctx, lli_outfile *file, int64_t size) LL_CHECK_RESULT;
/* Whether abandon, or a commit that fails, leaves the work file behind. */
void lli_outfile_keep(lli_outfile *file, bool keep);
/* Flushes, renames over the target, flushes the folder. Frees `file`, also on failure; then the target is as it was. */
ll_status lli_outfile_commit(ll_context *ctx, lli_outfile *file) LL_CHECK_RESULT;
void lli_outfile_abandon(lli_outfile *file); /* NULL is fine */

#endif
