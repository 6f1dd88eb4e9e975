/* SPDX-License-Identifier: MIT */
/* Runs the grid: single chains side by side, one per worker, then methods of many members one after the other, their members side by side.
 * Networks of long steps go one after the other, since such a step uses all workers. Either way a run gives the same bits. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/abi.h"
#include "base/memory.h"
#include "base/option.h"
#include "base/pool.h"
#include "base/team.h"
#include "data/dataset_select.h"
#include "data/split.h"
#include "methods/method.h"
#include "interop/trained.h"
#include "search/search.h"
#include "store/parts.h"

/* Rows of a batch times numbers of a network, from where a step is worth sharing: some milliseconds. */
enum { LONG_STEP = 1 << 26 };

/* ---- what is left to do ---- */

ll_status lli_search_trial_name(char **out, ll_context *ctx, const lli_grid_run *run, int64_t S) {
    lli_text name;
    lli_text_init(&name, ctx);
    lli_text_add(&name, "%s-S%" PRId64, run->name, S);
    return lli_text_take(&name, out);
}

/* For every trial of the grid, in order: 1 if the store holds it. */
static ll_status find_finished(ll_context *ctx, lli_search *s, int64_t *finished) {
    if (s->names)
        lli_text_add(s->names, "\n");
    for (int64_t i = 0; i < s->grid.count; i++) {
        const lli_grid_run *run = &s->grid.runs[i];
        for (int64_t t = 0; t < run->trials; t++) {
            char *name;
            LLI_TRY(lli_search_trial_name(&name, ctx, run, run->samples[t]));
            if (s->names)
                lli_text_add(s->names, "%s\n", name);
            *finished++ = lli_results_find(s->store.results, name) >= 0;
            lli_memory_free(name);
        }
    }
    return s->names ? s->names->status : LL_OK;
}

/* Leaves in each run the trials that the store, or that of the first rank, does not hold. */
static ll_status drop_finished(ll_context *ctx, lli_search *s) {
    int64_t *finished, all = 0, next = 0;
    ll_status status;
    for (int64_t i = 0; i < s->grid.count; i++)
        all += s->grid.runs[i].trials;
    LLI_TRY(lli_memory_new(ctx, &finished, all, sizeof *finished));
    LLI_DO(find_finished(ctx, s, finished));
    LLI_DO(lli_search_share_finished(ctx, finished, all));
    for (int64_t i = 0; i < s->grid.count; i++) {
        lli_grid_run *run = &s->grid.runs[i];
        int64_t left = 0;
        for (int64_t t = 0; t < run->trials; t++)
            if (!finished[next++])
                run->samples[left++] = run->samples[t];
        run->trials = left;
        if (left)
            run->options.samples = run->samples[left - 1];
    }
done:
    lli_memory_free(finished);
    return status;
}

static bool one_by_one(const lli_search *s, const lli_grid_run *run) {
    const lli_network *network = s->found.star.network;
    bool long_steps = network && lli_network_model(network)->floats >= LONG_STEP / LLI_MAX(1, run->options.batch_size);
    return long_steps || lli_method_find(run->options.method)->tasks(&run->options) > 1;
}

int64_t lli_search_rows(const lli_search *s) {
    const ll_dataset *sets[] = {s->data.val, s->data.test, s->data.out};
    int64_t rows = 0;
    for (size_t i = 0; i < LLI_COUNT(sets); i++)
        rows += sets[i] ? sets[i]->rows.N : 0;
    return rows;
}

static int64_t cost(const lli_search *s, const lli_grid_run *run) {
    return lli_grid_run_cost(run, s->data.train, &s->found.star, lli_search_rows(s));
}

/* Whether this part does the run: dealt out by their place in the grid, or among those that are left. */
static bool is_mine(const lli_search *s, int64_t run, int64_t *left) {
    int64_t place = s->ranked ? (*left)++ : run;
    return !s->part.count || place % s->part.count == s->part.index;
}

static ll_status plan(ll_context *ctx, lli_search *s) {
    int64_t total = 0, left = 0;
    LLI_TRY(lli_memory_new(ctx, &s->order, s->grid.count, sizeof *s->order));
    for (int many = 0; many < 2; many++) {
        for (int64_t i = 0; i < s->grid.count; i++) {
            const lli_grid_run *run = &s->grid.runs[i];
            if (!run->trials || one_by_one(s, run) != many || !is_mine(s, i, &left))
                continue;
            int64_t at = s->pending++;
            for (; !many && at > 0 && cost(s, &s->grid.runs[s->order[at - 1]]) < cost(s, run); at--)
                s->order[at] = s->order[at - 1];
            s->order[at] = i;
            total += cost(s, run);
        }
        if (!many)
            s->chains = s->pending;
    }
    lli_meter_init(&s->meter, "searching", total);
    return LL_OK;
}

/* ---- the search ---- */

