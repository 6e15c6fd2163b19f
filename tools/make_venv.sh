#!/bin/sh
# Makes a virtual environment (first argument) and installs the project into it (second argument: "." or ".[extra]").
# A Debian machine may lack python3-venv: it is installed if that is allowed; otherwise a message says how to install it.
set -eu
venv=$1
requirement=$2
python=${PYTHON:-python3}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then sudo -n "$@"; else return 1; fi
}

if [ ! -x "$venv/bin/python" ]; then
    if ! "$python" -m venv "$venv" >/dev/null 2>&1; then
        rm -rf "$venv"
        if as_root sh -c 'apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q -y install python3-venv' >&2; then
            "$python" -m venv "$venv"
        else
            echo "python3-venv is missing and this user may not install it: run 'apt-get install python3-venv' as root" >&2
            exit 1
        fi
    fi
fi
"$venv/bin/python" -m pip install -q --disable-pip-version-check -e "$requirement"
