"""Writes `requirements/run.txt` and `requirements/dev.txt`: every version and hash that we install.

One resolution serves all the Pythons that we support. `dev` is constrained by `run`, so what is
tested is what is run. Run by `make lock`, which puts uv beside this Python.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
LOCKS = {
    "run.txt": ["--group", "build"],
    "dev.txt": ["--group", "build", "--group", "dev", "--constraints", "requirements/run.txt"],
}
NOTE = """\
# Written by `make lock` from pyproject.toml. Every file is named by its hash, so what is installed
# is what was tested, whichever index it comes from.
"""


def main() -> None:
    uv = Path(sys.executable).with_name("uv")
    for name, options in LOCKS.items():
        target = ROOT / "requirements" / name
        resolved = subprocess.run(
            [
                *(uv, "pip", "compile", "--universal", "--python-version", "3.11"),
                *("--generate-hashes", "--no-emit-index-url", "--no-header", "--quiet"),
                *("--upgrade", *options, "pyproject.toml"),
            ],
            cwd=ROOT,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        target.write_text(NOTE + resolved.stdout, encoding="utf-8")
        print(f"wrote requirements/{name}")


if __name__ == "__main__":
    main()
