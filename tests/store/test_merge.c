/* SPDX-License-Identifier: MIT */
/* Parts, written here by hand as store/parts.h describes them, become the bytes of the whole; each thing that may be wrong with a part is
 * one sentence. The whole is written by the formats room alone. */
#include "check.h"
#include "folder.h"
#include "formats/format.h"
#include "store/parts.h"
#include "two_methods.h"

enum { S = 5, WEIGHTS = 7, K = 2, D = 3, MOST = 8, MEMBERS = 2 };

typedef struct entry {
    const char *key, *value;
} entry;

/* What a part is made of; tests change one thing. */
typedef struct part {
    ll_named_array arrays[MOST];
    int64_t count;
    entry meta[MOST];
    int64_t metas;
} part;

static void put_array(part *p, const char *name, ll_dtype dtype, const void *data, int rank, int64_t a, int64_t b, int64_t c) {
    p->arrays[p->count++] = (ll_named_array){name, ll_array_view((void *)(uintptr_t)data, dtype, rank, (int64_t[]){a, b, c})};
}

static void put_meta(part *p, const char *key, const char *value) {
    p->meta[p->metas++] = (entry){key, value};
}

static entry *meta_of(part *p, const char *key) {
    for (int64_t i = 0; i < p->metas; i++)
        if (strcmp(p->meta[i].key, key) == 0)
            return &p->meta[i];
    fail_msg("no entry %s", key);
    return NULL;
}

static void write_arrays(ll_context *ctx, const char *name, const part *p) {
    ll_meta meta[MOST];
    for (int64_t i = 0; i < p->metas; i++)
        meta[i] = (ll_meta){p->meta[i].key, p->meta[i].value};
    CHECK_OK(ctx, ll_bundle_write(ctx, folder_path(name), p->arrays, p->count, meta, p->metas));
}

/* ---- ensembles ---- */

/* Members 3, 0 | none | 4, 1, 2, each with numbers of its own. */
static const int64_t members[3][3] = {{3, 0}, {0}, {4, 1, 2}};
static const int64_t sizes[3] = {2, 0, 3};
static float W[S][K][D], b[S][K], part_W[3][3][K][D], part_b[3][3][K];
static double weight[WEIGHTS];

static void fill(void) {
    for (int i = 0; i < WEIGHTS; i++) /* more than members, as where masks make them */
        weight[i] = 0.25 * i;
    for (int s = 0; s < S; s++) {
        for (int i = 0; i < K * D; i++)
            W[s][i / D][i % D] = (float)(100 * s + i);
        for (int k = 0; k < K; k++)
            b[s][k] = (float)(-100 * s - k);
    }
    for (int p = 0; p < 3; p++)
        for (int64_t j = 0; j < sizes[p]; j++) {
            memcpy(part_W[p][j], W[members[p][j]], sizeof part_W[p][j]);
            memcpy(part_b[p][j], b[members[p][j]], sizeof part_b[p][j]);
        }
}

static part ensemble_part(int p) {
    static const char *const numbers[] = {"1/3", "2/3", "3/3"};
    part made = {0};
    put_array(&made, "W", LL_DTYPE_F32, part_W[p], 3, sizes[p], K, D);
    put_array(&made, "b", LL_DTYPE_F32, part_b[p], 2, sizes[p], K, 0);
    put_array(&made, "weight", LL_DTYPE_F64, weight, 1, WEIGHTS, 0, 0);
    put_array(&made, LLI_PARTS_MEMBERS, LL_DTYPE_I64, members[p], 1, sizes[p], 0, 0);
    put_meta(&made, "format", "lastlayer-ensemble-1");
    put_meta(&made, "seed", "7");
    put_meta(&made, LLI_PARTS_KIND, LLI_PARTS_ENSEMBLE);
    put_meta(&made, LLI_PARTS_NUMBER, numbers[p]);
    put_meta(&made, LLI_PARTS_TOTAL, "5");
    put_meta(&made, LLI_PARTS_TENSORS, "2");
    return made;
}

