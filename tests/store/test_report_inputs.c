/* SPDX-License-Identifier: MIT */
/* What a report is asked for becomes a list of files: those given, and of a store the best of each method in the order of the table. The
 * folders are written here by hand. */
#include <sys/stat.h>

#include "base/abi.h"
#include "check.h"
#include "folder.h"
#include "store/report_inputs.h"
#include "two_methods.h"

static void put_best(ll_context *ctx, const char *name, const char *trial) {
    const float probs[2] = {0.5f, 0.5f};
    const ll_named_array array = {"probs", ll_array_view((void *)(uintptr_t)probs, LL_DTYPE_F32, 2, (int64_t[]){1, 2})};
    const ll_meta meta = {"trial", trial};
    CHECK_OK(ctx, ll_bundle_write(ctx, folder_path(name), &array, 1, &meta, trial ? 1 : 0));
}

static void put_store(ll_context *ctx, const char *choice) {
    (void)mkdir(folder_path("store"), 0777);
    (void)mkdir(folder_path("store/best"), 0777);
    folder_write("store/choice.json", choice, strlen(choice));
    put_best(ctx, "store/best/paper-first.npz", "one");
    put_best(ctx, "store/best/paper-second.npz", "two");
    put_best(ctx, "store/best/honest-first.npz", "three");
}

#define BOTH "{\"protocol\": \"paper\", \"best\": {\"first\": \"one\", \"second\": \"two\"}}"

static ll_report_input file_input(const char *file, const char *name) {
    return (ll_report_input){.struct_size = sizeof(ll_report_input), .kind = LL_REPORT_PREDICTIONS, .file = file, .name = name};
}

static void check_input(const ll_report_input *in, const char *file, const char *name) {
    const char *end = in->file + strlen(in->file) - strlen(file);
    if (end < in->file || strcmp(end, file) != 0)
        fail_msg("%s does not end in %s", in->file, file);
    if (name)
        assert_string_equal(in->name, name);
    else
        assert_null(in->name);
}

static void test_stores(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    put_store(ctx, BOTH);
    folder_write("plain.npz", "x", 1); /* files are not looked into here */
    ll_report_input given[4] = {file_input(folder_path("plain.npz"), NULL), file_input(folder_path("store"), NULL),
                                file_input(folder_path("store"), "mine"), file_input(folder_path("plain.npz"), "it")};
    given[0].ood = "other.npz";
    given[2].ood = "odd.npz";
    lli_report_inputs in;
    CHECK_OK(ctx, lli_report_inputs_expand(&in, ctx, given, 4));
    assert_int_equal(in.count, 6);
    check_input(&in.list[0], "/plain.npz", NULL);
    assert_string_equal(in.list[0].ood, "other.npz");
    check_input(&in.list[1], "/store/best/paper-second.npz", "second");
    check_input(&in.list[2], "/store/best/paper-first.npz", "first");
    check_input(&in.list[3], "/store/best/paper-second.npz", "mine second");
    check_input(&in.list[4], "/store/best/paper-first.npz", "mine first");
    assert_string_equal(in.list[3].ood, "odd.npz");
    check_input(&in.list[5], "/plain.npz", "it");
    lli_report_inputs_release(&in);
    assert_int_equal(in.count, 0);
    assert_int_equal(in.owned_count, 0);
    int64_t before = lli_memory_count(ctx);
    CHECK_OK(ctx, lli_report_inputs_expand(&in, ctx, given, 4));
    int64_t allocations = lli_memory_count(ctx) - before;
    lli_report_inputs_release(&in);
    for (int64_t i = 1; i <= allocations; i++) { /* whichever allocation fails */
        lli_memory_fail_at(ctx, i);
        assert_int_equal(lli_report_inputs_expand(&in, ctx, given, 4), LL_ERR_MEMORY);
        assert_int_equal(in.count, 0);
    }
    lli_memory_fail_at(ctx, 0);
    put_store(ctx, "{\"protocol\": \"honest\", \"best\": {\"first\": \"three\", \"second\": null}}");
    CHECK_OK(ctx, lli_report_inputs_expand(&in, ctx, given + 1, 1)); /* a method whose trials all diverged has none */
    assert_int_equal(in.count, 1);
    check_input(&in.list[0], "/store/best/honest-first.npz", "first");
    lli_report_inputs_release(&in);
    ll_context_free(ctx);
}

static void test_broken_stores(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    lli_report_inputs in;
    put_store(ctx, BOTH);
    ll_report_input store = file_input(folder_path("store"), NULL);
    static const char *const trials[] = {"twofold", "tw", NULL};
    for (int i = 0; i < 3; i++) {
        put_best(ctx, "store/best/paper-second.npz", trials[i]);
        CHECK_FAILS(ctx, LL_ERR_DATA, "paper-second.npz does not belong to the chosen trial two; run the search again, in another store",
                    lli_report_inputs_expand(&in, ctx, &store, 1));
        assert_int_equal(in.count, 0);
    }
    unlink(folder_path("store/best/paper-second.npz"));
    CHECK_FAILS(ctx, LL_ERR_READ, "paper-second.npz", lli_report_inputs_expand(&in, ctx, &store, 1));
    static const char *const empty[] = {"{\"best\": {\"first\": \"one\"}}", "{\"protocol\": \"paper\"}",
                                        "{\"protocol\": \"paper\", \"best\": {\"third\": \"one\"}}"};
    for (int i = 0; i < 3; i++) {
        put_store(ctx, empty[i]);
        CHECK_FAILS(ctx, LL_ERR_DATA, "store/choice.json names no best trial", lli_report_inputs_expand(&in, ctx, &store, 1));
    }
    unlink(folder_path("store/choice.json"));
    CHECK_FAILS(ctx, LL_ERR_READ, "store is a folder without choice.json; expected the store of a lastlayer search that has ended",
                lli_report_inputs_expand(&in, ctx, &store, 1));
    store.kind = LL_REPORT_PROBS; /* only predictions come in stores */
    CHECK_OK(ctx, lli_report_inputs_expand(&in, ctx, &store, 1));
    check_input(&in.list[0], "/store", NULL);
    lli_report_inputs_release(&in);
    ll_context_free(ctx);
}

