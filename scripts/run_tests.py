"""Runs pytest and says in its last line how many tests passed and failed.

The counts also go to `.cache/test-counts`, from where `.ci/run` takes them. A test that could not
be set up or collected has failed. Arguments are pytest's own.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

COUNTS = Path(__file__).parent.parent / ".cache" / "test-counts"


class Counts:
    """Counts what becomes of each test; the worst of its phases is its outcome."""

    def __init__(self) -> None:
        self._failed: set[str] = set()
        self._passed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._count(report.nodeid, failed=report.failed, passed=report.when == "call")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._count(report.nodeid, failed=report.failed, passed=False)

    def __str__(self) -> str:
        return f"{len(self._passed - self._failed)} passed, {len(self._failed)} failed"

    def _count(self, test: str, *, failed: bool, passed: bool) -> None:
        if failed:
            self._failed.add(test)
        elif passed:
            self._passed.add(test)


def main(arguments: Sequence[str]) -> int:
    COUNTS.parent.mkdir(exist_ok=True)
    COUNTS.unlink(missing_ok=True)
    counts = Counts()
    status = pytest.main(list(arguments), plugins=[counts])
    COUNTS.write_text(f"{counts}\n", encoding="utf-8")
    print(counts, flush=True)
    return int(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
