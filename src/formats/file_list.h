/* SPDX-License-Identifier: MIT */
/* Many files under one name: a pattern, a list, a folder. Reads none of them but the list. */
#ifndef LLI_FORMATS_FILE_LIST_H
#define LLI_FORMATS_FILE_LIST_H

#include "base/arena.h"
#include "base/context.h"

struct ll_files {
    char **where; /* [count] FILE or FILE:NAME */
    int64_t count, capacity;
    lli_arena texts;
};

/* A pattern, a list or a folder, with or without :NAME; a file that exists is none, whatever its name. */
bool lli_file_list_is(const char *where);

#endif
