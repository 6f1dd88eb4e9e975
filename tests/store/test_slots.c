/* SPDX-License-Identifier: MIT */
/* Two slots in a file, against a model that is a copy in memory: what was saved last comes back, a torn slot gives way to the other, and a
 * file that was begun as something else is refused and left alone. */
#include "check.h"
#include "folder.h"
#include "store/slots.h"

enum { FIRST = 3, SECOND = 70, THIRD = 8, BYTES = FIRST + SECOND + THIRD, SLOT_HEAD = 128 };

typedef struct payload {
    unsigned char bytes[BYTES];
} payload;

static payload made(int version) {
    payload p;
    for (int i = 0; i < BYTES; i++)
        p.bytes[i] = (unsigned char)(7 * i + 31 * version + i * version);
    return p;
}

/* Pieces of three sizes, so that one read or written at another's place is another payload. */
static void cut(lli_slots_piece pieces[3], payload *p) {
    pieces[0] = (lli_slots_piece){p->bytes, FIRST};
    pieces[1] = (lli_slots_piece){p->bytes + FIRST, SECOND};
    pieces[2] = (lli_slots_piece){p->bytes + FIRST + SECOND, THIRD};
}

static void save(ll_context *ctx, lli_slots *s, int version) {
    payload p = made(version);
    lli_slots_piece pieces[3];
    cut(pieces, &p);
    CHECK_OK(ctx, lli_slots_save(ctx, s, pieces, 3));
}

/* Begins the file anew, or goes on with it: returns the version that came back, 0 for none. */
static int begin(ll_context *ctx, lli_slots **s, const char *identity, bool resume, int most) {
    payload p = made(-1);
    lli_slots_piece pieces[3];
    bool found;
    cut(pieces, &p);
    CHECK_OK(ctx, lli_slots_open(s, ctx, folder_path("run"), resume));
    CHECK_OK(ctx, lli_slots_begin(ctx, *s, identity, pieces, 3, &found));
    for (int version = 1; found && version <= most; version++) {
        payload expected = made(version);
        if (memcmp(&p, &expected, sizeof p) == 0)
            return version;
    }
    assert_false(found);
    return 0;
}

static void test_last_one_comes_back(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    for (int saves = 1; saves <= 5; saves++) {
        folder_clear();
        lli_slots *s;
        assert_int_equal(begin(ctx, &s, "a fit", false, 0), 0);
        folder_bytes fresh = folder_read("run.partial"); /* has room for both slots from the start */
        assert_int_equal(fresh.size, 64 + 2 * (SLOT_HEAD + BYTES));
        free(fresh.data);
        for (int version = 1; version <= saves; version++)
            save(ctx, s, version);
        lli_slots_close(s, true);
        assert_true(folder_has("run.partial"));
        assert_int_equal(begin(ctx, &s, "a fit", true, saves), saves);
        save(ctx, s, saves + 1); /* over the older slot, never over the one that came back */
        lli_slots_close(s, true);
        assert_int_equal(begin(ctx, &s, "a fit", true, saves + 1), saves + 1);
        lli_slots_close(s, true);
        assert_int_equal(begin(ctx, &s, "a fit", true, saves + 1), saves + 1);
        lli_slots_close(s, false);
        assert_false(folder_has("run.partial"));
    }
    ll_context_free(ctx);
}

/* Any byte of the younger slot that is wrong, its reserved space aside, brings the older one back; and with both torn none. */
static void test_torn(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    for (int saves = 2; saves <= 3; saves++) {
        folder_clear();
        lli_slots *s;
        begin(ctx, &s, "a fit", false, 0);
        for (int version = 1; version <= saves; version++)
            save(ctx, s, version);
        lli_slots_close(s, true);
        folder_bytes file = folder_read("run.partial");
        size_t slot = SLOT_HEAD + BYTES, first = file.size - 2 * slot;
        assert_int_equal(first % 64, 0);
        size_t younger = first + (saves % 2 ? slot : 0), older = first + (saves % 2 ? 0 : slot);
        for (size_t at = 0; at < slot; at++) {
            if (at >= 72 && at < SLOT_HEAD)
                continue;
            file.data[younger + at] ^= 1;
            folder_write("run.partial", file.data, file.size);
            assert_int_equal(begin(ctx, &s, "a fit", true, saves), saves - 1);
            lli_slots_close(s, true);
            file.data[older + at] ^= 1;
            folder_write("run.partial", file.data, file.size);
            assert_int_equal(begin(ctx, &s, "a fit", true, saves), 0);
            lli_slots_close(s, true);
            assert_true(folder_has("run.partial")); /* it was there before */
            file.data[younger + at] ^= 1;
            file.data[older + at] ^= 1;
        }
        free(file.data);
    }
    ll_context_free(ctx);
}

