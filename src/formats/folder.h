/* SPDX-License-Identifier: MIT */
/* Folders of data files: which of them are there. */
#ifndef LLI_FORMATS_FOLDER_H
#define LLI_FORMATS_FOLDER_H

#include "base/context.h"

bool lli_folder_is(const char *path);
/* FOLDER/NAME, or FOLDER/NAME.gz, whichever is a file; NULL if neither is. To free. */
ll_status lli_folder_find(char **out, ll_context *ctx, const char *folder, const char *name) LL_CHECK_RESULT;
/* Removes the folder and all in it, or a file; what cannot be removed stays. Links are removed, not followed. */
void lli_folder_remove(const char *path);
const char *lli_folder_data(void); /* the folder of named data: $LASTLAYER_DATA, else "data" */

#endif
