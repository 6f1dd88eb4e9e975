/* SPDX-License-Identifier: MIT */
/* The border between callers and the library: structs of other versions, and pointers that are NULL. */
#include "base/abi.h"

#include <string.h>

/* How much longer than ours a struct of a newer header may be: a larger number is not a size but garbage. */
enum { NEWER_MAX = 1024 };

ll_status lli_abi_take(ll_context *ctx, const char *name, void *out, size_t size, const void *given, size_t zero) {
    if (!given)
        return LL_OK;
    size_t said, bytes;
    memcpy(&said, given, sizeof said);
    bytes = said ? said : zero;
    if (bytes < 2 * sizeof said || bytes % sizeof said != 0 || bytes > size + NEWER_MAX)
        return lli_fail(ctx, LL_ERR_USAGE, "%s has a struct_size of %zu, which is impossible; %s%s%s", name, said,
                        zero ? "set it to sizeof(" : "start from ", name, zero ? "), or to 0" : "_default()");
    for (size_t i = size; i < bytes; i++)
        if (((const unsigned char *)given)[i])
            return lli_fail(ctx, LL_ERR_USAGE,
                            "%s has %zu bytes and this library, version %s, knows %zu: the program was built with a newer header and sets "
                            "something that this library does not know; install a newer library",
                            name, bytes, ll_version(), size);
    memcpy(out, given, bytes < size ? bytes : size);
    memcpy(out, &size, sizeof size);
    return LL_OK;
}

void lli_abi_give(void *out, size_t struct_size, const void *ours, size_t size) {
    if (!out || struct_size < sizeof struct_size)
        return;
    memset(out, 0, struct_size);
    memcpy(out, ours, struct_size < size ? struct_size : size);
    memcpy(out, &struct_size, sizeof struct_size);
}

ll_status lli_need(ll_context *ctx, const char *function, const char *names, const void *const *pointers, size_t count) {
    if (!ctx)
        return LL_ERR_USAGE;
    for (size_t i = 0; i < count; i++) {
        size_t length = strcspn(names, ",");
        if (!pointers[i])
            return lli_fail(ctx, LL_ERR_USAGE, "%s: %.*s is NULL; it must point to something", function, (int)length, names);
        names += length;
        names += strspn(names, ", ");
    }
    return LL_OK;
}

ll_status lli_need_form(ll_context *ctx, ll_text_form form) {
    return (unsigned)form <= LL_TEXT_MARKDOWN ? LL_OK : lli_fail(ctx, LL_ERR_USAGE, "there is no text form number %d", (int)form);
}
