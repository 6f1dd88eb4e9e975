/* SPDX-License-Identifier: MIT */
/* The records of CIFAR-10 and CIFAR-100 binary files. */
#ifndef LLI_FORMATS_CIFAR_H
#define LLI_FORMATS_CIFAR_H

#include <stdbool.h>
#include <stddef.h>

enum {
    LLI_CIFAR_SIDE = 32,
    LLI_CIFAR_CHANNELS = 3,
    LLI_CIFAR_PLANE = LLI_CIFAR_SIDE * LLI_CIFAR_SIDE,
    LLI_CIFAR_PIXELS = LLI_CIFAR_CHANNELS * LLI_CIFAR_PLANE,
    LLI_CIFAR10_CLASSES = 10,
    LLI_CIFAR100_COARSE = 20,
    LLI_CIFAR100_CLASSES = 100
};

bool lli_cifar_length(size_t size); /* a file of this many bytes can be one */

#endif
