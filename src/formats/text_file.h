/* SPDX-License-Identifier: MIT */
/* A whole text as a file. */
#ifndef LLI_FORMATS_TEXT_FILE_H
#define LLI_FORMATS_TEXT_FILE_H

#include "base/text.h"

/* Replaces `path` with the text in one step; fails as the text did, if it did. */
ll_status lli_text_file_write(ll_context *ctx, const char *path, const lli_text *text) LL_CHECK_RESULT;

#endif
