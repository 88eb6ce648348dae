#!/usr/bin/env bash
# See that what setup.cfg allows today works, and not only what is locked: an open range breaks without a commit of ours.
# Versions newer than those of requirements/cpu.lock are laid over the environment $2, in one of their own, and tests of
# what leans on them most are run there, warnings as errors. $1 is uv. Without an index nothing can be said, and that is
# said: it is no error, unless NEWEST=require.
set -euo pipefail
uv=$1 locked=$2 over=$2-newest
extras=(cpu dask spark connect torch sklearn onnx images optuna s3 avro delta iceberg sql serve mlflow opentelemetry openlineage java dev)
tests=(tests/engines/test_query.py tests/test_expressions.py tests/search/test_optuna_search.py tests/search/test_stored_studies.py
    penstock/stages/training penstock/stages/inference)

unreachable() { # uv's exit status is 1 where versions contradict each other, 2 where it cannot ask or fetch
    echo "newest versions: NOT CHECKED, uv could not $1:" >&2
    cat "$over/error" >&2
    [ "${NEWEST:-}" != require ]
    exit
}

ask() { # what, uv's arguments...
    local what=$1 status=0
    shift
    "$uv" "$@" 2>"$over/error" || status=$?
    [ $status != 2 ] || unreachable "$what"
    [ $status = 0 ] || { cat "$over/error" >&2; echo "newest versions: uv could not $what" >&2; exit 1; }
}

mkdir -p "$over"
ask "solve setup.cfg" pip compile setup.cfg "${extras[@]/#/--extra=}" --python-version 3.11 \
    --python-platform x86_64-manylinux_2_28 --upgrade --no-header --no-annotate --quiet --output-file "$over/newest.txt"
comm -13 <(sort requirements/cpu.lock) <(sort "$over/newest.txt") >"$over/newer.txt"
if [ ! -s "$over/newer.txt" ]; then
    echo "newest versions: those of requirements/cpu.lock"
    exit
fi
if ! cmp -s "$over/newer.txt" "$over/env/installed.txt"; then
    "$uv" venv --quiet --clear --python "$locked/bin/python" "$over/env"
    site=$("$over/env/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    "$locked/bin/python" -c 'import sysconfig; print("import site; site.addsitedir(%r)" % sysconfig.get_path("purelib"))' >"$site/locked.pth"
    ask "fetch packages" pip install --quiet --no-deps --python "$over/env/bin/python" --requirements "$over/newer.txt"
    cp "$over/newer.txt" "$over/env/installed.txt"
fi
echo "newest versions: trying $(tr '\n' ' ' <"$over/newer.txt")"
"$over/env/bin/python" -m pytest --quiet -n0 -p no:cacheprovider --engines dask --doctest-modules \
    "${tests[@]}" || {
    echo "newest versions: setup.cfg allows what breaks; mend it, or cap the range there and say why" >&2
    exit 1
}
