/* SPDX-License-Identifier: MIT */
/* Reader of HDF5, the format of Keras' .h5 files, through a separate program: libexec/lastlayer-h5.c turns the bytes into .safetensors,
 * in a process that may do nothing else. So a file that crashes libhdf5, or keeps it busy for ever, is just a damaged file. */
#define _GNU_SOURCE /* secure_getenv */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "formats/helper.h"
#include "formats/readers.h"

#define HELPER "lastlayer-h5"

/* A path from the folder of the running program, which must belong to root or to whom that program belongs. False: not there. */
static bool beside_program(char path[PATH_MAX], const char *rest) {
    struct stat program, found;
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    if (length <= 0)
        return false;
    path[length] = 0;
    char *slash = strrchr(path, '/');
    if (!slash || stat(path, &program) != 0 || (size_t)(slash - path) + strlen(rest) + 2 > PATH_MAX)
        return false;
    strcpy(slash + 1, rest);
    return stat(path, &found) == 0 && (found.st_uid == 0 || found.st_uid == program.st_uid) && access(path, X_OK) == 0;
}

/* Named by LASTLAYER_H5; where it is installed; or, if the installation was moved or only built, near the running program. */
static const char *find_helper(char room[PATH_MAX]) {
    const char *named = secure_getenv("LASTLAYER_H5");
    if (named && named[0])
        return named;
    if (access(LLI_HELPER_FOLDER "/" HELPER, X_OK) == 0)
        return LLI_HELPER_FOLDER "/" HELPER;
    if (beside_program(room, "../libexec/lastlayer/" HELPER) || beside_program(room, "libexec/" HELPER))
        return room;
    return NULL;
}

ll_status lli_hdf5_answer(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name) {
    ll_status status = lli_safetensors_parse(ctx, bundle, bytes, size, name);
    if (status == LL_ERR_FORMAT)
        return lli_fail(ctx, status, "%s: the HDF5 file is damaged: what " HELPER " made of it is not a complete .safetensors", name);
    LLI_TRY(status);
    if (bundle->count == 0)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the HDF5 file holds no array of numbers", name);
    return LL_OK;
}

static ll_status judge(ll_context *ctx, const lli_helper_answer *answer, int64_t limit, const char *name) {
    enum { CODE_TOO_MUCH = 3 }; /* of lastlayer-h5.c */
    if (answer->end == LLI_HELPER_TOO_LONG)
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: the HDF5 file is not read, because " HELPER " made no progress; it may be damaged", name);
    if (answer->end == LLI_HELPER_TOO_MUCH || answer->code == CODE_TOO_MUCH)
        return lli_fail(ctx, LL_ERR_MEMORY,
                        "%s: the HDF5 file holds more than the %" PRId64
                        " MiB that reading it may take; if you trust it, give `memory BYTES`, twice what it holds",
                        name, limit >> 20);
    if (answer->said[0])
        return lli_fail(ctx, LL_ERR_FORMAT, "%s: %s", name, answer->said);
    if (answer->signal)
        return lli_fail(ctx, LL_ERR_FORMAT,
                        "%s: the HDF5 file is damaged, or takes more time or memory than a file of its size may: " HELPER
                        " ended by signal %d; save the model again, or as .safetensors",
                        name, answer->signal);
    return LL_OK;
}

ll_status lli_hdf5_parse(ll_context *ctx, ll_bundle *bundle, const unsigned char *bytes, size_t size, const char *name) {
    enum { PATIENCE = 30 };
    char room[PATH_MAX], argument[32];
    const char *program = find_helper(room);
    if (!program)
        return lli_fail(ctx, LL_ERR_READ,
                        "%s: HDF5 is read by the program " HELPER ", which is not installed; install it as " LLI_HELPER_FOLDER "/" HELPER
                        " (it is built where libhdf5 and libseccomp are) or name it by LASTLAYER_H5",
                        name);
    /* Half of what is left: it holds an array while we hold them all. */
    int64_t limit = LLI_MAX(1, LLI_MIN(lli_memory_budget_bytes(ctx, size), lli_memory_left(ctx) / 2));
    lli_helper_answer answer;
    snprintf(argument, sizeof argument, "%" PRId64, limit);
    /* It may be busy without a word for as long as it allows itself, on a machine that is busy too. */
    lli_helper helper = {program, argument, limit, PATIENCE + (double)limit / (1 << 23)};
    LLI_TRY(lli_helper_ask(&answer, ctx, &helper, bytes, size, name));
    ll_status status = judge(ctx, &answer, limit, name);
    if (status == LL_OK)
        status = lli_hdf5_answer(ctx, bundle, answer.bytes, (size_t)answer.size, name);
    bundle->block = answer.bytes; /* the arrays lie in it */
    return status;
}
