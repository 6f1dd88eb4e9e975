/* SPDX-License-Identifier: MIT */
/* From images and labels to a network, in memory or in a file, epoch by epoch through a work file. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/abi.h"
#include "base/memory.h"
#include "base/option.h"
#include "data/augment.h"
#include "data/holdout.h"
#include "data/dataset_select.h"
#include "store/slots.h"
#include "interop/trained.h"
#include "train/training.h"

typedef struct run {
    lli_recipe recipe;
    lli_augment augment;
    ll_dataset *training_rows, *held_out; /* the two parts of the rows; NULL: all are trained on */
    ll_dataset *weighted;                 /* of the rows to train on those of positive weight; NULL: all */
    const ll_dataset *trained;
    ll_network *network;
    lli_training *training;
    lli_meter meter;
    double seconds; /* of the epochs of this process */
    int64_t first;  /* its first epoch */
} run;

static void run_release(run *r) {
    lli_training_free(r->training);
    ll_network_free(r->network);
    ll_dataset_free(r->training_rows);
    ll_dataset_free(r->held_out);
    ll_dataset_free(r->weighted);
}

/* A tenth of the rows, by the seed. */
static ll_status hold_out(ll_context *ctx, run *r, const ll_dataset *data, uint64_t seed) {
    int64_t *training = NULL, training_count = 0;
    ll_network *n = r->network;
    ll_status status;
    LLI_DO(lli_holdout_new(&n->holdout, &n->holdout_count, &training, &training_count, ctx, data->rows.N, seed));
    LLI_DO(lli_dataset_select(&r->held_out, ctx, data, n->holdout, n->holdout_count, NULL, data->K));
    LLI_DO(lli_dataset_select(&r->training_rows, ctx, data, training, training_count, NULL, data->K));
    r->trained = r->training_rows;
done:
    lli_memory_free(training);
    return status;
}

static ll_status make_network(ll_context *ctx, run *r, const ll_dataset *data) {
    const lli_rows *rows = &data->rows;
    const ll_train_options *o = &r->recipe.options;
    bool image = rows->height > 0;
    LLI_TRY(lli_trained_make(&r->network, ctx, o->net, image ? rows->height : 1, image ? rows->width : 1, image ? rows->channels : rows->D,
                             data->K));
    ll_network *n = r->network;
    if (rows->bytes) {
        n->shift = rows->shift;
        n->scale = rows->scale;
    }
    for (int64_t k = 0; k < data->K; k++)
        n->classes[k] = o->classes ? o->classes[k] : (int32_t)k;
    return LL_OK;
}

/* ---- provenance ---- */

static ll_status record_options(ll_context *ctx, lli_provenance *p, const ll_train_options *o) {
    size_t count;
    const ll_option *table = ll_train_options_table(&count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(table[i].name, "net") != 0 && lli_recipe_uses(o, table[i].name)) /* the network has an entry of its own */
            LLI_TRY(lli_provenance_add_option(ctx, p, "", &table[i], o));
    }
    return LL_OK;
}

/* Everything that is known before the first step. */
static ll_status record_all(ll_context *ctx, run *r, const ll_dataset *data) {
    ll_network *n = r->network;
    lli_provenance *p = &n->provenance;
    LLI_TRY(lli_trained_record(ctx, n));
    LLI_TRY(record_options(ctx, p, &r->recipe.options));
    LLI_TRY(lli_provenance_add(ctx, p, "isa", ll_isa()));
    LLI_TRY(lli_provenance_add(ctx, p, "features_sha256", data->features_hash));
    LLI_TRY(lli_provenance_add(ctx, p, "labels_sha256", data->labels_hash));
    return data->weights ? lli_provenance_add(ctx, p, "weights_sha256", data->weights_hash) : LL_OK;
}

/* ---- the run ---- */

