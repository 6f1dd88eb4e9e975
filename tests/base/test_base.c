/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <math.h>

#include "base/array.h"
#include "base/bundle.h"
#include "base/golden.h"
#include "base/half.h"
#include "base/hash.h"
#include "base/option.h"
#include "base/text.h"

static void sha256_known_answers(void **state) {
    (void)state;
    static const struct {
        const char *text, *digest;
    } known[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    for (size_t i = 0; i < LLI_COUNT(known); i++) {
        char digest[LLI_HASH_TEXT];
        lli_hash hash;
        lli_hash_init(&hash);
        for (const char *p = known[i].text; *p; p++) /* byte by byte crosses every boundary */
            lli_hash_add(&hash, p, 1);
        lli_hash_text(&hash, digest);
        assert_string_equal(digest, known[i].digest);
    }
    lli_hash hash;
    lli_hash_init(&hash);
    char block[1000];
    memset(block, 'a', sizeof block);
    for (int i = 0; i < 1000; i++)
        lli_hash_add(&hash, block, sizeof block);
    char digest[LLI_HASH_TEXT];
    lli_hash_text(&hash, digest);
    assert_string_equal(digest, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void place_of_not_finite(void **state) {
    (void)state;
    float x[200] = {0};
    for (int n = 0; n <= 200; n += 8)
        for (int at = 0; at < 200; at++) {
            x[at] = at % 3 == 0 ? NAN : at % 3 == 1 ? INFINITY : -INFINITY;
            assert_int_equal(lli_array_not_finite(x, n), LLI_MIN(at, n));
            x[at] = 3e38F;
        }
}

/* Each change gives another sum: every bit, the signs of two numbers that the same lane takes, blocks that change places, zeros at the end.
 */
static void sums_of_bytes(void **state) {
    (void)state;
    enum { BYTES = 200, CASES = 8 * BYTES + 4 };
    static uint64_t seen[CASES][LLI_HASH_LANES];
    unsigned char bytes[BYTES];
    for (int i = 0; i < BYTES; i++)
        bytes[i] = (unsigned char)(37 * i + i / 7);
    for (int c = 0; c < CASES; c++) {
        unsigned char changed[BYTES];
        memcpy(changed, bytes, sizeof bytes);
        if (c < 8 * BYTES)
            changed[c / 8] ^= (unsigned char)(1 << c % 8);
        if (c == 8 * BYTES)
            changed[7] ^= 0x80, changed[71] ^= 0x80;
        if (c == 8 * BYTES + 1)
            memcpy(changed, bytes + 64, 64), memcpy(changed + 64, bytes, 64);
        lli_hash_sum_init(seen[c]);
        lli_hash_sum_add(seen[c], changed, c == 8 * BYTES + 2 ? 192 : BYTES);
        for (int before = 0; before < c; before++)
            for (int i = 0; i < LLI_HASH_LANES; i++) {
                if (seen[before][i] != seen[c][i])
                    break;
                assert_int_not_equal(i, LLI_HASH_LANES - 1);
            }
    }
}

/* The two compressions agree, however many blocks they get at once. */
static void sha256_with_instructions(void **state) {
    (void)state;
    if (!lli_hash_x86())
        return;
    unsigned char blocks[64 * 9];
    for (size_t i = 0; i < sizeof blocks; i++)
        blocks[i] = (unsigned char)(255 * check_uniform(1, (int64_t)i));
    for (size_t count = 0; count <= 9; count++) {
        uint32_t plain[8] = {1, 2, 3, 0xfffffffe, 5, 6, 0x80000000, 8}, fast[8];
        memcpy(fast, plain, sizeof fast);
        lli_hash_compress(plain, blocks, count);
        lli_hash_compress_x86(fast, blocks, count);
        assert_memory_equal(fast, plain, sizeof fast);
    }
}

#ifdef __FLT16_MAX__
/* Against the compiler's own half precision, for every half and for every float near a rounding boundary. */
static void half_is_ieee(void **state) {
    (void)state;
    for (uint32_t h = 0; h < 65536; h++) {
        uint16_t bits = (uint16_t)h;
        _Float16 exact;
        memcpy(&exact, &bits, 2);
        float ours = lli_half_to_float(bits), theirs = (float)exact;
        assert_true(ours == theirs || (isnan(ours) && isnan(theirs)));
        if (isnan(theirs)) {
            assert_true(isnan(lli_half_to_float(lli_half_from_float(ours))));
            continue;
        }
        for (int step = -3; step <= 3; step++) {
            float near = ours;
            for (int i = 0; i < abs(step); i++)
                near = nextafterf(near, step < 0 ? -INFINITY : INFINITY);
            float half_way = isfinite(near) ? near * (1 + 0x1p-11f) : near;
            float candidates[2] = {near, half_way};
            for (int c = 0; c < 2; c++) {
                _Float16 rounded = (_Float16)candidates[c];
                uint16_t expected;
                memcpy(&expected, &rounded, 2);
                assert_int_equal(lli_half_from_float(candidates[c]), expected);
            }
        }
    }
}

#endif

static void bfloat_rounds_to_even(void **state) {
    (void)state;
    assert_int_equal(lli_half_to_bfloat(1.0f), 0x3f80);
    assert_int_equal(lli_half_to_bfloat(1.00390625f), 0x3f80);   /* half way, even below */
    assert_int_equal(lli_half_to_bfloat(1.01171875f), 0x3f82);   /* half way, even above */
    assert_int_equal(lli_half_to_bfloat(3.4028235e38f), 0x7f80); /* overflows to infinity */
    assert_true(isnan(lli_half_from_bfloat(lli_half_to_bfloat(NAN))));
    assert_true(lli_half_from_bfloat(0xc040) == -3.0f);
}

/* Every kind that is escaped, the characters beside each, and what is left alone. */
static void foreign_text_is_made_harmless(void **state) {
    (void)state;
    static const struct {
        const char *text, *plain, *json;
    } cases[] = {
        {"a b~", "a b~", "\"a b~\""},
        {"\x1b[31m\x01\x1f\x7f", "\\x1b[31m\\x01\\x1f\\x7f", "\"\\u001b[31m\\u0001\\u001f\\u007f\""},
        {"\n\r\t", "\\n\\r\\t", "\"\\u000a\\u000d\\u0009\""},
        {"\xc2\x80\xc2\x9f\xc2\xa0", "\\u0080\\u009f\xc2\xa0", "\"\\u0080\\u009f\xc2\xa0\""},
        {"\xd8\x9c\xe2\x80\x8e\xe2\x80\x8f\xe2\x80\x90", "\\u061c\\u200e\\u200f\xe2\x80\x90", "\"\\u061c\\u200e\\u200f\xe2\x80\x90\""},
        {"\xe2\x80\xa8\xe2\x80\xae\xe2\x80\xaf", "\\u2028\\u202e\xe2\x80\xaf", "\"\\u2028\\u202e\xe2\x80\xaf\""},
        {"\xe2\x81\xa5\xe2\x81\xa6\xe2\x81\xa9", "\xe2\x81\xa5\\u2066\\u2069", "\"\xe2\x81\xa5\\u2066\\u2069\""},
        {"\xff\xc0\xaf\xe2\x80", "\\xff\\xc0\\xaf\\xe2\\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\"\\", "\"\\", "\"\\\"\\\\\""},
        {NULL, "", "\"\""},
    };
    char out[64];
    for (size_t i = 0; i < LLI_COUNT(cases); i++) {
        assert_int_equal(ll_text_escape(out, sizeof out, cases[i].text, LL_TEXT_PLAIN), strlen(cases[i].plain));
        assert_string_equal(out, cases[i].plain);
        assert_int_equal(ll_text_escape(out, sizeof out, cases[i].text, LL_TEXT_JSON), strlen(cases[i].json));
        assert_string_equal(out, cases[i].json);
        assert_int_equal(ll_text_escape(NULL, 0, cases[i].text, LL_TEXT_JSON), strlen(cases[i].json));
    }
    assert_int_equal(ll_text_escape(out, 6,
                                    "ab\x1b"
                                    "c",
                                    LL_TEXT_PLAIN),
                     7); /* no half of an escape, and nothing after it */
    assert_string_equal(out, "ab");
    assert_int_equal(ll_text_escape(out, 1, "ab", LL_TEXT_PLAIN), 2);
    assert_string_equal(out, "");
    for (size_t size = 1; size < 14; size++) { /* as much as there is room for, and the length of all */
        static const char plain[] = "abcd\\nefgh";
        assert_int_equal(ll_text_escape(out, size, "abcd\nefgh", LL_TEXT_PLAIN), strlen(plain));
        size_t fits = size == 6 ? 4 : LLI_MIN(size - 1, strlen(plain));
        assert_true(strlen(out) == fits && memcmp(out, plain, fits) == 0);
    }
}

static void sentences_are_one_harmless_line(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    assert_int_equal(lli_fail(ctx, LL_ERR_DATA, "%s: wrong", "a\nb\x1b[0m\xff"), LL_ERR_DATA);
    assert_string_equal(ll_context_message(ctx), "a\\nb\\x1b[0m\\xff: wrong");
    char many[4 * LLI_MESSAGE_MAX];
    memset(many, '\x1b', sizeof many - 1);
    many[sizeof many - 1] = 0;
    assert_int_equal(lli_fail(ctx, LL_ERR_DATA, "%s", many), LL_ERR_DATA);
    assert_true(strlen(ll_context_message(ctx)) < LLI_MESSAGE_MAX);
    ll_context_free(ctx);
}

static void options_are_written_in_the_style_of_the_host(void **state) {
    (void)state;
    static const char text[] = "`prior-precision` or `by sr`, not ` alone";
    char out[100];
    assert_int_equal(ll_option_words(out, sizeof out, text, LL_OPTION_STYLE_MEMBER), 37);
    assert_string_equal(out, "prior_precision or by=sr, not ` alone");
    assert_int_equal(ll_option_words(out, sizeof out, text, LL_OPTION_STYLE_FLAG), 41);
    assert_string_equal(out, "--prior-precision or --by sr, not ` alone");
    assert_int_equal(ll_option_words(out, 8, "`prior-precision`", LL_OPTION_STYLE_FLAG), 17);
    assert_string_equal(out, "--prior");
    assert_int_equal(ll_option_words(NULL, 0, "`lr`", LL_OPTION_STYLE_FLAG), 4);
    const char *const expected[] = {"batch_size is `lr`; use by=std or dropout_at", "--batch-size is `lr`; use --by std or --dropout-at"};
    for (int style = LL_OPTION_STYLE_MEMBER; style <= LL_OPTION_STYLE_FLAG; style++) {
        ll_context_options options = ll_context_options_default();
        assert_int_equal(options.option_style, LL_OPTION_STYLE_MEMBER);
        options.threads = 1;
        options.option_style = (ll_option_style)style;
        ll_context *ctx;
        assert_int_equal(ll_context_new(&ctx, &options), LL_OK);
        ll_context child;
        lli_context_child(&child, ctx);
        ll_context *const both[] = {ctx, &child};
        for (int i = 0; i < 2; i++) {
            CHECK_FAILS(both[i], LL_ERR_DATA, expected[style],
                        lli_fail(both[i], LL_ERR_DATA, "`batch-size` is %s; use `by %s` or %s", "`lr`", "std",
                                 lli_option_name(both[i], "dropout-at").text));
            assert_string_equal(both[i]->message, expected[style]);
        }
        ll_context_free(ctx);
    }
    ll_context_options options = ll_context_options_default();
    options.option_style = (ll_option_style)2;
    ll_context *ctx;
    assert_int_equal(ll_context_new(&ctx, &options), LL_ERR_USAGE);
    assert_non_null(strstr(ll_context_message(ctx), "option_style is 2"));
    ll_context_free(ctx);
}

static void json_strings_are_always_valid(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    lli_text text;
    lli_text_init(&text, ctx);
    lli_text_json_string(&text, "a\"b\\c\n\x01 \xc3\xa9 \xff \xed\xa0\x80 \xf0\x9f\x98\x80");
    char *out;
    CHECK_OK(ctx, lli_text_take(&text, &out));
    assert_string_equal(out, "\"a\\\"b\\\\c\\u000a\\u0001 \xc3\xa9 \xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd \xf0\x9f\x98\x80\"");
    lli_memory_free(out);
    lli_text_init(&text, ctx);
    lli_text_number(&text, 0.1);
    lli_text_add(&text, " ");
    lli_text_number(&text, 1e-5);
    lli_text_add(&text, " ");
    lli_text_number(&text, 250);
    lli_text_add(&text, " ");
    lli_text_json_number(&text, NAN);
    CHECK_OK(ctx, lli_text_take(&text, &out));
    assert_string_equal(out, "0.1 1e-05 250 null");
    lli_memory_free(out);
    ll_context_free(ctx);
}

static void memory_refuses_overflow_and_counts(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    void *block;
    CHECK_FAILS(ctx, LL_ERR_MEMORY, "address", lli_memory_new(ctx, &block, INT64_MAX / 4, 8));
    assert_null(block);
    assert_int_equal(lli_memory_new(ctx, &block, -1, 8), LL_ERR_MEMORY);
    int64_t before = lli_memory_count(ctx);
    CHECK_OK(ctx, lli_memory_new(ctx, &block, 3, 8));
    assert_int_equal(lli_memory_count(ctx), before + 1);
    assert_int_equal((uintptr_t)block % 64, 0);
    lli_memory_free(block);
    lli_memory_fail_at(ctx, 2);
    CHECK_OK(ctx, lli_memory_new(ctx, &block, 1, 1));
    lli_memory_free(block);
    CHECK_FAILS(ctx, LL_ERR_MEMORY, "ran out", lli_memory_new(ctx, &block, 1, 1));
    CHECK_OK(ctx, lli_memory_new(ctx, &block, 1, 1));
    lli_memory_free(block);
    ll_context_free(ctx);
}

static void arrays_convert(void **state) {
    (void)state;
    const int64_t shape[] = {2, 2};
    const uint64_t big[] = {1, UINT64_MAX, 3, 4};
    ll_array a = ll_array_view(big, LL_DTYPE_U64, 2, shape);
    bool fits;
    assert_int_equal(lli_array_integer(&a, 0, &fits), 1);
    assert_true(fits);
    lli_array_integer(&a, 1, &fits);
    assert_false(fits);
    int64_t count;
    const int64_t huge[] = {INT64_MAX / 2, 4};
    assert_false(lli_array_count_checked(&count, 2, huge, 1));
    const int64_t edge[] = {INT64_MAX / 4, 1};
    assert_false(lli_array_count_checked(&count, 2, edge, 8));
    int8_t small[3];
    lli_array_store(small, LL_DTYPE_I8, 0, 300);
    lli_array_store(small, LL_DTYPE_I8, 1, -300);
    lli_array_store(small, LL_DTYPE_I8, 2, -1.9);
    assert_int_equal(small[0], 127);
    assert_int_equal(small[1], -128);
    assert_int_equal(small[2], -1);
    int64_t wide[2];
    lli_array_store(wide, LL_DTYPE_I64, 0, 1e30);
    lli_array_store(wide, LL_DTYPE_I64, 1, -1e30);
    assert_true(wide[0] == INT64_MAX && wide[1] == INT64_MIN);
    char text[LLI_ARRAY_TEXT];
    assert_string_equal(lli_array_text(text, &a), "[2,2] u64");
}

struct knobs {
    int64_t count;
    double rate, loose;
    const char *kind;
};

static void options_are_checked_against_their_table(void **state) {
    (void)state;
    static const ll_option table[] = {
        {.name = "count",
         .type = LL_OPTION_INT,
         .offset = offsetof(struct knobs, count),
         .min = 1,
         .max = 10,
         .unset = LL_OPTION_UNSET_ZERO},
        {.name = "rate",
         .type = LL_OPTION_REAL,
         .offset = offsetof(struct knobs, rate),
         .min = 0,
         .max = 1,
         .open_min = true,
         .open_max = true},
        {.name = "loose",
         .type = LL_OPTION_REAL,
         .offset = offsetof(struct knobs, loose),
         .min = -INFINITY,
         .max = INFINITY,
         .unset = LL_OPTION_UNSET_NAN},
        {.name = "kind", .type = LL_OPTION_CHOICE, .offset = offsetof(struct knobs, kind), .choices = "one|two"},
    };
    ll_context *ctx = check_context(1);
    struct knobs k = {3, 0.5, NAN, "two"};
    CHECK_OK(ctx, ll_option_check(ctx, table, 4, &k));
    k.count = 11;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "count is 11; expected a whole number in [1,10], or 0 for the default",
                ll_option_check(ctx, table, 4, &k));
    k.count = 0;
    CHECK_OK(ctx, ll_option_check(ctx, table, 4, &k));
    k.rate = 0;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "rate is 0", ll_option_check(ctx, table, 4, &k));
    k.rate = 1;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "rate is 1; expected a number in (0,1)", ll_option_check(ctx, table, 4, &k));
    k.rate = NAN;
    CHECK_FAILS(ctx, LL_ERR_USAGE, "rate", ll_option_check(ctx, table, 4, &k));
    k.rate = 0.1;
    k.rate = LL_OPTION_WORD(0);
    CHECK_FAILS(ctx, LL_ERR_USAGE, "rate is -1e+100", ll_option_check(ctx, table, 4, &k));
    ll_option worded = table[1];
    worded.choices = "least|most";
    for (int i = 0; i < 2; i++) {
        lli_text text;
        lli_text_init(&text, ctx);
        k.rate = LL_OPTION_WORD(i);
        CHECK_OK(ctx, ll_option_check(ctx, &worded, 1, &k));
        lli_option_text(&text, &worded, &k);
        assert_string_equal(text.data, i ? "most" : "least");
        lli_text_release(&text);
    }
    k.rate = LL_OPTION_WORD(2);
    CHECK_FAILS(ctx, LL_ERR_USAGE, "expected a number in (0,1), or one of least|most", ll_option_check(ctx, &worded, 1, &k));
    k.rate = 0.1;
    k.kind = "on";
    CHECK_FAILS(ctx, LL_ERR_USAGE, "one of one|two", ll_option_check(ctx, table, 4, &k));
    ll_context_free(ctx);
}

