#!/bin/sh
# Installs Blender as a Python module (bpy from PyPI, 370 MB each) in two versions: the oldest that the extension supports
# into .venv-blender, where tests also play our glTF files, and a newer one into .venv-blender-5.2. Each needs its own
# Python, which is searched for on the PATH and among those of uv and pyenv. If a version cannot be installed, one line
# reports it and its tests are skipped. Without a package index, PIP_FIND_LINKS names a folder with the wheels.
set -u
cd "$(dirname "$0")/.." || exit 0

find_python() {  # prints the path of a Python of version $1
    for candidate in "${PYTHON:-python3}" "python$1" "$(uv python find --no-project "$1" 2>/dev/null)" \
        "$(pyenv root 2>/dev/null || echo "$HOME/.pyenv")/versions/$1".*/bin/python; do
        [ -n "$candidate" ] || continue
        "$candidate" -c "import sys, venv; sys.exit('%d.%d' % sys.version_info[:2] != '$1')" 2>/dev/null &&
            { echo "$candidate"; return 0; }
    done
    return 1
}

install() {  # version of bpy, version of Python, environment
    marker=$3/.bpy-$1
    [ -e "$marker" ] && return
    skipped="the tests in Blender ${1%.*} are skipped"
    python=$(find_python "$2") || { echo "no Python $2 for bpy $1: $skipped"; return; }
    rm -rf "$3"
    "$python" -m venv "$3" >/dev/null 2>&1 &&
        "$3/bin/python" -m pip install -q --disable-pip-version-check "bpy==$1" >/dev/null 2>&1 ||
        { echo "could not install bpy $1: $skipped"; rm -rf "$3"; return; }
    "$3/bin/python" -c 'import bpy' >/dev/null 2>&1 ||
        { echo "bpy $1 does not start (tools/install_test_tools.sh installs its libraries): $skipped"; return; }
    touch "$marker"
}

install 5.0.1 3.11 .venv-blender
install 5.2.3 3.13 .venv-blender-5.2
