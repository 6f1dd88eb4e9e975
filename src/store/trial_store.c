/* SPDX-License-Identifier: MIT */
/* Files of a search. */
#include "store/trial_store.h"

#include <string.h>

#include "base/bundle.h"
#include "base/memory.h"
#include "formats/file.h"
#include "store/journal.h"
#include "formats/meta.h"
#include "formats/text_file.h"
#include "formats/tree.h"
#include "report/json.h"
#include "report/trials.h"

static const char *const protocols[LLI_PROTOCOLS] = {"honest", "paper"};

/* Replaces FOLDER/NAME with the text in one step. */
static ll_status write_text(ll_context *ctx, const char *folder, const char *name, const lli_text *text) {
    lli_text path;
    lli_text_init(&path, ctx);
    lli_text_add(&path, "%s/%s", folder, name);
    ll_status status = path.status == LL_OK ? lli_text_file_write(ctx, path.data, text) : path.status;
    lli_text_release(&path);
    return status;
}

static ll_status make_folder(ll_context *ctx, const char *folder, const char *name) {
    lli_text path;
    lli_text_init(&path, ctx);
    lli_text_add(&path, "%s/%s", folder, name);
    ll_status status = path.status == LL_OK ? lli_file_make_folder(ctx, path.data) : path.status;
    lli_text_release(&path);
    return status;
}

/* ---- identity ---- */

static ll_status check_identity(ll_context *ctx, const char *path, const char *folder, const lli_provenance *identity) {
    lli_tree *tree;
    ll_status status;
    LLI_DO(lli_tree_read(&tree, ctx, path));
    for (int64_t i = 0; i < identity->count; i++) {
        const char *there = lli_tree_text(lli_tree_get(tree, identity->pairs[i].key)), *here = identity->pairs[i].value;
        if (!there || strcmp(there, here) != 0)
            LLI_DO(lli_fail(ctx, LL_ERR_USAGE,
                            "the store %s belongs to another search: its %s is %.80s, here it is %.80s; choose another `store`", folder,
                            identity->pairs[i].key, there ? there : "missing", here));
    }
    for (int64_t i = 0; i < lli_tree_count(tree); i++) {
        const char *key = lli_tree_key(lli_tree_at(tree, i));
        if (key && !lli_provenance_get(identity, key))
            LLI_DO(lli_fail(ctx, LL_ERR_USAGE,
                            "the store %s belongs to another search: it has a %.80s, here there is none; choose another "
                            "`store`",
                            folder, key));
    }
done:
    lli_tree_free(tree);
    return status;
}

ll_status lli_trial_store_same(ll_context *ctx, const char *folder, const lli_provenance *identity) {
    lli_text path;
    lli_text_init(&path, ctx);
    lli_text_add(&path, "%s/store.json", folder);
    ll_status status = path.status == LL_OK ? check_identity(ctx, path.data, folder, identity) : path.status;
    lli_text_release(&path);
    return status;
}

static ll_status settle_identity(ll_context *ctx, lli_trial_store *s, const lli_provenance *identity) {
    lli_text path, text;
    ll_status status;
    lli_text_init(&path, ctx);
    lli_text_init(&text, ctx);
    lli_text_add(&path, "%s/store.json", s->folder);
    LLI_DO(path.status);
    if (lli_file_exists(path.data)) {
        LLI_DO(check_identity(ctx, path.data, s->folder, identity));
    } else if (s->results->count > 0) {
        LLI_DO(lli_fail(ctx, LL_ERR_USAGE,
                        "%s/runs.jsonl holds trials, but store.json, which describes the search, is missing; choose another "
                        "`store`",
                        s->folder));
    } else {
        lli_meta_text(&text, identity->pairs, identity->count);
        lli_text_add(&text, "\n");
        LLI_DO(write_text(ctx, s->folder, "store.json", &text));
    }
done:
    lli_text_release(&path);
    lli_text_release(&text);
    return status;
}

