"""Score rows by a saved model: `penstock score` as a file, for schedulers, and on Spark where spark-submit runs it."""

import sys

from penstock.cli.commands import main

if __name__ == "__main__":
    sys.exit(main(["score", *sys.argv[1:]]))
