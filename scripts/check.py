"""What `make check` runs: everything that can be said about the code without running it.

All steps run even if an early one fails, so that one run tells everything there is to repair.
"""

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
BIN = Path(sys.executable).parent

STEPS: dict[str, list[str]] = {
    "format": [str(BIN / "ruff"), "format", "--check", "--quiet", "."],
    "lint": [str(BIN / "ruff"), "check", "--quiet", "."],
    "types": [str(BIN / "pyright")],
    "floors": [str(BIN / "lint-imports"), "--no-logo"],
    "generated pages": [sys.executable, "-m", "scripts.write_docs", "--check"],
}


def main() -> int:
    failed = [name for name, command in STEPS.items() if not _passes(name, command)]
    if failed:
        print(f"make check failed: {', '.join(failed)} (`make fix` repairs what it can)")
    return 1 if failed else 0


def _passes(name: str, command: list[str]) -> bool:
    began = time.monotonic()
    done = subprocess.run(
        command, cwd=ROOT, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    mark = "FAILED" if done.returncode else "ok"
    print(f"{name:<16} {mark:<6} {time.monotonic() - began:5.1f} s", flush=True)
    if done.returncode:
        print(done.stdout.rstrip(), flush=True)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
