/* SPDX-License-Identifier: MIT */
/* Files of a search. */
#include "pipeline/trial_store.h"

#include <string.h>

#include "base/bundle.h"
#include "base/memory.h"
#include "formats/file.h"
#include "formats/journal.h"
#include "formats/meta.h"
#include "formats/tree.h"
#include "report/json.h"
#include "report/trials.h"

static const char *const protocols[LLI_PROTOCOLS] = {"honest", "paper"};

/* Replaces FOLDER/NAME with the text in one step. */
static ll_status write_text(ll_context *ctx, const char *folder, const char *name, const lli_text *text) {
    lli_text path;
    lli_outfile *file = NULL;
    ll_status status;
    lli_text_init(&path, ctx);
    lli_text_add(&path, "%s/%s", folder, name);
    LLI_DO(path.status);
    LLI_DO(text->status);
    LLI_DO(lli_outfile_open(&file, NULL, ctx, path.data, NULL, LLI_OUTFILE_REPLACE));
    LLI_DO(lli_outfile_write_at(ctx, file, 0, text->data, (size_t)text->length));
    lli_outfile *ready = file;
    file = NULL;
    LLI_DO(lli_outfile_commit(ctx, ready));
done:
    lli_outfile_abandon(file);
    lli_text_release(&path);
    return status;
}

static ll_status make_folder(ll_context *ctx, const char *folder, const char *name) {
    lli_text path;
    lli_text_init(&path, ctx);
    lli_text_add(&path, "%s/%s", folder, name);
    ll_status status = path.status == LL_OK ? lli_folder_make(ctx, path.data) : path.status;
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
                            "the store %s belongs to another search: its %s is %.80s, here it is %.80s; choose another --store", folder,
                            identity->pairs[i].key, there ? there : "missing", here));
    }
done:
    lli_tree_free(tree);
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
                        "%s/runs.jsonl holds trials, but store.json, which says of what, is missing; choose another --store", s->folder));
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
                        "the store %s was made by another rule: it keeps the predictions of %s, and the best by --by %s is %s; look at it "
                        "with --show, or choose another --store",
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
    LLI_DO(lli_folder_make(ctx, folder));
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

/* The arrays of a predictions file, as lastlayer predict writes it. */
typedef struct arrays {
    ll_named_array list[2 * LL_CONFIDENCE_COUNT + 16];
    char names[2 * LL_CONFIDENCE_COUNT + 16][24];
    int64_t count;
} arrays;

static void add_array(arrays *a, const char *prefix, const char *name, ll_array array) {
    char *full = a->names[a->count];
    size_t length = strlen(prefix);
    memcpy(full, prefix, length);
    memcpy(full + length, name, strlen(name) + 1);
    a->list[a->count++] = (ll_named_array){full, array};
}

static void add_points(arrays *a, const char *prefix, const ll_predictions *p) {
    int64_t n = p->view.n;
    add_array(a, prefix, "probs", p->view.probs);
    add_array(a, prefix, "label", ll_array_view(p->label, LL_DTYPE_I32, 1, &n));
    add_array(a, prefix, "vote", ll_array_view(p->vote, LL_DTYPE_I32, 1, &n));
    for (ll_confidence c = 0; c < LL_CONFIDENCE_COUNT; c++)
        if (p->confidence[c])
            add_array(a, prefix, ll_confidence_name(c), ll_array_view(p->confidence[c], LL_DTYPE_F64, 1, &n));
    for (lli_extra x = 0; x < LLI_EXTRA_COUNT; x++)
        if (p->extra[x])
            add_array(a, prefix, lli_extra_name(x), ll_array_view(p->extra[x], LL_DTYPE_F64, 1, &n));
    if (p->view.truth && !*prefix)
        add_array(a, prefix, "truth", ll_array_view(p->view.truth, LL_DTYPE_I32, 1, &n));
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
    arrays a = {.count = 0};
    lli_provenance meta = {0};
    lli_text path;
    ll_status status;
    add_points(&a, "", points->points);
    if (points->running)
        add_array(&a, "", "running", ll_array_view(points->running, LL_DTYPE_F64, 2, (int64_t[]){trial->samples, 3}));
    if (points->out_points)
        add_points(&a, "out_", points->out_points);
    lli_text_init(&path, ctx);
    lli_text_add(&path, "%s/best/%s-%s.npz", s->folder, protocols[protocol], trial->method);
    LLI_DO(path.status);
    LLI_DO(trial_meta(ctx, &meta, run, trial));
    LLI_DO(ll_bundle_write(ctx, path.data, a.list, a.count, meta.pairs, meta.count));
done:
    lli_provenance_release(&meta);
    lli_text_release(&path);
    return status;
}

ll_status lli_trial_store_add(ll_context *ctx, lli_trial_store *s, const ll_trial *trial, const ll_evaluation *evaluations,
                              const lli_trial_points points[LLI_PROTOCOLS], const lli_provenance *provenance) {
    lli_text line;
    ll_status status = LL_OK;
    lli_text_init(&line, ctx);
    lli_trial_json(&line, trial);
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
