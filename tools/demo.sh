#!/bin/sh
# Runs the main commands on the bundled example: "make demo". All outputs are in build/demo.
set -eu
bin=${1:-.venv/bin}
example=examples/windmill.3ds
out=build/demo
mkdir -p "$out"

say() { printf '\n\033[1m%s\033[0m\n' "$1" | if [ -t 1 ]; then cat; else sed 's/\x1b\[[0-9]*m//g'; fi; }
run() { printf '$ keyframer %s\n' "$*"; "$bin/keyframer" "$@"; }

say "What is this file?"
run identify "$example"

say "What moves in it?"
run info --table overview --table nodes --no-color "$example"

say "The whole file as text ..."
run dump "$example" -o "$out/windmill.json" -f
awk '/"record": "RotationTrack"/ { seen++ } seen == 2 && shown++ < 10' "$out/windmill.json"

say "... and back, byte for byte"
run build "$out/windmill.json" -o "$out/windmill.3ds" -f
cmp "$example" "$out/windmill.3ds" && echo "$out/windmill.3ds is identical to $example"

say "Edit the text: the mill gets a brick texture"
sed 's/STONE.PNG/BRICK.PNG/' "$out/windmill.json" > "$out/edited.json"
run build "$out/edited.json" -o "$out/edited.3ds" -f
run info --table maps --no-color "$out/edited.3ds"
echo "bytes that differ from the example: $(cmp -l "$example" "$out/edited.3ds" | wc -l)"

say "Curves and pictures"
run plot "$example" --node Cock --track rotation --terminal --no-color
run thumbnail "$example" -o "$out/windmill.png" -f -q
run thumbnail "$example" --size 160 --pictures 24 -o "$out/windmill.gif" -f -q
echo "a picture is in $out/windmill.png, the playback in $out/windmill.gif"

say "Convert it to glTF for today's programs"
run convert "$example" "$out/windmill.glb" -f
echo "the animated scene is in $out/windmill.glb; any glTF viewer can play it"
