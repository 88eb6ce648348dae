"""Compare rows with a profile: `penstock drift` as a file, for schedulers, and on Spark where spark-submit runs it."""

import sys

from penstock.cli.commands import main

if __name__ == "__main__":
    sys.exit(main(["drift", *sys.argv[1:]]))
