/* SPDX-License-Identifier: MIT */
/* The man page in roff (man macros), from the tables. */
#include <stdio.h>
#include <string.h>

#include "args.h"
#include "help.h"

/* A hyphen must stay one when pasted; a dot or quote at the start of a line is a request. */
static void text(const char *words) {
    bool start = true;
    for (; *words; words++) {
        if (start && (*words == '.' || *words == '\''))
            fputs("\\&", stdout);
        start = *words == '\n';
        if (*words == '\\')
            fputs("\\e", stdout);
        else if (*words == '-')
            fputs("\\-", stdout);
        else if (*words == '|')
            fputs("|\\:", stdout); /* a line may end here */
        else if (start && words[1] == '\n')
            continue;
        else
            putchar(*words);
    }
}

static void paragraphs(const char *words) {
    while (*words) {
        const char *end = strstr(words, "\n\n");
        char part[4096];
        snprintf(part, sizeof part, "%.*s", end ? (int)(end - words) : (int)strlen(words), words);
        puts(".PP");
        text(part);
        putchar('\n');
        if (!end)
            break;
        words = end + 2;
    }
}

static void tagged(const char *tag, const char *words) {
    fputs(".TP\n.B ", stdout);
    text(tag);
    putchar('\n');
    text(words);
    putchar('\n');
}

static void options(const command *cmd) {
    option_group groups[GROUPS_MAX];
    size_t count = args_groups(cmd, groups);
    for (size_t g = 0; g < count; g++) {
        printf(".PP\n.I %s\n", groups[g].title);
        for (size_t i = 0; i < groups[g].count; i++) {
            if (!args_has(&groups[g], i))
                continue;
            char flag[100], words[900];
            help_flag(flag, sizeof flag, &groups[g].table[i]);
            help_text(words, sizeof words, &groups[g].table[i]);
            tagged(flag, words);
        }
    }
}

static void section(const command *cmd) {
    printf(".SS lastlayer %s\n", cmd->name);
    for (const char *line = cmd->usage; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        char usage[300];
        snprintf(usage, sizeof usage, "%.*s", (int)strcspn(line, "\n"), line);
        printf("%s.B lastlayer %s\n", line == cmd->usage ? "" : ".br\n", cmd->name);
        text(usage);
        putchar('\n');
    }
    paragraphs(cmd->detail);
    if (cmd->operand)
        tagged(cmd->operand, cmd->operand_help);
    if (help_shows_methods(cmd)) {
        char words[300];
        puts(".PP\n.I Methods, and their defaults");
        for (size_t i = 0; i < ll_method_count(); i++) {
            help_method(words, sizeof words, ll_method_get(i));
            tagged(ll_method_get(i)->name, words);
        }
    }
    options(cmd);
    puts(".PP\n.I Examples\n.PP\n.nf\n.RS");
    for (const char *const *example = cmd->examples; *example; example++) {
        text(*example);
        putchar('\n');
    }
    puts(".RE\n.fi");
}

void help_man(void) {
    printf(".TH LASTLAYER 1 \"\" \"lastlayer %s\" \"User Commands\"\n.nh\n.ad l\n", LL_VERSION);
    puts(".SH NAME\nlastlayer \\- an honest \"I don't know\" for any classifier");
    puts(".SH SYNOPSIS\n.B lastlayer\n.I COMMAND\n[OPTIONS]\n.br\n.B lastlayer help\n[COMMAND]\n.br\n.B lastlayer\n\\-\\-version");
    puts(".SH DESCRIPTION");
    text("lastlayer takes the last-layer features of a trained classifier and its labels, samples an ensemble of last layers, and turns it "
         "into labels with confidences, abstention thresholds, out-of-distribution scores and metrics.\n");
    puts(".SS Files");
    text(help_formats);
    text(" An output is written to a temporary file and then renamed: a run that "
         "fails or is killed leaves the old file or none.\n");
    puts(".SH COMMANDS");
    for (size_t i = 0; i < command_count; i++)
        section(commands[i]);
    puts(".SS lastlayer help");
    text("The page of a command. help man prints this page in roff; help bash, help zsh and help fish print the completions.\n");
    puts(".SH EXIT STATUS");
    for (size_t i = 0; i < exit_code_count; i++) {
        char value[8];
        snprintf(value, sizeof value, "%d", exit_codes[i].value);
        tagged(value, exit_codes[i].meaning);
    }
    puts(".SH ENVIRONMENT");
    for (size_t i = 0; i < environment_variable_count; i++)
        tagged(environment_variables[i].name, environment_variables[i].meaning);
}
