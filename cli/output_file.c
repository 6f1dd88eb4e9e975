/* SPDX-License-Identifier: MIT */
/* Where an output goes: whether it can be made, whether it is an input at the same time, and which part of it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inputs.h"
#include "term.h"

/* Can the file be made or replaced? Asked before the work, which may take hours; writing asks again. */
static ll_status check_place(const char *output) {
    struct stat target;
    if (stat(output, &target) == 0) {
        if (S_ISDIR(target.st_mode))
            return complain(LL_ERR_WRITE, "%s: is a folder; expected the name of a file", output);
        return !S_ISREG(target.st_mode) || access(output, W_OK) == 0
                   ? LL_OK
                   : complain(LL_ERR_WRITE, "%s: cannot be replaced: %s", output, strerror(errno));
    }
    if (errno == ENAMETOOLONG)
        return complain(LL_ERR_WRITE, "the name of the output is too long: %s", output);
    const char *slash = strrchr(output, '/');
    char folder[4096] = ".";
    if (lstat(output, &target) == 0 || (slash && slash - output >= (ptrdiff_t)sizeof folder - 1))
        return LL_OK; /* a link to a file that does not exist yet */
    if (slash)
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - output + 1), output);
    if (access(folder, F_OK) != 0)
        return complain(LL_ERR_WRITE, "%s: cannot be written: its folder does not exist", output);
    return access(folder, W_OK | X_OK) == 0 ? LL_OK : complain(LL_ERR_WRITE, "%s: cannot be written: %s", output, strerror(errno));
}

/* Is this one of the files of a pattern, a list or a folder? What cannot be listed is reported by the code that reads it. */
static bool set_has(const char *set, const struct stat *target) {
    struct stat found;
    ll_context *ctx = NULL;
    ll_files *files = NULL;
    ll_context_options options = ll_context_options_default();
    options.threads = 1;
    bool has = false;
    if (ll_context_new(&ctx, &options) == LL_OK && ll_files_find(&files, ctx, set) == LL_OK)
        for (int64_t i = 0; i < ll_files_count(files) && !has; i++)
            has = stat(ll_files_at(files, i), &found) == 0 && found.st_dev == target->st_dev && found.st_ino == target->st_ino;
    ll_files_free(files);
    ll_context_free(ctx);
    return has;
}

ll_status inputs_check_output(const char *output, const char *const *inputs, size_t count) {
    if (strcmp(output, "-") == 0)
        return complain(LL_ERR_USAGE, "the output is -; name a file (standard output is /dev/stdout)");
    struct stat target, found;
    ll_status status = *output ? check_place(output) : complain(LL_ERR_WRITE, "the name of the output is empty");
    if (status != LL_OK || stat(output, &target) != 0 || !S_ISREG(target.st_mode))
        return status;
    for (size_t i = 0; i < count; i++) {
        /* FILE:NAME: whatever stands before a colon may be the file. */
        for (const char *end = inputs[i]; end && *end;) {
            end += 1 + strcspn(end + 1, ":");
            char path[4096];
            int length = snprintf(path, sizeof path, "%.*s", (int)(end - inputs[i]), inputs[i]);
            if (length < (int)sizeof path && stat(path, &found) == 0 && found.st_dev == target.st_dev && found.st_ino == target.st_ino)
                return complain(LL_ERR_USAGE, "the output %s is also the input %s; choose another name", output, path);
        }
        if (inputs[i] && *inputs[i] && set_has(inputs[i], &target))
            return complain(LL_ERR_USAGE, "the output %s is also one of the files of the input %s; choose another name", output, inputs[i]);
    }
    return LL_OK;
}

ll_status inputs_part(int64_t *part, int64_t *parts, const char *text) {
    long long index = 0, count = 0;
    int used = 0;
    *part = *parts = 0;
    if (!text)
        return LL_OK;
    if (sscanf(text, "%9lld/%9lld%n", &index, &count, &used) != 2 || text[used] || index < 1 || index > count)
        return complain(LL_ERR_USAGE, "--part is %s; expected I/N, part I from 1 to N, like 3/8", text);
    *part = index;
    *parts = count;
    return LL_OK;
}

void inputs_part_path(char out[INPUTS_WHERE], const char *path, const char *text) {
    int64_t part, parts;
    if (text && inputs_part(&part, &parts, text) == LL_OK)
        snprintf(out, INPUTS_WHERE, "%s.part-%lld-of-%lld", path, (long long)part, (long long)parts);
    else
        snprintf(out, INPUTS_WHERE, "%s", path);
}