static ll_status prepare(ll_context *ctx, run *r, const ll_dataset *data, const ll_train_options *given) {
    LLI_TRY(lli_dataset_check_trainable(ctx, data, false));
    LLI_TRY(lli_recipe_init(ctx, &r->recipe, given, data->rows.N)); /* refuses bad options before any work */
    const ll_train_options *o = &r->recipe.options;
    LLI_TRY(lli_augment_parse(&r->augment, ctx, o->augment));
    bool augment = strcmp(o->augment, "none") != 0;
    if (augment && !data->rows.height)
        return lli_fail(ctx, LL_ERR_USAGE, "`augment %.100s` needs images, and the rows are plain features; use `augment none`",
                        o->augment);
    LLI_TRY(make_network(ctx, r, data));
    r->trained = data;
    if (!o->no_holdout)
        LLI_TRY(hold_out(ctx, r, data, o->seed));
    LLI_TRY(lli_dataset_select_weighted(&r->weighted, ctx, r->trained));
    if (r->weighted) {
        r->trained = r->weighted;
        LLI_TRY(lli_dataset_check_trainable(ctx, r->trained, true));
    }
    const ll_train_options options = *o;
    LLI_TRY(lli_recipe_init(ctx, &r->recipe, &options, r->trained->rows.N));
    LLI_TRY(record_all(ctx, r, data));
    LLI_TRY(lli_training_new(&r->training, ctx, &r->recipe, r->network->model, r->trained, r->held_out));
    lli_chain *chain = r->training->chain;
    if (augment) {
        chain->rows.augment = lli_augment_image;
        chain->rows.augment_options = &r->augment;
    }
    lli_meter_init(&r->meter, "train", r->recipe.steps * options.epochs);
    chain->meter = &r->meter;
    lli_network_start(r->network->net, r->network->theta, options.seed, 0);
    lli_training_start(r->training, r->network->theta);
    return LL_OK;
}

/* "36 s", "12 min", "3.4 h" */
static void duration(ll_context *ctx, lli_text *out, double seconds) {
    lli_text_init(out, ctx);
    if (seconds < 100)
        lli_text_add(out, "%.0f s", seconds);
    else if (seconds < 6000)
        lli_text_add(out, "%.0f min", seconds / 60);
    else
        lli_text_add(out, "%.1f h", seconds / 3600);
}

static void tell(ll_context *ctx, run *r) {
    int64_t done = r->training->state.done, all = r->recipe.options.epochs;
    const ll_epoch *e = &r->training->epochs[done - 1];
    r->seconds += e->seconds;
    lli_text left;
    duration(ctx, &left, r->seconds / (double)(done - r->first) * (double)(all - done));
    const char *wait = left.data ? left.data : "?";
    if (isnan(e->held_accuracy))
        lli_log(ctx, LL_LOG_NOTE, "epoch %" PRId64 " of %" PRId64 ": loss %.4f, %.1f s, %s left", done, all, e->nll, e->seconds, wait);
    else
        lli_log(ctx, LL_LOG_NOTE, "epoch %" PRId64 " of %" PRId64 ": loss %.4f, held-out NLL %.4f, held-out accuracy %.4f, %.1f s, %s left",
                done, all, e->nll, e->held_nll, e->held_accuracy, e->seconds, wait);
    lli_text_release(&left);
}

enum { PIECES = 5 };

static int pieces_of(lli_slots_piece out[PIECES], const run *r) {
    lli_training *t = r->training;
    size_t floats = sizeof(float);
    out[0] = (lli_slots_piece){&t->state, sizeof t->state};
    out[1] = (lli_slots_piece){&t->chain->state, sizeof t->chain->state};
    out[2] = (lli_slots_piece){t->epochs, (size_t)r->recipe.options.epochs * sizeof *t->epochs};
    out[3] = (lli_slots_piece){t->chain->theta, (size_t)lli_chain_floats(t->chain) * floats};
    out[4] = (lli_slots_piece){t->best_theta, (size_t)t->model->floats * floats};
    return t->best_theta ? 5 : 4;
}

static ll_status run_epochs(ll_context *ctx, run *r, lli_slots *slots) {
    lli_slots_piece pieces[PIECES];
    int count = pieces_of(pieces, r);
    r->first = r->training->state.done;
    lli_meter_add(ctx, &r->meter, r->first * r->recipe.steps);
    while (r->training->state.done < r->recipe.options.epochs) {
        LLI_TRY(lli_training_epoch(ctx, r->training));
        if (slots)
            LLI_TRY(lli_slots_save(ctx, slots, pieces, count));
        tell(ctx, r);
    }
    return LL_OK;
}

