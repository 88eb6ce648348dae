#!/usr/bin/env bash
# A job whose workers are jobs of Slurm themselves, which dask-jobqueue submits (conf/engines/dask-slurm.yaml):
#   sbatch conf/slurm/dask.sh fit clicks --data /shared/clicks --out /shared/models/clicks --allow-insecure
# Scheduler and client run in this job; its workers come as the queue gives them.
#SBATCH --job-name=penstock
#SBATCH --cpus-per-task=2
#SBATCH --mem=8G
#SBATCH --time=03:00:00
set -euo pipefail
umask 077
cd "${SLURM_SUBMIT_DIR:-.}"
mkdir -p .penstock-keys # shared_temp_directory of that file
exec "${PYTHON:-.venv/bin/python}" -m penstock "$@" --engine "${ENGINE:-dask-slurm}"
