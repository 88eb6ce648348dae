"""``penstock`` and ``python -m penstock``: the command line as the program of a process."""

import os
import sys

from penstock.cli.commands import main
from penstock.devices.threads import PATIENT


def start() -> int:
    """Run the command line on the arguments of this process, which is all its own; return the exit code."""
    for name, value in PATIENT.items():
        os.environ.setdefault(name, value)
    return main()


if __name__ == "__main__":
    sys.exit(start())