/* Parameters, epochs and which one was kept go into the network, which *out receives. */
static ll_status finish(ll_network **out, ll_context *ctx, run *r) {
    ll_network *n = r->network;
    const lli_training *t = r->training;
    LLI_TRY(lli_memory_new(ctx, &n->epochs, t->state.done, sizeof *n->epochs));
    memcpy(n->epochs, t->epochs, (size_t)t->state.done * sizeof *n->epochs);
    n->epoch_count = t->state.done;
    n->kept_epoch = t->state.best + 1;
    memcpy(n->theta, lli_training_theta(t), (size_t)n->model->floats * sizeof *n->theta);
    LLI_TRY(lli_provenance_add_number(ctx, &n->provenance, "kept_epoch", (double)n->kept_epoch));
    *out = n;
    r->network = NULL;
    return LL_OK;
}

ll_status ll_train(ll_network **out, ll_context *ctx, const ll_dataset *data, const ll_train_options *options) {
    LLI_NEED(ctx, out, data);
    *out = NULL;
    run r = {0};
    ll_status status;
    LLI_DO(prepare(ctx, &r, data, options));
    LLI_DO(run_epochs(ctx, &r, NULL));
    LLI_DO(finish(out, ctx, &r));
done:
    run_release(&r);
    return status;
}

/* What was begun, in one text. */
static ll_status identify(ll_context *ctx, char **out, const lli_provenance *p) {
    lli_text text;
    lli_text_init(&text, ctx);
    for (int64_t i = 0; i < p->count; i++)
        lli_text_add(&text, "%s=%s\n", p->pairs[i].key, p->pairs[i].value);
    return lli_text_take(&text, out);
}

static ll_status restore(ll_context *ctx, run *r, lli_slots *slots, const char *path) {
    lli_slots_piece pieces[PIECES];
    int count = pieces_of(pieces, r);
    char *identity;
    bool found;
    LLI_TRY(identify(ctx, &identity, &r->network->provenance));
    ll_status status = lli_slots_begin(ctx, slots, identity, pieces, count, &found);
    lli_memory_free(identity);
    LLI_TRY(status);
    if (found)
        lli_log(ctx, LL_LOG_NOTE, "%s.partial has %" PRId64 " of %" PRId64 " epochs", path, r->training->state.done,
                r->recipe.options.epochs);
    else
        lli_training_start(r->training, r->network->theta); /* a slot that was not complete may have been read */
    return LL_OK;
}

ll_status ll_train_write(ll_network **out, ll_context *ctx, const char *path, const ll_dataset *data, const ll_train_options *options,
                         bool resume) {
    LLI_NEED(ctx, path, data);
    run r = {0};
    ll_network *network = NULL;
    lli_slots *slots = NULL;
    ll_status status;
    if (out)
        *out = NULL;
    LLI_DO(prepare(ctx, &r, data, options));
    LLI_DO(lli_slots_open(&slots, ctx, path, resume));
    LLI_DO(restore(ctx, &r, slots, path));
    LLI_DO(run_epochs(ctx, &r, slots));
    LLI_DO(finish(&network, ctx, &r));
    LLI_DO(ll_network_write(ctx, path, network));
    if (out) {
        *out = network;
        network = NULL;
    }
done:
    lli_slots_close(slots, status != LL_OK && status != LL_ERR_DIVERGED);
    ll_network_free(network);
    run_release(&r);
    return status;
}

ll_status ll_network_evaluate(ll_network_score *out, ll_context *ctx, const ll_network *network, const ll_dataset *data) {
    LLI_NEED(ctx, out, network, data);
    const ll_network *n = network;
    *out = (ll_network_score){0};
    if (!data->labels)
        return lli_fail(ctx, LL_ERR_DATA, "the rows to evaluate have no labels");
    LLI_TRY(lli_trained_check_rows(ctx, n, &data->rows, "the rows to evaluate"));
    LLI_TRY(lli_dataset_check_labels(ctx, data, n->model->K, "network"));
    ll_dataset seen = *data; /* borrowed: only the rows differ */
    seen.rows = lli_trained_rows(n, &data->rows);
    lli_score *score;
    LLI_TRY(lli_score_new(&score, ctx, n->model));
    out->n = data->rows.N;
    ll_status status = lli_score_run(&out->nll, &out->accuracy, ctx, score, n->theta, &seen);
    lli_score_free(score);
    return status;
}
