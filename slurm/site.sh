# shellcheck shell=bash
# The only file that a site edits. Source it, then submit:
#   source slurm/site.sh
#   sbatch slurm/partition.sbatch model.h5 --machine dgx2-16xv100-32gb -o placement.h5

# Modules with the compiler, MPI and libraries that pardnn was built with, if the site has them.
# module load gcc openmpi hdf5 tbb

# Account, partition, constraint: sbatch reads these variables, see its manual under INPUT ENVIRONMENT VARIABLES.
# export SBATCH_ACCOUNT=project
# export SBATCH_PARTITION=compute

# How srun and the MPI library meet: pmix for Open MPI, pmi2 for MPICH and Intel MPI. `srun --mpi=list` shows what there is.
export PARDNN_PMI=${PARDNN_PMI:-pmix}

# The program. Everything below follows from where this file is.
pardnn_site=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/site.sh
export PARDNN_SITE=$pardnn_site
export PARDNN_ROOT=${PARDNN_ROOT:-$(dirname "$(dirname "$pardnn_site")")}
export PARDNN=${PARDNN:-$PARDNN_ROOT/build/src/cli/pardnn}

# The Python of train.sbatch: one that has PyTorch. The package is the one beside this folder.
export PARDNN_PYTHON=${PARDNN_PYTHON:-python3}
export PYTHONPATH=$PARDNN_ROOT/scripts${PYTHONPATH:+:$PYTHONPATH}

# launch TASKS CPUS [OPTION OF SRUN...] COMMAND...: one job step. Slurm 22.05 and later do not hand --cpus-per-task on to srun: it is said again. A task that
# fails ends the step.
launch() {
  local tasks=$1 cpus=$2
  shift 2
  srun --mpi="$PARDNN_PMI" --ntasks="$tasks" --cpus-per-task="$cpus" --kill-on-bad-exit=1 "$@"
}
