/* SPDX-License-Identifier: MIT */
/* The terminal. stdout holds results only; the rest goes to stderr, and the progress bar only where stderr is a terminal. */
#include "term.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { SENTENCE_MAX = 2048 };

static char kept[SENTENCE_MAX];

/* One line, whatever it quotes. */
static void sentence(char out[SENTENCE_MAX], const char *format, va_list args) {
    char raw[SENTENCE_MAX];
    vsnprintf(raw, sizeof raw, format, args);
    ll_text_escape(out, SENTENCE_MAX, raw, LL_TEXT_PLAIN);
}

ll_status complain(ll_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    sentence(kept, format, args);
    va_end(args);
    return status;
}

double term_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- progress ---- */

typedef struct bar {
    bool shown;
    char what[64];
    double start, first; /* time and `done` of the first report: a resumed run does not start at 0 */
} bar;

static bar progress_bar;

static bool is_terminal(void) {
    const char *kind = getenv("TERM");
    return isatty(STDERR_FILENO) && kind && strcmp(kind, "dumb") != 0;
}

static bool use_color(void) {
    const char *no = getenv("NO_COLOR");
    return is_terminal() && !(no && *no);
}

static void wipe_bar(void) {
    if (progress_bar.shown)
        fputs("\r\033[K", stderr);
    progress_bar.shown = false;
}

static void duration(char *out, size_t size, double seconds) {
    int64_t s = (int64_t)(seconds + 0.5);
    if (s < 3600)
        snprintf(out, size, "%d:%02d", (int)(s / 60), (int)(s % 60));
    else
        snprintf(out, size, "%lld:%02d:%02d", (long long)(s / 3600), (int)(s / 60 % 60), (int)(s % 60));
}

static void on_progress(void *user, const char *what, double done, double total) {
    (void)user;
    bar *b = &progress_bar;
    double now = term_seconds();
    if (strncmp(b->what, what, sizeof b->what - 1) != 0) {
        snprintf(b->what, sizeof b->what, "%s", what);
        b->start = now;
        b->first = done;
    }
    if (done >= total) {
        wipe_bar();
        fflush(stderr);
        b->what[0] = 0;
        return;
    }
    char left[32] = "", line[256], cells[64];
    double elapsed = now - b->start;
    if (done > b->first && elapsed > 0.5)
        duration(left, sizeof left, elapsed * (total - done) / (done - b->first));
    struct winsize size;
    int columns = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
    int width = columns - (int)strlen(b->what) - 24;
    width = width > 40 ? 40 : width;
    if (width < 4) {
        width = 0;
    } else {
        int full = (int)(width * done / total);
        memset(cells, '-', (size_t)width);
        memset(cells, '#', (size_t)full);
    }
    cells[width] = 0;
    snprintf(line, sizeof line, "%s %s %3d %%%s%s", b->what, cells, (int)(100 * done / total), *left ? "  left " : "", left);
    fprintf(stderr, "\r%.*s\033[K", columns - 1, line);
    fflush(stderr);
    b->shown = true;
}

/* ---- sentences ---- */

/* Ends a sentence with a full stop, unless it has one. */
static const char *stop(const char *said) {
    size_t length = strlen(said);
    return length == 0 || strchr(".!?", said[length - 1]) ? "" : ".";
}

static bool silent;

void term_silence(void) {
    silent = true;
}

static void say(const char *color, const char *prefix, const char *said) {
    bool colored = use_color();
    if (silent)
        return;
    wipe_bar();
    fprintf(stderr, "%s%s%s %s%s\n", colored ? color : "", prefix, colored ? "\033[0m" : "", said, stop(said));
    fflush(stderr);
}

void term_error(const char *command, const ll_context *ctx, const char *otherwise) {
    const char *said = *kept ? kept : ctx && *ll_context_message(ctx) ? ll_context_message(ctx) : otherwise;
    char prefix[64];
    snprintf(prefix, sizeof prefix, command ? "lastlayer %s:" : "lastlayer:", command);
    say("\033[1;31m", prefix, said);
}

void term_note(const char *format, ...) {
    char said[SENTENCE_MAX];
    va_list args;
    va_start(args, format);
    sentence(said, format, args);
    va_end(args);
    say("\033[2m", "note:", said);
}

static void on_log(void *user, ll_log_level level, const char *said) {
    (void)user;
    if (level == LL_LOG_WARNING)
        say("\033[1;33m", "warning:", said);
    else
        say("\033[2m", "note:", said);
}

/* ---- signals ---- */

static ll_context *volatile running;

/* The first signal asks the library to stop; the handler is then gone, so the second one kills. */
static void on_signal(int number) {
    ll_context *ctx = running;
    if (ctx)
        ll_context_cancel(ctx);
    else
        _exit(LL_ERR_CANCELLED);
    (void)number;
}