/* At most sixteen, whether given or found in a store. */
static void test_too_many(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    ll_report_input given[LLI_REPORT_INPUTS_MAX + 1];
    lli_report_inputs in;
    put_store(ctx, BOTH);
    for (int i = 0; i <= LLI_REPORT_INPUTS_MAX; i++)
        given[i] = file_input("some.npz", NULL);
    CHECK_OK(ctx, lli_report_inputs_expand(&in, ctx, given, 16));
    assert_int_equal(in.count, 16);
    lli_report_inputs_release(&in);
    CHECK_FAILS(ctx, LL_ERR_USAGE, "a report takes 1 to 16 files, the methods of a store counted one by one",
                lli_report_inputs_expand(&in, ctx, given, 17));
    char path[4096];
    snprintf(path, sizeof path, "%s", folder_path("store"));
    for (int i = 0; i < 9; i++)
        given[i] = file_input(path, NULL);
    CHECK_OK(ctx, lli_report_inputs_expand(&in, ctx, given, 8));
    assert_int_equal(in.count, 16);
    assert_int_equal(in.owned_count, 32);
    lli_report_inputs_release(&in);
    CHECK_FAILS(ctx, LL_ERR_USAGE, "a report takes 1 to 16 files", lli_report_inputs_expand(&in, ctx, given, 9));
    assert_int_equal(in.count, 0);
    CHECK_OK(ctx, lli_report_inputs_expand(&in, ctx, given, 0));
    assert_int_equal(in.count, 0);
    ll_context_free(ctx);
}

/* Structs of callers, old ones among them. */
static void test_structs(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    lli_report_inputs in;
    ll_report_input two[2] = {file_input("a.npz", NULL), file_input("b.npz", NULL)};
    two[1].struct_size = 0;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "input 1 of the report has a struct_size of 0 and the first has",
                lli_report_inputs_expand(&in, ctx, two, 2));
    assert_int_equal(in.count, 0);
    two[0].struct_size = 0; /* the layout of 0.2: as far apart as that says */
    assert_int_equal(LLI_ABI_UP_TO(ll_report_input, predictions), sizeof *two);
    CHECK_OK(ctx, lli_report_inputs_expand(&in, ctx, two, 2));
    check_input(&in.list[1], "b.npz", NULL);
    lli_report_inputs_release(&in);
    unsigned char wide[2][sizeof *two + 16]; /* a newer caller's, longer and zero there */
    memset(wide, 0, sizeof wide);
    for (int i = 0; i < 2; i++) {
        two[i].struct_size = sizeof wide[0];
        memcpy(wide[i], &two[i], sizeof two[i]);
    }
    CHECK_OK(ctx, lli_report_inputs_expand(&in, ctx, (const ll_report_input *)(const void *)wide, 2));
    assert_int_equal(in.count, 2);
    check_input(&in.list[1], "b.npz", NULL);
    lli_report_inputs_release(&in);
    const ll_predictions *memory = (const ll_predictions *)(const void *)&in; /* never looked into here */
    ll_report_input one = {.struct_size = sizeof one, .predictions = memory};
    CHECK_OK(ctx, lli_report_inputs_expand(&in, ctx, &one, 1));
    check_input(&in.list[0], "the predictions", NULL);
    assert_ptr_equal(in.list[0].predictions, memory);
    lli_report_inputs_release(&in);
    one.kind = LL_REPORT_LOGITS;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "input 0 of the report has predictions in memory and also another kind; expected one of the two",
                lli_report_inputs_expand(&in, ctx, &one, 1));
    one = file_input("a.npz", NULL);
    one.predictions = memory;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "has predictions in memory and also a file; expected one of the two",
                lli_report_inputs_expand(&in, ctx, &one, 1));
    one = file_input(NULL, "nameless");
    CHECK_FAILS(ctx, LL_ERR_USAGE, "input 0 of the report has the file NULL", lli_report_inputs_expand(&in, ctx, &one, 1));
    one = file_input("a.npz", NULL);
    for (int kind = 0; kind <= LL_REPORT_LOGITS; kind++) {
        one.kind = (ll_report_kind)kind;
        CHECK_OK(ctx, lli_report_inputs_expand(&in, ctx, &one, 1));
        lli_report_inputs_release(&in);
    }
    one.kind = (ll_report_kind)(LL_REPORT_LOGITS + 1);
    CHECK_FAILS(ctx, LL_ERR_USAGE, "input 0 of the report has a kind that does not exist", lli_report_inputs_expand(&in, ctx, &one, 1));
    ll_context_free(ctx);
}

static int teardown(void **state) {
    (void)state;
    folder_remove(folder_name);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stores),
        cmocka_unit_test(test_broken_stores),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_structs),
    };
    return cmocka_run_group_tests(tests, folder_setup, teardown);
}
