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

void lli_table_count(lli_table *table, int64_t count) {
    lli_text_add(&table->text, "%" PRId64, count);
    end_cell(table);
}

void lli_table_number(lli_table *table, double x) {
    lli_table_number_text(&table->text, x);
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
    for (; *cell; cell++)
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

static void write_markdown(lli_text *out, const char *cell) {
    lli_text_append(out, " ", 1);
    for (; *cell; cell++) {
        if (strchr("|\\<[`", *cell))
            lli_text_append(out, "\\", 1);
        lli_text_append(out, cell, 1);
    }
    lli_text_append(out, " |", 2);
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
        if (form == LL_TEXT_MARKDOWN && column == 0)
            lli_text_append(out, "|", 1);
        if (form == LL_TEXT_MARKDOWN)
            write_markdown(out, cell);
        else if (form == LL_TEXT_CSV)
            write_csv(out, cell, column);
        else
            write_plain(out, cell, table->align[column] == 'l', column == 0, column + 1 == table->columns, width[column]);
        if (column + 1 < table->columns)
            continue;
        lli_text_append(out, "\n", 1);
        if (form == LL_TEXT_MARKDOWN && i + 1 == table->columns)
            write_rule(out, table->align);
    }
}
