"""The energy of a run, and the CO2 of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.runs.energy.cpu_power import cpu_name
from penstock.runs.energy.estimate import estimate, processes_of
from penstock.runs.run import Run

WORLD_INTENSITY = 475.0
"""Grams of CO2 for a kilowatt-hour of electricity, the world's mean of 2018: IEA, Global Energy & CO2 Status Report
2019. CodeCarbon takes it too where it knows of no country."""
_JOULES_OF_KWH = 3.6e6


@dataclass(frozen=True)
class Energy:
    """What a run has used, by machine and device: ``host/package-0``, ``host/gpu-0``, ``host/cpu``.

    Parameters
    ----------
    measured, estimated : mapping of str to float
        Joules that counters of the hardware tell of, and others.
    assumptions : tuple of str
        What the numbers depend on.
    intensity : float
        Grams of CO2 for a kilowatt-hour.

    Examples
    --------
    >>> energy = Energy(measured={"a/gpu-0": 7.0e6}, estimated={"a/cpu": 0.2e6}, intensity=50)
    >>> energy.method, energy.total, energy.co2_grams
    ('estimated', 7200000.0, 100.0)
    """

    measured: Mapping[str, float] = field(default_factory=dict)
    estimated: Mapping[str, float] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()
    intensity: float = WORLD_INTENSITY

    @property
    def joules(self) -> dict[str, float]:
        """Joules by machine and device."""
        return {**self.measured, **self.estimated}

    @property
    def total(self) -> float:
        """Joules of all devices."""
        return sum(self.joules.values())

    @property
    def method(self) -> str:
        """``"measured"`` if nothing is estimated, else ``"estimated"``."""
        return "measured" if self.measured and not self.estimated else "estimated"

    @property
    def co2_grams(self) -> float:
        """Grams of CO2."""
        return self.total / _JOULES_OF_KWH * self.intensity

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as ``run.json`` has them."""
        return {
            "joules": self.total,
            "method": self.method,
            "measured": dict(self.measured),
            "estimated": dict(self.estimated),
            "assumptions": list(self.assumptions),
            "intensity": self.intensity,
            "co2_grams": self.co2_grams,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Energy:
        """Return what `to_dict` gave."""
        return cls(values["measured"], values["estimated"], tuple(values["assumptions"]), values["intensity"])


def run_energy(run: Run, *, intensity: float | None = None) -> Energy:
    """Return what a run has used: what its record says; of a record that says nothing an estimate by its tasks.

    Parameters
    ----------
    run : Run
    intensity : float, optional
        Grams of CO2 for a kilowatt-hour where it ran; that of the record unless given, which is the world's mean.

    Examples
    --------
    >>> import penstock as ps
    >>> run = ps.runs.Run({"seconds": 10.0}, ps.runs.TASKS.empty_table())
    >>> run_energy(run).total
    0
    """
    recorded = run.info.get("energy")
    if recorded is None:
        estimated, reasons = estimate(processes_of(run.tasks).values(), run.seconds, cpu_name(), {})
        energy = Energy({}, estimated, tuple(reasons))
    else:
        energy = Energy.from_dict(recorded)
    return energy if intensity is None else replace(energy, intensity=intensity)
