#!/bin/sh
# Installs the Debian packages that some tests need. If that is not possible (not root, no sudo without a
# password, no apt), one line reports it and the tests that need them are skipped with a reason.
set -u
packages="gcc g++ lib3ds-dev libirrlicht-dev libassimp-dev assimp-utils chromium-headless-shell shared-mime-info libglib2.0-bin ffmpeg file zsh fish man-db"
packages="$packages libgl1 libsm6 libxfixes3 libxi6 libxkbcommon0 libxrender1"  # libraries that Blender's bpy loads
packages="$packages libarchive13 genisoimage xorriso jlha-utils 7zip gcab mtools dosfstools"  # containers and their makers
command -v node >/dev/null 2>&1 || packages="$packages nodejs npm"  # node 18 or newer is enough

command -v dpkg-query >/dev/null 2>&1 || { echo "not Debian: tests that need $packages are skipped"; exit 0; }
missing=""
for package in $packages; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" = 0 ]; then sudo=""; elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then sudo="sudo -n"; else
    echo "not allowed to install$missing: the tests that need them are skipped"
    exit 0
fi
echo "installing$missing"
$sudo apt-get -q -q update
apt="$sudo apt-get -q -q -y install --no-install-recommends"
export DEBIAN_FRONTEND=noninteractive
$apt $missing >/dev/null 2>&1 && exit 0
for package in $missing; do  # one that this system does not have must not keep the others out
    $apt "$package" >/dev/null 2>&1 || echo "could not install $package: the tests that need it are skipped"
done
exit 0
