/* SPDX-License-Identifier: MIT */
/* Any bytes as what the program that reads HDF5 answers: a clean answer, or one sentence. */
#include "formats/readers.h"
#include "fuzz.h"

FUZZ_READER("hdf5", lli_hdf5_answer)
