/* SPDX-License-Identifier: MIT */
/* The store that survives a kill. PATH.partial is the ensemble file under construction, followed by a journal:
 *
 *     0        the final file: header, the tensors (of a head: W [S,K,D], b [S,K]), fingerprint [S,64], 0 = not written, weight [S]
 *     end      per task two checkpoint slots, written in turn: sequence, step, NLLs, hash, theta
 *
 * A member counts only if its fingerprint fits its bytes, a slot if its hash does, so a write that was cut short is as if it had not been.
 * Finishing cuts the journal off and renames the file. */
#ifndef LLI_STORE_PARTIAL_H
#define LLI_STORE_PARTIAL_H

#include "base/share.h"
#include "ensemble/store.h"
#include "formats/file.h"

typedef struct lli_partial lli_partial;

/* Opens, reopens or joins the work file of target `path`; refuses one that another run made, once the plan is known. */
ll_status lli_partial_open(lli_partial **out, ll_context *ctx, const char *path, lli_outfile_mode mode) LL_CHECK_RESULT;
/* `floats`: what a checkpoint holds, theta and all; `tasks`: chains that may run at once. */
ll_status lli_partial_begin(ll_context *ctx, lli_partial *partial, const lli_ensemble_plan *plan, int64_t floats,
                            int64_t tasks) LL_CHECK_RESULT;
/* PATH.partial cannot be continued: it was begun as something else. Of every kind of work file. */
ll_status lli_partial_refuse(ll_context *ctx, const char *path) LL_CHECK_RESULT;
/* Nothing is left to do but to commit. */
bool lli_partial_complete(const lli_partial *partial);
lli_store *lli_partial_store(lli_partial *partial);
ll_status lli_partial_commit(ll_context *ctx, lli_partial *partial) LL_CHECK_RESULT; /* frees it, also on failure */
/* The members that are there, alone, as the file of a part (store/parts.h); frees it, also on failure, and then the work file stays. */
ll_status lli_partial_commit_part(ll_context *ctx, lli_partial *partial, const lli_ensemble_plan *plan,
                                  const lli_share *part) LL_CHECK_RESULT;
/* Frees it; what was reached stays for a resume, unless the run diverged or reached nothing. */
void lli_partial_abandon(ll_context *ctx, lli_partial *partial, ll_status why);

#endif
