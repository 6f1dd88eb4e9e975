/* SPDX-License-Identifier: MIT */
/* Resource limits and a seccomp filter. */
#define _GNU_SOURCE /* syscall */
#include "cage.h"

#include <errno.h>
#include <seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

void cage_leave_alone(void) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    syscall(SYS_close_range, 3U, ~0U, 0U); /* an old kernel that lacks it leaves them open, and the filter forbids their use */
}

/* Bytes of address space in use; 0 if that cannot be told. */
static uint64_t mapped_bytes(void) {
    unsigned long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f && fscanf(f, "%llu", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static const char *set_limits(uint64_t bytes, uint64_t microseconds) {
    uint64_t mapped = mapped_bytes();
    const struct {
        __rlimit_resource_t what;
        rlim_t most;
        const char *name;
    } limits[] = {
        {RLIMIT_AS, mapped + bytes, "memory"}, {RLIMIT_CPU, microseconds / 1000000 + 1, "processor time"},
        {RLIMIT_FSIZE, 0, "file sizes"},       {RLIMIT_CORE, 0, "core dumps"},
        {RLIMIT_NOFILE, 0, "open files"},
    };
    if (mapped == 0)
        return "memory in use";
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        struct rlimit limit;
        if (getrlimit(limits[i].what, &limit) != 0)
            return limits[i].name;
        if (limit.rlim_max > limits[i].most)
            limit.rlim_max = limits[i].most;
        limit.rlim_cur = limit.rlim_max;
        if (setrlimit(limits[i].what, &limit) != 0)
            return limits[i].name;
    }
    /* RLIMIT_CPU counts whole seconds; a small file that goes round in circles ends sooner. SIGPROF kills. */
    struct itimerval timer = {.it_value = {(time_t)(microseconds / 1000000), (suseconds_t)(microseconds % 1000000)}};
    return setitimer(ITIMER_PROF, &timer, NULL) == 0 ? NULL : "processor time";
}

static const char *set_filter(void) {
    static const int allowed[] = {SCMP_SYS(brk),        SCMP_SYS(munmap),        SCMP_SYS(mremap),       SCMP_SYS(madvise),
                                  SCMP_SYS(futex),      SCMP_SYS(clock_gettime), SCMP_SYS(gettimeofday), SCMP_SYS(time),
                                  SCMP_SYS(exit_group), SCMP_SYS(exit),          SCMP_SYS(sysinfo)}; /* the last is for qsort, which asks
                                                                                                        how much memory there is */
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
    int result = filter ? 0 : -ENOMEM;
    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0] && result == 0; i++)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
    if (result == 0)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
                                  SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS, MAP_ANONYMOUS));
    for (unsigned fd = STDOUT_FILENO; fd <= STDERR_FILENO && result == 0; fd++)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(write), 1, SCMP_A0(SCMP_CMP_EQ, fd));
    /* libhdf5 looks whether the file of its bytes in memory exists; no file does */
    static const int absent[] = {SCMP_SYS(open), SCMP_SYS(openat)};
    for (size_t i = 0; i < sizeof absent / sizeof absent[0] && result == 0; i++)
        result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOENT), absent[i], 0);
    if (result == 0)
        result = seccomp_load(filter); /* sets PR_SET_NO_NEW_PRIVS too */
    if (filter)
        seccomp_release(filter);
    errno = -result;
    return result == 0 ? NULL : "system calls";
}

const char *cage_close(uint64_t bytes, uint64_t microseconds) {
    const char *refused = set_limits(bytes, microseconds);
    return refused ? refused : set_filter();
}
