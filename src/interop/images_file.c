/* SPDX-License-Identifier: MIT */
/* Images for networks: read, scaled, cut down to some classes. */
#include "data/images.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/abi.h"
#include "base/memory.h"
#include "base/option.h"
#include "data/classes.h"
#include "interop/image_source.h"

/* clang-format off */
static const ll_option table[] = {
    {.name = "classes", .type = LL_OPTION_TEXT, .offset = offsetof(ll_images_options, classes), .arg = "WHICH", .standard = "all",
     .help = "classes to keep: all, first:n, last:n, random:n (by `seed`) or a list 0,3,4; test images of the others become "
             "out-of-distribution points"},
    {.name = "out-data", .type = LL_OPTION_TEXT, .offset = offsetof(ll_images_options, out_data), .arg = "DATA",
     .help = "take the out-of-distribution images from here instead: a name, a folder or a file, of the same shape"},
};
/* clang-format on */

void ll_images_options_init(ll_images_options *options, size_t struct_size) {
    const ll_images_options defaults = {.classes = "all"};
    lli_abi_give(options, struct_size, &defaults, sizeof defaults);
}

const ll_option *ll_images_options_table(size_t *count) {
    if (count)
        *count = LLI_COUNT(table);
    return table;
}

static ll_status check_scale(ll_context *ctx, const ll_images_options *options) {
    if (isfinite(options->shift) && isfinite(options->scale) && options->scale >= 0)
        return LL_OK;
    return lli_fail(ctx, LL_ERR_USAGE,
                    "shift %g and scale %g of images are invalid; expected finite numbers, scale > 0, or 0 for automatic", options->shift,
                    options->scale);
}

/* Classes of a network that these labels do not reach are a fault of the data, not of a choice. */
static ll_status check_known(ll_context *ctx, const char *data, const ll_dataset *labelled, const char *classes) {
    long long largest = lli_classes_largest(classes);
    if (!labelled->labels || largest < labelled->K)
        return LL_OK;
    return lli_fail(ctx, LL_ERR_DATA, "%s: the network knows classes up to %lld, but the labels of these images end at %lld", data, largest,
                    (long long)labelled->K - 1);
}

/* Every class under its own number. */
static bool is_all(const ll_images *images, int64_t K) {
    bool all = images->K == K;
    for (int64_t i = 0; i < K && all; i++)
        all = images->classes[i] == i;
    return all;
}

/* Leaves the classes kept in train and test; the others of the test part become *out. All three are sealed. */
static ll_status divide(ll_images *images, ll_context *ctx, lli_image_source *source, double shift, double scale) {
    ll_dataset **from[] = {&source->train, &source->test}, **to[] = {&images->train, &images->test};
    const ll_dataset *labelled = source->train ? source->train : source->test;
    bool all = !labelled->labels || is_all(images, labelled->K);
    for (int i = 0; i < 2; i++) {
        ll_dataset *part = *from[i];
        if (part && (all || !part->labels)) {
            LLI_TRY(lli_images_seal(ctx, part, shift, scale));
            *to[i] = part;
            *from[i] = NULL;
        } else if (part) {
            part->rows.shift = (float)shift;
            part->rows.scale = (float)scale;
            LLI_TRY(lli_classes_divide(to[i], part == source->test ? &images->out : NULL, ctx, part, images->classes, images->K));
            ll_dataset_free(part);
            *from[i] = NULL;
        }
    }
    return LL_OK;
}

static ll_status choose_scale(double *shift, double *scale, ll_context *ctx, const char *data, const lli_image_source *source,
                              const ll_images_options *options) {
    *shift = options->shift;
    *scale = options->scale;
    if (*scale > 0)
        return LL_OK;
    if (source->train)
        lli_images_measure(shift, scale, source->train);
    else if (source->test->rows.channels == 1)
        lli_images_measure(shift, scale, source->test);
    else
        return lli_fail(ctx, LL_ERR_DATA, "%s: has no training images; their mean and standard deviation are needed to scale the pixels",
                        data);
    return LL_OK;
}

static ll_status read_out(ll_images *images, ll_context *ctx, const char *data, const char *from, double shift, double scale) {
    const ll_dataset *like = images->test ? images->test : images->train;
    lli_image_source source;
    ll_status status;
    LLI_TRY(lli_image_source_read(&source, ctx, from));
    ll_dataset **part = source.test ? &source.test : &source.train;
    LLI_DO(lli_images_check_shape(ctx, *part, from, like->rows.height, like->rows.width, like->rows.channels, data));
    LLI_DO(lli_images_seal(ctx, *part, shift, scale));
    lli_dataset_drop_labels(*part);
    ll_dataset_free(images->out);
    images->out = *part;
    *part = NULL;
done:
    lli_image_source_release(&source);
    return status;
}

ll_status ll_images_read(ll_images **out, ll_context *ctx, const char *data, const ll_images_options *options) {
    LLI_NEED(ctx, out, data);
    ll_images_options chosen = ll_images_options_default();
    lli_image_source source = {0};
    ll_images *images = NULL;
    double shift, scale;
    ll_status status;
    *out = NULL;
    LLI_DO(LLI_OPTION_TAKE(ctx, ll_images_options, &chosen, options, table, LLI_COUNT(table)));
    LLI_DO(check_scale(ctx, &chosen));
    LLI_DO(lli_image_source_read(&source, ctx, data));
    LLI_DO(lli_memory_new(ctx, &images, 1, sizeof *images));
    const ll_dataset *labelled = source.train ? source.train : source.test;
    if (chosen.of_network && source.train)
        LLI_DO(check_known(ctx, data, labelled, chosen.classes));
    if (labelled->labels) {
        status = lli_classes_parse(&images->classes, &images->K, ctx, chosen.classes, labelled->K, !source.train, chosen.seed);
        if (status == LL_ERR_USAGE && chosen.of_network)
            status = lli_fail(ctx, LL_ERR_FORMAT,
                              "the classes of the network are \"%.100s\"; expected two or more different numbers like 0,3,4",
                              chosen.classes);
        if (status != LL_OK)
            goto done;
    } else if (chosen.classes && strcmp(chosen.classes, "all") != 0 && !chosen.of_network) {
        status = lli_fail(ctx, LL_ERR_USAGE, "%s: has no labels, so `classes %s` cannot choose among its images", data, chosen.classes);
        goto done;
    }
    if (source.train && chosen.classes && strcmp(chosen.classes, "all") != 0)
        source.train->K_given = true;
    LLI_DO(choose_scale(&shift, &scale, ctx, data, &source, &chosen));
    LLI_DO(divide(images, ctx, &source, shift, scale));
    if (chosen.out_data)
        LLI_DO(read_out(images, ctx, data, chosen.out_data, shift, scale));
    *out = images;
    images = NULL;
done:
    lli_image_source_release(&source);
    ll_images_free(images);
    return status;
}

void ll_images_free(ll_images *images) {
    if (!images)
        return;
    ll_dataset_free(images->train);
    ll_dataset_free(images->test);
    ll_dataset_free(images->out);
    lli_memory_free(images->classes);
    lli_memory_free(images);
}

ll_dataset *ll_images_dataset(const ll_images *images, ll_images_part part) {
    if (!images)
        return NULL;
    return part == LL_IMAGES_TRAIN ? images->train : part == LL_IMAGES_TEST ? images->test : part == LL_IMAGES_OUT ? images->out : NULL;
}

const int32_t *ll_images_classes(const ll_images *images, int64_t *count) {
    if (count)
        *count = images ? images->K : 0;
    return images ? images->classes : NULL;
}
