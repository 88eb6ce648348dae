#!/usr/bin/env bash
# Make sure that the tests of the report find a Chromium, and a font to draw with: the machine's own, else Debian's.
# Without one those tests are skipped, so that not having it is no error.
set -euo pipefail

found() { command -v chromium || command -v chromium-browser || command -v google-chrome; }

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

if ! found >/dev/null && command -v apt-get >/dev/null; then
    { as_root apt-get update -qq && as_root apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core; } \
        >/dev/null 2>&1 || true
fi
if browser=$(found); then
    echo "Chromium for the report: $browser"
else
    echo "no Chromium: the tests that look at the report in a browser are skipped" >&2
fi