static const char *const names[] = {"e.safetensors.part-1-of-3", "e.safetensors.part-2-of-3", "e.safetensors.part-3-of-3"};

static void write_ensemble(ll_context *ctx) {
    fill();
    folder_clear();
    part whole = {0};
    put_array(&whole, "W", LL_DTYPE_F32, W, 3, S, K, D);
    put_array(&whole, "b", LL_DTYPE_F32, b, 2, S, K, 0);
    put_array(&whole, "weight", LL_DTYPE_F64, weight, 1, WEIGHTS, 0, 0);
    put_meta(&whole, "format", "lastlayer-ensemble-1");
    put_meta(&whole, "seed", "7");
    write_arrays(ctx, "whole.safetensors", &whole);
    for (int p = 0; p < 3; p++) {
        part one = ensemble_part(p);
        write_arrays(ctx, names[p], &one);
    }
}

static void check_whole(const char *name, const char *expected) {
    folder_bytes whole = folder_read(expected);
    folder_check_same(name, &whole);
    free(whole.data);
}

static void test_ensemble(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    write_ensemble(ctx);
    for (int again = 0; again < 2; again++) {
        CHECK_OK(ctx, ll_merge(ctx, folder_path("e.safetensors")));
        check_whole("e.safetensors", "whole.safetensors");
    }
    assert_int_equal(folder_count(), 5); /* the parts stay, nothing else does */
    int64_t before = lli_memory_count(ctx);
    CHECK_OK(ctx, ll_merge(ctx, folder_path("e.safetensors")));
    int64_t allocations = lli_memory_count(ctx) - before;
    assert_true(allocations > 20);
    for (int64_t i = 1; i <= allocations; i++) { /* whichever allocation fails */
        lli_memory_fail_at(ctx, i);
        assert_int_equal(ll_merge(ctx, folder_path("e.safetensors")), LL_ERR_MEMORY);
        check_whole("e.safetensors", "whole.safetensors");
    }
    ll_context_free(ctx);
}

/* Part `p` is this instead: refused with these words, and no output. */
static void refused(ll_context *ctx, int p, const part *changed, ll_status status, const char *words) {
    part right = ensemble_part(p);
    write_arrays(ctx, names[p], changed);
    CHECK_FAILS(ctx, status, words, ll_merge(ctx, folder_path("e.safetensors")));
    assert_false(folder_has("e.safetensors"));
    assert_int_equal(folder_count(), 4);
    write_arrays(ctx, names[p], &right);
}

#define DAMAGED "is damaged: its arrays are not those of a part; make it again"

static void test_which_members(void **state) {
    (void)state;
    /* in part 1 too, twice in one, before the first, behind the last */
    static const int64_t wrong[][3] = {{4, 1, 3}, {4, 1, 1}, {4, 1, -1}, {4, 1, 5}};
    ll_context *ctx = check_context(1);
    write_ensemble(ctx);
    for (size_t i = 0; i < LLI_COUNT(wrong); i++) {
        part p = ensemble_part(2);
        p.arrays[3].array.data = (void *)(uintptr_t)wrong[i];
        refused(ctx, 2, &p, LL_ERR_FORMAT, "part-3-of-3 " DAMAGED);
    }
    for (int64_t n = 0; n < 3; n++) { /* too few members: the first that is missing is named */
        static const char *const missing[] = {"member 1 of 5 is in none of the 3 parts", "member 1 of 5 is in none",
                                              "member 2 of 5 is in none"};
        part p = ensemble_part(2);
        for (int array = 0; array < 4; array++)
            if (array != 2)
                p.arrays[array].array.shape[0] = n;
        refused(ctx, 2, &p, LL_ERR_DATA, missing[n]);
    }
    for (int array = 0; array < 2; array++) { /* tensors of another number of members than the list says */
        part p = ensemble_part(2);
        p.arrays[array].array.shape[0] = 2;
        refused(ctx, 2, &p, LL_ERR_FORMAT, "part-3-of-3 " DAMAGED);
    }
    ll_context_free(ctx);
}

