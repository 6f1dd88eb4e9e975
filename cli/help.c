/* SPDX-License-Identifier: MIT */
/* Help pages, from the tables. What a page says about a flag is what the parser enforces. */
#include "help.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "args.h"

const char help_formats[] = "Arrays are read from .npy, .npz, .safetensors, .idx, .idx.gz, .csv, .png, .h5, .keras and CIFAR .bin files, "
                            "whose format is detected from the content. FILE:NAME picks one array of a file.";

const exit_code exit_codes[] = {
    {LL_OK, "success"},
    {LL_ERR_INTERNAL, "a bug in lastlayer itself"},
    {LL_ERR_USAGE, "a flag or argument is unknown, out of range, or cannot be combined with another"},
    {LL_ERR_READ, "a file cannot be opened or read, is empty, or shrank while it was read"},
    {LL_ERR_FORMAT, "a file is not what it says: truncated, garbage, unsupported"},
    {LL_ERR_DATA, "the arrays do not fit together, or hold impossible values"},
    {LL_ERR_WRITE, "the output cannot be written"},
    {LL_ERR_DIVERGED, "training left the finite numbers, or its loss exploded: lower --lr"},
    {LL_ERR_MEMORY, "memory ran out, or a memory limit was reached (--memory)"},
    {LL_ERR_CANCELLED, "interrupted (Ctrl-C, SIGTERM, SIGHUP)"},
};
const size_t exit_code_count = COUNT(exit_codes);

const environment_variable environment_variables[] = {
    {"LASTLAYER_H5", "the program that reads HDF5, instead of the installed lastlayer-h5"},
    {"LASTLAYER_ISA", "the kernels to use (ref, base, v3, v4) instead of the best ones for this processor"},
    {"NO_COLOR", "when set, no colours"},
};
const size_t environment_variable_count = COUNT(environment_variables);

void help_flag(char *out, size_t size, const ll_option *option) {
    char letter[8] = "";
    if (option->letter)
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    bool value = option->type != LL_OPTION_FLAG;
    snprintf(out, size, "%s--%s%s%s", letter, option->name, value ? " " : "", value ? (option->arg ? option->arg : "VALUE") : "");
}

/* "default 128; a whole number of at least 1", or "" */
static void describe_limits(char *out, size_t size, const ll_option *option) {
    char range[200] = "";
    if (option->type == LL_OPTION_CHOICE)
        snprintf(range, sizeof range, "one of %s", option->choices);
    else if (option->type == LL_OPTION_INT || option->type == LL_OPTION_REAL || option->type == LL_OPTION_SEED)
        args_range(range, sizeof range, option, false);
    const char *standard = option->type == LL_OPTION_FLAG ? NULL : option->standard;
    snprintf(out, size, "%s%s%s%s", standard ? "default " : "", standard ? standard : "", standard && *range ? "; " : "", range);
}

void help_sentence(char *out, size_t size, const ll_option *option) {
    ll_option_words(out, size, option->help, LL_OPTION_STYLE_FLAG);
}

void help_text(char *out, size_t size, const ll_option *option) {
    char limits[300], marked[900];
    describe_limits(limits, sizeof limits, option);
    snprintf(marked, sizeof marked, "%s%s%s%s", option->help, *limits ? " (" : "", limits, *limits ? ")" : "");
    ll_option_words(out, size, marked, LL_OPTION_STYLE_FLAG);
}

bool help_shows_methods(const command *cmd) {
    return args_find(cmd, "method", NULL, NULL) || args_find(cmd, "methods", NULL, NULL);
}

void help_method(char *out, size_t size, const ll_method_info *method) {
    char members[60] = "", epochs[60] = "";
    if (method->samples > 1)
        snprintf(members, sizeof members, " [-S %" PRId64, method->samples);
    if (method->epochs)
        snprintf(epochs, sizeof epochs, " -E %" PRId64, method->epochs);
    snprintf(out, size, "%s%s%s%s", method->summary, members, epochs, *members ? "]" : "");
}

