/* SPDX-License-Identifier: MIT */
/* Any bytes as JSON: taken or refused as jansson, which is not ours, takes or refuses them, and with the same values. */
#include <jansson.h>
#include <math.h>

#include "formats/tree.h"
#include "fuzz.h"

static void compare(const lli_tree *ours, json_t *theirs);

static void compare_object(const lli_tree *ours, json_t *theirs) {
    const char *key;
    json_t *value;
    if (!lli_tree_is_object(ours) || lli_tree_count(ours) != (int64_t)json_object_size(theirs))
        abort();
    json_object_foreach(theirs, key, value) {
        compare(lli_tree_get(ours, key), value);
    }
}

static void compare(const lli_tree *ours, json_t *theirs) {
    bool same = ours != NULL;
    switch (json_typeof(theirs)) {
    case JSON_OBJECT: compare_object(ours, theirs); break;
    case JSON_ARRAY:
        same &= lli_tree_is_list(ours) && lli_tree_count(ours) == (int64_t)json_array_size(theirs);
        for (size_t i = 0; same && i < json_array_size(theirs); i++)
            compare(lli_tree_at(ours, (int64_t)i), json_array_get(theirs, i));
        break;
    case JSON_STRING: same &= lli_tree_text(ours) && strcmp(lli_tree_text(ours), json_string_value(theirs)) == 0; break;
    case JSON_INTEGER: abort(); /* asked for as reals, so that they may be of any size */
    case JSON_REAL: same &= lli_tree_number(ours) == json_real_value(theirs); break;
    case JSON_TRUE: same &= lli_tree_true(ours); break;
    case JSON_FALSE: same &= !lli_tree_true(ours) && !lli_tree_is_null(ours) && isnan(lli_tree_number(ours)); break;
    case JSON_NULL: same &= lli_tree_is_null(ours); break;
    }
    if (!same)
        abort();
}

static void run(const uint8_t *bytes, size_t size) {
    lli_tree *ours;
    if (size == 0)
        return;
    bool taken = lli_tree_parse(&ours, fuzz_context(), (const char *)bytes, size, "fuzz") == LL_OK;
    bool deep = strstr(ll_context_message(fuzz_context()), "nested too deeply") != NULL; /* sooner than there */
    bool zero = memchr(bytes, 0, size) != NULL;                                          /* there it is an end, here an error */
    if (!taken)
        (void)fuzz_ok(LL_ERR_FORMAT); /* that there is a sentence */
    json_t *theirs = json_loadb((const char *)bytes, size, JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL | JSON_REJECT_DUPLICATES, NULL);
    if (zero ? taken : taken != (theirs != NULL) && !deep)
        abort();
    if (taken && theirs)
        compare(ours, theirs);
    lli_tree_free(ours);
    json_decref(theirs);
}

FUZZ_TARGET(run)
