#!/usr/bin/env bash
# Pack Penstock and what it needs for Spark's executors, as an archive for --archives; extras follow the archive:
#   tools/pack.sh penstock.tar.gz cpu,s3
# Executors need a Python where the one that packs has its own: the archive links to it.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
archive=${1:?usage: tools/pack.sh ARCHIVE.tar.gz [EXTRAS]}
extras=${2:-cpu}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"$root/tools/venv.sh" "$folder/penstock"
pip() { "$folder/penstock/bin/python" -m pip --disable-pip-version-check "$@"; }
pip install --quiet --use-pep517 --constraint "$root/requirements/cpu.lock" "$root[$extras]" pandas
pip install --quiet --target "$folder/tool" venv-pack setuptools
PYTHONPATH=$folder/tool "$folder/penstock/bin/python" -m venv_pack --quiet --force --prefix "$folder/penstock" --output "$archive"
base=$("$folder/penstock/bin/python" -c 'import sys; print(sys.base_prefix)')
echo "$archive: $(du --human-readable "$archive" | cut -f 1); all machines need the Python of $base"
echo "PYSPARK_PYTHON=./environment/bin/python ./spark-submit.sh --archives $archive#environment ... jobs/fit.py ..."
