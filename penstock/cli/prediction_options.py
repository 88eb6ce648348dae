"""How long a fit would take: what is asked of it, and by what it is known."""

from dataclasses import dataclass
from pathlib import Path

from penstock.core.errors import ConfigError
from penstock.core.several import settle_several


@dataclass(frozen=True, kw_only=True)
class PredictionOptions:
    """What a fit is predicted on, and from.

    Parameters
    ----------
    workers : str, optional
        Predict the time on so many tasks at once: 1,2,4,8.
    calibration : path or URL, optional
        With workers, the file of penstock calibrate; unless given, records of fits of the pipeline in runs are taken.
    machine : str, optional
        With workers, a type of machine that they run on.
    machines : path, optional
        A YAML file of types of machines; machines.yaml of conf unless given.

    Raises
    ------
    ConfigError
        There is more about workers, and no number of them.
    """

    workers: str | None = None
    calibration: str | Path | None = None
    machine: str | None = None
    machines: str | Path | None = None

    def __post_init__(self) -> None:
        settle_several(self)
        for name in ("calibration", "machine", "machines"):
            if getattr(self, name) is not None and self.workers is None:
                raise ConfigError(f"{name} is given, and no number of workers", hint="Add --workers 1,2,4,8.")
