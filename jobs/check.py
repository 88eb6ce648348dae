"""Check rows by rules: `penstock check` as a file, for schedulers, and on Spark where spark-submit runs it."""

import sys

from penstock.cli.commands import main

if __name__ == "__main__":
    sys.exit(main(["check", *sys.argv[1:]]))
