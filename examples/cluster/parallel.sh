#!/bin/sh
# SPDX-License-Identifier: MIT
# A fit in N parts on one machine, or on all that share this folder: sh parallel.sh N [OPTIONS OF lastlayer fit]
# GNU parallel takes other machines with --sshlogin; without it, xargs runs the parts here, two at a time.
set -eu
parts=$1
shift
export LASTLAYER="${LASTLAYER:-lastlayer}" OUTPUT="${OUTPUT:-ens.safetensors}"

if parallel --version 2>/dev/null | grep -q "GNU parallel"; then
    seq "$parts" | parallel --will-cite -j 2 "$LASTLAYER" fit "$@" --threads 1 --part "{}/$parts" -o "$OUTPUT"
else
    seq "$parts" | xargs -P 2 -I "{}" "$LASTLAYER" fit "$@" --threads 1 --part "{}/$parts" -o "$OUTPUT"
fi
"$LASTLAYER" merge "$OUTPUT"
