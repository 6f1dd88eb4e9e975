/* SPDX-License-Identifier: MIT */
/* Row lists as people write them. */
#include "check.h"
#include "data/row_list.h"

static void check_list(ll_context *ctx, const char *text, int64_t N, const int64_t *rows, int64_t count) {
    int64_t *found, n;
    CHECK_OK(ctx, lli_row_list_parse(ctx, &found, &n, text, N));
    assert_int_equal(n, count);
    for (int64_t i = 0; i < n; i++)
        assert_int_equal(found[i], rows[i]);
    lli_memory_free(found);
}

static void test_lists(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    check_list(ctx, "0", 1, (int64_t[]){0}, 1);
    check_list(ctx, "7,0,3", 8, (int64_t[]){7, 0, 3}, 3);
    check_list(ctx, "2:5,1", 5, (int64_t[]){2, 3, 4, 1}, 4);
    check_list(ctx, "4:5,4", 5, (int64_t[]){4, 4}, 2);
    int64_t *found = (int64_t *)1, n = 7;
    CHECK_OK(ctx, lli_row_list_parse(ctx, &found, &n, NULL, 3));
    assert_true(!found && n == 0);
    ll_context_free(ctx);
}

static void test_refusals(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    int64_t *found, n;
    static const char *const wrong[] = {"",    ",",  "a",  "1,",    ",1", "1;2", "3:3",
                                        "3:2", "1:", ":2", "1:2:3", "-1", "1 ",  "99999999999999999999x"};
    for (size_t i = 0; i < LLI_COUNT(wrong); i++) {
        CHECK_FAILS(ctx, LL_ERR_USAGE, "expected rows like 0,5,10:20", lli_row_list_parse(ctx, &found, &n, wrong[i], 10));
        assert_null(found);
    }
    CHECK_FAILS(ctx, LL_ERR_USAGE, "asks for row 10; there are 10 rows, 0 to 9", lli_row_list_parse(ctx, &found, &n, "10", 10));
    CHECK_FAILS(ctx, LL_ERR_USAGE, "asks for row 11", lli_row_list_parse(ctx, &found, &n, "3,5:12", 10));
    CHECK_FAILS(ctx, LL_ERR_USAGE, "there are 2 rows", lli_row_list_parse(ctx, &found, &n, "0:2,0:2,0:2", 2)); /* more than all rows */
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lists), cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
