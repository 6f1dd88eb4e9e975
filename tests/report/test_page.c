/* SPDX-License-Identifier: MIT */
/* The page without a browser: well-formed drawings, escapes, cuts that are those of threshold. */
#include "check.h"

#include <math.h>

#include "metrics/evaluate.h"
#include "report/confusions.h"
#include "report/html.h"
#include "report/svg.h"
#include "report/thumbs.h"

static char *escaped(ll_context *ctx, void (*escape)(lli_text *, const char *), const char *s) {
    lli_text text;
    char *out;
    lli_text_init(&text, ctx);
    escape(&text, s);
    CHECK_OK(ctx, lli_text_take(&text, &out));
    return out;
}

static void users_write_text_only(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    const struct {
        const char *in, *html, *json;
    } cases[] = {
        {"plain", "plain", "\"plain\""},
        {"<script>", "&lt;script&gt;", "\"\\u003cscript\\u003e\""},
        {"a\"b'c&d", "a&quot;b&#39;c&amp;d", "\"a\\\"b'c\\u0026d\""},
        {"back\\slash", "back\\slash", "\"back\\\\slash\""},
        {"\xc3\xa9\xf0\x9f\x99\x82", "\xc3\xa9\xf0\x9f\x99\x82", "\"\xc3\xa9\xf0\x9f\x99\x82\""},
        {"bad\xff", "bad\xef\xbf\xbd", "\"bad\xef\xbf\xbd\""},
        {"tab\t!", "tab\xef\xbf\xbd!", "\"tab\\u0009!\""},
        {"", "", "\"\""},
    };
    for (size_t i = 0; i < LLI_COUNT(cases); i++) {
        char *html = escaped(ctx, lli_html_text, cases[i].in), *json = escaped(ctx, lli_html_json, cases[i].in);
        assert_string_equal(html, cases[i].html);
        assert_string_equal(json, cases[i].json);
        ll_text_free(html);
        ll_text_free(json);
    }
    ll_context_free(ctx);
}

