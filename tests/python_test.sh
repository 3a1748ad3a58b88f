#!/usr/bin/env bash
# Builds the wheel from a build folder that is there, installs it into a fresh virtual environment, and runs the package's tests
# there, far from the source tree. usage: python_test.sh SOURCE BUILD PYTHON [TEST…]
set -euo pipefail
source=$1
build=$2
python=$3
tests=("${@:4}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }; }

unset PYTHONPATH PYTHONHOME  # or another package would be tested than the one installed
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INDEX=1 PIP_NO_INPUT=1
quietly "$python" -m pip wheel "$source" --no-deps --no-cache-dir -w "$work/first" --config-settings "build-dir=$build"
mv "$work/first" "$work/moved"
quietly "$python" -m venv --system-site-packages "$work/venv"
quietly "$work/venv/bin/python" -m pip install --no-deps "$work"/moved/buoy-*.whl
cd "$work"

# pip itself finds nothing wrong with it, and no path of the source tree is left in it.
quietly "$work/venv/bin/python" -m pip show --files buoy
grep -c 'buoy/share/buoy/models/mini-mdm' "$work/log" >/dev/null || { echo "the wheel has no models"; exit 1; }
installed=$("$work/venv/bin/python" -c 'import buoy, os; print(os.path.dirname(buoy.__file__))')
case "$installed" in "$work"/venv/*) ;; *) echo "buoy was imported from $installed"; exit 1 ;; esac
if grep -rl --include='*.so' --include='*.py' -- "$source" "$installed" >"$work/found"; then
  echo "the wheel knows the source tree: $(tr '\n' ' ' <"$work/found")"
  exit 1
fi
# The command came along.
"$work/venv/bin/buoy" generate --ids 5,6,7 --gen-length 4 --steps 2 >"$work/output" 2>"$work/log" || { cat "$work/log"; exit 1; }
code=0
"$work/venv/bin/buoy" generate --no-such-flag >"$work/output" 2>"$work/log" || code=$?
[ "$code" = 2 ] || { echo "a wrong flag gave code $code, expected 2"; exit 1; }

cp -r "$source/python/tests" "$work/tests"
[ ${#tests[@]} -gt 0 ] || for file in "$work"/tests/test_*.py; do tests+=("$(basename "$file" .py)"); done
cd "$work/tests"
for test in "${tests[@]}"; do
  BUOY_SOURCE=$source "$work/venv/bin/python" -B -m unittest discover -p "$test.py" 2>"$work/log" || { cat "$work/log"; exit 1; }
  echo "$test: $(tail -3 "$work/log" | tr '\n' ' ')"
done
