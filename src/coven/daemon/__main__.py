"""`python -m coven.daemon`: the verbs that must work without a daemon, and `up`, which is one.

The command line starts this program instead of importing the daemon, so `coven --help` stays quick
and the client stays a visitor. Errors are told once and as the command line tells them:
`coven.core.exits`.
"""

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from coven import config
from coven.config import Settings
from coven.core import exits, failpoints, terminal
from coven.core.errors import CovenError
from coven.core.exits import CommandNotUnderstood


def main(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Do what the arguments say; the exit code of the process."""
    try:
        exits.require_text(arguments)
        asked = _parser().parse_args(arguments)
        asked.environment = environment
        failpoints.arm(environment.get("COVEN_FAILPOINTS", ""))
        settings = config.load(
            _directory(asked, environment),
            environment=environment,
            port=getattr(asked, "port", None),
            store=asked.store,
            fresh=getattr(asked, "fresh", False),
        )
        verb: Callable[[argparse.Namespace, Settings], int] = asked.verb
        exit_code = verb(asked, settings)
        sys.stdout.flush()  # a reader that went away is noticed here, not at the exit
    except BrokenPipeError:
        terminal.hang_up()
        return exits.BROKEN_PIPE
    except KeyboardInterrupt:
        return exits.INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the one place that tells a person about any failure
        return exits.report(error, as_json="--json" in arguments)
    return exit_code


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints look like every other failure."""

    def error(self, message: str) -> NoReturn:
        raise CommandNotUnderstood(problem=message)


def _parser() -> argparse.ArgumentParser:
    every = argparse.ArgumentParser(add_help=False)
    every.add_argument("--dir", type=Path, help="the project directory (or COVEN_DIR)")
    every.add_argument("--store", metavar="URL", help="sqlite or postgresql://…")
    every.add_argument("--json", action="store_true", help="answer in JSON")
    parser = _Parser(prog="coven", description=__doc__)
    verbs = parser.add_subparsers(required=True, metavar="VERB")

    def add(
        to: Any,  # what `add_subparsers` gives has no public name
        name: str,
        verb: Callable[[argparse.Namespace, Settings], int],
        *,
        told: str,
    ) -> argparse.ArgumentParser:
        made = to.add_parser(name, parents=[every], help=told, description=told)
        made.set_defaults(verb=verb)
        return made

    up = add(verbs, "up", _up, told="Start the daemon here, in the foreground.")
    up.add_argument("--port", type=int, metavar="N", help="0 picks a free one")
    up.add_argument("--fresh", action="store_true", help="start without state of the older layout")
    add(verbs, "doctor", _doctor, told="Say what works on this machine and what to install.")
    add(verbs, "migrate", _migrate, told="Look for state of the older layout; nothing moves yet.")
    configuration = verbs.add_parser("config", help="Look at the configuration.")
    add(
        configuration.add_subparsers(required=True, metavar="VERB"),
        "show",
        _config_show,
        told="Show every setting, its value and where it came from.",
    )
    store = verbs.add_parser("store", help="Look after the store.")
    on_store = store.add_subparsers(required=True, metavar="VERB")
    add(on_store, "check", _store_check, told="Look for damage.")
    dump = add(on_store, "dump", _store_dump, told="Write every row as a line of JSON.")
    dump.add_argument("target", nargs="?", type=Path, help="a new file; otherwise the output")
    backup = add(on_store, "backup", _store_backup, told="Write a consistent copy to a file.")
    backup.add_argument("target", nargs="?", type=Path, help="a new file")
    return parser


def _directory(asked: argparse.Namespace, environment: Mapping[str, str]) -> Path:
    named = asked.dir or environment.get("COVEN_DIR")
    if named:
        return Path(os.path.expanduser(named))  # unlike Path's, at ease with users that are not
    here = Path.cwd()
    if asked.verb is _up:
        return here  # a daemon starts where one stands, never in a directory above
    above = (place for place in (here, *here.parents) if (place / config.STATE_DIRECTORY).is_dir())
    return next(above, here)


def _up(asked: argparse.Namespace, settings: Settings) -> int:
    # Each verb imports what it needs: `doctor` must work where the daemon does not.
    from coven.daemon import boot

    failpoints.check_armed()  # every name is declared by now
    try:
        return boot.run(settings, as_json=asked.json)
    except CovenError:
        # A bad value may be why: `port` fell back to one that is in use. Otherwise boot tells them.
        for problem in () if asked.json else settings.problems:
            print(f"warning: {problem}", file=sys.stderr)
        raise


def _doctor(asked: argparse.Namespace, settings: Settings) -> int:
    from coven.daemon import doctor

    return doctor.run(settings, environment=asked.environment, as_json=asked.json)


def _migrate(asked: argparse.Namespace, settings: Settings) -> int:
    from coven.daemon import older_layout

    found = older_layout.find(settings.state_directory)
    if found:
        told = (
            f"Found {older_layout.render(found)}. This version cannot move it into the store yet: "
            "that comes with the tasks. Nothing was changed. Until then `coven up --fresh` starts "
            "without it; keep the files and run `coven migrate` again after the next upgrade."
        )
    else:
        told = f"There is nothing to migrate in {settings.state_directory}."
    if asked.json:
        terminal.document({"found": found, "migrated": False, "message": told})
    else:
        print(told, file=sys.stderr if found else sys.stdout)
    return 1 if found else 0


def _config_show(asked: argparse.Namespace, settings: Settings) -> int:
    if asked.json:
        terminal.document(_as_json(settings))
        return 0
    print(f"{settings.config_file}{'' if settings.config_file.exists() else ' (not there yet)'}\n")
    width = max(len(name) for name in settings.values)
    for name, value in settings.values.items():
        print(f"{name:<{width}}  {value!s:<10}  {settings.sources[name]}")
    for problem in settings.problems:
        print(f"\nwarning: {problem}", file=sys.stderr)
    return 0


def _as_json(settings: Settings) -> dict[str, object]:
    return {
        "directory": str(settings.directory),
        "file": str(settings.config_file),
        "settings": {
            setting.name: {
                "value": settings.values[setting.name],
                "source": settings.sources[setting.name],
                "default": setting.default,
                "environment": setting.environment,
                "meaning": setting.meaning,
            }
            for setting in config.SETTINGS
        },
        "problems": settings.problems,
    }


def _store_check(asked: argparse.Namespace, settings: Settings) -> int:
    from coven.daemon import offline

    return offline.check(settings, as_json=asked.json)


def _store_dump(asked: argparse.Namespace, settings: Settings) -> int:
    from coven.daemon import offline

    return offline.dump(settings, asked.target, as_json=asked.json)


def _store_backup(asked: argparse.Namespace, settings: Settings) -> int:
    from coven.daemon import offline

    return offline.backup(settings, asked.target, as_json=asked.json)


if __name__ == "__main__":
    terminal.open_streams()
    sys.exit(main(sys.argv[1:], os.environ))
