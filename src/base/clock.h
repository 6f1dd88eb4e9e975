/* SPDX-License-Identifier: MIT */
/* Time and processors. Neither ever decides a number. */
#ifndef LLI_BASE_CLOCK_H
#define LLI_BASE_CLOCK_H

double lli_clock_seconds(void); /* monotonic */
int lli_clock_processors(void); /* that this process may use, at least 1 */

#endif
