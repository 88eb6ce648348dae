"""Network interfaces: that of the cluster is lent to libraries which would choose one by themselves."""

from __future__ import annotations

import fcntl
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from penstock.core.environment import default_environment

_SIOCGIFADDR = 0x8915
"""Linux's request for the address of an interface, netdevice(7)."""


@contextmanager
def on_interface(address: str) -> Iterator[None]:
    """Have gloo, and NCCL on one machine, use the interface with this address, unless the user has named one.

    By itself gloo takes whatever the name of the host stands for, and NCCL any interface but loopback. Between machines
    NCCL chooses: the fastest network need not be that of the driver.
    """
    name = interface_of(address)
    chosen = {} if name is None else {"GLOO_SOCKET_IFNAME": name}
    if name == "lo":
        chosen["NCCL_SOCKET_IFNAME"] = "=lo"
    with default_environment(chosen):
        yield


def interface_of(address: str) -> str | None:
    """Return the network interface whose first IPv4 address this is; None where it cannot be told.

    Examples
    --------
    >>> interface_of("127.0.0.1")
    'lo'
    """
    for _, name in socket.if_nameindex():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking, suppress(OSError):
            answer = fcntl.ioctl(asking.fileno(), _SIOCGIFADDR, struct.pack("256s", name.encode()))
            if socket.inet_ntoa(answer[20:24]) == address:
                return name
    return None
