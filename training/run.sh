#!/bin/sh
# Makes the pair: tools, data, both trainings side by side, scores. The same command goes on where it stopped.
#   training/run.sh WORK_DIRECTORY [INCLUDE_DIRECTORY]
# SECONDS_A_PIECE (default 480) bounds one piece; INCLUDE_DIRECTORY holds fmt, nlohmann and CLI where not installed.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
work=${1:?usage: run.sh WORK_DIRECTORY [INCLUDE_DIRECTORY]}
steps=18200
piece=${SECONDS_A_PIECE:-480}
tokenizer=$here/models/mini-mdm/tokenizer.json
export PYTHONUNBUFFERED=1

"$here/training/build.sh" "$work/tools" "${2:-}"
python3 "$here/training/tokenizer.py" check "$work/tools" "$tokenizer"
# The trainings start while the data is still being written.
[ -f "$work/data/00284.bin" ] ||
  "$work/tools/buoy-pack" --tokenizer "$tokenizer" -o "$work/data" --seed 1 --batches 18240 &
pack=$!
train() {
  kind=$1
  shift
  python3 "$here/training/train.py" "$kind" --data "$work/data" --out "$work/mini-$kind" --steps $steps \
    --seconds "$piece" "$@"
}
train arm --lr 5e-3 &
arm=$!
train mdm --lr 2.5e-3 --prompt 0.5 &
mdm=$!
wait $arm
wait $mdm
wait $pack
for kind in arm mdm; do
  cp "$tokenizer" "$work/mini-$kind/checkpoint/"
  if grep -q "\"step\": $steps" "$work/mini-$kind/settings.json"; then
    python3 "$here/training/evaluate.py" "$work/mini-$kind/checkpoint" "$work/tools" --tokenizer "$tokenizer" \
      --file "$here/data/micro_test.jsonl" --out "$work/mini-$kind.json"
  else
    echo "mini-$kind is not finished: run the same command again" >&2
  fi
done
