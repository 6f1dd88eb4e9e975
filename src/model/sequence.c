/* SPDX-License-Identifier: MIT */
/* From the text of a network to its layers: one function per family, one table. */
#include "model/sequence.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define GRAMMAR                                                                                                                   \
    "expected mlp:U,U,.. (units of the hidden layers), vgg16 or vgg16:width=W,dropout=F (0 < W <= 4, F <= 1), or head:L (1 to 8 " \
    "dense layers)"

enum { UNITS_MAX = 1 << 20, HIDDEN_MAX = 16, HEAD_MAX = 8 };

typedef struct builder {
    ll_context *ctx;
    lli_sequence *s;
    const char *text;
    lli_extent in; /* of the next layer */
    int64_t K;
} builder;

static ll_status add(builder *b, const lli_layer *asked, const char *kind) {
    if (b->s->count == LLI_SEQUENCE_MAX)
        return lli_fail(b->ctx, LL_ERR_USAGE, "the network '%s' has more than %d layers", b->text, LLI_SEQUENCE_MAX);
    lli_layer *layer = &b->s->layer[b->s->count];
    *layer = *asked;
    layer->kind = lli_layer_kind_of(kind);
    layer->in = b->in;
    layer->hidden = true;
    if (!layer->kind)
        return lli_fail(b->ctx, LL_ERR_USAGE, "the network '%s' needs layers of the type %s, which this build does not have", b->text,
                        kind);
    LLI_TRY(layer->kind->plan(b->ctx, layer));
    layer->ld = lli_extent_units(layer->out);
    b->in = layer->out;
    b->s->count++;
    return LL_OK;
}

static ll_status plain(builder *b, const char *kind) {
    return add(b, &(lli_layer){0}, kind);
}

static ll_status dense(builder *b, int64_t units) {
    return add(b, &(lli_layer){.units = units}, "dense");
}

/* A place of MC-Dropout, one of the network's own dropout layers (rate > 0), or both. */
static ll_status dropout(builder *b, double rate, bool place) {
    return add(b, &(lli_layer){.drop16 = (uint32_t)lround(rate * 65536), .place = place, .mask = b->s->masks++}, "dropout");
}

/* Dropout, dense K: what every network ends in. */
static ll_status head(builder *b, double rate) {
    LLI_TRY(dropout(b, rate, true));
    LLI_TRY(dense(b, b->K));
    b->s->layer[b->s->count - 1].hidden = false;
    return LL_OK;
}

/* A whole number from 1 to `most` that ends at a comma or the end; moves *text behind it. 0: there is none. */
static int64_t parse_count(const char **text, int64_t most) {
    int64_t n = 0;
    const char *c = *text;
    for (; *c >= '0' && *c <= '9' && n <= most; c++)
        n = 10 * n + (*c - '0');
    if (c == *text || n > most || (*c != ',' && *c != '\0'))
        return 0;
    *text = *c == ',' ? c + 1 : c;
    return *c == ',' && c[1] == '\0' ? 0 : n;
}

/* The number behind the key that *text begins with: a decimal fraction such as 0.25, up to `most`, that ends at a comma or the end; moves
 * *text behind it. False: another key, or no such number. */
static bool parse_fraction(const char **text, const char *key, double most, double *out) {
    double value = 0, unit = 1;
    bool point = false;
    int digits = 0;
    size_t length = strlen(key);
    if (strncmp(*text, key, length) != 0)
        return false;
    const char *c = *text + length;
    for (; *c && *c != ','; c++) {
        if (*c == '.' && !point) {
            point = true;
        } else if (*c >= '0' && *c <= '9' && digits < 9) {
            value = 10 * value + (*c - '0');
            unit *= point ? 10 : 1;
            digits++;
        } else {
            return false;
        }
    }
    *out = value / unit;
    *text = *c == ',' ? c + 1 : c;
    return digits > 0 && *out <= most && (*c == '\0' || c[1] != '\0');
}

static ll_status bad_text(builder *b) {
    return lli_fail(b->ctx, LL_ERR_USAGE, "'%s' does not describe a network; " GRAMMAR, b->text);
}

