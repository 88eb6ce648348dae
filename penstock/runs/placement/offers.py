"""What a type of machine offers to a workload: how many workers, of which speed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from penstock.core.errors import ConfigError
from penstock.core.sizes import parse_bytes, show_bytes
from penstock.runs.placement.machine_type import USABLE, MachineType

Device = Literal["auto", "cpu", "gpu"]


@dataclass(frozen=True)
class Offer:
    """A type of machine as workers of a workload.

    Attributes
    ----------
    name : str
    machine : MachineType
    slots : int
        Workers of one machine: one a core or a GPU, or as many as fit its memory.
    speed : float
        Of each, in steps of a thousandth: a calibration is no more exact.
    device : {"cpu", "gpu"}
    """

    name: str
    machine: MachineType
    slots: int
    speed: float
    device: Literal["cpu", "gpu"]


def offers_of(
    machines: Mapping[str, MachineType], memory: int, device: Device = "auto"
) -> tuple[list[Offer], dict[str, str]]:
    """Return what machines offer to workers that need so many bytes each, and why the others offer nothing.

    Parameters
    ----------
    machines : mapping of str to MachineType
    memory : int
    device : {"auto", "cpu", "gpu"}
        ``auto`` is both: the cores of all, and the GPUs of those that have ``speed_gpu``.

    Raises
    ------
    ConfigError
        No machine offers anything; says of each why.

    Examples
    --------
    >>> small, large = (MachineType(cores=8, memory=size, price=1) for size in ("4GiB", "32GiB"))
    >>> offers, left_out = offers_of({"small": small, "large": large}, memory=6 * 2**30)
    >>> [(offer.name, offer.slots) for offer in offers], left_out
    ([('large', 4)], {'small': 'a worker needs 6.0 GiB of memory, and it has 3.6 GiB for workers'})
    """
    offers, left_out = [], {}
    for name, machine in machines.items():
        devices = ["cpu", "gpu"] if device == "auto" and machine.speed_gpu else ["cpu" if device == "auto" else device]
        reasons = {each: _unfit(machine, memory, gpu=each == "gpu") for each in devices}
        offers += [_offer(name, machine, memory, gpu=each == "gpu") for each, reason in reasons.items() if not reason]
        if all(reasons.values()):
            left_out[name] = str(reasons[devices[0]])
    if not offers:
        why = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        raise ConfigError(f"no machine can run a worker: {why}", hint="Add a larger type, or make fragments smaller.")
    return offers, left_out


def _unfit(machine: MachineType, memory: int, *, gpu: bool) -> str | None:
    """Return why not one worker fits, on a GPU as well where it is to have one; None where one does."""
    if gpu and not (machine.gpus and machine.speed_gpu):
        return "it has no speed_gpu" if machine.gpus else "it has no GPU"
    needed = f"a worker needs {show_bytes(memory)} of memory, and"
    if memory > machine.usable_memory:
        return f"{needed} it has {show_bytes(machine.usable_memory)} for workers"
    size = None if machine.gpu_memory is None else int(parse_bytes(machine.gpu_memory) * USABLE)
    if gpu and size is not None and memory > size:
        return f"{needed} its GPU has {show_bytes(size)} for it"
    return None


def _offer(name: str, machine: MachineType, memory: int, *, gpu: bool) -> Offer:
    fit = machine.usable_memory // memory if memory else machine.cores
    speed = machine.speed if machine.speed_gpu is None or not gpu else machine.speed_gpu
    slots = min(machine.gpus if gpu else machine.cores, fit)
    return Offer(name, machine, slots, max(0.001, round(speed, 3)), "gpu" if gpu else "cpu")
