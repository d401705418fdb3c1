"""`python -m benchmarks [P1 P3 …] [--small]`: run measures and write what they found."""

import argparse
import gc
import importlib
import sys
import tempfile
from pathlib import Path

from benchmarks import machine, recorder
from benchmarks.recorder import Sheet

MEASURES = {
    "P1": "journal",
    "P2": "journal_postgres",
    "P3": "reads",
    "P4": "depth",
    "P5": "streams",
    "P12": "start",
    "P15": "idle",
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*MEASURES, []], metavar="NAME")
    parser.add_argument(
        "--small", action="store_true", help="only prove that they work; nothing is kept"
    )
    asked = parser.parse_args()
    trouble = machine.check_disk()
    if trouble is not None and not asked.small:
        print(f"error: {trouble}", file=sys.stderr)
        return 1
    for name in asked.names or MEASURES:
        where = machine.describe()
        module = importlib.import_module(f"benchmarks.{MEASURES[name]}")
        print(f"{name}: {module.TITLE}", flush=True)
        sheet = Sheet(name, module.TITLE)
        module.measure(sheet, small=asked.small)
        folder = Path(tempfile.mkdtemp(prefix="coven-bench-")) if asked.small else recorder.RESULTS
        recorder.write([sheet], where, folder)
        print(f"results: {folder}", flush=True)
        gc.collect()
    return 0


if __name__ == "__main__":
    sys.exit(main())
