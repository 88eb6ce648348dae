"""The energy of a run and the CO2 of it: by counters of the hardware where they can be read, else estimated."""

from penstock.runs.energy.energy import Energy, run_energy
from penstock.runs.energy.energy_meter import EnergyMeter

__all__ = ["Energy", "EnergyMeter", "run_energy"]
