/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "data/blocks.h"
#include "data/order.h"

enum { N = 1003, R = 100 };

/* Every row once; rows of one block together; another epoch, member or seed is another order. */
static void a_block_shuffle_is_a_permutation_by_blocks(void **state) {
    (void)state;
    static int64_t order[N], other[N], blocks[N];
    lli_blocks_shuffle(order, blocks, lli_kernels_get(), NULL, N, R, 1, 2, 3);
    int64_t count = lli_blocks_count(N, R), at = 0;
    assert_int_equal(count, 11);
    bool seen[N] = {false}, moved = false;
    for (int64_t b = 0; b < count; b++) {
        int64_t first = blocks[b] * R, n = LLI_MIN(R, N - first);
        moved |= blocks[b] != b;
        for (int64_t i = 0; i < n; i++, at++) {
            assert_true(order[at] >= first && order[at] < first + n);
            assert_false(seen[order[at]]);
            seen[order[at]] = true;
        }
    }
    assert_int_equal(at, N);
    assert_true(moved);
    const struct {
        uint64_t seed;
        int64_t member, epoch;
    } others[] = {{2, 2, 3}, {1, 1, 3}, {1, 2, 4}};
    for (size_t i = 0; i < LLI_COUNT(others); i++) {
        lli_blocks_shuffle(other, blocks, lli_kernels_get(), NULL, N, R, others[i].seed, others[i].member, others[i].epoch);
        assert_memory_not_equal(order, other, sizeof order);
    }
}

/* One block of all rows is a plain shuffle with the same draws. */
static void one_block_is_a_full_shuffle(void **state) {
    (void)state;
    static int64_t order[N], full[N], blocks[N];
    lli_blocks_shuffle(order, blocks, lli_kernels_get(), NULL, N, N, 7, 0, 5);
    lli_order_shuffle(full, lli_kernels_get(), NULL, N, 7, 0, 5);
    assert_memory_equal(order, full, sizeof full);
}

static void a_resample_is_sorted_and_kept_whole(void **state) {
    (void)state;
    static int64_t list[N], sorted[N], counts[N], left[N];
    lli_order_resample(list, lli_kernels_get(), N, 9, 4);
    memcpy(sorted, list, sizeof list);
    lli_blocks_sort(sorted, counts, N);
    for (int64_t i = 0; i < N; i++) {
        left[list[i]]++;
        left[sorted[i]]--;
        assert_true(i == 0 || sorted[i] >= sorted[i - 1]);
    }
    for (int64_t i = 0; i < N; i++)
        assert_int_equal(left[i], 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_shuffle_is_a_permutation_by_blocks),
        cmocka_unit_test(one_block_is_a_full_shuffle),
        cmocka_unit_test(a_resample_is_sorted_and_kept_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
