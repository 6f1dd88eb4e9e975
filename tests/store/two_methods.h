/* SPDX-License-Identifier: MIT */
/* A table of methods for tests of this room, which does not see that of src/methods: in an order that is not that of the letters. */
#ifndef TESTS_STORE_TWO_METHODS_H
#define TESTS_STORE_TWO_METHODS_H

#include "check.h"

static const ll_method_info two_methods[] = {{"second", "", 1, 1, ""}, {"first", "", 1, 1, ""}};

size_t ll_method_count(void) {
    return LLI_COUNT(two_methods);
}

const ll_method_info *ll_method_get(size_t i) {
    return i < LLI_COUNT(two_methods) ? &two_methods[i] : NULL;
}

#endif