static void test_first_part(void **state) {
    (void)state;
    static const entry wrong[] = {{LLI_PARTS_TOTAL, "0"},    {LLI_PARTS_TOTAL, "-5"},    {LLI_PARTS_TOTAL, "5x"},
                                  {LLI_PARTS_TOTAL, ""},     {LLI_PARTS_TENSORS, "0"},   {LLI_PARTS_TENSORS, "4"},
                                  {LLI_PARTS_TENSORS, " 2"}, {LLI_PARTS_TENSORS, "2.0"}, {LLI_PARTS_TENSORS, "a few"}};
    ll_context *ctx = check_context(1);
    write_ensemble(ctx);
    for (size_t i = 0; i < LLI_COUNT(wrong); i++) {
        for (int p = 0; p < 3; p++) { /* all agree, so that only the numbers are wrong */
            part made = ensemble_part(p);
            meta_of(&made, wrong[i].key)->value = wrong[i].value;
            write_arrays(ctx, names[p], &made);
        }
        CHECK_FAILS(ctx, LL_ERR_FORMAT, "part-1-of-3 " DAMAGED, ll_merge(ctx, folder_path("e.safetensors")));
        assert_false(folder_has("e.safetensors"));
    }
    for (int what = 0; what < 2; what++) { /* the list of members under another name, or of another type */
        for (int p = 0; p < 3; p++) {
            part made = ensemble_part(p);
            if (what)
                made.arrays[3].array.dtype = LL_DTYPE_U64;
            else
                made.arrays[3].name = "members";
            write_arrays(ctx, names[p], &made);
        }
        CHECK_FAILS(ctx, LL_ERR_FORMAT, "part-1-of-3 " DAMAGED, ll_merge(ctx, folder_path("e.safetensors")));
    }
    write_ensemble(ctx);
    double other[WEIGHTS + 1];
    memcpy(other, weight, sizeof weight);
    other[WEIGHTS] = 0;
    for (int i = 0; i <= WEIGHTS; i++) { /* what is the same in all parts is not: a number, or one more */
        part p = ensemble_part(1 + i % 2);
        if (i < WEIGHTS)
            other[i] += 1;
        else
            p.arrays[2].array.shape[0] = WEIGHTS + 1;
        p.arrays[2].array.data = other;
        refused(ctx, 1 + i % 2, &p, LL_ERR_FORMAT, i % 2 ? "part-3-of-3 " DAMAGED : "part-2-of-3 " DAMAGED);
        if (i < WEIGHTS)
            other[i] = weight[i];
    }
    ll_context_free(ctx);
}

