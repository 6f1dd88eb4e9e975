/* SPDX-License-Identifier: MIT */
/* Cells to text. Columns are as wide as their widest cell, counted in characters and not in bytes. */
#include "report/table.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void lli_table_init(lli_table *table, ll_context *ctx, const char *align) {
    *table = (lli_table){.align = align, .columns = (int)strlen(align)};
    lli_text_init(&table->text, ctx);
}

void lli_table_release(lli_table *table) {
    lli_text_release(&table->text);
}

static void end_cell(lli_table *table) {
    lli_text_append(&table->text, "", 1);
    table->cells++;
}

void lli_table_cell(lli_table *table, const char *text) {
    lli_text_foreign(&table->text, text);
    end_cell(table);
}

/* Stands before a strong cell. Text of others cannot bring it: control characters are escaped. */
enum { STRONG = 2 };

void lli_table_strong(lli_table *table, const char *text) {
    lli_text_append(&table->text, (const char[]){STRONG}, 1);
    lli_table_cell(table, text);
}

void lli_table_count(lli_table *table, int64_t count) {
    lli_text_add(&table->text, "%" PRId64, count);
    end_cell(table);
}

void lli_table_number(lli_table *table, double x) {
    lli_table_number_text(&table->text, x);
    end_cell(table);
}

void lli_table_interval_text(lli_text *out, ll_interval x) {
    double size = x.hi > x.lo ? x.hi - x.lo : 0.01;
    int places = LLI_MIN(LLI_MAX(0, 1 - (int)floor(log10(size))), 15);
    if (!isnan(x.lo))
        lli_text_add(out, "[%.*f, %.*f]", places, x.lo, places, x.hi);
}

void lli_table_interval(lli_table *table, ll_interval x) {
    lli_table_interval_text(&table->text, x);
    end_cell(table);
}

void lli_table_seconds(lli_table *table, double x) {
    lli_text_add(&table->text, "%.2f", x);
    end_cell(table);
}

void lli_table_exact(lli_table *table, double x) {
    if (!isnan(x))
        lli_text_number(&table->text, x);
    end_cell(table);
}

void lli_table_number_text(lli_text *out, double x) {
    double size = fabs(x);
    if (isnan(x))
        lli_text_add(out, "-");
    else if (x == 0)
        lli_text_add(out, "0");
    else if (!isfinite(x) || size < 1e-6 || size >= 1e9)
        lli_text_add(out, "%.4g", x);
    else {
        int before = (int)floor(log10(size)); /* the place of the first digit */
        lli_text_add(out, "%.*f", before >= 4 ? 0 : 4 - before, x);
    }
}

static int64_t width_of(const char *cell) {
    int64_t width = 0;
    for (cell += *cell == STRONG; *cell; cell++)
        width += (*cell & 0xc0) != 0x80; /* bytes that continue a character do not count */
    return width;
}

static void pad(lli_text *out, int64_t count) {
    for (; count > 0; count--)
        lli_text_append(out, " ", 1);
}

static void write_plain(lli_text *out, const char *cell, bool left, bool first, bool last, int64_t width) {
    int64_t space = width - width_of(cell);
    if (!first)
        pad(out, 2);
    if (!left)
        pad(out, space);
    lli_text_append(out, cell, (int64_t)strlen(cell));
    if (left && !last)
        pad(out, space);
}

static void write_markdown(lli_text *out, const char *cell, bool strong) {
    lli_text_add(out, strong ? " **" : " ");
    for (; *cell; cell++) {
        if (strchr("|\\<[`", *cell))
            lli_text_append(out, "\\", 1);
        lli_text_append(out, cell, 1);
    }
    lli_text_add(out, strong ? "** |" : " |");
}

static void write_csv(lli_text *out, const char *cell, int column) {
    if (column > 0)
        lli_text_append(out, ",", 1);
    if (!strpbrk(cell, ",\"")) {
        lli_text_add(out, "%s", cell);
        return;
    }
    lli_text_append(out, "\"", 1);
    for (; *cell; cell++)
        lli_text_add(out, *cell == '"' ? "\"\"" : "%c", *cell);
    lli_text_append(out, "\"", 1);
}

