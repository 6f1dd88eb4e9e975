/* SPDX-License-Identifier: MIT */
/* The convolutions of conv.h by oneDNN (C interface, versions 2 and 3): another back end for the same table, not a faster one on machines
 * with AVX2. Each call makes its primitives, which the library caches by shape, and runs them on the calling thread alone: the number of
 * OpenMP threads is a setting of the calling thread, put back afterwards. */
#include "kernels/conv.h"

#include <dnnl.h>
#include <string.h>

#include "base/status.h"
#include "kernels/kernels.h"

#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
#include <omp.h>
#endif

enum { PANEL = LLI_CONV_PANEL, TAPS = LLI_CONV_TAPS, HELD = 8 };

#if DNNL_VERSION_MAJOR >= 3
typedef const_dnnl_memory_desc_t layout;
#define LAYOUT(desc) (desc)
#else
typedef const dnnl_memory_desc_t *layout;
#define LAYOUT(desc) (&(desc))
#endif

/* One call: what it made, to be let go at its end. A failure makes all that follows do nothing. */
typedef struct call {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_memory_t memory[HELD];
    int memories;
    int threads; /* that the caller had */
    bool ok;
} call;

static bool good(call *c, dnnl_status_t status) {
    c->ok = c->ok && status == dnnl_success;
    return c->ok;
}

static call call_start(void) {
    call c = {.ok = true};
#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
    c.threads = omp_get_max_threads();
    omp_set_num_threads(1);
#endif
    if (good(&c, dnnl_engine_create(&c.engine, dnnl_cpu, 0)))
        good(&c, dnnl_stream_create(&c.stream, c.engine, dnnl_stream_default_flags));
    return c;
}

static bool call_end(call *c) {
    while (c->memories)
        dnnl_memory_destroy(c->memory[--c->memories]);
    if (c->stream)
        dnnl_stream_destroy(c->stream);
    if (c->engine)
        dnnl_engine_destroy(c->engine);
#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
    omp_set_num_threads(c->threads);
#endif
    return c->ok;
}

/* A tensor at `data`, or in new memory where that is NULL. */
static dnnl_memory_t hold(call *c, layout desc, const float *data) {
    dnnl_memory_t memory = NULL;
    if (c->ok && good(c, dnnl_memory_create(&memory, desc, c->engine, data ? (void *)data : DNNL_MEMORY_ALLOCATE)))
        c->memory[c->memories++] = memory;
    return memory;
}

static float *data_of(call *c, dnnl_memory_t memory) {
    void *data = NULL;
    if (c->ok)
        good(c, dnnl_memory_get_data_handle(memory, &data));
    return data;
}

static void describe(call *c, dnnl_memory_desc_t *desc, int rank, const dnnl_dims_t dims, dnnl_format_tag_t tag) {
    if (!c->ok)
        return;
#if DNNL_VERSION_MAJOR >= 3
    good(c, dnnl_memory_desc_create_with_tag(desc, rank, dims, dnnl_f32, tag));
#else
    good(c, dnnl_memory_desc_init_by_tag(desc, rank, dims, dnnl_f32, tag));
#endif
}

static void execute(call *c, dnnl_primitive_desc_t desc, int count, const dnnl_exec_arg_t *arguments) {
    dnnl_primitive_t primitive = NULL;
    if (c->ok && good(c, dnnl_primitive_create(&primitive, desc)))
        good(c, dnnl_primitive_execute(primitive, c->stream, count, arguments));
    if (c->ok)
        good(c, dnnl_stream_wait(c->stream));
    if (primitive)
        dnnl_primitive_destroy(primitive);
}

