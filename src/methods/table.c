/* SPDX-License-Identifier: MIT */
/* The methods there are. */
#include <string.h>

#include "methods/method.h"

static const lli_method *const methods[] = {
    &lli_method_point, &lli_method_sgd, &lli_method_sgld, &lli_method_bootstrap, &lli_method_dropout, &lli_method_ensemble,
};

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

bool ll_method_uses(const char *method, const char *option) {
    const lli_method *m = method && option ? lli_method_find(method) : NULL;
    if (!m)
        return false;
    size_t length = strlen(option);
    for (const char *p = m->uses; (p = strstr(p, option)); p++)
        if (p > m->uses && p[-1] == ' ' && p[length] == ' ')
            return true;
    return false;
}