static ll_status check(ll_context *ctx, const ll_search_data *d, const ll_search_options *o) {
    if (!d->train || !d->test)
        return lli_fail(ctx, LL_ERR_USAGE, "a search needs training rows and test rows");
    const ll_dataset *sets[] = {d->val, d->test, d->out};
    static const char *const names[] = {"validation", "test", "out-of-distribution"};
    for (size_t i = 0; i < LLI_COUNT(sets); i++) {
        if (!sets[i])
            continue;
        if (!sets[i]->labels && sets[i] != d->out)
            return lli_fail(ctx, LL_ERR_DATA, "the %s rows have no labels", names[i]);
        if (sets[i]->rows.D != d->train->rows.D)
            return lli_fail(ctx, LL_ERR_DATA, "the %s features have %" PRId64 " columns and the training features %" PRId64, names[i],
                            sets[i]->rows.D, d->train->rows.D);
    }
    if (o->by && strcmp(o->by, "auroc") == 0 && !d->out)
        return lli_fail(ctx, LL_ERR_USAGE, "`by auroc` needs out-of-distribution rows: `out-features FILE`");
    return d->val || d->test->rows.N >= 2 ? LL_OK : lli_fail(ctx, LL_ERR_DATA, "one test row cannot be split; give validation rows");
}

static ll_status check_labels(ll_context *ctx, const ll_search_data *d, int64_t K) {
    const ll_dataset *sets[] = {d->val, d->test};
    for (size_t i = 0; i < LLI_COUNT(sets); i++)
        for (int64_t r = 0; sets[i] && sets[i]->K > K && r < sets[i]->rows.N; r++)
            if (sets[i]->labels[r] >= K)
                return lli_fail(ctx, LL_ERR_DATA,
                                "the %s label at row %" PRId64 " is %d, but there are %" PRId64 " classes (0 to %" PRId64 ")",
                                i ? "test" : "validation", r, sets[i]->labels[r], K, K - 1);
    return LL_OK;
}

/* All that decides the numbers of every trial, and nothing that a grid may vary. */
static ll_status identify(ll_context *ctx, lli_provenance *p, const lli_search *s, const ll_fit_options *fit) {
    const ll_search_data *d = &s->data;
    const struct {
        const char *features, *labels;
        const ll_dataset *data;
    } sets[] = {{"features_train_sha256", "labels_train_sha256", d->train},
                {"features_val_sha256", "labels_val_sha256", d->val},
                {"features_test_sha256", "labels_test_sha256", d->test},
                {"features_out_sha256", NULL, d->out}};
    LLI_TRY(lli_provenance_add(ctx, p, "format", "lastlayer-search-1"));
    LLI_TRY(lli_provenance_add(ctx, p, "version", LL_VERSION));
    LLI_TRY(lli_provenance_add(ctx, p, "isa", ll_isa()));
    for (size_t i = 0; i < LLI_COUNT(sets); i++) {
        LLI_TRY(lli_provenance_add(ctx, p, sets[i].features, sets[i].data ? sets[i].data->features_hash : "none"));
        if (sets[i].labels)
            LLI_TRY(lli_provenance_add(ctx, p, sets[i].labels, sets[i].data ? sets[i].data->labels_hash : "none"));
    }
    if (d->train->weights)
        LLI_TRY(lli_provenance_add(ctx, p, "weights_train_sha256", d->train->weights_hash));
    LLI_TRY(lli_provenance_add(ctx, p, "init", s->found.star.init));
    LLI_TRY(lli_provenance_add(ctx, p, "head_sha256", s->found.star.hash));
    size_t count;
    const ll_option *rows = ll_fit_options_table(&count);
    for (size_t i = 0; i < count; i++)
        if (!lli_grid_lists(&rows[i]) && lli_fit_records(rows[i].offset, fit))
            LLI_TRY(lli_provenance_add_option(ctx, p, "", &rows[i], fit));
    return LL_OK;
}

static ll_status do_run(ll_context *ctx, void *arg, int64_t task, int worker) {
    (void)worker;
    lli_search *s = arg;
    return lli_search_run(ctx, s, &s->grid.runs[s->order[task]]);
}

static ll_status run_all(ll_context *ctx, lli_search *s) {
    LLI_TRY(lli_pool_run(ctx, do_run, s, s->chains));
    for (int64_t i = s->chains; i < s->pending; i++)
        LLI_TRY(do_run(ctx, s, i, 0));
    return LL_OK;
}

/* A network's own training rows: those it held out choose, the others are trained on. */
static ll_status take_network_rows(ll_context *ctx, lli_search *s) {
    if (!s->data.network)
        return LL_OK;
    LLI_TRY(lli_trained_split(&s->train, &s->val, ctx, s->data.train, s->data.network));
    if (s->train)
        s->data.train = s->train;
    if (s->val && !s->data.val)
        s->data.val = s->val;
    return LL_OK;
}

