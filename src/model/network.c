/* SPDX-License-Identifier: MIT */
/* A network as a model: where its layers' parameters and activations lie, one pass forward, one backward, layer by layer. The arithmetic is
 * that of the layers and of the kernels. */
#include "model/network.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/pool.h"
#include "base/text.h"
#include "kernels/require.h"
#include "model/input.h"
#include "model/sequence.h"

enum { INPUT_WORK = 1 << 15 }; /* elements of the input in a task, at least */

struct lli_network {
    lli_model model;
    lli_sequence sequence;
    char *text;
    char *name[LLI_TENSORS_MAX];
};

static const lli_network *network_of(const lli_model *model) {
    return (const lli_network *)(const void *)model;
}

/* The memory of a pass. In training every layer keeps its output; in inference the outputs take turns in two buffers. */
typedef struct memory {
    float *x;                   /* [n,D] */
    float *y[LLI_SEQUENCE_MAX]; /* of a layer that works in place: that of the one before */
    float *keep[LLI_SEQUENCE_MAX];
    float *turn[2]; /* training: gradients of activations */
    float *scratch; /* [workers,scratch_floats] */
    int64_t scratch_floats;
    float *shared;
} memory;

/* Everything starts at a line of the cache. */
static float *take(float *work, int64_t *at, int64_t floats) {
    float *piece = work ? work + *at : NULL;
    *at += (floats + 15) / 16 * 16;
    return piece;
}

/* Scratch that the first `layers` layers need in their turns: of a worker, and of all together. */
static void take_scratch(memory *m, const lli_network *net, float *work, int64_t *at, int layers, int64_t n, int workers) {
    int64_t own = lli_input_floats(net->model.D), shared = 0;
    for (int l = 0; l < layers; l++) {
        const lli_layer *layer = &net->sequence.layer[l];
        if (layer->kind->scratch_floats)
            own = LLI_MAX(own, layer->kind->scratch_floats(layer, n));
        if (layer->kind->shared_floats)
            shared = LLI_MAX(shared, layer->kind->shared_floats(layer, n));
    }
    m->scratch_floats = (own + 15) / 16 * 16;
    m->scratch = take(work, at, workers * m->scratch_floats);
    m->shared = take(work, at, shared);
}

/* Floats of the widest activation. */
static int64_t widest(const lli_network *net, int layers) {
    int64_t most = net->model.D;
    for (int l = 0; l < layers; l++)
        most = LLI_MAX(most, net->sequence.layer[l].ld);
    return most;
}

/* Returns the floats of it all; work = NULL only counts. */
static int64_t training_memory(memory *m, const lli_network *net, float *work, int64_t n, int workers) {
    int64_t at = 0;
    int layers = net->sequence.count;
    m->x = take(work, &at, n * net->model.D);
    for (int l = 0; l < layers; l++) {
        const lli_layer *layer = &net->sequence.layer[l];
        m->y[l] = !layer->kind->in_place ? take(work, &at, n * layer->ld) : l > 0 ? m->y[l - 1] : m->x;
        m->keep[l] = layer->kind->keep_floats ? take(work, &at, layer->kind->keep_floats(layer, n)) : NULL;
    }
    for (int t = 0; t < 2; t++)
        m->turn[t] = take(work, &at, n * widest(net, layers));
    take_scratch(m, net, work, &at, layers, n, workers);
    return at;
}

static int64_t inference_memory(memory *m, const lli_network *net, float *work, int64_t n, int workers) {
    int64_t at = 0;
    int layers = net->sequence.count - 1;
    for (int t = 0; t < 2; t++)
        m->turn[t] = take(work, &at, n * widest(net, layers));
    take_scratch(m, net, work, &at, layers, n, workers);
    return at;
}

static int64_t descend_floats(const lli_model *model, int64_t B, int workers) {
    return training_memory(&(memory){0}, network_of(model), NULL, B, workers);
}

static int64_t represent_floats(const lli_model *model, int64_t n, int workers) {
    return inference_memory(&(memory){0}, network_of(model), NULL, n, workers);
}

static void pack(const lli_model *model, float *theta, const float *const *tensors) {
    const lli_sequence *s = &network_of(model)->sequence;
    memset(theta, 0, (size_t)model->floats * sizeof *theta);
    for (int l = 0; l < s->count; tensors += s->layer[l++].parts)
        if (s->layer[l].parts)
            s->layer[l].kind->pack(&s->layer[l], theta, tensors);
}

static void unpack(const lli_model *model, float *const *tensors, const float *theta) {
    const lli_sequence *s = &network_of(model)->sequence;
    for (int l = 0; l < s->count; tensors += s->layer[l++].parts)
        if (s->layer[l].parts)
            s->layer[l].kind->unpack(&s->layer[l], tensors, theta);
}

typedef struct reading {
    const lli_run *run;
    const lli_input *input;
    float *x;
    int64_t rows; /* of a task */
} reading;

static ll_status read_task(ll_context *ctx, void *arg, int64_t task, int worker) {
    (void)ctx;
    const reading *r = arg;
    int64_t first = task * r->rows;
    lli_input_read(r->x + first * r->input->rows->D, r->input, first, LLI_MIN(r->rows, r->run->n - first),
                   lli_layer_scratch(r->run, worker));
    return LL_OK;
}

