"""The figures of `gpu.py`: written as JSON after every part, with ratios and agreement, and shown at the end."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.on_gpu.answers import TOLERANCES, compare
from benchmarks.on_gpu.runner import Record

OURS = ("gpu", "cpu")
_GIB = 2**30


class Report:
    """Holds the records of parts, and writes them to a file each time that one is added.

    Parameters
    ----------
    target : Path
        The JSON file; it is replaced as a whole, so that it is always valid.
    facts : mapping
        What the figures are of: the machine, the rows, the minutes.
    """

    def __init__(self, target: Path, facts: Mapping[str, Any]) -> None:
        self.target, self.parts = target, list[Record]()
        self._facts = {"began": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"), **facts}
        self.save()

    def add(self, record: Record) -> None:
        """Take the record of a part, and write the file anew."""
        self.parts.append(record)
        self.save()

    def save(self) -> None:
        """Write the file."""
        summary = {**self._facts, "ratios": ratios(self.parts), "agreement": agreement(self.parts), "parts": self.parts}
        self.target.parent.mkdir(parents=True, exist_ok=True)
        written = self.target.with_name(f".{self.target.name}.part")
        written.write_text(json.dumps(summary, indent=1) + "\n")
        written.replace(self.target)

    def is_good(self) -> bool:
        """Return whether something ran, no part failed or has no figure, no test failed, and all answers agree."""
        bad = [part for part in self.parts if part["status"] == "failed" or _is_empty(part) or _has_failures(part)]
        return (
            not bad
            and any(part.get("runs") for part in self.parts)
            and all(each["agrees"] for each in agreement(self.parts))
        )


def _is_empty(part: Record) -> bool:
    return part["status"] == "cut off" and not part["runs"]


def _has_failures(part: Record) -> bool:
    answer = part.get("answer", {})
    return bool(answer.get("failed") or answer.get("errors"))


def _sides(parts: Sequence[Record]) -> dict[str, dict[str, Record]]:
    """Return the parts that have figures by work and side."""
    works: dict[str, dict[str, Record]] = {}
    for part in parts:
        if part["work"] in TOLERANCES and part.get("runs"):
            works.setdefault(part["work"], {})[part["side"]] = part
    return works


def ratios(parts: Sequence[Record]) -> dict[str, float]:
    """Return "work.side" to the side's wall seconds over those of ours on the GPU: above 1, our GPU is faster."""
    return {
        f"{work}.{side}": part["seconds"] / sides["gpu"]["seconds"]
        for work, sides in _sides(parts).items()
        for side, part in sides.items()
        if "gpu" in sides and side != "gpu"
    }


def agreement(parts: Sequence[Record]) -> list[Record]:
    """Return by how much each side's answer differs from that of ours on the GPU, or of who came first without it."""
    compared: list[Record] = []
    for work, sides in _sides(parts).items():
        answers = {side: part["answer"] for side, part in sides.items() if "answer" in part}
        base = "gpu" if "gpu" in answers else next(iter(answers), "")
        for side in answers:
            if side != base:
                figures = compare(work, answers[side], answers[base], ours={side, base} <= set(OURS))
                compared += [
                    {"work": work, "side": side, "against": base, "figure": name, **each}
                    for name, each in figures.items()
                ]
    return compared


def tell(record: Record, console: Console) -> None:
    """Print a line for a part that has ended."""
    figures = f"{record['seconds']:.2f} s, {record['cpu_seconds']:.1f} s of CPU" if record.get("runs") else ""
    counts = {name: record.get("answer", {}).get(name) for name in ("passed", "failed", "errors", "skipped")}
    tests = ", ".join(f"{value} {name}" for name, value in counts.items() if value is not None)
    told = [each for each in (record["status"], figures, tests, record.get("reason")) if each]
    console.print(f"{record['part']}: {'; '.join(told)}", style="dim", highlight=False, markup=False)
    if record["status"] == "failed":
        console.print(record["log"], style="dim", highlight=False, markup=False)


def show(title: str, parts: Sequence[Record], console: Console) -> None:
    """Print the figures as a table, and below it what does not agree."""
    shown, faster = Table(title=title, box=box.SIMPLE_HEAD, pad_edge=False), ratios(parts)
    for heading in ("part", "status"):
        shown.add_column(heading, no_wrap=True, min_width=max(len(part[heading]) for part in parts))
    for heading in ("runs", "wall s", "CPU s", "GPU J", "GiB", "GPU GiB", "ratio"):
        shown.add_column(heading, justify="right")
    for part in parts:
        numbers = [
            _text(part.get("seconds"), 2), _text(part.get("cpu_seconds"), 1), _text(part.get("gpu_joules"), 0),
            _text(part.get("peak_bytes"), 2, _GIB), _text(part.get("gpu_peak_bytes"), 2, _GIB),
            _text(faster.get(part["part"]), 2),
        ]  # fmt: skip
        shown.add_row(part["part"], part["status"], str(len(part.get("runs", ()))), *numbers)
    console.print(shown)
    for each in agreement(parts):
        if not each["agrees"]:
            console.print(
                f"{each['work']}: {each['figure']} of {each['side']} and {each['against']} differ by "
                f"{each['difference']}, expected at most {each['at_most']}",
                highlight=False,
            )


def _text(value: float | None, digits: int, unit: float = 1.0) -> str:
    return "" if value is None else f"{value / unit:.{digits}f}"
