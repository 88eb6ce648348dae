#!/usr/bin/env bash
# Make a virtual environment at $1 with the first Python 3.11 or newer that works.
set -euo pipefail
target=$1

usable() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

for candidate in ${PYTHON:-} python3.13 python3.12 python3.11 python3 /usr/bin/python3; do
    usable "$candidate" || continue
    "$candidate" -m venv "$target" 2>/dev/null && exit 0
    rm -rf "$target"
    # Debian keeps ensurepip in a package of its own.
    version=$("$candidate" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    if command -v apt-get >/dev/null && { as_root apt-get update -qq; as_root apt-get install -y -qq "python$version-venv"; } >/dev/null 2>&1; then
        "$candidate" -m venv "$target" && exit 0
    fi
    echo "$candidate cannot make a virtual environment: install the package python$version-venv" >&2
    exit 1
done
echo "no Python 3.11 or newer found; name one with PYTHON=/path/to/python3 make ..." >&2
exit 1
