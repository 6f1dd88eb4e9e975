/* SPDX-License-Identifier: MIT */
/* lastlayer report: predictions to the page people look at. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "args.h"
#include "inputs.h"
#include "term.h"

typedef struct report_args {
    const char *probs, *logits, *names, *ood, *output;
    ll_report_options options;
} report_args;

#define AT(member) offsetof(report_args, member)

static const ll_option data_table[] = {
    {.name = "probs",
     .type = LL_OPTION_TEXT,
     .offset = AT(probs),
     .arg = "FILE",
     .help = "instead of PREDICTIONS: probabilities of any classifier, [N,K], or of members, [S,N,K]"},
    {.name = "logits", .type = LL_OPTION_TEXT, .offset = AT(logits), .arg = "FILE", .help = "the same before the softmax"},
    {.name = "ood",
     .type = LL_OPTION_TEXT,
     .offset = AT(ood),
     .arg = "FILES",
     .help = "the same kind of file for out-of-distribution points: one per prediction, separated by commas, or one for all"},
    {.name = "names",
     .type = LL_OPTION_TEXT,
     .offset = AT(names),
     .arg = "NAMES",
     .standard = "the methods",
     .help = "what the files are called on the page, separated by commas"},
    {.name = "output", .letter = 'o', .type = LL_OPTION_TEXT, .offset = AT(output), .arg = "FILE", .help = "the page to write, .html"},
};

static void defaults(void *args) {
    *(report_args *)args = (report_args){.options = ll_report_options_default()};
}

static size_t groups(option_group out[GROUPS_MAX]) {
    out[0] = (option_group){.title = "Data", .table = data_table, .count = COUNT(data_table)};
    out[1] = (option_group){.title = "Page", .base = AT(options)};
    out[1].table = ll_report_options_table(&out[1].count);
    return 2;
}

/* predict writes .npz or .csv, fit writes .safetensors. */
static bool is_ensemble(const char *file) {
    return inputs_ends_with(file, ".safetensors");
}

/* A store is a folder: what lies in it already is an input, save a page. */
static ll_status check_store(const char *output, const char *store) {
    char *folder = realpath(store, NULL), *file = realpath(output, NULL);
    struct stat found;
    size_t length = folder ? strlen(folder) : 0;
    bool inside = folder && file && stat(folder, &found) == 0 && S_ISDIR(found.st_mode) && strncmp(file, folder, length) == 0 &&
                  file[length] == '/';
    ll_status status = inside && !inputs_ends_with(file, ".html")
                           ? complain(LL_ERR_USAGE, "the output %s is a file of the input %s; choose another name", output, store)
                           : LL_OK;
    free(folder);
    free(file);
    return status;
}

/* The command line as one would type it again. */
static char *command_line(const report_args *args, const parsed *typed) {
    const struct {
        const char *flag, *value;
    } flags[] = {{"--probs", args->probs},
                 {"--logits", args->logits},
                 {"--labels", args->options.labels},
                 {"--ood", args->ood},
                 {"--names", args->names},
                 {"--title", args->options.title},
                 {"--class-names", args->options.class_names},
                 {"--images", args->options.images},
                 {"--certificate", args->options.certificate},
                 {"-o", args->output}};
    size_t size = 64;
    for (size_t i = 0; i < typed->operand_count; i++)
        size += 4 * strlen(typed->operands[i]) + 4;
    for (size_t i = 0; i < COUNT(flags); i++)
        size += flags[i].value ? 4 * strlen(flags[i].value) + 24 : 0;
    char *text = malloc(size), *p = text;
    if (!text)
        return NULL;
    p += sprintf(p, "lastlayer report");
    for (size_t i = 0; i < typed->operand_count + COUNT(flags); i++) {
        bool operand = i < typed->operand_count;
        const char *flag = operand ? NULL : flags[i - typed->operand_count].flag,
                   *word = operand ? typed->operands[i] : flags[i - typed->operand_count].value;
        if (!word || (flag && strcmp(flag, "--title") == 0 && !args_given(typed, &cmd_report, "title")))
            continue;
        p += flag ? sprintf(p, " %s ", flag) : sprintf(p, " ");
        bool plain = *word && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./,:=+-") == strlen(word);
        if (plain) {
            p += sprintf(p, "%s", word);
            continue;
        }
        *p++ = '\'';
        for (; *word; word++)
            p += *word == '\'' ? sprintf(p, "'\\''") : sprintf(p, "%c", *word);
        p += sprintf(p, "'");
    }
    return text;
}

