#!/usr/bin/env bash
# The path of a new user: runs the lines of README.md under "From pip install to a placed training step" as they stand there, one after the other in one
# shell, in a copy of what a clone holds, without a virtual environment, settings or PYTHONPATH of this one. Everything is removed again.
# usage: scripts/test_new_user.sh      Needs a built program (scripts/test.sh builds one), python3 with venv, and pip's way to PyTorch.
set -euo pipefail
if [[ ${1-} == --help || ${1-} == -h ]]; then
  sed -n '2,4s/^# //p' "${BASH_SOURCE[0]}"
  exit 0
fi
# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
cd "$pardnn_root"
heading='## From pip install to a placed training step'
longest=10  # lines

program=$pardnn_root/$(program_in build)
python3 -c 'import venv, ensurepip' 2>/dev/null || install_packages python3 python3-venv
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
copy=$scratch/pardnn
mkdir "$copy"
git -c safe.directory="$PWD" ls-files -z | tar --null --files-from - --create | tar --extract --directory "$copy"

# The first block of code under the heading.
awk -v heading="$heading" '$0 == heading {under = 1; next} under && /^## / {exit} under && /^```/ {if (inside) exit; inside = 1; next} inside' \
  "$copy/README.md" >"$scratch/lines"
count=$(grep -c . "$scratch/lines") || fail "README.md has no lines of code under '$heading'"
((count <= longest)) || fail "README.md has $count lines under '$heading', more than $longest"
grep -q '^pip install ' "$scratch/lines" || fail "README.md: no 'pip install' under '$heading'"
say "$count lines of README.md"

# What scripts/quickstart.sh has built before.
mkdir -p "$copy/build/src/cli"
cp "$program" "$copy/build/src/cli/pardnn"
status=0
SECONDS=0
(
  cd "$copy"
  env -u PYTHONPATH -u PARDNN -u VIRTUAL_ENV -u PYTHONHOME PIP_QUIET=1 \
    OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}" bash -euxo pipefail "$scratch/lines"
) </dev/null >"$scratch/log" 2>&1 || status=$?
cat "$scratch/log"
((status == 0)) || fail "the lines of README.md end with exit code $status after $SECONDS s"
[[ $(grep -c '^step [0-9]*: loss [0-9.]*,' "$scratch/log") -ge 2 ]] || fail "no losses were printed: nothing was trained"
! grep -q 'loss \(nan\|inf\)' "$scratch/log" || fail "a loss is no number"
say "a new user trains a placed step: $count lines, $SECONDS s"
