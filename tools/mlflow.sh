#!/usr/bin/env bash
# Make sure that the tests of MLflow find a server: one in an environment of its own ($2), as its package does not allow
# the pyarrow of requirements/cpu.lock. $1 is uv. Without an index those tests are skipped, so that it is no error.
set -euo pipefail
uv=$1 environment=$2

if ! [ -x "$environment/bin/mlflow" ]; then
    "$uv" venv --quiet --clear "$environment"
    "$uv" pip install --quiet --python "$environment/bin/python" 'mlflow>=3.5,<4' 2>/dev/null || true
fi
if [ -x "$environment/bin/mlflow" ]; then
    echo "MLflow for the tests of its flavour: $("$environment/bin/mlflow" --version)"
else
    echo "no MLflow server: the tests that log to one are skipped" >&2
fi
