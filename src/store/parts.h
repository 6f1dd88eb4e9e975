/* SPDX-License-Identifier: MIT */
/* Parts of an output that several processes make: PATH.part-3-of-8 beside PATH, .safetensors for an ensemble and for
 * predictions, a store for a search. A part has the provenance of the whole, and entries of its own under names that begin with part_. */
#ifndef LLI_STORE_PARTS_H
#define LLI_STORE_PARTS_H

#include "base/bundle.h"
#include "base/share.h"
#include "ensemble/ensemble.h"

#define LLI_PARTS_PREFIX "part_"
#define LLI_PARTS_NUMBER "part_number" /* 3/8 */
#define LLI_PARTS_KIND "part_kind"     /* one of the next two */
#define LLI_PARTS_ENSEMBLE "ensemble"
#define LLI_PARTS_PREDICTIONS "predictions"
#define LLI_PARTS_TOTAL "part_total"       /* members, or rows, of the whole */
#define LLI_PARTS_TENSORS "part_tensors"   /* how many of the arrays are by member */
#define LLI_PARTS_PROTOCOL "part_protocol" /* of a search: how it chooses */
#define LLI_PARTS_BY "part_by"
#define LLI_PARTS_MEMBERS "part_members" /* the array that says which members these are */

/* Refuses a part that does not exist: part 1 to `parts` of at most LLI_SHARE_MAX. */
ll_status lli_parts_take(lli_share *out, ll_context *ctx, int64_t part, int64_t parts) LL_CHECK_RESULT;
/* PATH.part-3-of-8, to free. */
ll_status lli_parts_path(char **out, ll_context *ctx, const char *path, const lli_share *part) LL_CHECK_RESULT;
/* The provenance of the whole, and which part this is. */
ll_status lli_parts_describe(ll_context *ctx, lli_provenance *out, const lli_provenance *whole, const lli_share *part,
                             const char *kind) LL_CHECK_RESULT;

/* The parts of `path` that are there, all of them or a sentence that says which are missing. */
typedef struct lli_parts {
    char **path; /* [count] */
    int64_t count;
} lli_parts;

ll_status lli_parts_find(lli_parts *out, ll_context *ctx, const char *path) LL_CHECK_RESULT;
void lli_parts_release(lli_parts *parts);

/* ---- parts that the ranks of one run make, and that do not outlive it: PATH.ranks.part-3-of-8 ---- */

ll_status lli_parts_of_ranks(char **out, ll_context *ctx, const char *path) LL_CHECK_RESULT; /* PATH.ranks, to free */
/* All parts of PATH.ranks, made by these ranks just now; refuses a folder that the ranks do not share. */
ll_status lli_parts_of_team(lli_parts *out, ll_context *ctx, const char *ranks) LL_CHECK_RESULT;
/* Those of runs that were cut short, of any number of ranks; there may be none. */
ll_status lli_parts_left(lli_parts *out, ll_context *ctx, const char *ranks) LL_CHECK_RESULT;
void lli_parts_remove(const lli_parts *parts); /* the files, or folders */

/* All parts, opened and of one provenance. */
ll_status lli_parts_open(ll_bundle ***out, ll_context *ctx, const lli_parts *parts) LL_CHECK_RESULT;
void lli_parts_close(ll_bundle **bundles, int64_t count);
int64_t lli_parts_number(const ll_bundle *bundle, const char *key); /* a whole number among the entries; -1 if it is none */

/* The whole, from parts that are open. */
ll_status lli_parts_join_ensemble(ll_context *ctx, const char *path, ll_bundle *const *parts, int64_t count) LL_CHECK_RESULT;
/* From parts that are stores of searches. */
ll_status lli_parts_join_stores(ll_context *ctx, const char *folder, const lli_parts *parts) LL_CHECK_RESULT;
ll_status lli_parts_join_predictions(ll_context *ctx, const char *path, ll_bundle *const *parts, int64_t count) LL_CHECK_RESULT;

#endif