/* The kept predictions must be those of the best trials by this rule. Those of a trial without a line are of one that was cut short. */
static ll_status check_kept(ll_context *ctx, const lli_trial_store *s, int protocol, const char *method, const char *by) {
    const ll_results *r = s->results;
    int64_t best = lli_selection_best(&s->selection[protocol], r->trials, r->count, method);
    lli_text path;
    ll_bundle *bundle = NULL;
    ll_status status;
    lli_text_init(&path, ctx);
    lli_text_add(&path, "%s/best/%s-%s.npz", s->folder, protocols[protocol], method);
    LLI_DO(path.status);
    if (best < 0 || !lli_file_exists(path.data))
        goto done;
    LLI_DO(ll_bundle_read(&bundle, ctx, path.data));
    const char *kept = lli_bundle_meta(bundle, "trial"), *name = r->trials[best].name;
    if (kept && strcmp(kept, name) != 0 && lli_results_find(r, kept) >= 0)
        LLI_DO(lli_fail(ctx, LL_ERR_USAGE,
                        "the store %s was made with another rule: it holds the predictions of %s, but the best trial with `by %s` is %s; "
                        "look at it with `show`, or choose another `store`",
                        s->folder, kept, by ? by : "aurc", name));
done:
    ll_bundle_free(bundle);
    lli_text_release(&path);
    return status;
}

ll_status lli_trial_store_open(lli_trial_store *s, ll_context *ctx, const char *folder, const lli_provenance *identity, const char *by,
                               bool work) {
    *s = (lli_trial_store){.folder = folder};
    lli_text path;
    ll_status status;
    lli_text_init(&path, ctx);
    lli_text_add(&path, "%s/runs.jsonl", folder);
    LLI_DO(path.status);
    bool auroc = by && strcmp(by, "auroc") == 0;
    for (int p = 0; p < LLI_PROTOCOLS; p++) /* out-of-distribution rows choose in one protocol only */
        LLI_DO(lli_selection_parse(&s->selection[p], ctx, protocols[p], auroc && p == 0 ? NULL : by));
    LLI_DO(lli_lock_new(&s->lock, ctx));
    LLI_DO(lli_file_make_folder(ctx, folder));
    LLI_DO(make_folder(ctx, folder, "best"));
    if (work)
        LLI_DO(make_folder(ctx, folder, "work"));
    LLI_DO(lli_journal_open(&s->journal, ctx, path.data));
    LLI_DO(ll_results_read(&s->results, ctx, folder));
    LLI_DO(settle_identity(ctx, s, identity));
    for (int p = 0; p < LLI_PROTOCOLS; p++)
        for (size_t m = 0; m < ll_method_count(); m++)
            LLI_DO(check_kept(ctx, s, p, ll_method_get(m)->name, by));
done:
    lli_text_release(&path);
    if (status != LL_OK)
        lli_trial_store_close(s);
    return status;
}

void lli_trial_store_close(lli_trial_store *s) {
    lli_journal_close(s->journal);
    ll_results_free(s->results);
    lli_lock_free(s->lock);
    *s = (lli_trial_store){0};
}

/* ---- trials ---- */

static ll_status write_evaluations(ll_context *ctx, const lli_trial_store *s, const ll_trial *trial, const ll_evaluation *evaluations) {
    lli_text text, name;
    ll_status status;
    lli_text_init(&text, ctx);
    lli_text_init(&name, ctx);
    lli_text_json_pair(&text, "{", "trial", trial->name);
    for (ll_split split = 0; split < LL_SPLIT_COUNT; split++) {
        if (split == LL_SPLIT_ALL && trial->score[LL_SPLIT_ALL].n == trial->score[LL_SPLIT_TEST].n)
            continue;
        lli_text_add(&text, ",\n\"%s\": ", ll_split_name(split));
        lli_json_evaluation(&text, &evaluations[split]);
    }
    lli_text_add(&text, "}\n");
    lli_text_add(&name, "%s/S%lld.json", trial->run, (long long)trial->samples);
    LLI_DO(name.status);
    LLI_DO(make_folder(ctx, s->folder, trial->run));
    LLI_DO(write_text(ctx, s->folder, name.data, &text));
done:
    lli_text_release(&text);
    lli_text_release(&name);
    return status;
}

