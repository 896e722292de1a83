#!/usr/bin/env bash
# Builds everything with its tests and runs them, then those of the Python package: scripts/test.sh [--quick] [ARGUMENT OF CTEST...]
set -euo pipefail
quick=0
# Whole pipelines, many times over: most of the tests' time.
slow_tests='^(determinism|brute_force|never_worse)\.'
if [[ ${1-} == --help || ${1-} == -h ]]; then
  printf 'usage: scripts/test.sh [--quick] [argument of ctest ...]\n\n'
  printf -- '--quick leaves out the tests of whole pipelines, of the installation, and those that need a framework (PyTorch, ...).\n'
  printf 'With arguments of ctest only ctest runs. Example: scripts/test.sh --quick -R emulation\n'
  exit 0
fi
if [[ ${1-} == --quick ]]; then
  quick=1
  shift
fi
# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
cd "$pardnn_root"

set_up
say "building into build/ (Release, with tests)"
configure build -DCMAKE_BUILD_TYPE=Release -DPARDNN_TESTS=ON
build build

choice=(--output-on-failure --no-tests=error --parallel "$(build_jobs)")
((quick)) && choice+=(--label-exclude '^(slow|install)$' --exclude-regex "$slow_tests")
log=build/ctest.log
say "ctest ${choice[*]} $*"
status=0
(cd build && ctest "${choice[@]}" "$@") 2>&1 | tee "$log" || status=$?
if (($# == 0)); then
  python_choice=()
  ((quick)) && python_choice=(--quick)
  python_status=0
  scripts/test_python.sh "${python_choice[@]}" || python_status=$?
  ((status)) || status=$python_status
fi
say "ctest's closing lines (all of it: $log)"
sed -n '/^[0-9]*% tests passed/,$p' "$log"
exit "$status"
