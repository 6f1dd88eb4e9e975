/* SPDX-License-Identifier: MIT */
/* Trials of other stores: their lines, their files, the predictions of the best. */
#include <inttypes.h>
#include <string.h>

#include "base/bundle.h"
#include "base/memory.h"
#include "base/text.h"
#include "formats/file.h"
#include "report/trials.h"
#include "store/journal.h"
#include "store/trial_store.h"

static const char *const protocols[LLI_PROTOCOLS] = {"honest", "paper"};

/* FOLDER/NAME of the other store, to the same place here. */
static ll_status copy_file(ll_context *ctx, const char *to_folder, const char *from_folder, const char *name) {
    lli_text from, to;
    lli_file bytes = {0};
    lli_outfile *file = NULL;
    ll_status status;
    lli_text_init(&from, ctx);
    lli_text_init(&to, ctx);
    lli_text_add(&from, "%s/%s", from_folder, name);
    lli_text_add(&to, "%s/%s", to_folder, name);
    LLI_DO(from.status);
    LLI_DO(to.status);
    LLI_DO(lli_file_read(&bytes, ctx, from.data));
    LLI_DO(lli_outfile_open(&file, NULL, ctx, to.data, NULL, LLI_OUTFILE_REPLACE));
    LLI_DO(lli_outfile_write_at(ctx, file, 0, bytes.bytes, bytes.size));
    lli_outfile *complete = file;
    file = NULL;
    LLI_DO(lli_outfile_commit(ctx, complete));
done:
    lli_outfile_abandon(file);
    lli_file_release(&bytes);
    lli_text_release(&from);
    lli_text_release(&to);
    return status;
}

static ll_status take_trial(ll_context *ctx, lli_trial_store *s, const char *folder, const ll_trial *trial) {
    lli_text run, name, line;
    ll_status status;
    lli_text_init(&run, ctx);
    lli_text_init(&name, ctx);
    lli_text_init(&line, ctx);
    lli_text_add(&run, "%s/%s", s->folder, trial->run);
    lli_text_add(&name, "%s/S%" PRId64 ".json", trial->run, trial->samples);
    lli_trials_json(&line, trial);
    LLI_DO(run.status);
    LLI_DO(name.status);
    LLI_DO(line.status);
    if (!trial->diverged) {
        LLI_DO(lli_file_make_folder(ctx, run.data));
        LLI_DO(copy_file(ctx, s->folder, folder, name.data));
    }
    LLI_DO(lli_results_add(ctx, s->results, trial));
    LLI_DO(lli_journal_append(ctx, s->journal, line.data, line.length));
done:
    lli_text_release(&run);
    lli_text_release(&name);
    lli_text_release(&line);
    return status;
}

ll_status lli_trial_store_take(ll_context *ctx, lli_trial_store *s, const char *folder) {
    ll_results *results;
    LLI_TRY(ll_results_read(&results, ctx, folder));
    ll_status status = LL_OK;
    for (int64_t i = 0; i < results->count && status == LL_OK; i++)
        if (lli_results_find(s->results, results->trials[i].name) < 0)
            status = take_trial(ctx, s, folder, &results->trials[i]);
    ll_results_free(results);
    return status;
}

/* Whether this file holds the predictions of a trial. */
static ll_status is_of(bool *out, ll_context *ctx, const char *path, const char *trial) {
    ll_bundle *bundle;
    *out = false;
    if (!lli_file_exists(path))
        return LL_OK;
    LLI_TRY(ll_bundle_read(&bundle, ctx, path));
    const char *kept = lli_bundle_meta(bundle, "trial");
    *out = kept && strcmp(kept, trial) == 0;
    ll_bundle_free(bundle);
    return LL_OK;
}

/* The best of all is the best of the store it comes from, which kept its predictions. */
static ll_status take_best(ll_context *ctx, lli_trial_store *s, char *const *folders, int64_t count, int protocol, const char *method) {
    int64_t best = lli_selection_best(&s->selection[protocol], s->results->trials, s->results->count, method);
    lli_text name, path;
    ll_status status = LL_OK;
    lli_text_init(&name, ctx);
    lli_text_add(&name, "best/%s-%s.npz", protocols[protocol], method);
    for (int64_t i = 0; best >= 0 && i < count; i++) {
        bool found;
        LLI_DO(name.status);
        lli_text_init(&path, ctx);
        lli_text_add(&path, "%s/%s", folders[i], name.data);
        status = path.status;
        if (status == LL_OK)
            status = is_of(&found, ctx, path.data, s->results->trials[best].name);
        lli_text_release(&path);
        LLI_DO(status);
        if (found) {
            LLI_DO(copy_file(ctx, s->folder, folders[i], name.data));
            break;
        }
    }
done:
    lli_text_release(&name);
    return status;
}

ll_status lli_trial_store_take_best(ll_context *ctx, lli_trial_store *s, char *const *folders, int64_t count) {
    for (int p = 0; p < LLI_PROTOCOLS; p++)
        for (size_t m = 0; m < ll_method_count(); m++)
            LLI_TRY(take_best(ctx, s, folders, count, p, ll_method_get(m)->name));
    return LL_OK;
}
