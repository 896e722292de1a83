#!/usr/bin/env bash
# What every script here shares: the packages that a build needs, set-up, configure, build. Sourced, or run alone to
# set up and do nothing else. Changes nothing but what apt-get installs and the build folders of this clone.
set -euo pipefail

pardnn_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Clones in different folders share what ccache keeps.
export CCACHE_BASEDIR=$pardnn_root

# The one list of Debian and Ubuntu packages. Optional ones only add methods to `pardnn compare`.
required_packages=(build-essential cmake ninja-build libhdf5-dev zlib1g-dev libtbb-dev libfmt-dev nlohmann-json3-dev
                   libcli11-dev libxxhash-dev libgtest-dev libopenmpi-dev openmpi-bin)
optional_packages=(libmetis-dev libscotch-dev)

say() { printf '== %s\n' "$*"; }
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

# package_installed NAME
package_installed() {
  command -v dpkg-query >/dev/null 2>&1 || return 1
  [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null || true) == installed ]]
}

# A cmake of 3.22 or later, from wherever.
cmake_is_new_enough() {
  local version
  version=$(cmake --version 2>/dev/null | sed -n '1s/^cmake version //p') || return 1
  [[ -n $version && $(printf '%s\n3.22\n' "$version" | sort -V | head -n 1) == 3.22 ]]
}

# True if PACKAGE, or the tool that it would bring, is there.
is_there() {
  case $1 in
    cmake) cmake_is_new_enough ;;
    ninja-build) command -v ninja >/dev/null 2>&1 ;;
    build-essential) command -v "${CXX:-c++}" >/dev/null 2>&1 ;;
    git | ccache | clang) command -v "$1" >/dev/null 2>&1 ;;
    *) package_installed "$1" ;;
  esac
}

# missing_of PACKAGE...: those that are not there, one a line.
missing_of() {
  local package
  for package in "$@"; do
    is_there "$package" || printf '%s\n' "$package"
  done
}

# install_packages PACKAGE...: by apt-get, as root or through sudo.
install_packages() {
  local -a as_root=()
  command -v apt-get >/dev/null 2>&1 ||
    fail "no apt-get here; install what these packages hold and try again: $*"
  if [[ $(id -u) != 0 ]]; then
    command -v sudo >/dev/null 2>&1 ||
      fail "as root, run: apt-get install -y --no-install-recommends $*"
    as_root=(sudo)
  fi
  say "installing by apt-get: $*"
  as_root+=(env DEBIAN_FRONTEND=noninteractive)
  "${as_root[@]}" apt-get -qq update
  "${as_root[@]}" apt-get -qq install -y --no-install-recommends "$@" </dev/null
}

# configures_as_it_is [CMAKE ARGUMENT...]: true if CMake finds all it needs, as it may outside of packages (CMAKE_PREFIX_PATH, *_ROOT,
# modules, a package manager). Otherwise its first complaint goes to standard error.
configures_as_it_is() {
  if ! cmake_is_new_enough; then
    say "no cmake of 3.22 or later here" >&2
    return 1
  fi
  local scratch status=0
  scratch=$(mktemp -d)
  cmake -S "$pardnn_root" -B "$scratch/build" "$@" >"$scratch/log" 2>&1 || status=$?
  ((status == 0)) || sed -n '/CMake Error/,/^Call Stack\|^--/p' "$scratch/log" | grep -m 2 '^  *[A-Za-z]' >&2 || true
  rm -rf "$scratch"
  return "$status"
}

# set_up [CMAKE ARGUMENT...]: installs what is missing. Asks for no rights where nothing is missing, or where CMake with these arguments finds all it
# needs all the same.
set_up() {
  local -a missing=()
  mapfile -t missing < <(missing_of "${required_packages[@]}")
  if ((${#missing[@]} == 0)); then
    say "all packages that the build needs are here"
    return
  fi
  if configures_as_it_is "$@"; then
    say "CMake finds all it needs (not as packages: ${missing[*]})"
    return
  fi
  mapfile -t missing < <(missing_of "${required_packages[@]}" "${optional_packages[@]}")
  install_packages "${missing[@]}"
}

# Processes that a build may use: the CPUs of this process and of its container, and 1.5 GiB of memory for each.
build_jobs() {
  local jobs quota period memory
  jobs=$(nproc)
  if read -r quota period 2>/dev/null </sys/fs/cgroup/cpu.max && [[ $quota != max ]]; then
    quota=$(((quota + period - 1) / period))
    ((quota < jobs)) && jobs=$quota
  fi
  memory=$(awk '/^MemAvailable:/ {print int($2 / 1572864)}' /proc/meminfo 2>/dev/null || true)
  [[ -n $memory ]] && ((memory < jobs)) && jobs=$memory
  ((jobs < 1)) && jobs=1
  printf '%s\n' "$jobs"
}

# configure FOLDER [CMAKE ARGUMENT...]: FOLDER may be new, or left by an earlier run, or copied from elsewhere.
configure() {
  local folder=$1 home
  shift
  local -a generator=()
  if [[ -f $folder/CMakeCache.txt ]]; then
    home=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$folder/CMakeCache.txt")
    [[ $home == "$pardnn_root" ]] || rm -rf "$folder/CMakeCache.txt" "$folder/CMakeFiles"
  fi
  if [[ ! -f $folder/CMakeCache.txt ]] && command -v ninja >/dev/null 2>&1; then
    generator=(-G Ninja)
  fi
  if command -v ccache >/dev/null 2>&1; then
    set -- -DCMAKE_CXX_COMPILER_LAUNCHER=ccache "$@"
  fi
  if [[ ${CI-} == true ]]; then
    set -- -DPARDNN_WERROR=ON "$@"
  fi
  cmake -S "$pardnn_root" -B "$folder" "${generator[@]}" "$@"
}

# build FOLDER [TARGET...]
build() {
  local folder=$1
  shift
  local -a targets=()
  (($# > 0)) && targets=(--target "$@")
  cmake --build "$folder" --parallel "$(build_jobs)" "${targets[@]}"
}

# program_in FOLDER: the executable that was built there.
program_in() {
  local program
  program=$(find "$1" -type f -name pardnn -perm -u+x -not -path '*/scratch/*' | head -n 1)
  [[ -n $program ]] || fail "no executable named pardnn in $1: run scripts/quickstart.sh or scripts/test.sh first"
  printf '%s\n' "$program"
}

# Prints a Python that has numpy and h5py: the one at hand, or one in build/python with both from pip. Messages go to standard error.
python_with_hdf5() {
  local python=$pardnn_root/build/python/bin/python
  if python3 -c 'import h5py, numpy' >/dev/null 2>&1; then
    printf '%s\n' python3
    return
  fi
  if ! "$python" -c 'import h5py, numpy' >/dev/null 2>&1; then
    say "making build/python with numpy and h5py" >&2
    if ! python3 -m venv "$pardnn_root/build/python" >/dev/null 2>&1; then
      install_packages python3 python3-venv >&2
      python3 -m venv "$pardnn_root/build/python" >&2
    fi
    "$python" -m pip install --quiet --disable-pip-version-check numpy h5py >&2
  fi
  printf '%s\n' "$python"
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
  set_up
fi
