/* SPDX-License-Identifier: MIT */
/* Starts a program, feeds it and listens to it, all in one loop that looks at the clock and at cancellation. */
#include "formats/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "formats/bytes.h"

enum { IN, OUT, ERR, STREAMS };
enum { TICK = 50 }; /* milliseconds between looks at the clock */

typedef struct talk {
    lli_helper_answer *answer;
    ll_context *ctx;
    pid_t pid;
    int ours[STREAMS], theirs[STREAMS]; /* -1 = closed */
    const unsigned char *bytes;         /* still to send */
    size_t left;
    unsigned char length[8]; /* as it came */
    size_t length_size;
    int64_t promised, limit; /* bytes of the answer */
    size_t said;
    double moved; /* when the last byte did */
} talk;

static void shut(int *fd) {
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Sockets, because a write to one whose reader is gone can be made not to raise SIGPIPE. Numbers above 2, so that moving one into place
 * in the child cannot overwrite another. */
static bool open_streams(talk *t) {
    for (int i = 0; i < STREAMS; i++) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
            return false;
        int *ends[] = {&t->ours[i], &t->theirs[i]};
        for (int k = 0; k < 2; k++) {
            *ends[k] = fcntl(pair[k], F_DUPFD_CLOEXEC, 3);
            close(pair[k]);
        }
        if (t->ours[i] < 0 || t->theirs[i] < 0)
            return false;
        shutdown(t->ours[i], i == IN ? SHUT_RD : SHUT_WR);
    }
    return true;
}

/* In its own process group: Ctrl-C at the terminal reaches only us, and we stop the helper. Returns an errno. */
static int start(talk *t, const lli_helper *helper) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t all, none;
    char *arguments[] = {(char *)(uintptr_t)helper->program, (char *)(uintptr_t)helper->argument, NULL}, *environment[] = {NULL};
    int result = posix_spawn_file_actions_init(&actions);
    if (result != 0)
        return result;
    result = posix_spawnattr_init(&attributes);
    if (result != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return result;
    }
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    for (int i = 0; i < STREAMS && result == 0; i++)
        result = posix_spawn_file_actions_adddup2(&actions, t->theirs[i], i);
    if (result == 0)
        result = posix_spawn(&t->pid, helper->program, &actions, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return result;
}

/* Whether it is gone; then the answer says how, if that can be known. */
static bool gone(talk *t, int options) {
    int status;
    pid_t found;
    do
        found = waitpid(t->pid, &status, options);
    while (found < 0 && errno == EINTR);
    if (found == t->pid && WIFSIGNALED(status))
        t->answer->signal = WTERMSIG(status);
    if (found == t->pid && WIFEXITED(status))
        t->answer->code = WEXITSTATUS(status);
    return found != 0; /* an error: someone else has already waited for it, or SIGCHLD is ignored */
}

static void stop(talk *t) {
    if (gone(t, WNOHANG))
        return;
    kill(t->pid, SIGKILL);
    gone(t, 0);
}

static void send_some(talk *t) {
    ssize_t sent = send(t->ours[IN], t->bytes, t->left, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
        t->bytes += sent;
        t->left -= (size_t)sent;
        t->moved = lli_clock_seconds();
    }
    if (t->left == 0 || (sent < 0 && errno != EINTR && errno != EAGAIN))
        shut(&t->ours[IN]); /* all is there, or it does not want the rest */
}

/* First the length, so that a buffer of that size is made. If the helper writes more, it finds the socket closed. */
static ll_status take_answer(talk *t) {
    lli_helper_answer *a = t->answer;
    bool begun = t->length_size == sizeof t->length;
    void *place = begun ? a->bytes + a->size : t->length + t->length_size;
    size_t room = begun ? (size_t)(t->promised - a->size) : sizeof t->length - t->length_size;
    ssize_t got = recv(t->ours[OUT], place, room, MSG_DONTWAIT);
    if (got > 0)
        t->moved = lli_clock_seconds();
    if (got > 0 && begun)
        a->size += got;
    if (got > 0 && !begun)
        t->length_size += (size_t)got;
    if (!begun && t->length_size == sizeof t->length) {
        uint64_t promised = lli_bytes_little(t->length, sizeof t->length);
        if (promised > (uint64_t)t->limit) {
            a->end = LLI_HELPER_TOO_MUCH;
            return LL_OK;
        }
        t->promised = (int64_t)promised;
        LLI_TRY(lli_memory_new(t->ctx, &a->bytes, t->promised, 1));
        begun = true;
    }
    if ((begun && a->size == t->promised) || got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
        shut(&t->ours[OUT]);
    return LL_OK;
}

/* What does not fit the buffer is read and dropped. */
static void take_sentence(talk *t) {
    char text[LLI_HELPER_SAID_MAX];
    ssize_t got = recv(t->ours[ERR], text, sizeof text, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
        shut(&t->ours[ERR]);
    for (ssize_t i = 0; i < got && t->said < sizeof t->answer->said - 1; i++)
        t->answer->said[t->said++] = text[i];
}

/* Until both of its ends are closed, and then until it is gone. */
static ll_status converse(talk *t, double patience) {
    bool ended = false;
    while (!ended && t->answer->end == LLI_HELPER_ENDED) {
        bool listening = t->ours[OUT] >= 0 || t->ours[ERR] >= 0;
        struct pollfd look[STREAMS];
        for (int i = 0; i < STREAMS; i++)
            look[i] = (struct pollfd){.fd = t->ours[i], .events = i == IN ? POLLOUT : POLLIN};
        poll(look, STREAMS, listening ? TICK : 1);
        LLI_TRY(lli_cancel_check(t->ctx));
        if (lli_clock_seconds() - t->moved > patience)
            t->answer->end = LLI_HELPER_TOO_LONG;
        if (look[IN].revents)
            send_some(t);
        if (look[OUT].revents)
            LLI_TRY(take_answer(t));
        if (look[ERR].revents)
            take_sentence(t);
        ended = !listening && gone(t, WNOHANG);
    }
    if (!ended)
        stop(t);
    return LL_OK;
}

/* One line, and nothing in it that a terminal would obey. */
static void tidy(char *said) {
    said[strcspn(said, "\n")] = 0;
    for (char *c = said; *c; c++)
        if ((unsigned char)*c < 32 || *c == 127)
            *c = '?';
}

ll_status lli_helper_ask(lli_helper_answer *out, ll_context *ctx, const lli_helper *helper, const unsigned char *bytes, size_t size,
                         const char *name) {
    talk t = {out, ctx, .ours = {-1, -1, -1}, .theirs = {-1, -1, -1}, .bytes = bytes, .left = size, .limit = helper->limit};
    ll_status status;
    *out = (lli_helper_answer){0};
    int failure = open_streams(&t) ? start(&t, helper) : errno;
    for (int i = 0; i < STREAMS; i++)
        shut(&t.theirs[i]);
    if (failure) {
        status = lli_fail(ctx, LL_ERR_READ, "%s: %s, which would read it, cannot be started: %s", name, helper->program, strerror(failure));
    } else {
        t.moved = lli_clock_seconds();
        status = converse(&t, helper->patience);
        if (status != LL_OK)
            stop(&t);
        tidy(out->said);
    }
    for (int i = 0; i < STREAMS; i++)
        shut(&t.ours[i]);
    if (status != LL_OK)
        lli_helper_release(out);
    return status;
}

void lli_helper_release(lli_helper_answer *answer) {
    lli_memory_free(answer->bytes);
    answer->bytes = NULL;
    answer->size = 0;
}
