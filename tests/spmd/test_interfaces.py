"""The network interface that libraries of collective calls are lent."""

from __future__ import annotations

import os

import pytest

from penstock.spmd.interfaces import interface_of, on_interface


def test_an_address_without_an_interface_has_none() -> None:
    assert interface_of("203.0.113.7") is None


def test_libraries_of_collective_calls_use_the_interface_of_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NCCL_SOCKET_IFNAME", raising=False)
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "mine0")
    before = dict(os.environ)
    with on_interface("127.0.0.1"):
        assert dict(os.environ) == {**before, "NCCL_SOCKET_IFNAME": "=lo"}
    assert dict(os.environ) == before