static ll_status read_input(const lli_run *run, const lli_input *input, float *x) {
    reading r = {run, input, x, (INPUT_WORK + input->rows->D - 1) / input->rows->D};
    return lli_pool_run(run->ctx, read_task, &r, (run->n + r.rows - 1) / r.rows);
}

static ll_status forward(const lli_run *run, const lli_network *net, const memory *m) {
    const float *x = m->x;
    for (int l = 0; l < net->sequence.count; l++) {
        const lli_layer *layer = &net->sequence.layer[l];
        LLI_TRY(layer->kind->forward(run, layer, m->y[l], x, m->keep[l]));
        x = m->y[l];
    }
    return LL_OK;
}

/* From the gradient at the logits down to the first parameters. */
static ll_status backward(const lli_run *run, const lli_network *net, const memory *m, float *dy) {
    int turn = 0;
    for (int l = net->sequence.count - 1; l >= 0; l--) {
        const lli_layer *layer = &net->sequence.layer[l];
        float *dx = layer->first ? NULL : layer->kind->in_place ? dy : m->turn[turn];
        LLI_TRY(layer->kind->backward(run, layer, dx, dy, l > 0 ? m->y[l - 1] : m->x, m->y[l], m->keep[l]));
        if (layer->first)
            return LL_OK;
        if (!layer->kind->in_place) {
            dy = dx;
            turn = 1 - turn;
        }
    }
    return LL_OK;
}

static ll_status descend(double *nll, ll_context *ctx, const lli_model *model, lli_apply_fn *apply, void *arg, float *theta, float *work,
                         const lli_rows *rows, const lli_step *step) {
    const lli_network *net = network_of(model);
    memory m = {0};
    training_memory(&m, net, work, step->n, lli_pool_workers(ctx));
    const lli_run run = {
        .ctx = ctx,
        .kernels = model->kernels,
        .n = step->n,
        .theta = theta,
        .step = step,
        .apply = apply,
        .arg = arg,
        .scratch = m.scratch,
        .scratch_floats = m.scratch_floats,
        .shared = m.shared,
    };
    const lli_input input = {
        .kernels = model->kernels, .rows = rows, .list = step->rows, .augment = true, .seed = step->seed, .epoch = step->epoch};
    LLI_TRY(read_input(&run, &input, m.x));
    LLI_TRY(forward(&run, net, &m));
    int last = net->sequence.count - 1;
    int64_t ldk = net->sequence.layer[last].ld;
    float *logits = m.y[last], scale = 1 / (float)step->n;
    *nll = model->kernels->residual(logits, step->labels, step->weights, step->n, model->K, ldk);
    for (int64_t i = 0; i < step->n * ldk; i++)
        logits[i] *= scale;
    return backward(&run, net, &m, logits);
}

/* The layers of the representation: all but the last dense layer and the dropout before it. */
static int body_layers(const lli_network *net) {
    return net->sequence.count - 2;
}

/* The first of them that MC-Dropout masks, or their number. */
static int first_mask(const lli_network *net, bool own) {
    int l = 0;
    for (; l < body_layers(net); l++) {
        const lli_layer *layer = &net->sequence.layer[l];
        if (own ? layer->drop16 > 0 : layer->place)
            break;
    }
    return l;
}

static int64_t unmasked_units(const lli_model *model, bool own) {
    const lli_network *net = network_of(model);
    int masked = first_mask(net, own);
    return masked == 0 ? 0 : lli_extent_units(net->sequence.layer[masked - 1].out);
}

static ll_status represent(ll_context *ctx, const lli_model *model, float *z, const float *theta, float *work, const lli_rows *rows,
                           int64_t first, int64_t n, const lli_pass *pass) {
    const lli_network *net = network_of(model);
    memory m = {0};
    inference_memory(&m, net, work, n, lli_pool_workers(ctx));
    const lli_run run = {
        .ctx = ctx,
        .kernels = model->kernels,
        .n = n,
        .theta = (float *)theta,
        .pass = pass,
        .scratch = m.scratch,
        .scratch_floats = m.scratch_floats,
        .shared = m.shared,
    };
    int layers = body_layers(net), last = layers - 1;
    while (last >= 0 && net->sequence.layer[last].kind->in_place)
        last--; /* the last one that writes to another place: from there on all is in z */
    bool keeps = pass && pass->unmasked, known = keeps && pass->known;
    int masked = keeps ? first_mask(net, pass->own) : -1, begin = known ? masked : 0;
    size_t bytes = keeps ? (size_t)(n * unmasked_units(model, pass->own)) * sizeof(float) : 0;
    const lli_input input = {.kernels = model->kernels, .rows = rows, .first = first};
    float *x = last < begin ? z : m.turn[0];
    if (known)
        memcpy(x, pass->unmasked, bytes);
    else
        LLI_TRY(read_input(&run, &input, x));
    for (int l = begin, turn = 1; l < layers; l++) {
        const lli_layer *layer = &net->sequence.layer[l];
        if (l == masked && !known)
            memcpy(pass->unmasked, x, bytes);
        float *y = layer->kind->in_place ? x : l == last ? z : m.turn[turn];
        LLI_TRY(layer->kind->forward(&run, layer, y, x, NULL));
        turn = layer->kind->in_place ? turn : 1 - turn;
        x = y;
    }
    if (masked == layers && !known)
        memcpy(pass->unmasked, x, bytes);
    return LL_OK;
}

