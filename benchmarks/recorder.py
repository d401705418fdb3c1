"""The recorder: numbers on sheets, a sheet for each measure, written as a page and as JSON.

A number that has a reference stands beside it with their ratio; the reference was measured in the
same run, on the same machine, under the same load from others. A run of a few measures replaces
their sheets and leaves the others as they were, each with the time and the load of its own run.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from benchmarks.pace import Rounds, percentile

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class Aim:
    """What a number should be: its ratio to the reference, itself, or its 99th percentile."""

    of: Literal["ratio", "value", "p99"]
    sign: Literal["≥", "≤"]
    bound: float
    shown: str

    def judge(self, number: "Number") -> bool | None:
        """Whether the number is as it should be; None when that cannot be said."""
        found = {"ratio": number.ratio, "value": number.value, "p99": number.p99_ms}[self.of]
        if found is None:
            return None
        return found >= self.bound if self.sign == "≥" else found <= self.bound


def share(least: float) -> Aim:
    """At least this part of the reference."""
    return Aim("ratio", "≥", least, f"≥ {least:.0%}".replace("%", " %"))


def times(sign: Literal["≥", "≤"], bound: float) -> Aim:
    """So many times the reference, at least or at most."""
    return Aim("ratio", sign, bound, f"{sign} {bound:g} x")


def p99(most_ms: float) -> Aim:
    """The slowest of a hundred."""
    return Aim("p99", "≤", most_ms, f"p99 ≤ {most_ms:g} ms")


def value(sign: Literal["≥", "≤"], bound: float, unit: str) -> Aim:
    """The number itself."""
    return Aim("value", sign, bound, f"{sign} {bound:g} {unit}")


@dataclass(slots=True, kw_only=True)
class Number:
    """One thing that was measured."""

    name: str
    value: float
    unit: str
    n: int
    """How often it was done, over all rounds."""
    p50_ms: float | None = None
    p99_ms: float | None = None
    reference: str | None = None
    reference_value: float | None = None
    ratio: float | None = None
    aim: str | None = None
    met: bool | None = None


@dataclass(slots=True)
class Sheet:
    """What one measure found."""

    name: str
    title: str
    numbers: list[Number] = field(default_factory=list[Number])
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    """What made it durable, and how large it was."""

    def rounds(
        self,
        name: str,
        rounds: Rounds,
        beside: "tuple[Number, Rounds] | None" = None,
        *,
        aim: Aim | None = None,
        unit: str = "/s",
    ) -> tuple[Number, Rounds]:
        """Write down what several rounds found, beside another number of the same rounds."""
        number = Number(name=name, value=rounds.rate, unit=unit, n=rounds.n)
        number.p50_ms, number.p99_ms = (rounds.percentile(percent) * 1000 for percent in (50, 99))
        ratio = rounds.ratio(beside[1]) if beside else None
        return self._add(number, beside[0] if beside else None, ratio, aim), rounds

    def note(
        self,
        name: str,
        value: float,
        unit: str,
        *,
        n: int,
        seconds: Sequence[float] = (),
        beside: Number | None = None,
        aim: Aim | None = None,
    ) -> Number:
        """Write a number down; `seconds` are how long each single one took."""
        number = Number(name=name, value=value, unit=unit, n=n)
        if seconds:
            number.p50_ms = percentile(seconds, 50) * 1000
            number.p99_ms = percentile(seconds, 99) * 1000
        return self._add(number, beside, value / beside.value if beside else None, aim)

    def _add(
        self, number: Number, beside: Number | None, ratio: float | None, aim: Aim | None
    ) -> Number:
        if beside is not None:
            number.reference, number.reference_value = beside.name, beside.value
            number.ratio = ratio
        if aim is not None:
            number.aim, number.met = aim.shown, aim.judge(number)
        self.numbers.append(number)
        print(f"  {_line(number)}", flush=True)
        return number


def write(sheets: Sequence[Sheet], machine: dict[str, Any], folder: Path) -> None:
    """Put the sheets into the folder, beside those of the measures that did not run now."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "latest.json"
    told: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    for sheet in sheets:
        numbers = [asdict(number) for number in sheet.numbers]
        told[sheet.name] = {
            "title": sheet.title,
            "machine": machine,
            "settings": sheet.settings,
            "numbers": numbers,
        }
    told = dict(sorted(told.items(), key=lambda item: int(item[0][1:])))
    path.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n")
    (folder / "latest.md").write_text(_page(told))


def _line(number: Number) -> str:
    parts = [f"{number.name}: {_figure(number.value)} {number.unit}"]
    if number.p99_ms is not None and number.p50_ms is not None:
        parts.append(f"p50 {number.p50_ms:.2f} ms, p99 {number.p99_ms:.2f} ms")
    if number.ratio is not None:
        parts.append(f"{number.ratio:.2f} x of {number.reference}")
    if number.aim is not None:
        parts.append(f"aim {number.aim}: {'met' if number.met else 'MISSED'}")
    return ", ".join(parts)


def _page(told: dict[str, Any]) -> str:
    lines = [
        "# Latest results",
        "",
        "Written by `make bench`; how to read it is in [README.md](../README.md). A ratio compares "
        "with the reference of the same run on the same machine; only ratios are claims.",
        "",
    ]
    for name, sheet in told.items():
        lines += [f"## {name}: {sheet['title']}", ""]
        lines += [
            "| Number | Value | p50 | p99 | n | Reference | Ratio | Aim |",
            "|---|---:|---:|---:|---:|---|---:|---|",
        ]
        lines += [_row(Number(**number)) for number in sheet["numbers"]]
        lines += ["", _facts({**sheet["settings"], **sheet["machine"]}), ""]
    return "\n".join(lines)


def _row(number: Number) -> str:
    reference = ""
    if number.reference is not None and number.reference_value is not None:
        reference = f"{number.reference}: {_figure(number.reference_value)}"
    cells = [
        number.name,
        f"{_figure(number.value)} {number.unit}",
        "" if number.p50_ms is None else f"{number.p50_ms:.2f} ms",
        "" if number.p99_ms is None else f"{number.p99_ms:.2f} ms",
        f"{number.n:,}",
        reference,
        "" if number.ratio is None else f"{number.ratio:.2f}",
        "" if number.aim is None else f"{number.aim}: {'met' if number.met else '**missed**'}",
    ]
    return f"| {' | '.join(cells)} |"


def _facts(facts: dict[str, Any]) -> str:
    return " · ".join(f"{name}: {told}" for name, told in facts.items())


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
