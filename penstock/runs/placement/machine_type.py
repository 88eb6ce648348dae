"""Types of machines that can be had: their size, speed, price and power."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field

from penstock.config.settings import read_yaml
from penstock.core.errors import ConfigError
from penstock.core.sizes import parse_bytes

USABLE = 0.9
"""Share of a machine's memory for workers; the system keeps the rest."""
DEFAULT_MAX = 64


def _size(text: str) -> str:
    parse_bytes(text)
    return text


Size = Annotated[str, AfterValidator(_size)]


class MachineType(BaseModel, extra="forbid", frozen=True):
    """One type of machine.

    Parameters
    ----------
    cores : int
    memory : str
        ``"64GiB"``.
    gpus : int, default 0
    gpu_memory : str, optional
        Of each GPU.
    speed : float, default 1.0
        Of a core, relative to one of the machine whose records predict: its seconds for a task by the seconds here.
    speed_gpu : float, optional
        Of a GPU, relative to one core of that machine. Without it GPUs are not used.
    price : float
        An hour of one machine, in any one currency.
    watts : float, optional
        Power while it works.
    watts_idle : float, optional
        Power while it waits; `watts` unless given.
    max : int, default 64
        How many there are at most.

    Examples
    --------
    >>> machine = MachineType(cores=16, memory="64GiB", price=0.8)
    >>> machine.memory_bytes // 2**30, machine.speed
    (64, 1.0)
    """

    cores: int = Field(ge=1)
    memory: Size
    gpus: int = Field(default=0, ge=0)
    gpu_memory: Size | None = None
    speed: float = Field(default=1.0, gt=0)
    speed_gpu: float | None = Field(default=None, gt=0)
    price: float = Field(ge=0)
    watts: float | None = Field(default=None, gt=0)
    watts_idle: float | None = Field(default=None, ge=0)
    max: int = Field(default=DEFAULT_MAX, ge=1)

    @property
    def memory_bytes(self) -> int:
        """Bytes of memory."""
        return parse_bytes(self.memory)

    @property
    def usable_memory(self) -> int:
        """Bytes of memory that workers can have."""
        return int(self.memory_bytes * USABLE)


def read_machines(path: str | Path) -> dict[str, MachineType]:
    r"""Return the types of a YAML file by their names, which stand under ``machines``.

    Raises
    ------
    ConfigError
        It is no such file, see `penstock.config.strict_yaml.read`; or a type has a name that is not known, lacks one,
        or has a value of another type; says file, line and column.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "machines.yaml")
    ...     _ = path.write_text("machines:\n  large: {cores: 16, memory: 64GiB, price: 0.8}\n")
    ...     read_machines(path)["large"].cores
    16
    """
    settings = read_yaml(path).only("machines")
    machines = settings.section("machines")
    if not machines.values:
        hint = "Write machines:, and under it   large: {cores: 16, memory: 64GiB, price: 0.8}."
        raise ConfigError(f"{path} has no machines", hint=hint, path=str(path))
    return {name: machines.section(name).fill(MachineType) for name in machines.values}
