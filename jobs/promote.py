"""Promote a better model: `penstock promote` as a file, for schedulers, and on Spark where spark-submit runs it."""

import sys

from penstock.cli.commands import main

if __name__ == "__main__":
    sys.exit(main(["promote", *sys.argv[1:]]))
