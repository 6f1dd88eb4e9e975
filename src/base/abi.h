/* SPDX-License-Identifier: MIT */
/* Structs that callers make and that may grow from version to version. struct_size, their first member, is the size that the caller's
 * header gives them. Members missing in a shorter one keep their defaults; what a longer one has beyond ours must be zero. */
#ifndef LLI_BASE_ABI_H
#define LLI_BASE_ABI_H

#include "base/context.h"

/* Reads the caller's struct over `out` [size], which holds the defaults; NULL leaves them. A struct_size of 0 means `zero` bytes, or is
 * refused if that is 0. */
ll_status lli_abi_take(ll_context *ctx, const char *name, void *out, size_t size, const void *given, size_t zero) LL_CHECK_RESULT;
/* The size of a struct up to and with one of its members. */
#define LLI_ABI_UP_TO(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))

/* The other way: fills the caller's struct of struct_size bytes with ours of `size` bytes; nothing where it is NULL or too small. */
void lli_abi_give(void *out, size_t struct_size, const void *ours, size_t size);

/* The first thing that public functions do: names the first of the pointers that is NULL. */
#define LLI_NEED(ctx, ...)                                                            \
    LLI_TRY(lli_need(ctx, __func__, #__VA_ARGS__, (const void *const[]){__VA_ARGS__}, \
                     sizeof((const void *const[]){__VA_ARGS__}) / sizeof(const void *)))
ll_status lli_need(ll_context *ctx, const char *function, const char *names, const void *const *pointers, size_t count) LL_CHECK_RESULT;
/* Refuses a form of text that does not exist. */
ll_status lli_need_form(ll_context *ctx, ll_text_form form) LL_CHECK_RESULT;

#endif
