#!/bin/sh
# Builds buoy-world and buoy-pack into $1 with a C++20 compiler alone. Needs the header-only libraries fmt, nlohmann-json
# and CLI11, installed or in the folder named by $2.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
out=${1:?usage: build.sh OUTPUT_DIRECTORY [INCLUDE_DIRECTORY]}
include=${2:+-isystem $2}
mkdir -p "$out"
# The rooms below in one piece: the libraries' headers are read once.
for source in "$here"/buoy/base/*.cc "$here"/buoy/io/*file.cc "$here"/buoy/io/json*.cc "$here"/buoy/world/world*.cc; do
  case $source in *_test.cc | */testing.cc | */version.cc) ;; *) echo "#include \"$source\"" ;; esac
done > "$out/rooms.cc"
flags="-std=c++20 -O2 -ffp-contract=off -DFMT_HEADER_ONLY -w -pthread -I$here $include"
compilers=
for source in "$out/rooms.cc" "$here/training/world_main.cc" "$here/training/pack.cc" "$here/training/ascii_bpe.cc"; do
  # shellcheck disable=SC2086
  ${CXX:-g++} $flags -c "$source" -o "$out/$(basename "$source" .cc).o" &
  compilers="$compilers $!"
done
for compiler in $compilers; do wait "$compiler"; done
${CXX:-g++} "$out/rooms.o" "$out/world_main.o" -pthread -o "$out/buoy-world"
${CXX:-g++} "$out/rooms.o" "$out/pack.o" "$out/ascii_bpe.o" -pthread -o "$out/buoy-pack"
