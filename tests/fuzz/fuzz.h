/* SPDX-License-Identifier: MIT */
/* What the fuzz targets share. A target hands its bytes to one reader, then uses what the reader accepted as the product would. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bundle.h"

/* The body of a target: static void run(const uint8_t *bytes, size_t size). */
#define FUZZ_TARGET(run)                                            \
    int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);  \
    int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) { \
        run(bytes, size);                                           \
        fuzz_files_forget();                                        \
        return 0;                                                   \
    }

/* One context for all inputs, with one thread. */
ll_context *fuzz_context(void);
/* True for LL_OK. A failure must have its sentence, and must not be a defect of lastlayer's own. */
bool fuzz_ok(ll_status status);
/* Reads names, metadata and elements, and asks the sanitizer whether all of every array is there. */
void fuzz_use_bundle(const ll_bundle *bundle);
void fuzz_use_array(const ll_array *array);
void fuzz_use_text(const char *text); /* NULL is fine */
/* A text for people: nothing in it steers a terminal. Line breaks only where they are allowed. */
void fuzz_harmless(const char *text, bool lines);

/* ---- files in memory (files.c) ---- */

/* A path that exists on every machine, so that FILE:NAME is split there; what it holds is what the target says. */
#define FUZZ_FILE "/dev/null"

/* From now on, and until the input is done, reading `path` gives these bytes. They are borrowed. */
void fuzz_file(const char *path, const void *bytes, size_t size);
void fuzz_files_forget(void);
/* What was written last through an output that was committed; NULL if nothing was. */
const unsigned char *fuzz_file_written(size_t *size);

/* ---- inputs of several pieces ---- */

/* The next piece of the input, up to `mark` or the end, NUL-terminated in `out`; false when nothing is left. */
bool fuzz_piece(char *out, size_t room, const uint8_t **bytes, size_t *size, char mark);

/* ---- the readers of formats ---- */

typedef ll_status fuzz_reader(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name);
void fuzz_read(fuzz_reader *reader, const char *format, const uint8_t *bytes, size_t size);

#define FUZZ_READER(format, reader)                      \
    static void run(const uint8_t *bytes, size_t size) { \
        fuzz_read(reader, format, bytes, size);          \
    }                                                    \
    FUZZ_TARGET(run)

#endif
