/* SPDX-License-Identifier: MIT */
/* Members and checkpoints into the store: whole, or, where ranks divide the classes of a head, in pieces that they send to the first of
 * them in the order of the file, so that no rank ever holds more than its own classes and a piece. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/team.h"
#include "methods/fit.h"
#include "model/large_head.h"

enum { PIECE = 1 << 18 /* floats; a panel of W may have more */, CLASSES = 16 /* pieces of W have a multiple of them: store.h */ };

int64_t lli_fit_piece_floats(const lli_model *model) {
    return LLI_MAX((int64_t)PIECE, CLASSES * model->D);
}

/* Under way in a divided head. A rank whose part failed goes on to the end, where all learn how it went. */
typedef struct passage {
    const lli_fit *fit;
    const lli_model *model;
    lli_pieces pieces;
    float *piece;
    ll_status status;
} passage;

static bool writes(const passage *p) {
    return p->model->team->rank == 0;
}

/* The piece of rank r goes to the first one, which writes it. */
static ll_status pass(ll_context *ctx, passage *p, int64_t r, int64_t count) {
    lli_team *team = p->model->team;
    lli_store *store = p->fit->store;
    LLI_TRY(team->table->send(team, ctx, p->piece, count * (int64_t)sizeof *p->piece, r, 0));
    if (writes(p) && p->status == LL_OK)
        p->status = store->ops->add(store, ctx, &p->pieces, p->piece, count);
    return LL_OK;
}

/* All ranks learn whether the first could write. */
static ll_status finish(ll_context *ctx, passage *p) {
    lli_team *team = p->model->team;
    if (writes(p) && p->status == LL_OK)
        p->status = p->fit->store->ops->end(p->fit->store, ctx, &p->pieces);
    int64_t said = p->status;
    ll_status heard = team->table->broadcast(team, ctx, &said, sizeof said, 0);
    if (p->status != LL_OK || heard != LL_OK)
        return p->status != LL_OK ? p->status : heard;
    return said ? lli_fail(ctx, LL_ERR_CANCELLED, "interrupted") : LL_OK;
}

/* W, then b, class by class. */
static ll_status save_divided(ll_context *ctx, lli_fit *fit, int64_t member, const float *theta) {
    const lli_model *m = fit->star->model;
    passage p = {.fit = fit, .model = m, .pieces = {.index = member}, .piece = fit->scratch[0]};
    if (writes(&p))
        (void)fit->store->ops->begin(fit->store, &p.pieces);
    for (int bias = 0; bias < 2; bias++)
        for (int64_t r = 0; r < m->team->size; r++) {
            int64_t before, count = lli_large_head_classes(m, r, &before),
                            each = bias ? PIECE : LLI_MAX((int64_t)1, PIECE / CLASSES / m->D) * CLASSES;
            for (int64_t k = 0, n; k < count; k += n) {
                n = LLI_MIN(each, count - k);
                if (r == m->team->rank)
                    lli_large_head_rows(m, p.piece, theta, k, n, bias);
                LLI_TRY(pass(ctx, &p, r, bias ? n : n * m->D));
            }
        }
    return finish(ctx, &p);
}

static ll_status checkpoint_divided(ll_context *ctx, lli_fit *fit, int64_t task, const lli_checkpoint *state, const float *floats,
                                    int64_t copies) {
    const lli_model *m = fit->star->model;
    lli_team *team = m->team;
    passage p = {.fit = fit, .model = m, .pieces = {.index = task, .checkpoint = true, .state = *state}, .piece = fit->scratch[0]};
    int64_t due = writes(&p) && fit->store->ops->begin(fit->store, &p.pieces);
    LLI_TRY(team->table->broadcast(team, ctx, &due, sizeof due, 0));
    for (int64_t c = 0; due && c < copies; c++)
        for (int64_t r = 0; r < team->size; r++) {
            int64_t have = lli_large_head_floats(m, r);
            for (int64_t at = 0, n; at < have; at += n) {
                n = LLI_MIN((int64_t)PIECE, have - at);
                if (r == team->rank)
                    memcpy(p.piece, floats + c * m->floats + at, (size_t)n * sizeof *floats);
                LLI_TRY(pass(ctx, &p, r, n));
            }
        }
    return due ? finish(ctx, &p) : LL_OK;
}

/* Is what is here of theta finite, on all ranks? */
static ll_status check_finite(ll_context *ctx, const lli_fit *fit, int64_t member, const float *theta) {
    const lli_model *model = fit->star->model;
    int64_t wrong = 0;
    for (int64_t i = 0; i < model->floats; i++)
        wrong += !isfinite(theta[i]);
    if (model->team)
        LLI_TRY(model->team->table->sum(model->team, ctx, &wrong, 1));
    return wrong ? lli_fail(ctx, LL_ERR_DIVERGED,
                            "training diverged: member %" PRId64
                            " (lr %g) holds a parameter that is not finite; try a smaller `lr`, such as %.2g",
                            member, fit->options.lr, fit->options.lr / 10)
                 : LL_OK;
}

ll_status lli_fit_save(ll_context *ctx, lli_fit *fit, int64_t member, const float *theta, int worker) {
    const lli_model *model = fit->star->model;
    LLI_TRY(check_finite(ctx, fit, member, theta));
    if (model->team)
        return save_divided(ctx, fit, member, theta);
    float *tensors[LLI_TENSORS_MAX];
    lli_model_place_tensors(tensors, model, fit->scratch[worker]);
    model->ops->unpack(model, tensors, theta);
    return fit->store->ops->save(fit->store, ctx, member, (const float *const *)tensors);
}

ll_status lli_fit_checkpoint(ll_context *ctx, lli_fit *fit, int64_t task, const lli_checkpoint *state, const float *floats,
                             int64_t copies) {
    const lli_model *model = fit->star->model;
    if (!fit->store->ops->checkpoint)
        return LL_OK;
    if (model->team)
        return checkpoint_divided(ctx, fit, task, state, floats, copies);
    return fit->store->ops->checkpoint(fit->store, ctx, task, state, floats, copies * model->floats);
}
