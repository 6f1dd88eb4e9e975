/* SPDX-License-Identifier: MIT */
/* Says how undisturbed its core is: answers each line of standard input with the multiply-add rate of the next three milliseconds, in
 * GF/s. Strangers on the same hardware show in it long before they show in a load average. bench/run.py keeps one per core. */
#include <stdio.h>

#include "peak.h"

int main(void) {
    char line[16];
    setvbuf(stdout, NULL, _IOLBF, 0);
    while (fgets(line, sizeof line, stdin))
        printf("%.2f\n", rate(200));
    return 0;
}