/* Words from column `indent` on, lines up to 100 columns; `at` is the column where the line stands now. */
static void wrap(const char *text, int indent, int at) {
    enum { WIDTH = 100 };
    bool start = true;
    while (*text) {
        if (*text == '\n') {
            printf("\n%*s", text[1] == '\n' || !text[1] ? 0 : indent, "");
            at = indent;
            start = true;
            text++;
            continue;
        }
        int length = (int)strcspn(text, " \n");
        for (int i = WIDTH - indent; indent + length > WIDTH && i > 0; i--) /* a long list of choices */
            if (text[i - 1] == '|')
                length = i;
        if (!start && at + 1 + length > WIDTH) {
            printf("\n%*s", indent, "");
            at = indent;
            start = true;
        }
        at += printf("%s%.*s", start ? "" : " ", length, text);
        start = false;
        text += length;
        text += *text == ' ';
    }
    putchar('\n');
}

enum { HELP_COLUMN = 28 };

static void entry(const char *left, const char *right) {
    int at = printf("  %s", left);
    if (at >= HELP_COLUMN - 1) {
        putchar('\n');
        at = 0;
    }
    printf("%*s", HELP_COLUMN - at, "");
    wrap(right, HELP_COLUMN, HELP_COLUMN);
}

static void option_entry(const ll_option *option) {
    char flag[100], text[900];
    help_flag(flag, sizeof flag, option);
    help_text(text, sizeof text, option);
    entry(flag, text);
}

static void exit_code_lines(void) {
    puts("\nExit codes");
    for (size_t i = 0; i < exit_code_count; i++) {
        char value[8];
        snprintf(value, sizeof value, "%d", exit_codes[i].value);
        entry(value, exit_codes[i].meaning);
    }
}

void help_overview(void) {
    puts("lastlayer: an honest \"I don't know\" for any classifier\n");
    puts("Usage: lastlayer COMMAND [OPTIONS]\n");
    puts("Commands");
    for (size_t i = 0; i < command_count; i++)
        entry(commands[i]->name, commands[i]->summary);
    entry("help COMMAND", "the page of a command; help man, bash, zsh, fish print the man page and the completions");
    putchar('\n');
    wrap(help_formats, 0, 0);
    puts("\nExamples");
    for (size_t i = 0; i < command_count; i++)
        printf("  %s\n", commands[i]->examples[0]);
    exit_code_lines();
    puts("\nOptions");
    entry("-h, --help", "this page");
    entry("--version", "the version, and the kernels this processor uses");
}

void help_command(const command *cmd) {
    printf("lastlayer %s: %s\n\n", cmd->name, cmd->summary);
    for (const char *line = cmd->usage; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        char usage[300];
        snprintf(usage, sizeof usage, "%.*s", (int)strcspn(line, "\n"), line);
        int at = printf("%s lastlayer %s ", line == cmd->usage ? "Usage:" : "   or:", cmd->name);
        wrap(usage, 11, at);
    }
    putchar('\n');
    wrap(cmd->detail, 0, 0);
    if (cmd->operand) {
        puts("\nArgument");
        entry(cmd->operand, cmd->operand_help);
    }
    if (help_shows_methods(cmd)) {
        char text[300];
        puts("\nMethods, and their defaults");
        for (size_t i = 0; i < ll_method_count(); i++) {
            help_method(text, sizeof text, ll_method_get(i));
            entry(ll_method_get(i)->name, text);
        }
    }
    option_group groups[GROUPS_MAX];
    size_t count = args_groups(cmd, groups);
    for (size_t g = 0; g < count; g++) {
        printf("\n%s\n", groups[g].title);
        for (size_t i = 0; i < groups[g].count; i++)
            if (args_has(&groups[g], i))
                option_entry(&groups[g].table[i]);
    }
    puts("\nExamples");
    for (const char *const *example = cmd->examples; *example; example++)
        printf("  %s\n", *example);
    exit_code_lines();
}
