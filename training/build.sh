#!/bin/sh
# Builds buoy-world and buoy-pack into $1 with a C++20 compiler alone. Needs the header-only libraries fmt, nlohmann-json
# and CLI11, installed or in the folder named by $2.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
out=${1:?usage: build.sh OUTPUT_DIRECTORY [INCLUDE_DIRECTORY]}
include=${2:+-isystem $2}
mkdir -p "$out"
sources=$(ls "$here"/buoy/world/world*.cc "$here"/buoy/base/*.cc "$here"/buoy/io/file.cc | grep -v '_test\.cc$\|/testing\.cc$\|/version\.cc$')
flags="-std=c++20 -O2 -ffp-contract=off -DFMT_HEADER_ONLY -w -pthread -I$here/src -I$here $include"
objects=
for source in $sources "$here/apps/cli/world.cc" "$here/training/world_main.cc" "$here/training/pack.cc" \
    "$here/training/ascii_bpe.cc"; do
  [ -f "$source" ] || continue
  object=$out/$(basename "$source" .cc).o
  [ "$source" != "$here/apps/cli/world.cc" ] || object=$out/verb_world.o
  # shellcheck disable=SC2086
  ${CXX:-g++} $flags -c "$source" -o "$object" &
done
wait
common=$(for source in $sources; do echo "$out/$(basename "$source" .cc).o"; done)
# shellcheck disable=SC2086
${CXX:-g++} $common "$out/verb_world.o" "$out/world_main.o" -pthread -o "$out/buoy-world"
# shellcheck disable=SC2086
[ ! -f "$out/pack.o" ] || ${CXX:-g++} $common "$out/pack.o" "$out/ascii_bpe.o" -pthread -o "$out/buoy-pack"
