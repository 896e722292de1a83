#!/usr/bin/env bash
# Holds makespan, bound, peaks, feasibility, busy time and cut of `pardnn partition` and `pardnn evaluate` against the
# independent checker of the specification, on all its graphs.
# usage: scripts/check_against_spec.sh [--all] [--shared FOLDER] [GRAPH...]   (FOLDER: ../shared)
set -euo pipefail
# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
python=$(python_with_hdf5)
program=$(program_in "$pardnn_root/build")
export OMP_NUM_THREADS=1
exec "$python" "$pardnn_root/scripts/check_against_spec.py" --program "$program" --processes "$(build_jobs)" "$@"
