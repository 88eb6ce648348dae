"""How ranks meet for collective calls of XGBoost, and what that opens: ports on every address of their machines.

XGBoost binds the sockets of its ranks to INADDR_ANY (`RabitComm::Bootstrap`, 3.2 to 3.4): no parameter names an
address, ranks do not ask who connects, and there is no other way for them to talk. A stranger who connects while they
train can make the training fail, and one who is quicker than a rank, in the moment when they meet, takes its place. So
several ranks of XGBoost need the word of who knows the network. All others, those of Penstock's own solvers and of
PyTorch, listen on the address of the cluster alone.
"""

from __future__ import annotations

from typing import Any

from penstock.core.errors import InsecureClusterError
from penstock.spmd.options import SpmdOptions


def refuse_ports(size: int, options: SpmdOptions) -> None:
    """Raise InsecureClusterError where XGBoost would open ports that nobody has allowed."""
    if size == 1 or options.allow_insecure:
        return
    raise InsecureClusterError(
        f"{size} ranks of XGBoost would listen on every address of their machines, without authentication: XGBoost"
        " can bind to no other",
        hint="Train on one rank, which opens no port (world_size=1), or pass SpmdOptions(allow_insecure=True), on the"
        " command line --allow-insecure, where a firewall keeps strangers from the workers.",
    )


class Rendezvous:
    """The tracker that XGBoost's ranks ask for each other, for as long as an attempt lasts."""

    def __init__(self, size: int, host: str, options: SpmdOptions) -> None:
        self._size, self._host, self._options = size, host, options
        self._tracker: Any = None

    def arguments(self) -> dict[str, Any]:
        """Start the tracker on `host`; return what each rank gives to XGBoost's communicator, nothing for one alone."""
        refuse_ports(self._size, self._options)
        if self._size == 1:
            return {}
        from xgboost.tracker import RabitTracker

        timeout, patience = int(self._options.start_timeout), int(self._options.timeout)
        self._tracker = RabitTracker(self._size, self._host, sortby="task", timeout=timeout)
        self._tracker.start()
        return {**self._tracker.worker_args(), "dmlc_timeout": patience, "dmlc_retry": 3}

    def close(self) -> None:
        """Let the tracker go."""
        if self._tracker is not None:
            try:
                self._tracker.free()
            except Exception:  # freeing a tracker whose ranks are gone reports just that
                self._tracker = None
