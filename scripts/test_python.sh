#!/usr/bin/env bash
# The tests of the Python package, in a virtual environment of their own: scripts/test_python.sh [--quick] [ARGUMENT OF PYTEST...]
# Needs a built program (scripts/test.sh builds one). What PyPI does not give is said and its tests are skipped; under CI=true that is an error.
set -euo pipefail
quick=0
if [[ ${1-} == --help || ${1-} == -h ]]; then
  printf 'usage: scripts/test_python.sh [--quick] [argument of pytest ...]\n\n'
  printf 'Makes build/python-tests with numpy, h5py, pytest, PyTorch, TensorFlow, ONNX and JAX from PyPI and runs tests/python there.\n'
  printf -- '--quick: numpy, h5py and pytest alone; tests that need a framework are skipped.\n'
  printf 'Which build of PyTorch pip takes is for pip'"'"'s settings to say (PIP_EXTRA_INDEX_URL, PIP_FIND_LINKS).\n'
  exit 0
fi
if [[ ${1-} == --quick ]]; then
  quick=1
  shift
fi
# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
cd "$pardnn_root"

home=build/python-tests
python=$home/bin/python
skipped=()

# no_pypi WHAT: says that tests are left out; an error where CI must run them.
no_pypi() {
  [[ ${CI-} != true ]] || fail "$1 cannot be installed from PyPI, and CI must run its tests ($home/pip.log)"
  skipped+=("$1")
  say "SKIPPED: $1 cannot be installed from PyPI here; the tests that need it do not run ($home/pip.log)"
}

# pip_install WHAT REQUIREMENT...
pip_install() {
  local what=$1
  shift
  "$python" -m pip install --quiet --disable-pip-version-check "$@" >>"$home/pip.log" 2>&1 || no_pypi "$what"
}

say "Python tests: environment $home"
if [[ ! -x $python ]]; then
  if ! python3 -m venv "$home" >/dev/null 2>&1; then
    install_packages python3 python3-venv
    python3 -m venv "$home"
  fi
fi
pip_install "numpy, h5py or pytest" -r scripts/test-requirements.txt
if ((${#skipped[@]})); then
  say "SKIPPED: all Python tests"
  exit 0
fi
if ((!quick)); then
  while read -r framework requirement; do
    pip_install "$framework" "$requirement"
  done < <(sed '/^#/d;/^$/d' scripts/test-frameworks.txt)
fi
PARDNN=$(program_in build)
export PARDNN
export PYTHONPATH=$pardnn_root/scripts OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} TF_CPP_MIN_LOG_LEVEL=${TF_CPP_MIN_LOG_LEVEL:-2}
if [[ ${CI-} == true ]] && ((!quick)); then
  say "ruff and mypy"
  "$python" -m ruff check --no-cache --config scripts/pyproject.toml scripts/pardnn scripts/examples tests/python
  (cd scripts && "$pardnn_root/$python" -m mypy --cache-dir=/dev/null pardnn)
fi
say "pytest tests/python, program $PARDNN"
"$python" -m pytest -c scripts/pyproject.toml --rootdir . -p no:cacheprovider -q -rs -n "$(build_jobs)" --dist loadfile tests/python "$@"
