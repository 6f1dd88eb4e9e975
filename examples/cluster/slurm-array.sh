#!/bin/sh
# SPDX-License-Identifier: MIT
# A fit as a Slurm array, then the merge:
#     job=$(sbatch --parsable --array=1-8 slurm-array.sh)
#     sbatch --dependency=afterok:$job --wrap "lastlayer merge ens.safetensors"
# A task that was killed or requeued continues: --resume starts a part that was not begun, too.
#SBATCH --job-name=lastlayer
#SBATCH --cpus-per-task=4
#SBATCH --mem=8G
#SBATCH --requeue
set -eu
exec lastlayer fit --features features.npy --labels labels.npy --method bootstrap --samples 100 \
    --threads "${SLURM_CPUS_PER_TASK:-1}" --resume --part "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" -o ens.safetensors
