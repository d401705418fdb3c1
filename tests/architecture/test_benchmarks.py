"""Each benchmark runs, once and small, and says what it promises to say. Nothing here is timed."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import recorder
from benchmarks.__main__ import MEASURES
from benchmarks.recorder import Number, Sheet
from tests.architecture.tree import ROOT

pytestmark = pytest.mark.slow

RESULTS = ROOT / "benchmarks" / "results"


@pytest.mark.parametrize("name", MEASURES)
def test_a_benchmark_works_and_leaves_the_kept_results_alone(name: str):
    before = {path: path.stat().st_mtime_ns for path in RESULTS.glob("*")}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", name, "--small"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    written = re.search(r"^results: (.+)$", done.stdout, re.M)
    assert written is not None, done.stdout
    folder = Path(written[1])
    told = json.loads((folder / "latest.json").read_text())[name]
    assert told["machine"]["sqlite"]
    assert told["numbers"]
    assert any(number["aim"] for number in told["numbers"])
    assert f"## {name}" in (folder / "latest.md").read_text()
    shutil.rmtree(folder)
    assert {path: path.stat().st_mtime_ns for path in RESULTS.glob("*")} == before


def test_a_run_of_one_measure_keeps_the_sheets_of_the_others(tmp_path: Path):
    first, second = Sheet("P1", "one"), Sheet("P12", "another")
    first.note("writes", 10, "/s", n=1)
    second.note("start", 2, "s", n=1, aim=recorder.value("≤", 3, "s"))
    recorder.write([first], {"cores": 2}, tmp_path)
    recorder.write([second], {"cores": 4}, tmp_path)
    told = json.loads((tmp_path / "latest.json").read_text())
    assert list(told) == ["P1", "P12"]
    assert [told[name]["machine"]["cores"] for name in told] == [2, 4]


def test_an_aim_that_was_missed_is_said_and_not_hidden():
    sheet = Sheet("P1", "one")
    beside = sheet.note("bare", 100, "/s", n=1)
    slow = sheet.note("ours", 69, "/s", n=1, beside=beside, aim=recorder.share(0.7))
    fast = sheet.note("ours", 70, "/s", n=1, beside=beside, aim=recorder.share(0.7))
    assert (slow.met, fast.met) == (False, True)


def test_the_slowest_of_a_hundred_is_not_rounded_away():
    assert recorder.percentile([float(n) for n in range(1, 101)], 99) == 99.0
    assert recorder.percentile([5.0], 99) == 5.0
    assert recorder.percentile([1.0, 2.0], 99) == 2.0


def test_a_number_without_a_reference_has_no_ratio():
    assert Number(name="a", value=1, unit="s", n=1).ratio is None
