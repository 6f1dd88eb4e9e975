/* SPDX-License-Identifier: MIT */
/* What a process gives up before it reads a file made by a stranger. One way: nothing comes back. */
#ifndef LASTLAYER_CAGE_H
#define LASTLAYER_CAGE_H

#include <stdint.h>

/* Dies with its parent, and closes everything but stdin, stdout and stderr. */
void cage_leave_alone(void);

/* From now on: `bytes` of memory beyond what is mapped already, so much processor time, no new files, no core dump, and no system call but
 * those for memory, writing to stdout and stderr, and the end; any other is death. Returns NULL, or what could not be given up, with
 * errno. */
const char *cage_close(uint64_t bytes, uint64_t microseconds);

#endif