/* Inputs are mapped into memory: one that another program cuts off meanwhile has no bytes where its header promised some. */
static void on_lost_bytes(int number, siginfo_t *info, void *state) {
    (void)state;
    if (info->si_code != BUS_ADRERR)
        return; /* the handler is gone, so that what caused it happens again and kills */
    static const char sentence[] = "lastlayer: an input became shorter while it was read, or its disk failed; the output was not changed\n";
    ssize_t put = write(STDERR_FILENO, sentence, sizeof sentence - 1);
    (void)put, (void)number;
    _exit(LL_ERR_READ);
}

/* Whoever started us may have had a signal ignored (nohup, a shell's background job): then it stays ignored. SIGPIPE is left as it came:
 * a reader that went away ends us as it ends any filter, or is a failed write where the signal is ignored. */
static void catch_signals(void) {
    static const int asks[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {0}, before;
    action.sa_handler = on_signal;
    action.sa_flags = (int)SA_RESETHAND; /* without SA_RESTART: whatever waits for a pipe looks whether it should stop */
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof asks / sizeof asks[0]; i++)
        if (sigaction(asks[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(asks[i], &action, NULL);
    /* A file that reaches RLIMIT_FSIZE is a failed write with its sentence. */
    signal(SIGXFSZ, SIG_IGN);
    action.sa_flags = SA_SIGINFO | (int)SA_RESETHAND;
    action.sa_sigaction = on_lost_bytes;
    sigaction(SIGBUS, &action, NULL);
}

ll_status term_context_new(ll_context **out, int threads, int64_t memory) {
    ll_context_options options = ll_context_options_default();
    options.threads = threads;
    options.option_style = LL_OPTION_STYLE_FLAG;
    options.memory = memory;
    options.log = on_log;
    if (is_terminal() && !silent)
        options.progress = on_progress;
    ll_status status = ll_context_new(out, &options);
    if (status != LL_OK)
        return status;
    running = *out;
    catch_signals();
    return LL_OK;
}

void term_context_free(ll_context *ctx) {
    wipe_bar();
    running = NULL;
    ll_context_free(ctx);
}

/* ---- results ---- */

static char written[SENTENCE_MAX]; /* the output that is whole */
static int lost;                   /* errno of the first piece of stdout that did not arrive */

static void arrived(FILE *to, bool yes) {
    if (!yes && to == stdout && !lost)
        lost = errno ? errno : EIO;
}

static void put(FILE *to, const char *text) {
    errno = 0;
    arrived(to, fputs(text, to) >= 0);
}

static void put_escaped(FILE *to, const char *text, ll_text_form form) {
    size_t size = ll_text_escape(NULL, 0, text, form) + 1;
    char *escaped = malloc(size);
    if (!escaped) {
        arrived(to, false);
        return;
    }
    ll_text_escape(escaped, size, text, form);
    put(to, escaped);
    free(escaped);
}

/* The line breaks of the format itself, then its text without them, then those at its end. */
void term_print(FILE *to, const char *format, ...) {
    size_t before = strspn(format, "\n"), length = strlen(format), after = 0;
    while (before + after < length && format[length - 1 - after] == '\n')
        after++;
    char *inner = strndup(format + before, length - before - after), *raw = NULL;
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int size = inner ? vsnprintf(NULL, 0, inner, args) : -1;
    if (size >= 0 && (raw = malloc((size_t)size + 1)))
        vsnprintf(raw, (size_t)size + 1, inner, again);
    va_end(again);
    va_end(args);
    for (size_t i = 0; i < before; i++)
        put(to, "\n");
    if (raw)
        put_escaped(to, raw, LL_TEXT_PLAIN);
    else
        arrived(to, false);
    for (size_t i = 0; i < after; i++)
        put(to, "\n");
    free(raw);
    free(inner);
}

void term_print_text(const char *text) {
    put(stdout, text);
}

void term_print_json_string(const char *text) {
    put_escaped(stdout, text, LL_TEXT_JSON);
}

void term_print_json_number(double x) {
    if (isfinite(x))
        term_print(stdout, "%.17g", x);
    else
        term_print(stdout, "null");
}

void term_written(const char *path) {
    snprintf(written, sizeof written, "%s", path);
}

ll_status term_flush(void) {
    errno = 0;
    arrived(stdout, fflush(stdout) == 0 && !ferror(stdout));
    if (!lost)
        return LL_OK;
    if (lost == EINTR)
        return complain(LL_ERR_CANCELLED, "interrupted");
    ll_status status = lost == ENOMEM ? LL_ERR_MEMORY : LL_ERR_WRITE;
    if (*written)
        return complain(status, "%s is written, but the summary could not be written to standard output: %s", written, strerror(lost));
    return complain(status, "cannot write to standard output: %s", strerror(lost));
}