static void test_parts_of_others(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    write_ensemble(ctx);
    for (int p = 1; p < 3; p++) {
        part made = ensemble_part(p);
        meta_of(&made, "seed")->value = "8";
        refused(ctx, p, &made, LL_ERR_DATA, "are parts of different outputs: seed is 7 in one and 8 in the other");
        made = ensemble_part(p);
        meta_of(&made, "seed")->key = "sand";
        refused(ctx, p, &made, LL_ERR_DATA, "are parts of different outputs: seed is 7 in one and missing in the other");
        made = ensemble_part(p);
        put_meta(&made, "zebra", "yes"); /* one entry more, behind all others */
        refused(ctx, p, &made, LL_ERR_DATA, "are parts of different outputs: zebra is missing in one and yes in the other");
        made = ensemble_part(p);
        meta_of(&made, LLI_PARTS_NUMBER)->value = "1/3";
        refused(ctx, p, &made, LL_ERR_DATA, p == 1 ? "is part 1/3; expected part 2/3" : "is part 1/3; expected part 3/3");
        made = ensemble_part(p);
        meta_of(&made, LLI_PARTS_NUMBER)->key = "number";
        refused(ctx, p, &made, LL_ERR_DATA,
                p == 1 ? "is no part of an output; expected part 2/3" : "is no part of an output; expected part 3/3");
        for (int what = 0; what < 5; what++) {
            made = ensemble_part(p);
            if (what == 0)
                made.arrays[1].name = "c";
            else if (what == 1)
                made.arrays[1].array.dtype = LL_DTYPE_I32;
            else if (what == 2)
                made.arrays[0].array = ll_array_view(part_W[p], LL_DTYPE_F32, 2, (int64_t[]){sizes[p], K});
            else if (what == 3)
                made.arrays[0].array.shape[2] = D - 1;
            else
                made.count--;
            refused(ctx, p, &made, LL_ERR_DATA, "are parts of different outputs: their arrays differ");
        }
    }
    for (int p = 0; p < 3; p++) { /* a number alone has no rows to be divided */
        part made = ensemble_part(p);
        made.arrays[2].array = ll_array_view(weight, LL_DTYPE_F64, 0, NULL);
        write_arrays(ctx, names[p], &made);
    }
    CHECK_FAILS(ctx, LL_ERR_DATA, "are parts of different outputs: their arrays differ", ll_merge(ctx, folder_path("e.safetensors")));
    static const entry unknown[] = {{LLI_PARTS_KIND, "sausage"}, {"part_sort", "ensemble"}};
    for (size_t i = 0; i < LLI_COUNT(unknown); i++) {
        for (int p = 0; p < 3; p++) {
            part made = ensemble_part(p);
            *meta_of(&made, LLI_PARTS_KIND) = unknown[i];
            write_arrays(ctx, names[p], &made);
        }
        CHECK_FAILS(ctx, LL_ERR_FORMAT, "part-1-of-3 is a part of nothing that this version knows",
                    ll_merge(ctx, folder_path("e.safetensors")));
    }
    folder_clear();
    CHECK_FAILS(ctx, LL_ERR_USAGE, "path", ll_merge(ctx, NULL));
    CHECK_FAILS(ctx, LL_ERR_READ, "e.safetensors has no parts", ll_merge(ctx, folder_path("e.safetensors")));
    ll_context_free(ctx);
}

/* ---- predictions ---- */

enum { ROWS = 9000, OUT = 100 }; /* more rows than a block holds */
static float probs[ROWS][K];
static int32_t label[ROWS];
static double out_sr[OUT], tiles[4][MEMBERS][3], running[MEMBERS][3];

/* Rows 0 to 4999, none, 5000 to 8999; of the other rows 0 to 29, 30 to 99, none. */
static const int64_t row_edges[] = {0, 5000, 5000, ROWS}, out_edges[] = {0, 30, OUT, OUT}, tile_edges[] = {0, 2, 2, 4};

static part predictions_part(int p, bool whole, bool table) {
    static const char *const numbers[] = {"1/3", "2/3", "3/3"};
    part made = {0};
    int64_t row = row_edges[p], n = whole ? ROWS : row_edges[p + 1] - row;
    int64_t out = out_edges[p], m = whole ? OUT : out_edges[p + 1] - out;
    put_array(&made, "label", LL_DTYPE_I32, label + row, 1, n, 0, 0);
    put_array(&made, "probs", LL_DTYPE_F32, probs + row, 2, n, K, 0);
    if (!table) {
        if (whole)
            put_array(&made, "running", LL_DTYPE_F64, running, 2, MEMBERS, 3, 0);
        else
            put_array(&made, "running", LL_DTYPE_F64, tiles + tile_edges[p], 3, tile_edges[p + 1] - tile_edges[p], MEMBERS, 3);
        put_array(&made, "out_sr", LL_DTYPE_F64, out_sr + out, 1, m, 0, 0);
    }
    if (!whole || !table)
        put_meta(&made, "method", "sgld");
    if (!whole) {
        put_meta(&made, LLI_PARTS_KIND, LLI_PARTS_PREDICTIONS);
        put_meta(&made, LLI_PARTS_NUMBER, numbers[p]);
        put_meta(&made, LLI_PARTS_TOTAL, "9000");
    }
    return made;
}

