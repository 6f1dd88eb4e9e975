/* SPDX-License-Identifier: MIT */
/* Rows and labels, which may share a table. */
#include "interop/pair.h"

#include <string.h>

#include "base/bundle.h"
#include "base/memory.h"
#include "formats/file.h"
#include "formats/format.h"

const char *const lli_pair_feature_names[] = {"features", "x",       "", /* of these at most one: */
                                              "X",        "x_train", "X_train", "train_x", "train_X",       "train_features",
                                              "x_test",   "X_test",  "test_x",  "test_X",  "test_features", "embeddings",
                                              NULL};
const char *const lli_pair_label_names[] = {"labels", "truth",  "y",           "",        "y_train", "train_y", "train_labels",
                                            "y_test", "test_y", "test_labels", "targets", "target",  NULL};

ll_status lli_pair_read(ll_bundle *files[2], ll_array *x, ll_array *y, ll_context *ctx, const char *what, const char *from,
                        const char *const *names, const char *labels) {
    char *paths[2] = {NULL, NULL};
    const char *name, *column = NULL;
    ll_status status;
    files[0] = files[1] = NULL;
    LLI_DO(lli_format_split(&paths[0], &name, ctx, from));
    if (labels)
        LLI_DO(lli_format_split(&paths[1], &column, ctx, labels));
    if (column && !lli_file_same(paths[0], paths[1]))
        column = NULL;
    LLI_DO(lli_format_read(&files[0], x, ctx, from, names, column));
    if (labels)
        LLI_DO(ll_array_read(&files[1], y, ctx, labels, lli_pair_label_names));
    const char *columns = column && strcmp(ll_bundle_format(files[0]), "csv") == 0 ? lli_bundle_meta(files[0], "columns") : NULL;
    if (columns)
        lli_log(ctx, LL_LOG_NOTE, "the %s are the columns %s of %s; %s holds the labels", what, columns, paths[0], column);
done:
    lli_memory_free(paths[0]);
    lli_memory_free(paths[1]);
    return status;
}