static const lli_model_ops ops = {
    .pack = pack,
    .unpack = unpack,
    .descend = descend,
    .descend_floats = descend_floats,
    .represent = represent,
    .represent_floats = represent_floats,
    .unmasked_units = unmasked_units,
};

static ll_status name_tensor(ll_context *ctx, char **out, int64_t layer, const char *tensor) {
    lli_text text;
    lli_text_init(&text, ctx);
    lli_text_add(&text, "layers.%" PRId64 ".%s", layer, tensor);
    return lli_text_take(&text, out);
}

/* Gives every part its place in theta and every tensor its name. */
static ll_status place_parameters(ll_context *ctx, lli_network *net) {
    lli_model *m = &net->model;
    int64_t number = 0;
    for (int l = 0; l < net->sequence.count; l++) {
        lli_layer *layer = &net->sequence.layer[l];
        for (int p = 0; p < layer->parts; p++) {
            if (m->parts == LLI_PARTS_MAX)
                return lli_fail(ctx, LL_ERR_USAGE, "the network '%s' has more than %d tensors", net->text, LLI_PARTS_MAX);
            layer->part[p].first = m->floats;
            layer->part[p].hidden = layer->hidden;
            m->floats += (layer->part[p].count + 15) / 16 * 16;
            LLI_TRY(name_tensor(ctx, &net->name[m->tensors], number, layer->tensor[p].name));
            m->tensor[m->tensors] = layer->tensor[p];
            m->tensor[m->tensors].name = net->name[m->tensors];
            m->tensors++;
            m->part[m->parts++] = layer->part[p];
        }
        number += layer->parts > 0;
    }
    return LL_OK;
}

/* Files say these numbers. Beyond the bound, which no memory holds, the product of two widths could overflow. */
static ll_status check_extent(ll_context *ctx, const char *text, int64_t height, int64_t width, int64_t channels, int64_t K) {
    const int64_t most = (int64_t)1 << 28;
    int64_t D;
    if (lli_multiply(&D, height, width) && lli_multiply(&D, D, channels) && D >= 1 && D <= most && K >= 1 && K <= most)
        return LL_OK;
    return lli_fail(ctx, LL_ERR_DATA,
                    "the network '%.100s' cannot read %" PRId64 "x%" PRId64 "x%" PRId64 " numbers for %" PRId64
                    " classes; expected 1 to %" PRId64 " of both",
                    text, height, width, channels, K, most);
}

ll_status lli_network_new(lli_network **out, ll_context *ctx, const char *text, int64_t height, int64_t width, int64_t channels,
                          int64_t K) {
    *out = NULL;
    LLI_TRY(check_extent(ctx, text, height, width, channels, K));
    const lli_kernels *kernels;
    LLI_TRY(lli_kernels_require(ctx, &kernels));
    lli_network *net;
    LLI_TRY(lli_memory_new(ctx, &net, 1, sizeof *net));
    ll_status status;
    LLI_DO(lli_memory_text(ctx, &net->text, text));
    LLI_DO(lli_sequence_parse(ctx, &net->sequence, net->text, (lli_extent){height, width, channels}, K));
    lli_layer *head = &net->sequence.layer[net->sequence.count - 1];
    head->ld = lli_kernels_stride_classes(K);
    net->model = (lli_model){
        .ops = &ops,
        .kernels = kernels,
        .D = height * width * channels,
        .K = K,
        .features = lli_extent_units(head->in),
        .mask_layers = net->sequence.masks,
    };
    for (int l = 0; l < net->sequence.count; l++)
        net->model.own_dropout |= net->sequence.layer[l].drop16 > 0;
    LLI_DO(place_parameters(ctx, net));
    net->model.head_tensor = net->model.tensors - head->parts;
    *out = net;
    net = NULL;
done:
    lli_network_free(net);
    return status;
}

void lli_network_free(lli_network *net) {
    if (!net)
        return;
    for (int t = 0; t < LLI_TENSORS_MAX; t++)
        lli_memory_free(net->name[t]);
    lli_memory_free(net->text);
    lli_memory_free(net);
}

const lli_model *lli_network_model(const lli_network *net) {
    return &net->model;
}

const char *lli_network_text(const lli_network *net) {
    return net->text;
}

void lli_network_start(const lli_network *net, float *theta, uint64_t seed, int64_t member) {
    memset(theta, 0, (size_t)net->model.floats * sizeof *theta);
    for (int l = 0; l < net->sequence.count; l++) {
        const lli_layer *layer = &net->sequence.layer[l];
        if (layer->kind->start)
            layer->kind->start(layer, theta, lli_rng_stream(seed, LLI_PURPOSE_START, member, l));
    }
}
