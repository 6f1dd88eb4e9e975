/* SPDX-License-Identifier: MIT */
/* One array of each of many files, joined along the first axis: as a row store, which copies rows out of the files when they are needed,
 * or as a whole. At most LLI_ROW_FILES_OPEN files are open at a time. Rows are read by position, not mapped, so that a file which changes
 * meanwhile is a sentence and not a bus error. */
#ifndef LLI_FORMATS_ROW_FILES_H
#define LLI_FORMATS_ROW_FILES_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/rows.h"

enum { LLI_ROW_FILES_OPEN = 128 };

typedef struct lli_row_files {
    lli_row_store store;
    ll_array array;            /* type and shape of the whole; data NULL */
    bool in_place;             /* every file has its bytes as they are in memory: the store can read them */
    char key[LLI_HASH_TEXT];   /* of paths, sizes and times: the same files, as far as these tell */
    struct lli_row_file *file; /* [count] */
    int64_t count;
    struct lli_row_handle *handle; /* [LLI_ROW_FILES_OPEN] */
    struct lli_lock *lock;
    uint64_t clock;
    lli_arena texts;
} lli_row_files;

/* The array that `names` find in each file, which messages call `what`. All have one type and one shape but for their rows. */
ll_status lli_row_files_open(lli_row_files **out, ll_context *ctx, const ll_files *files, const char *const *names,
                             const char *what) LL_CHECK_RESULT;
void lli_row_files_free(lli_row_files *files);
/* All of it as one dense array, in `*block` to free. */
ll_status lli_row_files_join(void **block, ll_array *array, ll_context *ctx, lli_row_files *files,
                             const char *const *names) LL_CHECK_RESULT;

#endif
