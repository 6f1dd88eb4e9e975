/* SPDX-License-Identifier: MIT */
/* Looking for files in folders. Reads none of them. */
#include "formats/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"

bool lli_folder_is(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

const char *lli_folder_data(void) {
    const char *folder = getenv("LASTLAYER_DATA");
    return folder && folder[0] ? folder : "data";
}

ll_status lli_folder_find(char **out, ll_context *ctx, const char *folder, const char *name) {
    static const char *const endings[] = {"", ".gz"};
    struct stat st;
    *out = NULL;
    for (size_t i = 0; i < LLI_COUNT(endings); i++) {
        lli_text path;
        lli_text_init(&path, ctx);
        lli_text_add(&path, "%s/%s%s", folder, name, endings[i]);
        LLI_TRY(lli_text_take(&path, out));
        if (stat(*out, &st) == 0 && !S_ISDIR(st.st_mode))
            return LL_OK;
        lli_memory_free(*out);
        *out = NULL;
    }
    return LL_OK;
}

static void remove_in(int parent, const char *name) {
    int fd = unlinkat(parent, name, 0) == 0 ? -1 : openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (!folder) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (const struct dirent *entry; (entry = readdir(folder));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            remove_in(fd, entry->d_name);
    closedir(folder);
    unlinkat(parent, name, AT_REMOVEDIR);
}

void lli_folder_remove(const char *path) {
    remove_in(AT_FDCWD, path);
}