static void write_rule(lli_text *out, const char *align) {
    lli_text_append(out, "|", 1);
    for (; *align; align++)
        lli_text_add(out, *align == 'l' ? "---|" : "---:|");
    lli_text_append(out, "\n", 1);
}

static void measure_widths(int64_t width[LLI_TABLE_COLUMNS_MAX], const lli_table *table) {
    const char *cell = table->text.data;
    for (int64_t i = 0; i < table->cells; i++, cell += strlen(cell) + 1)
        width[i % table->columns] = LLI_MAX(width[i % table->columns], width_of(cell));
}

void lli_table_write(const lli_table *table, lli_text *out, ll_text_form form) {
    int64_t width[LLI_TABLE_COLUMNS_MAX] = {0};
    if (out->status == LL_OK)
        out->status = table->text.status;
    if (out->status != LL_OK || table->cells == 0)
        return;
    measure_widths(width, table);
    const char *cell = table->text.data;
    for (int64_t i = 0; i < table->cells; i++, cell += strlen(cell) + 1) {
        int column = (int)(i % table->columns);
        bool strong = *cell == STRONG;
        if (form == LL_TEXT_MARKDOWN && column == 0)
            lli_text_append(out, "|", 1);
        if (form == LL_TEXT_MARKDOWN)
            write_markdown(out, cell + strong, strong);
        else if (form == LL_TEXT_CSV)
            write_csv(out, cell + strong, column);
        else
            write_plain(out, cell + strong, table->align[column] == 'l', column == 0, column + 1 == table->columns, width[column]);
        if (column + 1 < table->columns)
            continue;
        lli_text_append(out, "\n", 1);
        if (form == LL_TEXT_MARKDOWN && i + 1 == table->columns)
            write_rule(out, table->align);
    }
}

/* A character as LaTeX shows it; those that need nothing as they are. */
static void write_latex(lli_text *out, const char *cell) {
    static const struct {
        const char *text, *latex;
    } marks[] = {{"\\", "\\textbackslash{}"},
                 {"~", "\\textasciitilde{}"},
                 {"^", "\\textasciicircum{}"},
                 {"±", "$\\pm$"},
                 {"<", "$<$"},
                 {">", "$>$"},
                 {"|", "$|$"}};
    while (*cell) {
        size_t m = 0;
        while (m < LLI_COUNT(marks) && strncmp(cell, marks[m].text, strlen(marks[m].text)) != 0)
            m++;
        if (m < LLI_COUNT(marks)) {
            lli_text_add(out, "%s", marks[m].latex);
            cell += strlen(marks[m].text);
            continue;
        }
        if (strchr("&%$#_{}", *cell))
            lli_text_append(out, "\\", 1);
        lli_text_append(out, cell++, 1);
    }
}

void lli_table_latex(const lli_table *table, lli_text *out, const char *groups) {
    if (out->status == LL_OK)
        out->status = table->text.status;
    if (out->status != LL_OK || table->cells == 0)
        return;
    lli_text_add(out, "\\begin{tabular}{%s}\n\\toprule\n%s", table->align, groups ? groups : "");
    const char *cell = table->text.data;
    for (int64_t i = 0; i < table->cells; i++, cell += strlen(cell) + 1) {
        bool strong = *cell == STRONG, last = (i + 1) % table->columns == 0;
        lli_text_add(out, "%s", strong ? "\\textbf{" : "");
        write_latex(out, cell + strong);
        lli_text_add(out, "%s%s", strong ? "}" : "", last ? " \\\\\n" : " & ");
        if (i + 1 == table->columns)
            lli_text_add(out, "\\midrule\n");
    }
    lli_text_add(out, "\\bottomrule\n\\end{tabular}\n");
}