static void refused(ll_context *ctx, const char *identity, size_t sizes[3]) {
    static unsigned char room[300];
    lli_slots *s;
    bool found;
    folder_bytes before = folder_read("run.partial");
    lli_slots_piece pieces[] = {{room, sizes[0]}, {room + 100, sizes[1]}, {room + 200, sizes[2]}};
    CHECK_OK(ctx, lli_slots_open(&s, ctx, folder_path("run"), true));
    CHECK_FAILS(ctx, LL_ERR_USAGE, "run.partial was begun with other options", lli_slots_begin(ctx, s, identity, pieces, 3, &found));
    lli_slots_close(s, true);
    folder_check_same("run.partial", &before);
    free(before.data);
}

static void test_refused(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    lli_slots *s;
    folder_clear();
    begin(ctx, &s, "a fit", false, 0);
    save(ctx, s, 1);
    lli_slots_close(s, true);
    CHECK_FAILS(ctx, LL_ERR_WRITE, "run.partial holds an unfinished run", lli_slots_open(&s, ctx, folder_path("run"), false));
    assert_null(s);
    refused(ctx, "a fib", (size_t[]){FIRST, SECOND, THIRD});
    refused(ctx, "b fit", (size_t[]){FIRST, SECOND, THIRD});
    refused(ctx, "a fit, and more", (size_t[]){FIRST, SECOND, THIRD});
    refused(ctx, "a fit", (size_t[]){FIRST, SECOND, THIRD + 1});
    refused(ctx, "a fit", (size_t[]){FIRST + 1, SECOND, THIRD});
    folder_bytes file = folder_read("run.partial");
    for (int longer = -1; longer <= 1; longer += 2) { /* cut short, or with more behind it */
        unsigned char *copy = calloc(file.size + 1, 1);
        memcpy(copy, file.data, file.size);
        folder_write("run.partial", copy, file.size + (size_t)longer);
        refused(ctx, "a fit", (size_t[]){FIRST, SECOND, THIRD});
        free(copy);
    }
    folder_write("run.partial", file.data, file.size);
    assert_int_equal(begin(ctx, &s, "a fit", true, 1), 1);
    lli_slots_close(s, false);
    free(file.data);
    ll_context_free(ctx);
}

/* Killed before the head was there: a fresh file. One into which nothing was saved goes, also with `keep`. */
static void test_not_begun(void **state) {
    (void)state;
    static const unsigned char nothing[400];
    ll_context *ctx = check_context(1);
    lli_slots *s;
    for (size_t size = 0; size <= sizeof nothing; size += size == 39 ? 1 : size == 40 ? 360 : 39) {
        folder_clear();
        folder_write("run.partial", nothing, size);
        assert_int_equal(begin(ctx, &s, "a fit", true, 0), 0);
        save(ctx, s, 1);
        lli_slots_close(s, true);
        assert_int_equal(begin(ctx, &s, "a fit", true, 1), 1);
        lli_slots_close(s, true);
    }
    folder_clear();
    folder_write("run.partial", "lastlayer-slots-1\0\0\0\0\0\0\0aaaaaaaabbbbbbbb", 40); /* a whole head that is another's */
    refused(ctx, "a fit", (size_t[]){FIRST, SECOND, THIRD});
    folder_clear();
    begin(ctx, &s, "a fit", false, 0);
    lli_slots_close(s, true);
    assert_false(folder_has("run.partial"));
    begin(ctx, &s, "a fit", true, 0); /* nothing to go on from is no failure */
    lli_slots_close(s, true);
    lli_slots_close(NULL, true);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_last_one_comes_back),
        cmocka_unit_test(test_torn),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_not_begun),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
