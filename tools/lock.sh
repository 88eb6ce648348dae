#!/usr/bin/env bash
# Resolve the lock files (--write), or see that what is locked still fits setup.cfg and has a solution (--check).
# Resolving needs no GPU and installs nothing.
set -euo pipefail
mode=$1 uv=$2

resolve() { # name, python, platform, extras...
    local name=$1 python=$2 platform=$3 out flags=()
    shift 3
    for extra in "$@"; do flags+=(--extra "$extra"); done
    out=requirements/$name.lock
    if [ "$mode" = --check ]; then
        out=$(mktemp)
        cp "requirements/$name.lock" "$out"
    fi
    "$uv" pip compile setup.cfg "${flags[@]}" --python-version "$python" --python-platform "$platform" \
        --no-header --no-annotate --quiet --output-file "$out"
    if [ "$mode" = --check ]; then
        diff -u "requirements/$name.lock" "$out" || { echo "requirements/$name.lock does not fit setup.cfg: make lock" >&2; exit 1; }
        rm -f "$out"
    fi
    echo "requirements/$name.lock: $(grep -c == "requirements/$name.lock") packages"
}

resolve cpu 3.11 x86_64-manylinux_2_28 cpu dask spark connect torch sklearn onnx images optuna s3 gcs azure avro delta iceberg sql serve mlflow opentelemetry openlineage java notebook dev
resolve gpu 3.12 x86_64-manylinux_2_28 gpu dask spark connect torch sklearn onnx images optuna s3 gcs azure avro delta iceberg sql serve mlflow opentelemetry openlineage java notebook dev