typedef struct asked {
    int count;
    double lowest, highest;
} asked;

/* (x - 1.3)^4, NaN below -2 */
static ll_status quartic(ll_context *ctx, void *arg, double *value, double x) {
    asked *a = arg;
    (void)ctx;
    a->count++;
    a->lowest = fmin(a->lowest, x);
    a->highest = fmax(a->highest, x);
    *value = x < -2 ? NAN : pow(x - 1.3, 4);
    return LL_OK;
}

static void golden_section_finds_the_minimum(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    static const double ends[][3] = {{-4, 4, 1.3}, {-100, 4, 1.3}, {2, 4, 2}, {-1, 1, 1}};
    for (size_t i = 0; i < LLI_COUNT(ends); i++) {
        asked a = {0, INFINITY, -INFINITY};
        double x, value, length = ends[i][1] - ends[i][0];
        CHECK_OK(ctx, lli_golden_run(ctx, &x, &value, quartic, &a, ends[i][0], ends[i][1], 1e-3));
        CHECK_NEAR(x, ends[i][2], 1e-3);
        CHECK_NEAR(value, pow(x - 1.3, 4), 0);
        assert_true(a.lowest >= ends[i][0] && a.highest <= ends[i][1]);
        assert_int_equal(a.count, 2 + (int)ceil(log(length / 1e-3) / log((1 + sqrt(5)) / 2))); /* one for each step */
    }
    ll_context_free(ctx);
}

