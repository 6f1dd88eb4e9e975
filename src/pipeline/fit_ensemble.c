/* SPDX-License-Identifier: MIT */
/* From a data set and theta* to an ensemble, in memory or in a file. */
#include "base/abi.h"
#include "base/bundle.h"
#include "base/memory.h"
#include "base/team.h"
#include "data/dataset_select.h"
#include "pipeline/fit_warnings.h"
#include "pipeline/found_theta.h"
#include "interop/trained.h"
#include "store/partial.h"
#include "store/parts.h"

static bool is_network(const ll_network *network, const ll_fit_options *options) {
    return network || (options && options->layers > 1);
}

static ll_status resolve(ll_context *ctx, ll_fit_options *out, const ll_fit_options *given, const ll_dataset *data, bool network) {
    LLI_TRY(lli_fit_resolve(ctx, out, given, data, network));
    if (out->prior_precision == LL_PRIOR_VALIDATION && lli_method_find(out->method)->members != LLI_MEMBERS_DRAWS)
        return lli_fail(
            ctx, LL_ERR_USAGE,
            "`prior-precision validation` is about the Gaussian of laplace, and the method is %s; use `prior-precision evidence`, "
            "or a number",
            out->method);
    return LL_OK;
}

static ll_status run(ll_context *ctx, const lli_found_theta *found, const ll_fit_options *options, const ll_dataset *data, lli_store *store,
                     const lli_share *part) {
    lli_fit fit;
    lli_meter meter;
    LLI_TRY(lli_fit_init(ctx, &fit, lli_method_find(options->method), options, &found->star, data, store, &meter));
    fit.part = *part;
    int64_t tasks = fit.method->tasks(options), steps = fit.method->steps(&fit);
    lli_meter_init(&meter, options->method,
                   LLI_MAX(1, lli_share_end(part, tasks) - lli_share_begin(part, tasks)) * LLI_MAX(1, steps / tasks));
    ll_status status = lli_fit_run(ctx, &fit);
    lli_fit_release(&fit);
    return status;
}

static ll_status fit_memory(ll_ensemble **out, ll_context *ctx, const ll_dataset *all, const ll_head *head, const ll_network *network,
                            const ll_fit_options *given) {
    *out = NULL;
    ll_fit_options options;
    lli_found_theta found = {0};
    lli_ensemble_plan plan = {0};
    ll_ensemble *ensemble = NULL;
    ll_dataset *weighted;
    ll_status status;
    LLI_TRY(lli_dataset_select_weighted(&weighted, ctx, all));
    const ll_dataset *data = weighted ? weighted : all;
    LLI_DO(resolve(ctx, &options, given, data, is_network(network, given)));
    LLI_DO(lli_found_theta_init(ctx, &found, data, head, network, &options));
    LLI_DO(lli_fit_plan(ctx, &plan, &options, data, &found.star));
    LLI_DO(lli_ensemble_new(&ensemble, ctx, &plan));
    lli_store_memory store;
    lli_store_memory_init(&store, ensemble);
    LLI_DO(run(ctx, &found, &options, data, &store.store, &(lli_share){0}));
    lli_fit_warnings(ctx, ensemble, &found, &options, data);
    *out = ensemble;
    ensemble = NULL;
done:
    ll_ensemble_free(ensemble);
    lli_found_theta_release(&found);
    ll_dataset_free(weighted);
    return status;
}

/* What was written, for the caller (out may be NULL) and for a look at its members. */
static ll_status look_at_file(ll_ensemble **out, ll_context *ctx, const char *path, lli_found_theta *found, const ll_fit_options *options,
                              const ll_dataset *data) {
    ll_context aside = *ctx; /* the file is whole: what fails from here on is no failure of the fit, unless the caller wants it back */
    ll_ensemble *ensemble;
    ll_status status = lli_file_is_device(path) ? LL_OK : ll_ensemble_read(&ensemble, out ? ctx : &aside, path);
    if (lli_file_is_device(path) || status != LL_OK)
        return out ? status : LL_OK;
    if (!lli_team_several(ctx) || lli_found_theta_pack(&aside, found, NULL) == LL_OK) /* ranks may have divided it */
        lli_fit_warnings(ctx, ensemble, found, options, data);
    if (out)
        *out = ensemble;
    else
        ll_ensemble_free(ensemble);
    return LL_OK;
}

/* The arguments of a fit into a file. */
typedef struct fit_job {
    const char *path;
    const ll_dataset *all;
    const ll_head *head;
    const ll_network *network;
    const ll_fit_options *given;
    lli_share part; /* of its tasks: then the file is PATH.part-I-of-N */
    bool resume;
} fit_job;

