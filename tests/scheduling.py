"""How tests are shared among processes: what a cluster, a group or a module makes once is made in one of them."""

import pytest
from xdist.scheduler import LoadGroupScheduling

CLUSTERS = ("spark", "dask")


def name_groups(items: list[pytest.Item]) -> None:
    """Put the group of each test that has one at the end of its node id, where xdist looks for it.

    xdist 3.8 would, but cannot: since pytest 9.2 a node id is no longer the attribute that it sets.
    """
    for item in items:
        if group := _group(item):
            item._id = type(item._id).parse(f"{item.nodeid}@{group}")


def _group(item: pytest.Item) -> str | None:
    """Return the cluster that a test asks for, of two the slower to start, or else the group that it is marked with.

    Tests on Spark take longer than all others together can be made to: those of Spark itself and of MLlib, which are
    not on an engine that is a parameter, have a session in another process.
    """
    asked = {mark.name for mark in item.iter_markers()} | {*getattr(item, "fixturenames", ())}
    marked = (mark.args[0] for mark in item.iter_markers("xdist_group"))
    cluster = next((name for name in CLUSTERS if name in asked), None)
    if cluster == "spark" and "spark" not in _engines(item):
        return "spark itself"
    return cluster or next(marked, None)


def _engines(item: pytest.Item) -> set[str]:
    """Return the engines that a test has as parameters."""
    params = item.callspec.params if hasattr(item, "callspec") else {}
    return {params[name] for name in ("engine", "distributed_engine") if name in params}


class BySetup(LoadGroupScheduling):
    """Gives a process all tests of a group, or those of a module that are in none; what has the most tests first."""

    def _split_scope(self, nodeid: str) -> str:
        group = super()._split_scope(nodeid)
        return nodeid.partition("::")[0] if group == nodeid else group
