#!/bin/sh
# Makes .venv, and on a bare Debian machine also what Python needs to make one. Takes the name of the
# Python to use. What it cannot do itself it says in one command.
set -eu

python=${1:-python3}

say() {
	printf '%s\n' "$*" >&2
}

if ! command -v "$python" >/dev/null; then
	say "There is no $python here. Coven needs Python 3.11 or newer: apt-get install -y python3 python3-venv"
	exit 1
fi
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
	say "$("$python" --version) is too old: Coven needs 3.11 or newer. Name another one: make PYTHON=python3.12 …"
	exit 1
fi
# An environment that works is kept, whoever made it.
if [ -x .venv/bin/python ] && .venv/bin/python -m pip --version >/dev/null 2>&1; then
	exit 0
fi
if "$python" -c 'import ensurepip, venv' 2>/dev/null; then
	"$python" -m venv --clear .venv
	exit 0
fi
# Debian keeps `ensurepip` in a package of its own.
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	say "Installing python3-venv, which Debian leaves out of python3"
	{ apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends python3-venv; } >&2
	"$python" -m venv --clear .venv
	exit 0
fi
say "$python cannot make a virtual environment. Install what it lacks, then run make again:"
say "    sudo apt-get install -y python3-venv"
exit 1
