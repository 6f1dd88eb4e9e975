/* SPDX-License-Identifier: MIT */
/* JSON that was read. Asking for what is not there gives nothing (NULL, NaN), so that one check at the end is enough. */
#ifndef LLI_FORMATS_TREE_H
#define LLI_FORMATS_TREE_H

#include "base/context.h"

typedef struct lli_tree lli_tree;

/* LL_ERR_FORMAT with the place in `name` (a file, or a file and a line) when the text is not JSON (RFC 8259), has a key twice in an object,
 * a text with a zero character, a number beyond f64, or more than LLI_TREE_DEPTH levels. LL_ERR_MEMORY when memory runs out. */
enum { LLI_TREE_DEPTH = 100 };
ll_status lli_tree_parse(lli_tree **out, ll_context *ctx, const char *text, size_t size, const char *name) LL_CHECK_RESULT;
ll_status lli_tree_read(lli_tree **out, ll_context *ctx, const char *path) LL_CHECK_RESULT; /* the same of a file, within its budget */
void lli_tree_free(lli_tree *tree);                                                         /* what one of them gave; NULL is fine */

const lli_tree *lli_tree_get(const lli_tree *object, const char *key); /* NULL if absent */
int64_t lli_tree_count(const lli_tree *value);                         /* of a list or an object; 0 for anything else */
const lli_tree *lli_tree_at(const lli_tree *value, int64_t i);         /* of a list or an object, in the order of the text */
const char *lli_tree_key(const lli_tree *value);                       /* under which it stands in its object; NULL in a list */
const char *lli_tree_text(const lli_tree *value);                      /* NULL unless it is a text */
double lli_tree_number(const lli_tree *value);                         /* NaN unless it is a number */
int64_t lli_tree_whole(const lli_tree *value);                         /* -1 unless it is a whole number of at least 0 */
bool lli_tree_true(const lli_tree *value);
bool lli_tree_is_list(const lli_tree *value);
bool lli_tree_is_object(const lli_tree *value);
bool lli_tree_is_null(const lli_tree *value); /* the word null; not for what is absent */

#endif
