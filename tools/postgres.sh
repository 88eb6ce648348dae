#!/usr/bin/env bash
# Make sure that the tests of databases find a PostgreSQL server: the machine's own, else Debian's.
# Without one those tests are skipped, so that not having it is no error.
set -euo pipefail

found() { command -v initdb || compgen -G '/usr/lib/postgresql/*/bin/initdb'; }

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

if ! found >/dev/null && command -v apt-get >/dev/null; then
    { as_root apt-get update -qq && as_root apt-get install -y -qq --no-install-recommends postgresql; } \
        >/dev/null 2>&1 || true
fi
if server=$(found); then
    echo "PostgreSQL for the databases: ${server%/initdb}"
else
    echo "no PostgreSQL: the tests that write to a server are skipped" >&2
fi
