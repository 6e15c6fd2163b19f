#!/bin/sh
# Installs Blender as a Python module (bpy from PyPI, 370 MB) into .venv-blender, where tests play our glTF files and run
# the extension. The environment is separate because bpy needs Python 3.11 and numpy 1. If bpy cannot be installed, one
# line reports it and those tests are skipped. Without a package index, PIP_FIND_LINKS names a folder with the wheel.
set -u
version=5.0.1
cd "$(dirname "$0")/.." || exit 0
venv=.venv-blender
marker=$venv/.bpy-$version
[ -e "$marker" ] && exit 0

python=""
for candidate in "${PYTHON:-python3}" python3.11; do
    "$candidate" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null && { python=$candidate; break; }
done
[ -n "$python" ] || { echo "no Python 3.11 for bpy $version: the tests against Blender are skipped"; exit 0; }

rm -rf "$venv"
"$python" -m venv "$venv" >/dev/null 2>&1 &&
    "$venv/bin/python" -m pip install -q --disable-pip-version-check "bpy==$version" >/dev/null 2>&1 ||
    { echo "could not install bpy $version: the tests against Blender are skipped"; rm -rf "$venv"; exit 0; }
"$venv/bin/python" -c 'import bpy' >/dev/null 2>&1 ||
    { echo "bpy $version does not start (tools/install_test_tools.sh installs its libraries): the tests against Blender are skipped"; exit 0; }
touch "$marker"
