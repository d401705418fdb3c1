"""What is committed could be read by anybody: no machine's paths, no index, nothing generated."""

import re

from tests.architecture.tree import ROOT, tracked

# Written in pieces, so that this file does not contain what it looks for.
MACHINES = re.compile(
    r"(?<![\w.}~/-])/(?:" + "|".join(("work", "root", r"tmp/bash\w*", r"home/\w+")) + r")/"
)
INDEXES = re.compile(
    "|".join(
        re.escape(name)
        for name in (
            *("pypi" + ".org", "pythonhosted" + ".org", "npmjs" + ".org", "npmjs" + ".com"),
            *("index" + "-url", "find" + "-links", "deb.debian" + ".org"),
        )
    )
)
# Here the options that keep an index out of the locks are written.
SPELLS_THE_OPTION = {ROOT / "scripts" / "lock.py"}
SECRETS = re.compile("-----BEGIN [A-Z ]*PRIVATE KEY-----")
BYTES_MAX = 2 * 1024 * 1024


def test_no_file_names_a_path_of_the_machine_it_was_written_on():
    found = _lines_with(MACHINES)
    assert found == []


def test_no_file_names_the_index_that_packages_come_from():
    found = [line for line in _lines_with(INDEXES) if not line.startswith(_exempt())]
    assert found == []


def test_no_file_holds_a_private_key():
    found = _lines_with(SECRETS)
    assert found == []


def test_no_file_is_heavy_or_made_by_a_run():
    heavy = [str(path) for path in tracked() if path.stat().st_size > BYTES_MAX]
    made = [
        str(path.relative_to(ROOT))
        for path in tracked()
        if path.suffix in (".pyc", ".log", ".whl", ".so", ".wal", ".sock", ".pid")
        or {"__pycache__", "node_modules", ".venv", ".coven"} & set(path.parts[len(ROOT.parts) :])
    ]
    assert heavy == []
    assert made == []


def test_every_lock_names_every_file_by_its_hash():
    for path in (ROOT / "requirements").glob("*.txt"):
        pinned = re.findall(r"^[a-z0-9][^\s=]*==", path.read_text(encoding="utf-8"), re.M)
        hashed = re.findall(
            r"^[a-z0-9][^\s=]*==[^\n]*\\\n    --hash=sha256:",
            path.read_text(encoding="utf-8"),
            re.M,
        )
        assert len(pinned) == len(hashed) > 0, path.name


def _exempt() -> tuple[str, ...]:
    return tuple(str(path.relative_to(ROOT)) for path in SPELLS_THE_OPTION)


def _lines_with(pattern: re.Pattern[str]) -> list[str]:
    found: list[str] = []
    for path in tracked():
        raw = path.read_bytes()
        if b"\0" in raw[:4096]:
            continue
        for number, line in enumerate(raw.decode("utf-8", "replace").splitlines(), start=1):
            if pattern.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}")
    return found
