#!/usr/bin/env bash
# spark-submit with the Spark, Python and Java of this checkout:
#   ./spark-submit.sh [options of spark-submit] jobs/fit.py clicks --data data/samples/clicks --out models/clicks
set -euo pipefail
root=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-$root/.venv/bin/python}
[ -x "$python" ] || python=$(command -v python3)
export PYTHONPATH="$root${PYTHONPATH:+:$PYTHONPATH}"
exec "$python" -m penstock.engines.spark.submit "$@"
