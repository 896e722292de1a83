#!/usr/bin/env bash
# The same placement, byte for byte, from the usual compiler (GCC) with -O3, from Clang -O3 and from the usual one with -O0, on 1, 2, 3
# and 8 threads, for every graph in tests/data. Uses and makes the folders build, build-clang and build-o0.
# usage: scripts/same_bytes.sh [PRESET...]   (default: fast default)
set -euo pipefail
# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
cd "$pardnn_root"
presets=("$@")
((${#presets[@]} > 0)) || presets=(fast default)

set_up
command -v clang++ >/dev/null 2>&1 || install_packages clang libomp-dev
# build_program FOLDER CMAKE-ARGUMENT...
build_program() {
  local folder=$1
  shift
  say "building $folder"
  configure "$folder" "$@" >/dev/null
  build "$folder" pardnn_cli | tail -n 1
}
build_program build -DCMAKE_BUILD_TYPE=Release
build_program build-clang -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++
build_program build-o0 -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# place NAME PROGRAM GRAPH THREADS ARGUMENT...: exit code 2 (does not fit) is an answer, too.
place() {
  local name=$1 program=$2 graph=$3 threads=$4 status=0
  shift 4
  "$program" partition "$graph" "$@" --threads "$threads" --progress none -o "$scratch/$name.tsv" -o "$scratch/$name.h5" \
    2>"$scratch/$name.log" || status=$?
  if ((status != 0 && status != 2)); then
    cat "$scratch/$name.log" >&2
    fail "$program: exit code $status on $graph"
  fi
}

# agree NAME WHAT
agree() {
  local ending
  for ending in tsv h5; do
    cmp "$scratch/reference.$ending" "$scratch/$1.$ending" >&2 || fail "$2 differs from build on one thread"
    compared=$((compared + 1))
  done
}

# builds_and_threads PRESET GRAPH: what is held against build on one thread. Every pair for the preset that takes no time, some for the
# others; without optimisation a search takes 20 to 50 times as long, so it is made on two small graphs only.
builds_and_threads() {
  if [[ $1 == fast ]]; then
    printf '%s\n' build:{2,3,8} build-clang:{1,2,3,8} build-o0:{1,2,3,8}
  else
    printf '%s\n' build:{2,3,8} build-clang:{1,3}
    case $2 in
      *unet* | *wrn*) echo build-o0:2 ;;
    esac
  fi
}

compared=0
for graph in tests/data/*.h5; do
  for preset in "${presets[@]}"; do
    for policy in fifo priority; do
      options=(--devices 4 --memory 32GiB --policy "$policy" --preset "$preset")
      place reference "$(program_in build)" "$graph" 1 "${options[@]}"
      for build in $(builds_and_threads "$preset" "$graph"); do
        folder=${build%:*} threads=${build#*:}
        place other "$(program_in "$folder")" "$graph" "$threads" "${options[@]}"
        agree other "$graph, preset $preset, policy $policy: $folder on $threads threads"
      done
    done
  done
  say "same bytes: $graph"
done
say "$compared files compared, all the same"
