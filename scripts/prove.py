"""`make prove`: the fault and property suites at full counts, and the page that records them.

The page says what was killed how often on which engine, what had been promised, what was found
untrue afterwards, and every seed. A run in which anything failed writes no page.
"""

import json
import os
import platform
import secrets
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import apsw

PAGE = Path("docs/reliability/proof.md")
TEST_SECONDS_MAX = 3600
SUMS = ("kills", "acknowledged", "refused", "seen", "lost", "lied", "doubled", "gaps")

Case = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """Some files of tests that are run together."""

    about: str
    paths: tuple[str, ...]
    seeded: bool
    """Whether one seed replays all of it; the daemon's kills have one for each case."""


SUITES = (
    Suite(
        about="The daemon, killed with SIGKILL",
        paths=("tests/faults/test_daemon_kills.py",),
        seeded=False,
    ),
    Suite(
        about="Blobs: a process killed at armed points and random moments; a power cut at each "
        "call to the disk",
        paths=("tests/faults/test_blobs_faults.py", "tests/faults/test_blobs_power.py"),
        seeded=True,
    ),
    Suite(
        about="Models: the store, the blobs and the cursors of the event log, by Hypothesis",
        paths=("tests/machines",),
        seeded=True,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A suite that held: its seed and what pytest counted."""

    suite: Suite
    seed: int | None
    counts: str


def main(workers: str) -> int:
    """Run the suites; write the page when all of them held."""
    ran: list[Ran] = []
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder, "cases.jsonl")
        for suite in SUITES:
            seed = secrets.randbelow(2**32) if suite.seeded else None
            print(f"{suite.about} (seed {seed if seed is not None else 'fresh in each case'})")
            code, counts = run(suite, seed, workers=workers, told=told)
            if code:
                print("Something failed, so nothing was recorded.", file=sys.stderr)
                return code
            ran.append(Ran(suite=suite, seed=seed, counts=counts))
        cases = [json.loads(line) for line in told.read_text(encoding="utf-8").splitlines()]
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(render(cases, ran), encoding="utf-8")
    print(f"recorded in {PAGE}")
    return 0


def run(suite: Suite, seed: int | None, *, workers: str, told: Path) -> tuple[int, str]:
    """Run one suite at full counts; the exit code and pytest's last line."""
    environment = {**os.environ, "COVEN_PROVE": "1", "COVEN_PROOF": str(told)}
    if seed is not None:
        environment["COVEN_SEED"] = str(seed)
    command = [sys.executable, "-m", "pytest", *suite.paths, "-q", "-n", workers]
    command += ["--timeout", str(TEST_SECONDS_MAX), "-p", "no:cacheprovider"]
    last = ""
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None, "it was asked for"
        for line in process.stdout:
            print(line, end="", flush=True)
            last = line.strip(" =\n") or last
    return process.returncode, last


def render(cases: list[Case], ran: list[Ran]) -> str:
    """The page."""
    today = datetime.now(UTC).date().isoformat()
    versions = f"Python {platform.python_version()}, SQLite {apsw.sqlite_lib_version()}"
    lines = [
        "# Proof",
        "",
        "Written by `make prove`. Each case of the first suite starts the real daemon, lets it "
        "promise things, kills it, starts it again and compares: what was acknowledged must be "
        "there, once; what was refused must not; a request whose answer was lost is finished by "
        "its retry exactly once; events have no gap and no double, and a reader of the stream saw "
        "each one once, in order.",
        "",
        f"Last run: {today}, on commit `{_commit()}`, {os.cpu_count()} cores, "
        f"{platform.system()} {platform.machine()}, {versions}, psycopg {version('psycopg')}.",
        "",
        "| suite | seed | pytest |",
        "|---|---|---|",
    ]
    for one in ran:
        seed = "one for each case, below" if one.seed is None else str(one.seed)
        lines.append(f"| {one.suite.about} | {seed} | {one.counts} |")
    lines += ["", "## The daemon", "", *_table(cases), "", *_seeds(cases)]
    return "\n".join(lines)


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _table(cases: list[Case]) -> list[str]:
    lines = [
        "| engine | moment | cases | kills | acknowledged | refused | events read live "
        "| lost | refused and there | doubled | gaps |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    groups: dict[tuple[str, str], list[Case]] = defaultdict(list)
    for case in cases:
        groups[case["engine"], case["kind"]].append(case)
    for (engine, kind), found in sorted(groups.items()):
        sums = [sum(case[name] for case in found) for name in SUMS]
        numbers = " | ".join(f"{number:,}" for number in [len(found), *sums])
        lines.append(f"| {engine} | {kind} | {numbers} |")
    return lines


def _seeds(cases: list[Case]) -> list[str]:
    lines = [
        "`COVEN_SEED=<seed> .venv/bin/python -m pytest tests/faults/test_daemon_kills.py` repeats "
        "a case: the same work, the same armed point, or the same planned moment; the instruction "
        "at which a random kill strikes depends on the machine.",
        "",
        "Armed points, with their seeds:",
        "",
    ]
    for name in sorted({case["point"] for case in cases if case["point"]}):
        found = [case for case in cases if case["point"] == name]
        told = ", ".join(f"{case['engine']} {case['seed']}" for case in found)
        lines.append(f"- `{name}`: {told}")
    lines += ["", "Random moments:", ""]
    for engine in sorted({case["engine"] for case in cases}):
        found = [case for case in cases if case["engine"] == engine and case["kind"] == "random"]
        lines.append(f"- {engine}: {', '.join(str(case['seed']) for case in found)}")
    return [*lines, ""]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "2"))
