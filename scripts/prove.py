"""`make prove`: the fault and property suites at full counts, and the page that records them.

The page says what was killed how often on which engine, what was promised meanwhile, and every
seed; a run in which anything failed writes no page.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
from collections import defaultdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import apsw

PAGE = Path("docs/reliability/proof.md")
SUITES = ("tests/faults", "tests/machines")
HOURS_MAX = 3

Case = dict[str, Any]


def main(workers: str) -> int:
    """Run the suites; write the page when all of it held."""
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder, "cases.jsonl")
        report = Path(folder, "counts.txt")
        environment = {**os.environ, "COVEN_PROVE": "1", "COVEN_PROOF": str(told)}
        command = [sys.executable, "-m", "pytest", *SUITES, "-q", "-n", workers]
        command += ["--timeout", "3600", "-p", "no:cacheprovider"]
        with report.open("w") as output:
            run = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
            assert run.stdout is not None, "it was asked for"
            for line in run.stdout:
                output.write(line)
                print(line, end="", flush=True)
            code = run.wait(HOURS_MAX * 3600)
        if code:
            print("Something failed, so nothing was recorded.", file=sys.stderr)
            return code
        cases = [json.loads(line) for line in told.read_text(encoding="utf-8").splitlines()]
        counts = report.read_text().strip().splitlines()[-1]
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(render(cases, counts), encoding="utf-8")
    print(f"recorded in {PAGE}")
    return 0


def render(cases: list[Case], counts: str) -> str:
    """The page."""
    today = datetime.now(UTC).date().isoformat()
    versions = f"Python {platform.python_version()}, SQLite {apsw.sqlite_lib_version()}"
    lines = [
        "# Proof",
        "",
        "Written by `make prove`. Each case starts the real daemon, lets it promise things, kills "
        "it with SIGKILL, starts it again and checks every promise: what was acknowledged is "
        "there, once; what was refused is not; a request whose answer was lost is finished by its "
        "retry exactly once; events have no gap and no double, and a reader of the stream saw "
        "each one once, in order.",
        "",
        f"Last run: {today}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}, "
        f"{versions}, psycopg {version('psycopg')}. The suites said: `{counts}`.",
        "",
        "| engine | kind | cases | kills | acknowledged | refused | events read live | lost |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    groups: dict[tuple[str, str], list[Case]] = defaultdict(list)
    for case in cases:
        groups[case["engine"], case["kind"]].append(case)
    for (engine, kind), found in sorted(groups.items()):
        sums = [
            sum(case[name] for case in found)
            for name in ("kills", "acknowledged", "refused", "seen")
        ]
        numbers = " | ".join(f"{number:,}" for number in [len(found), *sums, 0])
        lines.append(f"| {engine} | {kind} | {numbers} |")
    lines += ["", "## Armed points", ""]
    for name in sorted({case["point"] for case in cases if case["point"]}):
        told = ", ".join(
            f"{case['engine']} {case['seed']}" for case in cases if case["point"] == name
        )
        lines.append(f"- `{name}`: seeds {told}")
    lines += ["", "## Seeds of the random kills", ""]
    for engine in sorted({case["engine"] for case in cases}):
        seeds = [
            str(case["seed"])
            for case in cases
            if case["engine"] == engine and case["kind"] == "random"
        ]
        lines.append(f"- {engine}: {', '.join(seeds)}")
    lines += [
        "",
        "Replay one with `COVEN_SEED=<seed> .venv/bin/python -m pytest "
        "tests/faults/test_daemon_kills.py`.",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "2"))
