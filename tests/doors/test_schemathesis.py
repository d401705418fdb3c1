"""Schemathesis reads the OpenAPI document of a whole daemon and tries to catch it lying."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from coven.daemon.daemon import Daemon

ROOT = Path(__file__).parents[2]
PROVE = os.environ.get("COVEN_PROVE") == "1"
EXAMPLES = 250 if PROVE else 25


@pytest.fixture
def engine_name() -> str:
    """The document does not know the engine."""
    return "sqlite"


@pytest.mark.fault
@pytest.mark.timeout(3600 if PROVE else 180)
async def test_schemathesis_finds_nothing_against_the_document(
    daemon: Daemon, tmp_path: Path
) -> None:
    # Nothing is left out: nobody here acts on `/shutdown`, and copies go into its own folder.
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "schemathesis.cli", "run", f"{daemon.url}/openapi.json"),
        *("--header", f"Authorization: Bearer {daemon.token}"),
        *("--max-examples", str(EXAMPLES), "--no-color"),
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "SCHEMATHESIS_HOOKS": "tests.doors.schemathesis_hooks",
        },
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await program.communicate()
    assert program.returncode == 0, output.decode()
