"""The ranks as a group of `torch.distributed`: gloo on CPUs, NCCL on GPUs."""

from __future__ import annotations

import socket
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import torch
import torch.distributed as dist

from penstock import devices
from penstock.core.errors import ConfigError
from penstock.frames import Kind
from penstock.spmd import Rank
from penstock.spmd.interfaces import on_interface


def device_of(kind: Kind) -> torch.device:
    """Return the device of this process, made current.

    Raises
    ------
    ConfigError
        Frames are on a GPU, and PyTorch was built without CUDA or finds none.

    Examples
    --------
    >>> device_of("cpu")
    device(type='cpu')
    """
    index = devices.use(kind).index
    if index is None:
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise ConfigError(
            f"frames are on a GPU, and PyTorch {torch.__version__} has none",
            hint="Install a build of PyTorch for CUDA, see pytorch.org.",
        )
    device = torch.device("cuda", index)
    torch.cuda.set_device(device)
    return device


@contextmanager
def process_group(rank: Rank, device: torch.device) -> Iterator[None]:
    """Take part in the default group of `torch.distributed` while inside; every rank enters, with rows or without.

    Ranks wait for each other without a time limit before they form the group, and before they leave it; a call in
    between waits as long as the options of the training allow. The group is destroyed in any case, so that those who
    are left behind see a closed connection at once.
    """
    if rank.size == 1:
        yield
        return
    with on_interface(rank.host):
        try:
            _form(rank, device)
            yield
            rank.gather(None)
        except BaseException as error:
            _release(error)
            raise
        finally:
            if dist.is_initialized():
                dist.destroy_process_group()


def _release(error: BaseException | None) -> None:
    """Empty the frames of an error, so that no wrapped module outlives the group in them.

    What frees a group last must not hold the interpreter's lock, as a `DistributedDataParallel` does: the group waits
    for its threads, and they for the lock, for ever.
    """
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__cause__ or error.__context__


def _form(rank: Rank, device: torch.device) -> None:
    on_gpu = device.type == "cuda"
    try:
        dist.init_process_group(
            "nccl" if on_gpu else "gloo",
            store=_store(rank),
            rank=rank.index,
            world_size=rank.size,
            timeout=timedelta(seconds=rank.timeout),
            device_id=device if on_gpu else None,
        )
    except BaseException:
        _number_anew()
        raise


def _number_anew() -> None:
    """Have PyTorch number the groups of this process from the first on.

    It counts those too that were not formed, and ranks find each other by the number: beside a worker that was started
    again, this process would wait for it under another.
    """
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    dist.destroy_process_group()


def _store(rank: Rank) -> dist.TCPStore:
    """Return the store through which ranks find each other: in rank 0, on the network of the coordinator alone."""
    timeout = timedelta(seconds=rank.timeout)
    if rank.index:
        host, port = rank.gather(None)[0]
        return dist.TCPStore(host, port, rank.size, False, timeout, wait_for_workers=False)
    family = socket.AF_INET6 if ":" in rank.host else socket.AF_INET
    listening = socket.create_server((rank.host, 0), family=family, backlog=rank.size)
    host, port = listening.getsockname()[:2]
    store = dist.TCPStore(
        host, port, rank.size, True, timeout, wait_for_workers=False, master_listen_fd=listening.detach()
    )
    rank.gather((host, port))
    return store
