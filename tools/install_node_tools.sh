#!/bin/sh
# Installs the npm packages that some tests compare with (Khronos' glTF validator, three.js, Babylon.js, glTF-Transform,
# Kaitai Struct's compiler), and Online3DViewer for the league, into tests/oracles/node_modules. If node or npm is missing
# or the packages cannot be installed, one line reports it and those tests are skipped.
set -u
cd "$(dirname "$0")/../tests/oracles" || exit 0

command -v node >/dev/null 2>&1 && command -v npm >/dev/null 2>&1 || {
    echo "node or npm is missing: tests against gltf-validator, three.js, Babylon.js and Kaitai Struct are skipped"
    exit 0
}
# The lock file inside node_modules is written last, so it exists only after a complete installation.
if [ node_modules/.package-lock.json -nt package-lock.json ]; then exit 0; fi
npm ci --no-audit --no-fund --loglevel=error >/dev/null 2>&1 ||
    echo "could not install gltf-validator, three, Babylon.js, glTF-Transform and kaitai-struct-compiler: the tests that need them are skipped"
exit 0