static ll_status take_weighted_rows(ll_context *ctx, lli_search *s) {
    ll_dataset *weighted;
    LLI_TRY(lli_dataset_select_weighted(&weighted, ctx, s->data.train));
    if (!weighted)
        return LL_OK;
    ll_dataset_free(s->train);
    s->data.train = s->train = weighted;
    return LL_OK;
}

ll_status ll_search(ll_context *ctx, const char *store, const ll_search_data *data, const ll_search_options *options) {
    LLI_NEED(ctx, store, data);
    return lli_search_named(ctx, store, data, options, NULL, &(lli_share){0});
}

ll_status ll_search_part(ll_context *ctx, const char *store, const ll_search_data *data, const ll_search_options *options, int64_t part,
                         int64_t parts) {
    LLI_NEED(ctx, store, data);
    lli_share share;
    char *folder;
    LLI_TRY(lli_parts_take(&share, ctx, part, parts));
    if (lli_team_several(ctx))
        return lli_fail(ctx, LL_ERR_USAGE,
                        "`part` is for processes that do not talk to each other; several ranks divide the work themselves");
    LLI_TRY(lli_parts_path(&folder, ctx, store, &share));
    ll_status status = lli_search_named(ctx, folder, data, options, NULL, &share);
    lli_memory_free(folder);
    return status;
}

ll_status lli_search_named(ll_context *ctx, const char *store, const ll_search_data *given, const ll_search_options *options,
                           lli_text *names, const lli_share *part) {
    ll_search_options chosen = ll_search_options_default();
    const ll_search_options *o = &chosen;
    ll_search_data data = {0};
    lli_selection selection;
    size_t count;
    const ll_option *table = ll_search_options_table(&count);
    LLI_TRY(LLI_OPTION_TAKE(ctx, ll_search_options, &chosen, options, table, count));
    ll_fit_options fit = ll_fit_options_default();
    const ll_option *fit_table = ll_fit_options_table(&count);
    LLI_TRY(LLI_OPTION_TAKE(ctx, ll_fit_options, &fit, o->fit, fit_table, count));
    LLI_TRY(lli_abi_take(ctx, "ll_search_data", &data, sizeof data, given, LLI_ABI_UP_TO(ll_search_data, network)));
    LLI_TRY(check(ctx, &data, o));
    LLI_TRY(lli_selection_parse(&selection, ctx, o->protocol, o->by));
    lli_provenance identity = {0};
    lli_search *s;
    LLI_TRY(lli_memory_new(ctx, &s, 1, sizeof *s));
    s->data = data;
    s->names = names;
    s->ranked = lli_team_several(ctx);
    s->part = s->ranked ? lli_team_share(ctx) : *part;
    ll_fit_options start = fit;
    start.method = ll_fit_options_default().method;
    ll_status status;
    LLI_DO(take_network_rows(ctx, s));
    LLI_DO(take_weighted_rows(ctx, s));
    LLI_DO(lli_grid_init(&s->grid, ctx, o, &fit, s->data.train, data.network || fit.layers > 1));
    LLI_DO(lli_grid_batch_size(&start.batch_size, ctx, o, &fit));
    start.validation = start.validation ? start.validation : s->data.val;
    LLI_DO(lli_found_theta_init(ctx, &s->found, s->data.train, data.head, data.network, &start));
    for (int64_t i = 0; i < s->grid.count; i++)
        s->grid.runs[i].options.prior_precision = lli_found_theta_prior(&s->found, s->grid.runs[i].options.method);
    LLI_DO(check_labels(ctx, &s->data, s->found.star.model->K));
    if (!s->data.val)
        LLI_DO(lli_split_half(&s->halves, ctx, data.test->rows.N, fit.seed, LLI_PURPOSE_SPLIT));
    LLI_DO(identify(ctx, &identity, s, &fit));
    if (part->count) {
        LLI_DO(lli_provenance_add(ctx, &identity, LLI_PARTS_PROTOCOL, o->protocol));
        LLI_DO(lli_provenance_add(ctx, &identity, LLI_PARTS_BY, o->by));
    }
    LLI_DO(lli_search_open(ctx, s, store, &identity, o->by));
    LLI_DO(drop_finished(ctx, s));
    LLI_DO(plan(ctx, s));
    LLI_DO(lli_search_gather(ctx, s, store, &identity, run_all(ctx, s)));
    if (lli_team_first(ctx))
        LLI_DO(lli_trial_store_conclude(ctx, &s->store, &selection));
done:
    lli_trial_store_close(&s->store);
    lli_provenance_release(&identity);
    lli_memory_free(s->folder);
    lli_grid_release(&s->grid);
    lli_found_theta_release(&s->found);
    ll_dataset_free(s->train);
    ll_dataset_free(s->val);
    lli_memory_free(s->halves);
    lli_memory_free(s->order);
    lli_memory_free(s);
    return status;
}