static void bundles_survive_allocation_failures(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    for (int64_t n = 1; n < 12; n++) {
        ll_bundle *bundle = NULL;
        lli_memory_fail_at(ctx, n);
        ll_status status = lli_bundle_new(&bundle, ctx, "test");
        void *owned = NULL;
        if (status == LL_OK)
            status = lli_memory_new(ctx, &owned, 4, 1);
        if (status == LL_OK)
            status = lli_bundle_add(ctx, bundle, "a", ll_array_view(owned, LL_DTYPE_U8, 1, (int64_t[]){4}), owned);
        if (status == LL_OK)
            status = lli_bundle_add_meta(ctx, bundle, "key", "value");
        assert_int_equal(status, n <= 5 ? LL_ERR_MEMORY : LL_OK);
        ll_bundle_free(bundle);
    }
    lli_memory_fail_at(ctx, 0);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha256_known_answers),
        cmocka_unit_test(place_of_not_finite),
        cmocka_unit_test(sums_of_bytes),
        cmocka_unit_test(sha256_with_instructions),
#ifdef __FLT16_MAX__
        cmocka_unit_test(half_is_ieee),
#endif
        cmocka_unit_test(bfloat_rounds_to_even),
        cmocka_unit_test(foreign_text_is_made_harmless),
        cmocka_unit_test(sentences_are_one_harmless_line),
        cmocka_unit_test(options_are_written_in_the_style_of_the_host),
        cmocka_unit_test(json_strings_are_always_valid),
        cmocka_unit_test(memory_refuses_overflow_and_counts),
        cmocka_unit_test(arrays_convert),
        cmocka_unit_test(options_are_checked_against_their_table),
        cmocka_unit_test(golden_section_finds_the_minimum),
        cmocka_unit_test(bundles_survive_allocation_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
