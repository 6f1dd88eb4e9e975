/* SPDX-License-Identifier: MIT */
/* Completions for bash, zsh and fish, from the tables: commands, flags, the words of a choice; everything else is a file. */
#include <stdio.h>
#include <string.h>

#include "args.h"
#include "help.h"

typedef void visit(const command *cmd, const ll_option *option);

static void each_option(const command *cmd, visit *call) {
    option_group groups[GROUPS_MAX];
    size_t count = args_groups(cmd, groups);
    for (size_t g = 0; g < count; g++)
        for (size_t i = 0; i < groups[g].count; i++)
            if (args_has(&groups[g], i))
                call(cmd, &groups[g].table[i]);
}

static void command_words(void) {
    for (size_t i = 0; i < command_count; i++)
        printf("%s ", commands[i]->name);
    fputs("help", stdout);
}

static void words_of(const char *choices) {
    for (; *choices; choices++)
        putchar(*choices == '|' ? ' ' : *choices);
}

static void bash_flag(const command *cmd, const ll_option *option) {
    (void)cmd;
    if (option->letter)
        printf(" -%c", option->letter);
    printf(" --%s", option->name);
}

static void bash_choice(const command *cmd, const ll_option *option) {
    if (option->type != LL_OPTION_CHOICE)
        return;
    printf("    '%s --%s'", cmd->name, option->name);
    if (option->letter)
        printf(" | '%s -%c'", cmd->name, option->letter);
    fputs(") COMPREPLY=($(compgen -W '", stdout);
    words_of(option->choices);
    puts("' -- \"$word\")); return ;;");
}

void help_complete_bash(void) {
    puts("# bash completion of lastlayer, printed by: lastlayer help bash");
    puts("_lastlayer() {");
    puts("    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} flags=''");
    puts("    COMPREPLY=()");
    fputs("    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        COMPREPLY=($(compgen -W '", stdout);
    command_words();
    puts(" --help --version' -- \"$word\"))\n        return\n    fi");
    puts("    case \"$command $before\" in");
    for (size_t i = 0; i < command_count; i++)
        each_option(commands[i], bash_choice);
    puts("    esac\n    case \"$command\" in");
    for (size_t i = 0; i < command_count; i++) {
        printf("    %s) flags='", commands[i]->name);
        each_option(commands[i], bash_flag);
        puts(" --help' ;;");
    }
    fputs("    help) COMPREPLY=($(compgen -W '", stdout);
    command_words();
    puts(" man bash zsh fish' -- \"$word\")); return ;;\n    esac");
    puts("    case \"$word\" in\n    -*) COMPREPLY=($(compgen -W \"$flags\" -- \"$word\")) ;;\n    *) compopt -o filenames 2>/dev/null; "
         "mapfile -t COMPREPLY < <(compgen -f -- \"$word\") ;;\n    esac");
    puts("}\ncomplete -F _lastlayer lastlayer");
}

/* Inside single quotes; zsh also reads brackets and colons. */
static void quoted(const char *text, const char *special) {
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else if (strchr(special, *text))
            printf("\\%c", *text);
        else
            putchar(*text);
    }
}

static void zsh_option(const command *cmd, const ll_option *option) {
    (void)cmd;
    bool value = option->type != LL_OPTION_FLAG;
    fputs("            ", stdout);
    if (option->letter)
        printf("'(-%c --%s)'{-%c,--%s}'[", option->letter, option->name, option->letter, option->name);
    else
        printf("'--%s[", option->name);
    char help[900];
    help_sentence(help, sizeof help, option);
    quoted(help, "[]:");
    putchar(']');
    if (value) {
        printf(":%s:", option->arg ? option->arg : "value");
        if (option->type == LL_OPTION_CHOICE) {
            putchar('(');
            words_of(option->choices);
            putchar(')');
        } else if (option->type == LL_OPTION_TEXT) {
            fputs("_files", stdout);
        }
    }
    puts("' \\");
}

void help_complete_zsh(void) {
    puts("#compdef lastlayer\n# zsh completion of lastlayer, printed by: lastlayer help zsh");
    puts("_lastlayer() {\n    if (( CURRENT == 2 )); then\n        local -a names=(");
    for (size_t i = 0; i < command_count; i++) {
        printf("            '%s:", commands[i]->name);
        quoted(commands[i]->summary, ":");
        puts("'");
    }
    puts("            'help:the page of a command'\n        )\n        _describe command names\n        return\n    fi");
    puts("    local name=$words[2]\n    shift words\n    (( CURRENT-- ))\n    case $name in");
    for (size_t i = 0; i < command_count; i++) {
        printf("    %s)\n        _arguments \\\n", commands[i]->name);
        each_option(commands[i], zsh_option);
        puts("            '(-h --help)'{-h,--help}'[this page]' \\\n            '*:file:_files' ;;");
    }
    fputs("    help) _values page ", stdout);
    command_words();
    puts(" man bash zsh fish ;;\n    esac\n}\n_lastlayer \"$@\"");
}

static void fish_option(const command *cmd, const ll_option *option) {
    printf("complete -c lastlayer -n '__fish_seen_subcommand_from %s' -l %s", cmd->name, option->name);
    if (option->letter)
        printf(" -s %c", option->letter);
    if (option->type == LL_OPTION_TEXT)
        fputs(" -r -F", stdout);
    else if (option->type != LL_OPTION_FLAG)
        fputs(" -x", stdout);
    if (option->type == LL_OPTION_CHOICE) {
        fputs(" -a '", stdout);
        words_of(option->choices);
        putchar('\'');
    }
    fputs(" -d \"", stdout);
    char help[900];
    help_sentence(help, sizeof help, option);
    for (const char *p = help; *p; p++)
        printf(strchr("\"\\$", *p) ? "\\%c" : "%c", *p);
    puts("\"");
}

void help_complete_fish(void) {
    puts("# fish completion of lastlayer, printed by: lastlayer help fish");
    for (size_t i = 0; i < command_count; i++) {
        printf("complete -c lastlayer -f -n __fish_use_subcommand -a %s -d \"%s\"\n", commands[i]->name, commands[i]->summary);
        each_option(commands[i], fish_option);
    }
    puts("complete -c lastlayer -f -n __fish_use_subcommand -a help -d \"the page of a command\"");
    fputs("complete -c lastlayer -f -n '__fish_seen_subcommand_from help' -a '", stdout);
    command_words();
    puts(" man bash zsh fish'");
    puts("complete -c lastlayer -s h -l help -d \"the page of a command\"");
}
