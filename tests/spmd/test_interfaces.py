"""The network interface that libraries of collective calls are lent."""

import os

from penstock.spmd.interfaces import interface_of, on_interface


def test_an_address_without_an_interface_has_none():
    assert interface_of("203.0.113.7") is None


def test_libraries_of_collective_calls_use_the_interface_of_the_cluster(monkeypatch):
    monkeypatch.delenv("NCCL_SOCKET_IFNAME", raising=False)
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "mine0")
    before = dict(os.environ)
    with on_interface("127.0.0.1"):
        assert dict(os.environ) == {**before, "NCCL_SOCKET_IFNAME": "=lo"}
    assert dict(os.environ) == before