static void tell_part(ll_context *ctx, const lli_share *part, int64_t tasks) {
    if (part->count && lli_share_begin(part, tasks) == lli_share_end(part, tasks))
        lli_log(ctx, LL_LOG_NOTE, "part %lld of %lld has nothing to do: the run has %lld independent piece%s of work",
                (long long)part->index + 1, (long long)part->count, (long long)tasks, tasks == 1 ? "" : "s");
}

/* The work file. Of several ranks the first makes and lays it out, and the others join it: each writes its own members into it. */
static ll_status begin_file(ll_context *ctx, const fit_job *job, lli_partial **partial, const lli_ensemble_plan *plan, int64_t floats,
                            int64_t tasks) {
    ll_status status = lli_team_first(ctx) ? lli_partial_begin(ctx, *partial, plan, floats, tasks) : LL_OK;
    LLI_TRY(lli_team_agree(ctx, status));
    if (!lli_team_first(ctx)) {
        status = lli_partial_open(partial, ctx, job->path, LLI_OUTFILE_JOIN);
        if (status == LL_OK)
            status = lli_partial_begin(ctx, *partial, plan, floats, tasks);
    }
    return lli_team_agree(ctx, status);
}

/* What the other ranks wrote is in the file before the first one takes it. */
static ll_status leave_file(ll_context *ctx, lli_partial **partial, ll_status status) {
    if (!lli_team_first(ctx)) {
        lli_partial_abandon(ctx, *partial, LL_OK);
        *partial = NULL;
    }
    return lli_team_agree(ctx, status);
}

/* The work of this rank: whole tasks, or, where a head is so wide that its classes can be divided and there are more ranks than tasks,
 * tasks that a group of ranks does together. */
static ll_status run_ranks(ll_context *ctx, lli_found_theta *found, const ll_fit_options *options, const ll_dataset *data,
                           lli_store *store) {
    const lli_method *method = lli_method_find(options->method);
    int64_t groups = lli_fit_groups(ctx, method, options, &found->star);
    lli_share part = lli_team_share(ctx);
    lli_team *group = NULL;
    if (groups) {
        LLI_TRY(lli_team_divide(&group, ctx, groups));
        part = (lli_share){lli_team_group(ctx, groups), groups};
    }
    ll_status status = group || !found->star.theta ? lli_found_theta_pack(ctx, found, group) : LL_OK;
    if (status == LL_OK)
        status = run(ctx, found, options, data, store, &part);
    if (status == LL_OK) /* else some may have left it already */
        lli_team_dissolve(group);
    return status;
}

/* Does what is left of the work, and puts the file in its place. */
static ll_status finish_file(ll_ensemble **out, ll_context *ctx, const fit_job *job, lli_partial **partial, const lli_ensemble_plan *plan,
                             lli_found_theta *found, const ll_fit_options *options, const ll_dataset *data) {
    const lli_method *method = lli_method_find(options->method);
    int64_t tasks = method->tasks(options);
    LLI_TRY(begin_file(ctx, job, partial, plan, lli_fit_floats(method, &found->star), tasks));
    tell_part(ctx, &job->part, tasks);
    ll_status status = LL_OK;
    if (!lli_partial_complete(*partial) && job->part.count)
        status = run(ctx, found, options, data, lli_partial_store(*partial), &job->part);
    else if (!lli_partial_complete(*partial))
        status = run_ranks(ctx, found, options, data, lli_partial_store(*partial));
    lli_team_part(ctx, status);
    LLI_TRY(leave_file(ctx, partial, status));
    lli_partial *complete = *partial;
    *partial = NULL;
    if (job->part.count)
        return lli_partial_commit_part(ctx, complete, plan, &job->part);
    status = complete ? lli_partial_commit(ctx, complete) : LL_OK;
    LLI_TRY(lli_team_agree(ctx, status));
    return lli_team_first(ctx) ? look_at_file(out, ctx, job->path, found, options, data) : LL_OK;
}

/* Before the work, which takes long: have all ranks read the same rows? */
static ll_status check_ranks(ll_context *ctx, const fit_job *job, const ll_dataset *data) {
    const ll_meta read[] = {{"features_sha256", data->features_hash},
                            {"labels_sha256", data->labels ? data->labels_hash : "none"},
                            {"weights_sha256", data->weights ? data->weights_hash : "none"}};
    if (lli_team_several(ctx) && job->part.count)
        return lli_fail(ctx, LL_ERR_USAGE,
                        "`part` is for processes that do not talk to each other; several ranks divide the work themselves");
    return lli_team_same(ctx, "files", read, LLI_COUNT(read));
}