static ll_status check(const report_args *args, const parsed *typed, const inputs_list *ood) {
    int sources = (typed->operand != NULL) + (args->probs != NULL) + (args->logits != NULL);
    if (sources == 0)
        return complain(LL_ERR_USAGE, "nothing to report on (for example: lastlayer report pred.npz -o report.html)");
    if (sources > 1)
        return complain(LL_ERR_USAGE, "expected one of PREDICTIONS, --probs and --logits; found %d of them", sources);
    if (!typed->operand && !args->options.labels)
        return complain(LL_ERR_USAGE, "--%s needs --labels FILE", args->probs ? "probs" : "logits");
    ll_status status = inputs_require("--output", args->output, "lastlayer report pred.npz -o report.html");
    const char *others[] = {
        args->probs, args->logits, args->options.labels, args->options.class_names, args->options.images, args->options.certificate};
    if (status == LL_OK)
        status = inputs_check_output(args->output, others, COUNT(others));
    if (status == LL_OK)
        status = inputs_check_output(args->output, typed->operands, typed->operand_count);
    for (size_t i = 0; i < typed->operand_count && status == LL_OK; i++)
        status = check_store(args->output, typed->operands[i]);
    return status == LL_OK ? inputs_check_output(args->output, ood->item, ood->count) : status;
}

static void tell(const char *path) {
    struct stat page;
    FILE *to = inputs_written(path);
    if (stat(path, &page) == 0 && S_ISREG(page.st_mode))
        term_print(to, "%s, %.0f kB; open it in any browser\n", path, (double)page.st_size / 1000);
    else
        term_print(to, "%s is written\n", path);
}

static ll_status run(ll_context *ctx, const void *arguments, const parsed *typed) {
    const report_args *args = arguments;
    const char *outputs = args->probs ? args->probs : args->logits;
    size_t count = outputs ? 1 : typed->operand_count, methods = 0;
    inputs_list names = {0}, ood = {0};
    ll_report_input inputs[OPERANDS_MAX] = {0};
    ll_report_options options = args->options;
    char *line = NULL;
    for (size_t i = 0; i < count; i++)
        methods += outputs || !is_ensemble(typed->operands[i]);
    ll_status status = inputs_split(&names, "names", args->names, methods, false);
    if (status == LL_OK)
        status = inputs_split(&ood, "ood", args->ood, methods, true);
    if (status == LL_OK)
        status = check(args, typed, &ood);
    if (status == LL_OK && !(line = command_line(args, typed)))
        status = complain(LL_ERR_MEMORY, "memory ran out");
    if (status == LL_OK) {
        options.command = line;
        for (size_t i = 0, m = 0; i < count; i++) {
            inputs[i].kind = args->probs ? LL_REPORT_PROBS : args->logits ? LL_REPORT_LOGITS : LL_REPORT_PREDICTIONS;
            inputs[i].file = outputs ? outputs : typed->operands[i];
            if (!outputs && is_ensemble(inputs[i].file))
                continue;
            inputs[i].name = names.count ? names.item[m] : NULL;
            inputs[i].ood = ood.count ? ood.item[ood.count == 1 ? 0 : m] : NULL;
            m++;
        }
        status = ll_report_write(ctx, args->output, inputs, (int64_t)count, &options);
    }
    if (status == LL_OK)
        tell(args->output);
    free(line);
    free(names.text);
    free(ood.text);
    return status;
}

static const char *const examples[] = {
    "lastlayer report pred.npz -o report.html",
    "lastlayer report --probs probs.npy --labels test_labels.npy --title 'My classifier' -o probs.html",
    "lastlayer report pred.npz --ood pred_out.npz --names sgld -o unknown.html",
    NULL,
};

const command cmd_report = {
    .name = "report",
    .summary = "predictions to one interactive page: curves, the abstention desk, tables",
    .usage = "PREDICTIONS... [--labels FILE] [--ood FILES] [--names NAMES] [OPTIONS] -o FILE\n"
             "--probs FILE | --logits FILE --labels FILE [--ood FILE] [OPTIONS] -o FILE",
    .operand = "PREDICTIONS",
    .operand_help = "files of lastlayer predict, shown side by side; a store of lastlayer search means the best trial of each of its "
                    "methods; the JSON of lastlayer evaluate gives its numbers; for an ensemble the provenance is shown",
    .several = true,
    .detail =
        "Writes one self-contained HTML page that opens offline and prints: a summary, a desk to choose an abstention threshold at, "
        "risk-coverage curves, histograms, reliability diagrams, out-of-distribution curves, the scores of the first 1, 2, ... members, "
        "tables, and where it all comes from. Points kept with predict --members are shown member by member.",
    .examples = examples,
    .args_size = sizeof(report_args),
    .defaults = defaults,
    .groups = groups,
    .run = run,
};
