#!/usr/bin/env bash
# Make sure that the tests of OpenTelemetry find a collector: Rotel, in an environment of its own ($2), as its package is
# built for a newer glibc than requirements/cpu.lock is resolved for. $1 is uv. Without an index the test is skipped, so
# that it is no error.
set -euo pipefail
uv=$1 environment=$2

if ! [ -x "$environment/bin/python" ]; then
    "$uv" venv --quiet --clear "$environment"
    "$uv" pip install --quiet --python "$environment/bin/python" 'rotel==0.0.1a15' 2>/dev/null || true
fi
if compgen -G "$environment/lib/python*/site-packages/rotel/rotel-agent" >/dev/null; then
    echo "a collector for the tests of OpenTelemetry: Rotel"
else
    rm -rf "$environment"
    echo "no collector of OpenTelemetry: the test that sends to one is skipped" >&2
fi
