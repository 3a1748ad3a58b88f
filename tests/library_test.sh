#!/usr/bin/env bash
# Installs, moves the installation, compiles and runs the program of docs/library.md against it; reads the tree by add_subdirectory.
# usage: library_test.sh SOURCE BUILD
set -euo pipefail
source=$1
build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/first" >"$work/log"
mv "$work/first" "$work/moved"
sed -n '/^\/\/ column_sums.cc$/,/^```$/p' "$source/docs/library.md" | sed '$d' >"$work/column_sums.cc"
lines=$(wc -l <"$work/column_sums.cc")
[ "$lines" -ge 20 ] && [ "$lines" -le 45 ] || { echo "docs/library.md: the program has $lines lines, expected 20 to 45"; exit 1; }

# No path of the source tree may be left in what is installed.
if grep -rl -- "$source" "$work/moved/bin" "$work/moved/lib" >"$work/found"; then
  echo "the installation knows the source tree: $(tr '\n' ' ' <"$work/found")"
  exit 1
fi

program() {  # folder arguments…
  cmake -S "$source/tests/library" -B "$work/$1" -G Ninja -DCMAKE_BUILD_TYPE=Release -DPROGRAM="$work/column_sums.cc" "${@:2}" \
    >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
}
program use -DCMAKE_PREFIX_PATH="$work/moved"
cmake --build "$work/use" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
"$work/use/column_sums" >"$work/output"
[ "$(grep -c '^step [0-3] layer [0-9]*: token [0-9]* receives [0-9.]* rows of attention$' "$work/output")" = 48 ] ||
  { echo "4 steps of 12 layers were expected:"; cat "$work/output"; exit 1; }
tail -1 "$work/output"

# What the command prints of itself came along.
for file in man/man1/buoy.1 bash-completion/completions/buoy zsh/site-functions/_buoy fish/vendor_completions.d/buoy.fish; do
  [ -s "$work/moved/share/$file" ] || { echo "share/$file is not installed"; exit 1; }
done

# The moved command finds its models and data.
(cd / && "$work/moved/bin/buoy" generate --ids 5,6,7 --gen-length 4 --steps 2 2>"$work/log" >"$work/output") || { cat "$work/log"; exit 1; }
(cd / && "$work/moved/bin/buoy" study --quick --only drift --limit 1 --gen-length 4 --steps 2 -m mini-mdm -o "$work/study" >"$work/output" 2>"$work/log") ||
  { cat "$work/log"; exit 1; }

# So does the moved Python package, where it was built.
for package in "$work"/moved/lib*/python3*/site-packages; do
  [ -e "$package/buoy" ] || continue
  (cd / && PYTHONPATH=$package /usr/bin/python3 -B -c 'import buoy; print(buoy.load("mini-mdm").generate([5, 6, 7], gen_length=4, steps=2).ids.size)' \
    >"$work/output" 2>"$work/log") || { cat "$work/log"; exit 1; }
  [ "$(cat "$work/output")" = 4 ] || { echo "the installed Python package generated $(cat "$work/output") tokens, expected 4"; exit 1; }
done

# add_subdirectory: the targets are there and configure; they are the same that were built above.
program tree -DBUOY_TREE="$source" -DBUOY_CUDA=OFF
cmake --build "$work/tree" --target help >"$work/log"
grep -c 'libbuoy' "$work/log" >/dev/null || { echo "add_subdirectory gives no libbuoy"; exit 1; }
echo "installed, moved, linked"