static ll_status fit_file(ll_ensemble **out, ll_context *ctx, const fit_job *job) {
    ll_fit_options options;
    const char *path = job->path;
    if ((out || job->part.count || lli_team_several(ctx)) && lli_file_is_device(path))
        return lli_fail(ctx, LL_ERR_USAGE, "%s is no file: the ensemble cannot be read back from it; write a file, or fit in memory", path);
    lli_found_theta found = {0};
    lli_ensemble_plan plan = {0};
    lli_partial *partial = NULL;
    char *part_path = NULL;
    ll_dataset *weighted;
    ll_status status;
    LLI_TRY(lli_dataset_select_weighted(&weighted, ctx, job->all));
    const ll_dataset *data = weighted ? weighted : job->all;
    LLI_DO(resolve(ctx, &options, job->given, data, is_network(job->network, job->given)));
    LLI_DO(check_ranks(ctx, job, data));
    LLI_DO(lli_team_unite(ctx));
    if (job->part.count)
        LLI_DO(lli_parts_path(&part_path, ctx, path, &job->part));
    /* Before the work: can the result be written at all? */
    if (lli_team_first(ctx))
        LLI_DO(lli_partial_open(&partial, ctx, part_path ? part_path : path, job->resume ? LLI_OUTFILE_RESUME : LLI_OUTFILE_NEW));
    LLI_DO(lli_found_theta_init(ctx, &found, data, job->head, job->network, &options));
    LLI_DO(lli_fit_plan(ctx, &plan, &options, data, &found.star));
    LLI_DO(lli_team_same(ctx, "options or starting points", plan.provenance.pairs, plan.provenance.count));
    LLI_DO(finish_file(out, ctx, job, &partial, &plan, &found, &options, data));
done:
    lli_team_part(ctx, status);
    if (partial)
        lli_partial_abandon(ctx, partial, status);
    lli_ensemble_plan_release(&plan);
    lli_found_theta_release(&found);
    ll_dataset_free(weighted);
    lli_memory_free(part_path);
    return status;
}

/* Of a network: without the rows that it held out. */
static ll_status fit_network_file(ll_ensemble **out, ll_context *ctx, const fit_job *job) {
    ll_dataset *training;
    fit_job own = *job;
    ll_status status = lli_trained_split(&training, NULL, ctx, job->all, job->network);
    own.all = training ? training : job->all;
    if (status == LL_OK)
        status = fit_file(out, ctx, &own);
    ll_dataset_free(training);
    return status;
}

ll_status ll_fit(ll_ensemble **out, ll_context *ctx, const ll_dataset *data, const ll_head *head, const ll_fit_options *options) {
    LLI_NEED(ctx, out, data);
    return fit_memory(out, ctx, data, head, NULL, options);
}

ll_status ll_fit_write(ll_ensemble **out, ll_context *ctx, const char *path, const ll_dataset *data, const ll_head *head,
                       const ll_fit_options *options, bool resume) {
    if (out)
        *out = NULL;
    LLI_NEED(ctx, path, data);
    return fit_file(out, ctx, &(fit_job){.path = path, .all = data, .head = head, .given = options, .resume = resume});
}

ll_status ll_fit_network(ll_ensemble **out, ll_context *ctx, const ll_dataset *data, const ll_network *network,
                         const ll_fit_options *options) {
    LLI_NEED(ctx, out, data, network);
    *out = NULL;
    ll_dataset *training;
    ll_status status = lli_trained_split(&training, NULL, ctx, data, network);
    if (status == LL_OK)
        status = fit_memory(out, ctx, training ? training : data, NULL, network, options);
    ll_dataset_free(training);
    return status;
}

ll_status ll_fit_network_write(ll_ensemble **out, ll_context *ctx, const char *path, const ll_dataset *data, const ll_network *network,
                               const ll_fit_options *options, bool resume) {
    if (out)
        *out = NULL;
    LLI_NEED(ctx, path, data, network);
    return fit_network_file(out, ctx, &(fit_job){.path = path, .all = data, .network = network, .given = options, .resume = resume});
}

ll_status ll_fit_part_write(ll_context *ctx, const char *path, const ll_dataset *data, const ll_head *head, const ll_network *network,
                            const ll_fit_options *options, int64_t part, int64_t parts, bool resume) {
    LLI_NEED(ctx, path, data);
    fit_job job = {.path = path, .all = data, .head = head, .network = network, .given = options, .resume = resume};
    if (head && network)
        return lli_fail(ctx, LL_ERR_USAGE, "theta* is a head or a network; give one of them");
    LLI_TRY(lli_parts_take(&job.part, ctx, part, parts));
    return network ? fit_network_file(NULL, ctx, &job) : fit_file(NULL, ctx, &job);
}
