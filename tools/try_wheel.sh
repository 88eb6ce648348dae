#!/usr/bin/env bash
# Install the wheel $1 into a new environment, make a new project there, and run it and its tests.
set -euo pipefail
wheel=$(realpath "$1")
tools=$(realpath "$(dirname "$0")")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset PYTHONPATH
cd "$folder"
"$tools/venv.sh" "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$wheel[cpu]" pytest
"$folder/venv/bin/penstock" --version
"$folder/venv/bin/penstock" init demo
make -C demo PYTHON="$folder/venv/bin/python" run promote test
