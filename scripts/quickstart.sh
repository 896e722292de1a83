#!/usr/bin/env bash
# From a fresh clone to a placed model: installs what is missing, builds, partitions a captured GPT-2 training step.
set -euo pipefail
if [[ ${1-} == --help || ${1-} == -h ]]; then
  printf 'usage: scripts/quickstart.sh\n\nInstalls what the build lacks (apt-get; root or sudo only if CMake does not find something), builds into build/,\n'
  printf 'and places a GPT-2 training step on four devices of 16 GiB. Safe to run again.\n'
  exit 0
fi
# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
cd "$pardnn_root"

set_up -DPARDNN_TESTS=OFF
say "building into build/ (Release)"
configure build -DCMAKE_BUILD_TYPE=Release -DPARDNN_TESTS=OFF
build build
pardnn=$(program_in build)

graph=tests/data/pt-gpt2-small-12.h5
result=build/quickstart
mkdir -p "$result"
run=("$pardnn" partition "$graph" --devices 4 --memory 16GiB -o "$result/gpt2.tsv" -o "$result/gpt2.h5"
     --json "$result/gpt2.json")
say "${run[*]}"
status=0
"${run[@]}" || status=$?
((status == 0)) || fail "pardnn partition ended with exit code $status"

say "the first operations and their devices ($result/gpt2.tsv)"
head -n 5 "$result/gpt2.tsv"
say "operations on each device"
cut -f 2 "$result/gpt2.tsv" | sort -n | uniq -c
say "written: $result/gpt2.tsv, $result/gpt2.h5, $result/gpt2.json; more: $pardnn --help, README.md"
