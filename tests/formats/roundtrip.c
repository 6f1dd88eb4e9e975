/* SPDX-License-Identifier: MIT */
/* The public reading and writing functions as a program, for roundtrip.py:
 *   roundtrip FROM TO [DTYPE DIVIDE FLATTEN]    ll_convert
 *   roundtrip FROM                              format and arrays, one line each
 * The exit code is the status; the sentence goes to stderr. */
#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lastlayer.h"

static ll_status convert(ll_context *ctx, int argc, char **argv) {
    ll_convert_options options = ll_convert_options_default();
    if (argc > 3 && strcmp(argv[3], "-") != 0)
        options.dtype = argv[3];
    if (argc > 4)
        options.divide = strtod(argv[4], NULL);
    options.flatten = argc > 5;
    return ll_convert(ctx, argv[2], argv[1], &options);
}

static ll_status inspect(ll_context *ctx, const char *path) {
    ll_bundle *bundle;
    ll_status status = ll_bundle_read(&bundle, ctx, path);
    if (status != LL_OK)
        return status;
    printf("%s\n", ll_bundle_format(bundle));
    for (int64_t i = 0; i < ll_bundle_count(bundle); i++) {
        ll_array a = ll_bundle_array(bundle, i);
        printf("%s %s", ll_bundle_name(bundle, i), ll_dtype_name(a.dtype));
        for (int k = 0; k < a.rank; k++)
            printf(" %" PRId64, a.shape[k]);
        printf("\n");
    }
    for (int64_t i = 0; i < ll_bundle_meta_count(bundle); i++)
        printf("%s=%s\n", ll_bundle_meta_key(bundle, i), ll_bundle_meta_value(bundle, i));
    ll_bundle_free(bundle);
    return LL_OK;
}

int main(int argc, char **argv) {
    ll_context *ctx;
    setlocale(LC_ALL, "");
    if (argc < 2 || ll_context_new(&ctx, NULL) != LL_OK)
        return 99;
    ll_status status = argc > 2 ? convert(ctx, argc, argv) : inspect(ctx, argv[1]);
    if (status != LL_OK)
        fprintf(stderr, "%s\n", ll_context_message(ctx));
    ll_context_free(ctx);
    return (int)status;
}