static void write_predictions(ll_context *ctx, const char *target, bool table) {
    folder_clear();
    for (int i = 0; i < ROWS; i++) {
        label[i] = i % 7;
        for (int k = 0; k < K; k++)
            probs[i][k] = (float)(i + 0.5 * k);
    }
    for (int i = 0; i < OUT; i++)
        out_sr[i] = -i;
    for (int s = 0; s < MEMBERS; s++)
        for (int f = 0; f < 3; f++) {
            const double sum[4] = {1e16, 1 + f, 3 + s, -1e16}; /* whose order is seen in the last bits */
            running[s][f] = 0;
            for (int t = 0; t < 4; t++)
                running[s][f] += tiles[t][s][f] = sum[t];
            running[s][f] /= ROWS;
        }
    for (int p = 0; p < 3; p++) {
        char name[100];
        snprintf(name, sizeof name, "%s.part-%d-of-3", target, p + 1);
        part made = predictions_part(p, false, table);
        write_arrays(ctx, name, &made);
    }
}

static void test_predictions(void **state) {
    (void)state;
    static const char *const targets[] = {"p.npz", "p.safetensors", "p.csv"};
    ll_context *ctx = check_context(1);
    for (int i = 0; i < 3; i++) {
        char expected[32];
        snprintf(expected, sizeof expected, "whole%s", targets[i] + 1);
        write_predictions(ctx, targets[i], i == 2);
        part whole = predictions_part(0, true, i == 2);
        write_arrays(ctx, expected, &whole);
        CHECK_OK(ctx, ll_merge(ctx, folder_path(targets[i])));
        check_whole(targets[i], expected);
        ll_context_cancel(ctx);
        assert_int_equal(ll_merge(ctx, folder_path(targets[i])), LL_ERR_CANCELLED);
        ll_context_free(ctx);
        ctx = check_context(1);
        check_whole(targets[i], expected); /* as it was */
    }
    ll_context_free(ctx);
}

/* Of one array alone, the first that there is. */
static void test_labels_alone(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    write_predictions(ctx, "p.npz", true);
    part whole = predictions_part(0, true, true);
    whole.count = 1;
    whole.metas = 0;
    put_meta(&whole, "method", "sgld");
    write_arrays(ctx, "whole.npz", &whole);
    for (int p = 0; p < 3; p++) {
        char name[100];
        snprintf(name, sizeof name, "p.npz.part-%d-of-3", p + 1);
        part made = predictions_part(p, false, true);
        made.count = 1;
        write_arrays(ctx, name, &made);
    }
    CHECK_OK(ctx, ll_merge(ctx, folder_path("p.npz")));
    check_whole("p.npz", "whole.npz");
    ll_context_free(ctx);
}

static void test_damaged_predictions(void **state) {
    (void)state;
    static const char *const totals[] = {"0", "8999", "9001", "-1", "nine", NULL};
    ll_context *ctx = check_context(1);
    for (int i = 0; i < 6; i++) {
        write_predictions(ctx, "p.npz", false);
        for (int p = 0; p < 3; p++) {
            char name[100];
            snprintf(name, sizeof name, "p.npz.part-%d-of-3", p + 1);
            part made = predictions_part(p, false, false);
            if (totals[i])
                meta_of(&made, LLI_PARTS_TOTAL)->value = totals[i];
            else
                made.metas--;
            write_arrays(ctx, name, &made);
        }
        CHECK_FAILS(ctx, LL_ERR_FORMAT, "p.npz.part-1-of-3 " DAMAGED, ll_merge(ctx, folder_path("p.npz")));
        assert_false(folder_has("p.npz"));
    }
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ensemble),        cmocka_unit_test(test_which_members), cmocka_unit_test(test_first_part),
        cmocka_unit_test(test_parts_of_others), cmocka_unit_test(test_predictions),   cmocka_unit_test(test_damaged_predictions),
        cmocka_unit_test(test_labels_alone),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
