/* SPDX-License-Identifier: MIT */
/* The methods there are, and what their rows say. */
#include "methods/method.h"

#include <string.h>

static const lli_method *const methods[] = {
#define ROW(name) &lli_method_##name,
    LLI_METHODS(ROW)
#undef ROW
};

const char *const lli_method_groups[LLI_GROUPS] = {LLI_GROUP_POINT, LLI_GROUP_ENSEMBLES, LLI_GROUP_GAUSSIAN, LLI_GROUP_SAMPLERS};

const lli_method *lli_method_find(const char *name) {
    for (size_t i = 0; i < LLI_COUNT(methods); i++)
        if (strcmp(methods[i]->info.name, name) == 0)
            return methods[i];
    return NULL;
}

size_t ll_method_count(void) {
    return LLI_COUNT(methods);
}

const ll_method_info *ll_method_get(size_t i) {
    return i < LLI_COUNT(methods) ? &methods[i]->info : NULL;
}

bool lli_method_reads(const lli_method *method, size_t option) {
    for (const size_t *p = method->reads; *p; p++)
        if (*p == option)
            return true;
    return false;
}

bool lli_method_variant_is_set(const lli_variant *v, const ll_fit_options *options) {
    const void *at = (const char *)options + v->option;
    if (!v->value)
        return *(const bool *)at;
    const char *chosen = *(const char *const *)at; /* NULL: the default */
    return chosen && strcmp(chosen, v->value) == 0;
}

void lli_method_variant_set(const lli_variant *v, ll_fit_options *options) {
    void *at = (char *)options + v->option;
    if (v->value)
        *(const char **)at = v->value;
    else
        *(bool *)at = true;
}

bool lli_method_trains(const lli_method *method) {
    return method->optimiser || method->needs & LLI_NEEDS_RECIPE;
}

bool ll_method_uses(const char *method, const char *option) {
    const lli_method *m = method && option ? lli_method_find(method) : NULL;
    size_t count;
    const ll_option *table = ll_fit_options_table(&count);
    for (size_t i = 0; m && i < count; i++)
        if (strcmp(table[i].name, option) == 0)
            return lli_method_reads(m, table[i].offset);
    return false;
}

ll_status lli_method_check(ll_context *ctx, const lli_method *method, lli_place place) {
    const char *name = method->info.name;
    if (method->places & place)
        return LL_OK;
    if (place == LLI_PLACE_HEAD)
        return lli_fail(ctx, LL_ERR_USAGE, "the method %s trains whole networks: give `network`, or at least `layers 2`", name);
    if (place == LLI_PLACE_DEEP_HEAD)
        return lli_fail(ctx, LL_ERR_USAGE, "the method %s does not work on several layers: leave out `layers`", name);
    return lli_fail(ctx, LL_ERR_USAGE,
                    "the method %s does not work on whole networks: encode the images with lastlayer encode, then fit on the features",
                    name);
}

int64_t lli_method_one(const ll_fit_options *options) {
    (void)options;
    return 1;
}

int64_t lli_method_all(const ll_fit_options *options) {
    return options->samples;
}

int64_t lli_method_chains(const ll_fit_options *options) {
    return options->chains;
}