static void base64_is_rfc_4648(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    static const char *const cases[][2] = {
        {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"}};
    for (size_t i = 0; i < LLI_COUNT(cases); i++) {
        lli_text text;
        char *out;
        lli_text_init(&text, ctx);
        lli_html_base64(&text, cases[i][0], (int64_t)strlen(cases[i][0]));
        CHECK_OK(ctx, lli_text_take(&text, &out));
        assert_string_equal(out, cases[i][1]);
        ll_text_free(out);
    }
    ll_context_free(ctx);
}

static void numbers_for_people(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    lli_text text;
    char *out;
    lli_text_init(&text, ctx);
    lli_html_fixed(&text, 1.005, 1);
    lli_text_add(&text, "|");
    lli_html_fixed(&text, -0.04, 1);
    lli_text_add(&text, "|");
    lli_html_fixed(&text, NAN, 2);
    lli_text_add(&text, "|");
    lli_html_percent(&text, 0.84394);
    lli_text_add(&text, "|");
    lli_html_count(&text, 9999);
    lli_text_add(&text, "|");
    lli_html_count(&text, 1234567);
    lli_text_add(&text, "|");
    lli_html_number(&text, 0.0066580123);
    lli_text_add(&text, "|");
    lli_html_number(&text, 1e-9);
    CHECK_OK(ctx, lli_text_take(&text, &out));
    assert_string_equal(out, "1.0|0.0|\xe2\x80\x93|84.39\xc2\xa0%|9999|1\xe2\x80\xaf"
                             "234\xe2\x80\xaf"
                             "567|0.0066580|1e-09");
    ll_text_free(out);
    ll_context_free(ctx);
}

/* Each tag is closed by its own, and attributes have two quotes: enough of XML for what we write. */
static void check_well_formed(const char *s) {
    const char *open[64];
    size_t length[64];
    int depth = 0;
    for (; *s; s++) {
        if (*s == '>')
            fail_msg("a stray >: %.60s", s);
        if (*s != '<')
            continue;
        const char *name = s + 1, *end = strchr(s, '>');
        assert_non_null(end);
        int quotes = 0;
        for (const char *p = s; p < end; p++)
            quotes += *p == '"';
        assert_int_equal(quotes % 2, 0);
        size_t count = strcspn(name + (*name == '/'), " />");
        if (*name == '/') {
            assert_true(depth > 0);
            depth--;
            assert_int_equal(length[depth], count);
            assert_memory_equal(open[depth], name + 1, count);
        } else if (end[-1] != '/') {
            assert_true(depth < 64);
            open[depth] = name;
            length[depth++] = count;
        }
        s = end;
    }
    assert_int_equal(depth, 0);
}

static void drawings_are_well_formed(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    lli_text text;
    char *out;
    lli_text_init(&text, ctx);
    lli_svg svg = {.out = &text,
                   .width = 400,
                   .height = 300,
                   .left = 50,
                   .top = 20,
                   .right = 380,
                   .bottom = 250,
                   .x0 = -1,
                   .x1 = 3,
                   .y0 = 0,
                   .y1 = 0.07};
    lli_svg_open(&svg, "one", "A <title> & \"more\"", "It's > that");
    lli_svg_x_axis(&svg, "<x>", LLI_SVG_PLAIN);
    lli_svg_y_axis(&svg, "y & z", LLI_SVG_PERCENT);
    lli_svg_line(&svg, "s", "<b>", (double[]){0, 1, 1, 2}, (double[]){0, 0.01, 0.05, 0.02}, 4);
    lli_svg_line(&svg, "s", NULL, (double[]){0}, (double[]){0}, 0);
    lli_svg_stairs(&svg, "s", "stairs", (double[]){0.01, 0.03}, 2, 0, 0.5);
    lli_svg_bar(&svg, "b", "bar", 0, 1, 0, 0.03);
    lli_svg_bar(&svg, "b", NULL, 0, 1, 0.03, 0.01);
    lli_svg_dot(&svg, "d", "dot", 1, 0.02);
    lli_svg_text(&svg, "t", 10, 10, "start", "</text>");
    lli_svg_close(&svg);
    CHECK_OK(ctx, lli_text_take(&text, &out));
    check_well_formed(out);
    assert_non_null(strstr(out, "A &lt;title&gt; &amp; &quot;more&quot;"));
    assert_null(strstr(out, "nan"));
    assert_null(strstr(out, "inf"));
    ll_text_free(out);
    ll_context_free(ctx);
}

/* The line that is drawn stays within half a pixel of every point, though most are left out. */
static void lines_are_thin_and_true(void **state) {
    (void)state;
    enum { N = 2000 };
    ll_context *ctx = check_context(1);
    static double x[N], y[N];
    for (int i = 0; i < N; i++) {
        x[i] = (double)i / (N - 1);
        y[i] = 0.5 + 0.4 * sin(6 * x[i]) + 0.0005 * check_uniform(5, i);
    }
    lli_text text;
    char *out;
    lli_text_init(&text, ctx);
    lli_svg svg = {.out = &text, .width = 500, .height = 400, .left = 0, .top = 0, .right = 500, .bottom = 400, .x1 = 1, .y1 = 1};
    lli_svg_line(&svg, "s", NULL, x, y, N);
    CHECK_OK(ctx, lli_text_take(&text, &out));
    assert_true(strlen(out) < 2000);
    char *p = strstr(out, " d=\"M");
    assert_non_null(p);
    p += 5;
    double px = strtod(p, &p), py = strtod(p, &p);
    p++; /* the l */
    int at = 0;
    double worst = 0;
    for (;;) {
        char *before = p;
        double dx = strtod(p, &p), dy;
        if (p == before)
            break;
        dy = strtod(p, &p);
        for (; at < N && dx > 0 && lli_svg_px(&svg, x[at]) * 10 <= px + dx; at++) {
            double here = py + dy * (lli_svg_px(&svg, x[at]) * 10 - px) / dx;
            worst = fmax(worst, fabs(here - 10 * lli_svg_py(&svg, y[at])) / 10);
        }
        px += dx;
        py += dy;
    }
    assert_int_equal(at, N);
    assert_true(worst < 0.5);
    ll_text_free(out);
    ll_context_free(ctx);
}

enum { POINTS = 5000, CLASSES = 7 };

typedef struct sample {
    int32_t label[POINTS], truth[POINTS];
    double sr[POINTS];
    lli_page_method method;
    ll_evaluation evaluation;
    lli_page page;
} sample;

static sample *make_sample(ll_context *ctx, int64_t n, double grain) {
    sample *s = calloc(1, sizeof *s);
    assert_non_null(s);
    for (int64_t i = 0; i < n; i++) {
        s->sr[i] = floor((0.2 + 0.8 * check_uniform(1, i)) * grain) / grain;
        s->truth[i] = (int32_t)(check_uniform(2, i) * CLASSES);
        s->label[i] = check_uniform(3, i) < s->sr[i] ? s->truth[i] : (int32_t)(check_uniform(4, i) * CLASSES);
    }
    s->method = (lli_page_method){
        .name = "a", .points = {.n = n, .classes = CLASSES, .label = s->label, .truth = s->truth}, .evaluation = &s->evaluation, .S = 1};
    s->method.points.confidence[LL_CONFIDENCE_SR] = s->sr;
    CHECK_OK(ctx, lli_evaluate(&s->evaluation, ctx, &s->method.points, NULL, NULL, NULL));
    s->page = (lli_page){.title = "t", .methods = &s->method, .count = 1};
    return s;
}

static void cuts_are_those_of_threshold(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    const double grains[] = {1e12, 50};
    for (size_t g = 0; g < LLI_COUNT(grains); g++) {
        sample *s = make_sample(ctx, POINTS, grains[g]);
        lli_view view;
        CHECK_OK(ctx, lli_view_init(&view, ctx, &s->page));
        const lli_view_series *series = &view.series[0][LL_CONFIDENCE_SR];
        assert_true(series->count > 1 && series->count <= LLI_CUTS_MAX);
        if (g == 0)
            assert_true(series->count > LLI_CUTS_GRID);
        for (int c = 1; c <= 1000; c++) {
            ll_threshold expected;
            CHECK_OK(ctx, ll_threshold_at_coverage(&expected, ctx, &s->method.points, LL_CONFIDENCE_SR, c / 1000.0));
            int64_t at = 0;
            while (at + 1 < series->count && (double)series->cut[at].accepted / POINTS < c / 1000.0)
                at++;
            assert_true(series->cut[at].cut == expected.cut);
            assert_int_equal(series->cut[at].accepted, expected.accepted);
            assert_int_equal(series->cut[at].marked, expected.accepted_errors);
        }
        lli_view_release(&view);
        lli_evaluate_release(&s->evaluation);
        free(s);
    }
    ll_context_free(ctx);
}

static void confusions_count_every_error(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    sample *s = make_sample(ctx, POINTS, 1e12);
    lli_view view;
    lli_confusions c;
    CHECK_OK(ctx, lli_view_init(&view, ctx, &s->page));
    CHECK_OK(ctx, lli_confusions_init(&c, ctx, &view, 0, LL_CONFIDENCE_SR));
    const lli_view_series *series = &view.series[0][LL_CONFIDENCE_SR];
    for (int64_t cut = 0; cut < series->count; cut += 111) {
        int64_t total = 0;
        for (int64_t i = 0; i < c.count; i++) {
            int64_t expected = 0;
            for (int64_t p = 0; p < POINTS; p++)
                expected += s->truth[p] == c.pair[i].truth && s->label[p] == c.pair[i].label && s->sr[p] >= series->cut[cut].cut;
            assert_int_equal(lli_confusions_kept(&c, i, cut), expected);
            total += expected;
        }
        assert_int_equal(total, series->cut[cut].marked);
    }
    for (int64_t i = 1; i < c.count; i++)
        assert_true(c.pair[i - 1].count >= c.pair[i].count);
    lli_text bytes;
    lli_text_init(&bytes, ctx);
    assert_int_equal(lli_confusions_pack(&bytes, &c, 1 << 20), c.count);
    bytes.length = 0;
    int64_t some = lli_confusions_pack(&bytes, &c, 500);
    assert_true(some > 0 && some < c.count && bytes.length <= 500);
    lli_text_release(&bytes);
    lli_confusions_release(&c);
    lli_view_release(&view);
    lli_evaluate_release(&s->evaluation);
    free(s);
    ll_context_free(ctx);
}

/* A page says the same twice, has every part, and fails cleanly when memory runs out anywhere. */
static void page_is_whole_or_fails(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    sample *s = make_sample(ctx, 300, 1e12);
    static const unsigned char pixels[300 * 40 * 50];
    s->page.images = ll_array_view(pixels, LL_DTYPE_U8, 3, (int64_t[]){300, 40, 50});
    lli_text text, again;
    lli_text_init(&text, ctx);
    lli_text_init(&again, ctx);
    int64_t before = lli_memory_count(ctx);
    CHECK_OK(ctx, lli_page_html(&text, &s->page));
    int64_t used = lli_memory_count(ctx) - before;
    CHECK_OK(ctx, lli_page_html(&again, &s->page));
    assert_string_equal(text.data, again.data);
    static const char *const parts[] = {"id=\"summary\"",
                                        "id=\"desk\"",
                                        "id=\"svg-risk-coverage\"",
                                        "id=\"svg-histogram-0-sr\"",
                                        "id=\"svg-reliability-0\"",
                                        "id=\"tables\"",
                                        "id=\"provenance\"",
                                        "id=\"data\"",
                                        "id=\"t0\"",
                                        "</html>"};
    for (size_t i = 0; i < LLI_COUNT(parts); i++)
        if (!strstr(text.data, parts[i]))
            fail_msg("no %s", parts[i]);
    assert_null(strstr(text.data, "http-equiv=\"refresh\""));
    assert_null(strstr(text.data, "http://www.example"));
    lli_text_release(&text);
    lli_text_release(&again);
    for (int64_t n = 1; n <= used; n += 1 + used / 60) {
        lli_text_init(&text, ctx);
        lli_memory_fail_at(ctx, n);
        ll_status status = lli_page_html(&text, &s->page);
        lli_memory_fail_at(ctx, 0);
        assert_int_equal(status, LL_ERR_MEMORY);
        lli_text_release(&text);
    }
    lli_evaluate_release(&s->evaluation);
    free(s);
    ll_context_free(ctx);
}

static void thumbnails_keep_to_their_room(void **state) {
    (void)state;
    ll_context *ctx = check_context(1);
    unsigned char *pixels = calloc(2000, 64 * 64 * 3);
    assert_non_null(pixels);
    lli_page page = {.images = ll_array_view(pixels, LL_DTYPE_U8, 4, (int64_t[]){2000, 64, 64, 3})};
    lli_thumbs thumbs;
    CHECK_OK(ctx, lli_thumbs_init(&thumbs, ctx, &page));
    assert_int_equal(thumbs.width, 32);
    assert_int_equal(lli_thumbs_want(&thumbs, 5), 0);
    assert_int_equal(lli_thumbs_want(&thumbs, 6), 1);
    assert_int_equal(lli_thumbs_want(&thumbs, 5), 0);
    assert_int_equal(lli_thumbs_want(&thumbs, 2000), -1);
    for (int64_t i = 0; i < 2000; i++)
        (void)lli_thumbs_want(&thumbs, i);
    assert_int_equal(lli_thumbs_want(&thumbs, 1999), -1);
    lli_text text;
    lli_text_init(&text, ctx);
    CHECK_OK(ctx, lli_thumbs_write(&text, &thumbs));
    assert_true(text.length > LLI_THUMBS_BYTES / 2 && text.length < LLI_THUMBS_BYTES + 1000);
    assert_non_null(strstr(text.data, "href=\"data:image/png;base64,iVBORw0KGgo"));
    lli_text_release(&text);
    lli_thumbs_release(&thumbs);
    free(pixels);
    ll_context_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(users_write_text_only),
        cmocka_unit_test(base64_is_rfc_4648),
        cmocka_unit_test(numbers_for_people),
        cmocka_unit_test(drawings_are_well_formed),
        cmocka_unit_test(lines_are_thin_and_true),
        cmocka_unit_test(cuts_are_those_of_threshold),
        cmocka_unit_test(confusions_count_every_error),
        cmocka_unit_test(page_is_whole_or_fails),
        cmocka_unit_test(thumbnails_keep_to_their_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
