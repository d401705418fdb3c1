"""What a fault test has proved, as a line of JSON for `make prove` to write down."""

import json
import os
from dataclasses import asdict

from tests.faults.harness import RealDaemon
from tests.faults.workload import Told, Verdict


def record(daemon: RealDaemon, told: Told, verdict: Verdict, **case: str | int) -> None:
    """Add a case that held to the file that COVEN_PROOF names; nothing without it."""
    path = os.environ.get("COVEN_PROOF")
    if not path:
        return
    line = {
        **case,
        **asdict(verdict),
        "engine": "sqlite" if daemon.store == "sqlite" else "postgres",
        "acknowledged": len(told.acknowledged) + len(told.read),
        "refused": len(told.refused),
        "seen": len(told.seen),
    }
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