/* The provenance of the run, with the trial's own number of members, and its name. */
static ll_status trial_meta(ll_context *ctx, lli_provenance *out, const lli_provenance *run, const ll_trial *trial) {
    lli_text samples;
    ll_status status;
    lli_text_init(&samples, ctx);
    lli_text_add(&samples, "%lld", (long long)trial->samples);
    LLI_DO(samples.status);
    for (int64_t i = 0; i < run->count; i++)
        LLI_DO(lli_provenance_add(ctx, out, run->pairs[i].key,
                                  strcmp(run->pairs[i].key, "samples") == 0 ? samples.data : run->pairs[i].value));
    LLI_DO(lli_provenance_add(ctx, out, "trial", trial->name));
done:
    lli_text_release(&samples);
    return status;
}

static ll_status keep_best(ll_context *ctx, const lli_trial_store *s, int protocol, const ll_trial *trial, const lli_trial_points *points,
                           const lli_provenance *run) {
    int64_t best = lli_selection_best(&s->selection[protocol], s->results->trials, s->results->count, trial->method);
    if (best < 0 || strcmp(s->results->trials[best].name, trial->name) != 0)
        return LL_OK;
    lli_schema_list *list = NULL;
    lli_provenance meta = {0};
    lli_text path;
    ll_status status;
    lli_text_init(&path, ctx);
    lli_text_add(&path, "%s/best/%s-%s.npz", s->folder, protocols[protocol], trial->method);
    LLI_DO(path.status);
    LLI_DO(lli_memory_new(ctx, &list, 1, sizeof *list));
    lli_predictions_list(list, points->points, "", false);
    if (points->out_points)
        lli_predictions_list(list, points->out_points, LLI_SCHEMA_OUT, true);
    LLI_DO(trial_meta(ctx, &meta, run, trial));
    LLI_DO(ll_bundle_write(ctx, path.data, list->arrays, list->count, meta.pairs, meta.count));
done:
    lli_memory_free(list);
    lli_provenance_release(&meta);
    lli_text_release(&path);
    return status;
}

ll_status lli_trial_store_add(ll_context *ctx, lli_trial_store *s, const ll_trial *trial, const ll_evaluation *evaluations,
                              const lli_trial_points points[LLI_PROTOCOLS], const lli_provenance *provenance) {
    lli_text line;
    ll_status status = LL_OK;
    lli_text_init(&line, ctx);
    lli_trials_json(&line, trial);
    lli_lock_take(s->lock);
    LLI_DO(lli_results_add(ctx, s->results, trial));
    if (!trial->diverged) {
        LLI_DO(write_evaluations(ctx, s, trial, evaluations));
        for (int p = 0; p < LLI_PROTOCOLS; p++)
            LLI_DO(keep_best(ctx, s, p, trial, &points[p], provenance));
    }
    LLI_DO(line.status);
    LLI_DO(lli_journal_append(ctx, s->journal, line.data, line.length));
done:
    lli_lock_give(s->lock);
    lli_text_release(&line);
    return status;
}

ll_status lli_trial_store_conclude(ll_context *ctx, lli_trial_store *s, const lli_selection *selection) {
    lli_text text;
    ll_status status;
    lli_text_init(&text, ctx);
    LLI_DO(lli_trials_choice_json(&text, s->results->trials, s->results->count, selection));
    LLI_DO(write_text(ctx, s->folder, "choice.json", &text));
done:
    lli_text_release(&text);
    return status;
}