static void reorder(call *c, dnnl_memory_t to, layout to_desc, dnnl_memory_t from, layout from_desc) {
    dnnl_primitive_desc_t desc = NULL;
    if (c->ok)
        good(c, dnnl_reorder_primitive_desc_create(&desc, from_desc, c->engine, to_desc, c->engine, NULL));
    execute(c, desc, 2, (dnnl_exec_arg_t[]){{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
    if (desc)
        dnnl_primitive_desc_destroy(desc);
}

/* Tensors of a convolution on n images: images in NHWC, weights as oneDNN likes them and plain [9][in][out]. */
typedef struct tensors {
    dnnl_memory_desc_t x, y, weights, plain, bias;
    dnnl_primitive_desc_t forward, gradient;
} tensors;

static const dnnl_dims_t ones = {1, 1};
#if DNNL_VERSION_MAJOR >= 3
static const dnnl_dims_t none = {0, 0};
#endif

static tensors tensors_new(call *c, const lli_conv_shape *s, int64_t n, bool bias, bool relu) {
    tensors t = {.forward = NULL};
    describe(c, &t.x, 4, (dnnl_dims_t){n, s->in, s->H, s->W}, dnnl_nhwc);
    describe(c, &t.y, 4, (dnnl_dims_t){n, s->out, s->H, s->W}, dnnl_nhwc);
    describe(c, &t.weights, 4, (dnnl_dims_t){s->out, s->in, 3, 3}, dnnl_format_tag_any);
    describe(c, &t.plain, 4, (dnnl_dims_t){s->out, s->in, 3, 3}, dnnl_hwio);
    describe(c, &t.bias, 1, (dnnl_dims_t){s->out}, dnnl_x);
    dnnl_primitive_attr_t extra = NULL;
    dnnl_post_ops_t behind = NULL;
    if (c->ok && relu && good(c, dnnl_primitive_attr_create(&extra)) && good(c, dnnl_post_ops_create(&behind))) {
#if DNNL_VERSION_MAJOR >= 3
        good(c, dnnl_post_ops_append_eltwise(behind, dnnl_eltwise_relu, 0, 0));
#else
        good(c, dnnl_post_ops_append_eltwise(behind, 1, dnnl_eltwise_relu, 0, 0));
#endif
        good(c, dnnl_primitive_attr_set_post_ops(extra, behind));
    }
    if (c->ok) {
#if DNNL_VERSION_MAJOR >= 3
        good(c, dnnl_convolution_forward_primitive_desc_create(&t.forward, c->engine, dnnl_forward_training, dnnl_convolution_direct, t.x,
                                                               t.weights, bias ? t.bias : NULL, t.y, ones, none, ones, ones, extra));
#else
        dnnl_convolution_desc_t desc;
        good(c, dnnl_convolution_forward_desc_init(&desc, dnnl_forward_training, dnnl_convolution_direct, &t.x, &t.weights,
                                                   bias ? &t.bias : NULL, &t.y, ones, ones, ones));
        if (c->ok)
            good(c, dnnl_primitive_desc_create(&t.forward, &desc, extra, c->engine, NULL));
#endif
    }
    if (behind)
        dnnl_post_ops_destroy(behind);
    if (extra)
        dnnl_primitive_attr_destroy(extra);
    return t;
}

/* The gradient of the weights; not that of the bias, which is a plain sum. */
static void tensors_gradient(call *c, tensors *t) {
    if (!c->ok)
        return;
#if DNNL_VERSION_MAJOR >= 3
    good(c, dnnl_convolution_backward_weights_primitive_desc_create(&t->gradient, c->engine, dnnl_convolution_direct, t->x, t->weights,
                                                                    NULL, t->y, ones, none, ones, ones, t->forward, NULL));
#else
    dnnl_convolution_desc_t desc;
    if (good(c, dnnl_convolution_backward_weights_desc_init(&desc, dnnl_convolution_direct, &t->x, &t->weights, NULL, &t->y, ones, ones,
                                                            ones)))
        good(c, dnnl_primitive_desc_create(&t->gradient, &desc, NULL, c->engine, t->forward));
#endif
}

static void tensors_free(tensors *t) {
    if (t->forward)
        dnnl_primitive_desc_destroy(t->forward);
    if (t->gradient)
        dnnl_primitive_desc_destroy(t->gradient);
#if DNNL_VERSION_MAJOR >= 3
    dnnl_memory_desc_t all[] = {t->x, t->y, t->weights, t->plain, t->bias};
    for (size_t i = 0; i < LLI_COUNT(all); i++)
        if (all[i])
            dnnl_memory_desc_destroy(all[i]);
#endif
}

static layout query(dnnl_primitive_desc_t desc, dnnl_query_t what) {
    return desc ? dnnl_primitive_desc_query_md(desc, what, 0) : NULL;
}

/* Panels <-> [9][in][out]. */
static void copy_panels(float *plain, float *panels, const lli_conv_shape *s, bool to_panels) {
    for (int64_t q = 0; q < lli_conv_panels(s->out); q++)
        for (int64_t k = 0; k < TAPS * s->in; k++) {
            float *a = plain + k * s->out + q * PANEL, *b = panels + (q * TAPS * s->in + k) * PANEL;
            memcpy(to_panels ? b : a, to_panels ? a : b, (size_t)LLI_MIN(PANEL, s->out - q * PANEL) * sizeof *a);
        }
}

static bool forward(float *y, const float *x, const float *weights, const float *bias, bool relu, const float *zeros,
                    const lli_conv_shape *s, lli_range images, lli_range panels) {
    (void)zeros;
    (void)panels;
    int64_t step = s->H * s->W;
    call c = call_start();
    tensors t = tensors_new(&c, s, images.end - images.first, bias != NULL, relu);
    layout liked = query(t.forward, dnnl_query_weights_md);
    dnnl_memory_t plain = hold(&c, LAYOUT(t.plain), NULL), packed = hold(&c, liked, NULL);
    float *list = data_of(&c, plain);
    if (list)
        copy_panels(list, (float *)weights, s, false);
    reorder(&c, packed, liked, plain, LAYOUT(t.plain));
    dnnl_exec_arg_t arguments[4] = {
        {DNNL_ARG_SRC, hold(&c, LAYOUT(t.x), x + images.first * step * s->in)},
        {DNNL_ARG_WEIGHTS, packed},
        {DNNL_ARG_DST, hold(&c, LAYOUT(t.y), y + images.first * step * s->out)},
        {DNNL_ARG_BIAS, bias ? hold(&c, LAYOUT(t.bias), bias) : NULL},
    };
    execute(&c, t.forward, bias ? 4 : 3, arguments);
    bool ok = call_end(&c);
    tensors_free(&t);
    return ok;
}

static void flip(float *flipped, const float *weights, const lli_conv_shape *s, lli_range panels) {
    lli_kernels_get()->conv->flip(flipped, weights, s, panels);
}

/* The channels given are copied side by side, since oneDNN takes whole images only. */
static bool weights(float *dw, float *db, float *scratch, const float *x, const float *dy, const lli_conv_shape *s, int64_t n,
                    lli_range channels) {
    (void)scratch;
    const lli_conv_shape part = {s->H, s->W, channels.end - channels.first, s->out};
    int64_t pixels = n * s->H * s->W;
    call c = call_start();
    tensors t = tensors_new(&c, &part, n, false, false);
    tensors_gradient(&c, &t);
    layout liked = query(t.gradient, dnnl_query_diff_weights_md);
    dnnl_memory_t some = hold(&c, LAYOUT(t.x), NULL), packed = hold(&c, liked, NULL), plain = hold(&c, LAYOUT(t.plain), NULL);
    float *list = data_of(&c, some);
    for (int64_t p = 0; list && p < pixels; p++)
        memcpy(list + p * part.in, x + p * s->in + channels.first, (size_t)part.in * sizeof *list);
    execute(&c, t.gradient, 3,
            (dnnl_exec_arg_t[]){{DNNL_ARG_SRC, some}, {DNNL_ARG_DIFF_DST, hold(&c, LAYOUT(t.y), dy)}, {DNNL_ARG_DIFF_WEIGHTS, packed}});
    reorder(&c, plain, LAYOUT(t.plain), packed, liked);
    float *found = data_of(&c, plain);
    memset(dw, 0, (size_t)lli_conv_weights(&part) * sizeof *dw);
    if (found)
        copy_panels(found, dw, &part, true);
    for (int64_t q = 0; db && q < s->out; q += PANEL) {
        double sum[PANEL] = {0};
        for (int64_t p = 0; p < pixels; p++)
            for (int64_t o = q; o < LLI_MIN(q + PANEL, s->out); o++)
                sum[o - q] += (double)dy[p * s->out + o];
        for (int64_t o = q; o < LLI_MIN(q + PANEL, s->out); o++)
            db[o] = (float)sum[o - q];
    }
    bool ok = call_end(&c);
    tensors_free(&t);
    return ok;
}

const lli_conv_kernels lli_conv_onednn = {.name = "onednn", .whole = true, .forward = forward, .flip = flip, .weights = weights};
