"""Retention: what is kept how long."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from coven.cli.command import Here, command, group
from coven.cli.output import busy, document, table

if TYPE_CHECKING:
    from coven.client import RetentionRule

app = group("retention", help="What is kept how long.")


@command(app, "plan", example="coven retention plan")
async def plan(here: Here) -> None:
    """Show what a run would delete now. Deletes nothing."""
    async with here.coven() as coven:
        with busy("Counting …"):
            rules = await coven.retention.plan()
    _tell(here, rules)


@command(app, "run", example="coven retention run")
async def run(here: Here) -> None:
    """Delete what is old enough now, instead of at the next hour."""
    async with here.coven() as coven:
        with busy("Deleting what is old enough …"):
            rules = await coven.retention.run()
    _tell(here, rules)


def _tell(here: Here, rules: "Sequence[RetentionRule]") -> None:
    if here.json:
        document({"rules": rules, "rows": sum(rule.rows for rule in rules)})
        return
    rows = [[rule.name, rule.project, rule.table, rule.older_than, rule.rows] for rule in rules]
    table(["rule", "project", "table", "older than", "rows"], rows)
