"""What this machine offers to some of the rooms: isolation, containers, terminals.

None of it is needed for the daemon to run, so what is missing is a warning with the way to get it.
A check tries what can be tried within seconds; a program that does not answer is reported, not
waited for.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

ANSWER_SECONDS_MAX = 5
_CGROUPS = Path("/sys/fs/cgroup")


class Status(StrEnum):
    """How a check ended."""

    OK = "ok"
    WARN = "warn"
    """Something does not work here; the daemon runs without it."""
    FAIL = "fail"
    """The daemon cannot run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What was looked at, what was found, and what to do about it."""

    name: str
    status: Status
    found: str
    remedy: str | None = None

    @staticmethod
    def ok(name: str, found: str) -> "Check":
        return Check(name=name, status=Status.OK, found=found)

    @staticmethod
    def warn(name: str, found: str, remedy: str) -> "Check":
        return Check(name=name, status=Status.WARN, found=found, remedy=remedy)

    @staticmethod
    def fail(name: str, found: str, remedy: str) -> "Check":
        return Check(name=name, status=Status.FAIL, found=found, remedy=remedy)


def checks(environment: Mapping[str, str]) -> list[Callable[[], Check]]:
    """Every check of a power, ready to be called, in reading order."""
    return [
        partial(_program, "git", ["git", "--version"], "Install git: worktrees and merges use it."),
        partial(_program, "tmux", ["tmux", "-V"], "Install tmux: teams run in it."),
        partial(
            _program,
            "bubblewrap",
            ["bwrap", "--version"],
            "Install bubblewrap: the provider `local` isolates with it.",
        ),
        _namespaces,
        _user_network,
        partial(_docker, environment.get("DOCKER_HOST", "")),
        partial(
            _program,
            "runsc",
            ["runsc", "--version"],
            "Install gVisor's runsc and register it with Docker: the provider `gvisor` uses it.",
        ),
        _kvm,
        partial(
            _program,
            "qemu",
            [f"qemu-system-{os.uname().machine}", "--version"],
            "Install QEMU: the provider `microvm` uses it.",
        ),
        _cgroups,
        partial(
            _program, "node.js", ["node", "--version"], "Install Node.js: many MCP servers need it."
        ),
    ]


def _program(name: str, command: list[str], remedy: str) -> Check:
    """A program that is there and says its version."""
    if shutil.which(command[0]) is None:
        return Check.warn(name, "not installed", remedy)
    worked, said = _answer(command)
    return Check.ok(name, said) if worked else Check.warn(name, f"does not start: {said}", remedy)


def _namespaces() -> Check:
    if shutil.which("bwrap"):
        command = ["bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "true"]
    else:
        command = ["unshare", "--user", "--map-root-user", "--net", "--pid", "--fork", "true"]
    worked, said = _answer(command)
    if worked:
        return Check.ok("namespaces", f"tried with {command[0]}, they work")
    remedy = "Allow user namespaces: sysctl kernel.unprivileged_userns_clone=1"
    if Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").exists():
        remedy += " and kernel.apparmor_restrict_unprivileged_userns=0"
    return Check.warn("namespaces", f"refused: {said}", remedy + ".")


def _user_network() -> Check:
    found = [name for name in ("slirp4netns", "passt") if shutil.which(name)]
    if found:
        return Check.ok("user network", ", ".join(found))
    remedy = "Install slirp4netns or passt: workspaces of `local` reach the network through it."
    return Check.warn("user network", "neither slirp4netns nor passt", remedy)


def _docker(host: str) -> Check:
    import httpx  # late: nothing else of the daemon speaks HTTP to others

    name, remedy = "docker", "Install and start Docker: the providers `docker` and `gvisor` use it."
    path = host.removeprefix("unix://") if host else "/var/run/docker.sock"
    if not path.startswith("/"):
        return Check.warn(name, f"DOCKER_HOST is {host}", "Only an engine on this machine is used.")
    if not Path(path).exists():
        client = "the client is installed, " if shutil.which("docker") else ""
        return Check.warn(name, f"{client}no engine at {path}", remedy)
    try:
        with httpx.Client(transport=httpx.HTTPTransport(uds=path)) as client:
            reply = client.get("http://docker/version", timeout=ANSWER_SECONDS_MAX)
            told: Any = reply.raise_for_status().json()
    except (httpx.HTTPError, ValueError) as error:
        return Check.warn(name, f"the engine at {path} does not answer: {error}", remedy)
    return Check.ok(name, f"engine {told.get('Version', 'of unknown version')}")


def _kvm() -> Check:
    device = Path("/dev/kvm")
    if not device.exists():
        remedy = "Virtual machines run by software, slowly; a machine with KVM runs them fast."
        return Check.warn("kvm", "no /dev/kvm", remedy)
    if not os.access(device, os.R_OK | os.W_OK):
        remedy = "Add your user to the group of /dev/kvm (often `kvm`) and log in again."
        return Check.warn("kvm", "/dev/kvm is there and may not be opened", remedy)
    return Check.ok("kvm", "/dev/kvm is there (not probed further)")


def _cgroups() -> Check:
    remedy = "Limits of workspaces fall back to rlimits. Start the daemon in a delegated cgroup."
    if not (_CGROUPS / "cgroup.controllers").exists():
        return _first_cgroups(remedy)
    ours = _own_cgroup()
    if not os.access(ours, os.W_OK):
        return Check.warn("cgroups", f"version 2, {ours} is not writable", remedy)
    controllers = (ours / "cgroup.controllers").read_text().split()
    missing = [name for name in ("cpu", "memory", "pids") if name not in controllers]
    if missing:
        return Check.warn("cgroups", f"version 2, writable, without {', '.join(missing)}", remedy)
    return Check.ok("cgroups", f"version 2, writable ({' '.join(controllers)})")


def _first_cgroups(remedy: str) -> Check:
    """The older kind: one tree for each controller."""
    trees = [name for name in ("cpu", "memory", "pids") if (_CGROUPS / name).is_dir()]
    if not trees:
        return Check.warn("cgroups", "not mounted", remedy)
    closed = [name for name in trees if not os.access(_CGROUPS / name, os.W_OK)]
    if closed:
        return Check.warn("cgroups", f"version 1, {', '.join(closed)} not writable", remedy)
    return Check.ok("cgroups", f"version 1, writable ({' '.join(trees)})")


def _own_cgroup() -> Path:
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        if line.startswith("0::"):
            return _CGROUPS / line[3:].strip().lstrip("/")
    return _CGROUPS


def _answer(command: list[str]) -> tuple[bool, str]:
    """Whether a program ends well, and the first line that it says."""
    try:
        ended = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=ANSWER_SECONDS_MAX,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False, f"no answer within {ANSWER_SECONDS_MAX} s"
    except OSError as error:
        return False, os.strerror(error.errno) if error.errno else str(error)
    said = (ended.stdout.strip() or ended.stderr.strip()).splitlines()
    return ended.returncode == 0, said[0][:200] if said else f"exit code {ended.returncode}"
