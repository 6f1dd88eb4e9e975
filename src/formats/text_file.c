/* SPDX-License-Identifier: MIT */
/* Open, write, commit. */
#include "formats/text_file.h"

#include "formats/file.h"

ll_status lli_text_file_write(ll_context *ctx, const char *path, const lli_text *text) {
    lli_outfile *file = NULL;
    ll_status status;
    LLI_DO(text->status);
    LLI_DO(lli_outfile_open(&file, NULL, ctx, path, NULL, LLI_OUTFILE_REPLACE));
    LLI_DO(lli_outfile_write_at(ctx, file, 0, text->data, (size_t)text->length));
    lli_outfile *complete = file;
    file = NULL;
    LLI_DO(lli_outfile_commit(ctx, complete));
done:
    lli_outfile_abandon(file);
    return status;
}
