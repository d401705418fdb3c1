"""P3: what a read costs through REST, beside the same framework returning a constant."""

from typing import Any

import uvloop

from benchmarks import constant, daemons, load, recorder
from benchmarks.journal import PATH, POSTED
from benchmarks.load import Load
from benchmarks.pace import Rounds
from benchmarks.recorder import Sheet

TITLE = "REST reads: one notification, and a page of 50"
CONNECTIONS = 16
ROWS = 60


def measure(sheet: Sheet, *, small: bool) -> None:
    rounds, seconds = (1, 0.05) if small else (5, 2.0)
    sheet.settings |= {"connections": CONNECTIONS, "rounds": f"{rounds} of {seconds:g} s"}
    with daemons.scratch() as folder, daemons.running(folder) as daemon:
        host, port = daemon.address
        ours = Load(
            host=host,
            port=port,
            method="GET",
            paths=[],
            token=daemon.token,
            connections=CONNECTIONS,
            seconds=seconds,
        )
        details, page = _fill(ours)
        with constant.answering(page["items"][0], page) as constant_port:
            constants = Load(
                host=host,
                port=constant_port,
                method="GET",
                paths=[],
                connections=CONNECTIONS,
                seconds=seconds,
            )
            _compare(sheet, ours, constants, "one notification", details, rounds=rounds)
            _compare(sheet, ours, constants, "page of 50", [PATH], rounds=rounds)


def _compare(
    sheet: Sheet, ours: Load, constants: Load, name: str, paths: list[str], *, rounds: int
) -> None:
    same_size = "/detail" if name == "one notification" else "/page"
    value, prepared, found = Rounds(), Rounds(), Rounds()
    for _ in range(rounds):
        for rounds_of, asked, wanted in (
            (value, constants, [same_size]),
            (found, ours, paths),
            (prepared, constants, [f"{same_size}/bytes"]),
        ):
            asked.paths = wanted
            answered = load.ask(asked)
            rounds_of.add(answered.per_second, answered.seconds)
    beside = sheet.rounds(f"constant of the size of {name}", value)
    sheet.rounds(name, found, beside, aim=recorder.share(0.60))
    beside = sheet.rounds(f"{name}, constant bytes made before", prepared)
    sheet.rounds(f"{name}, against that", found, beside)


def _fill(ours: Load) -> tuple[list[str], Any]:
    """Post some notifications; where each is, and the first page."""

    async def fill() -> Any:
        body = Load(**{**_plain(ours), "method": "POST", "paths": [PATH], "body": POSTED})
        for _ in range(ROWS):
            await load.fetch(body)
        first = Load(**{**_plain(ours), "paths": [PATH]})
        return await load.fetch(first)

    page = uvloop.run(fill())
    return [f"{PATH}/{item['id']}" for item in page["items"]], page


def _plain(asked: Load) -> dict[str, Any]:
    return {name: getattr(asked, name) for name in Load.__slots__}
