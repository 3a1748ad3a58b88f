#!/bin/sh
# Makes the set of four: tools, data, trainings side by side on one GPU, scores. The same command goes on where it stopped.
#   training/run.sh WORK_DIRECTORY [--kinds "arm mdm ssm hybrid"] [--seed 1] [--steps 16000] [--seconds 100000]
#     [--tokens 32768] [--fit] [--items 1000] [--score-seconds 100000] [--results DIRECTORY] [--include DIRECTORY] [-- TRAIN_FLAGS]
# --seconds bounds the trainings, counted from the start; --fit chooses the steps, at most --steps, that fit into them.
# --results takes logs while they grow, and at the end the checkpoints (tar) and scores.
# --include holds fmt, nlohmann and CLI where these are not installed. --seed is that of data, first weights and masks.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
began=$(date +%s)
work=${1:?usage: run.sh WORK_DIRECTORY [FLAGS], see its first lines}
shift
kinds="arm mdm ssm hybrid" seed=1 steps=16000 seconds=100000 fit= items=1000 score=100000 results= include= tokens=32768
while [ $# -gt 0 ]; do
  case $1 in
    --kinds) kinds=$2 ;;
    --seed) seed=$2 ;;
    --steps) steps=$2 ;;
    --seconds) seconds=$2 ;;
    --items) items=$2 ;;
    --score-seconds) score=$2 ;;
    --results) results=$2 ;;
    --tokens) tokens=$2 ;;
    --include) include=$2 ;;
    --fit) fit=1 && shift && continue ;;
    --) shift && break ;;
    *) echo "run.sh: unknown flag $1" >&2 && exit 2 ;;
  esac
  shift 2
done
tokenizer=$here/models/mini-mdm/tokenizer.json
export PYTHONUNBUFFERED=1
results=${results:-$work}
mkdir -p "$work" "$results"

# The trainings start at once: they compile while the tools are built, and read data while it is written.
trainings=
for kind in $kinds; do
  python3 "$here/training/train.py" "$kind" ${fit:+--steps-file "$work/steps"} --data "$work/data" --out "$work/mini-$kind" --steps "$steps" --seed "$seed" \
    --tokens "$tokens" --seconds "$seconds" --began "$began" "$@" > "$results/mini-$kind.log" 2>&1 &
  trainings="$trainings $!"
done
if ! [ -x "$work/tools/buoy-pack" ]; then
  sh "$here/training/build.sh" "$work/tools" "$include"
fi
last=$(printf '%05d' $(((steps - 1) / 64)))
[ -f "$work/data/$last.bin" ] ||
  nice "$work/tools/buoy-pack" --tokenizer "$tokenizer" -o "$work/data" --seed "$seed" --batches "$steps" \
    --tokens "$tokens" &
pack=$!
if [ -n "$fit" ]; then
  runs=
  for kind in $kinds; do runs="$runs $work/mini-$kind"; done
  # shellcheck disable=SC2086
  [ -f "$work/steps" ] ||
    python3 "$here/training/fit.py" "$work/steps" $runs --until $((began + seconds)) --most "$steps" > "$results/fit.log"
fi
for training in $trainings; do wait "$training" || echo "a training failed: see $results/*.log" >&2; done
kill "$pack" 2> /dev/null || true

scorings=
for kind in $kinds; do
  run=$work/mini-$kind
  [ -f "$run/checkpoint/config.json" ] || continue
  cp "$tokenizer" "$run/checkpoint/"
  echo '{"prompt_template": "micro"}' > "$run/checkpoint/buoy.json"
  tar -C "$run" -cf "$results/mini-$kind.tar" checkpoint settings.json
  python3 "$here/training/evaluate.py" "$run/checkpoint" "$work/tools" --tokenizer "$tokenizer" --items "$items" \
    --seconds "$score" --file "$here/data/micro_test.jsonl" --out "$results/mini-$kind.json" ${DEVICE:+--device "$DEVICE"} \
    >> "$results/mini-$kind.log" 2>&1 &
  scorings="$scorings $!"
done
for scoring in $scorings; do wait "$scoring" || echo "a scoring failed: see $results/*.log" >&2; done
echo "done in $(($(date +%s) - began)) s"