/* Dense layers with ReLU, MC-Dropout before all but the first. */
static ll_status mlp(builder *b, const char *options) {
    int64_t units[HIDDEN_MAX];
    int hidden = 0;
    for (const char *c = options; *c; hidden++)
        if (hidden == HIDDEN_MAX || (units[hidden] = parse_count(&c, UNITS_MAX)) == 0)
            return bad_text(b);
    if (hidden == 0)
        return bad_text(b);
    for (int l = 0; l < hidden; l++) {
        if (l > 0)
            LLI_TRY(dropout(b, 0, true));
        LLI_TRY(dense(b, units[l]));
        LLI_TRY(plain(b, "relu"));
    }
    return head(b, 0);
}

/* Dense layers of D units with ReLU, MC-Dropout before each. */
static ll_status deep_head(builder *b, const char *options) {
    int64_t layers = parse_count(&options, HEAD_MAX), D = lli_extent_units(b->in);
    if (layers == 0 || *options)
        return bad_text(b);
    for (int64_t l = 1; l < layers; l++) {
        LLI_TRY(dropout(b, 0, true));
        LLI_TRY(dense(b, D));
        LLI_TRY(plain(b, "relu"));
    }
    return head(b, 0);
}

/* Channels times the width: a multiple of 8, and at least that. */
static int64_t scaled(int64_t channels, double width) {
    return LLI_MAX(1, lround((double)channels * width / 8)) * 8;
}

/* VGG-16 for small images: each conv -> ReLU -> batch norm, max-pool after every group; the network's own dropout after each conv that no
 * max-pool follows; MC-Dropout after each max-pool and before each dense layer. */
static ll_status vgg16(builder *b, const char *options) {
    static const struct {
        int64_t channels;
        int convs;
    } group[] = {{64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}};
    double width = NAN, own = NAN;
    while (*options)
        if (!(isnan(width) && parse_fraction(&options, "width=", 4, &width)) &&
            !(isnan(own) && parse_fraction(&options, "dropout=", 1, &own)))
            return bad_text(b);
    width = isnan(width) ? 1 : width;
    own = isnan(own) ? 1 : own;
    if (width == 0)
        return bad_text(b);
    for (size_t g = 0; g < LLI_COUNT(group); g++) {
        for (int c = 0; c < group[g].convs; c++) {
            LLI_TRY(add(b, &(lli_layer){.units = scaled(group[g].channels, width)}, "conv"));
            LLI_TRY(plain(b, "relu"));
            LLI_TRY(plain(b, "batchnorm"));
            if (c + 1 < group[g].convs)
                LLI_TRY(dropout(b, own * (g == 0 ? 0.3 : 0.4), false));
        }
        LLI_TRY(plain(b, "maxpool"));
        LLI_TRY(dropout(b, g + 1 < LLI_COUNT(group) ? 0 : own * 0.5, true));
    }
    LLI_TRY(dense(b, scaled(512, width)));
    LLI_TRY(plain(b, "relu"));
    LLI_TRY(plain(b, "batchnorm"));
    return head(b, own * 0.5);
}

static const struct {
    const char *name;
    ll_status (*build)(builder *b, const char *options); /* options: what stands behind the colon */
} families[] = {{"mlp", mlp}, {"head", deep_head}, {"vgg16", vgg16}};

/* A ReLU is done by the layer before it if that one can, and its backward by the layer after it; the gradient before the first
 * parameters is not computed. */
static void finish(lli_sequence *s) {
    bool parameters = false;
    for (int l = 0; l < s->count; l++) {
        lli_layer *layer = &s->layer[l];
        layer->first = !parameters && layer->parts > 0;
        parameters |= layer->parts > 0;
        if (l + 1 < s->count && layer->kind->fuses && strcmp(layer[1].kind->name, "relu") == 0)
            layer->fused = layer[1].fused = true;
        if (l + 1 < s->count && layer[1].kind->gates && strcmp(layer->kind->name, "relu") == 0)
            layer->gated = layer[1].gated = true;
    }
}

ll_status lli_sequence_parse(ll_context *ctx, lli_sequence *out, const char *text, lli_extent in, int64_t K) {
    builder b = {ctx, out, text, in, K};
    out->count = out->masks = 0;
    const char *colon = strchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : strlen(text);
    for (size_t f = 0; f < LLI_COUNT(families); f++)
        if (strlen(families[f].name) == length && strncmp(families[f].name, text, length) == 0) {
            if (colon && !colon[1])
                return bad_text(&b);
            LLI_TRY(families[f].build(&b, colon ? colon + 1 : ""));
            finish(out);
            return LL_OK;
        }
    return bad_text(&b);
}
