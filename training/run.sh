#!/bin/sh
# Makes the set: tools, data, trainings side by side on one GPU, scores. The same command goes on where it stopped.
#   training/run.sh WORK_DIRECTORY [--kinds "arm mdm hybrid ssm"] [--seeds "1 2 3"] [--steps 15000] [--ramp 2250] [--seconds 100000]
#     [--tokens 32768] [--pack "--several 0.5"] [--items 1000] [--score-seconds 100000] [--results DIRECTORY] [--include DIRECTORY]
#     [-- TRAIN_FLAGS]
# --seconds bounds the trainings, counted from the start: they then stop where they are, and go on with the same command.
# --ramp: over so many steps questions grow from one passage to ten (15 % of them unless given); looking up is learnt there.
# A step of all four kinds takes 40 ms on an H200, of three seeds each 110.
# --pack: more about the data (buoy-pack --help).
# --results takes logs while they grow, each kind's checkpoints (tar) and settings when it is trained, scores at the end:
# mini-KIND-SEED. training/card.py makes a model's card of them.
# --include holds fmt, nlohmann and CLI where these are not installed. Seeds are those of first weights and masks; all see
# the same data in the same order.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
began=$(date +%s)
work=${1:?usage: run.sh WORK_DIRECTORY [FLAGS], see its first lines}
shift
kinds="arm mdm hybrid ssm" seeds="1 2 3" steps=15000 seconds=100000 items=1000 score=100000 results= include= tokens=32768 ramp= pack_flags='--several 0.5'
while [ $# -gt 0 ]; do
  case $1 in
    --kinds) kinds=$2 ;;
    --seeds) seeds=$2 ;;
    --steps) steps=$2 ;;
    --ramp) ramp=$2 ;;
    --seconds) seconds=$2 ;;
    --items) items=$2 ;;
    --score-seconds) score=$2 ;;
    --results) results=$2 ;;
    --tokens) tokens=$2 ;;
    --include) include=$2 ;;
    --pack) pack_flags=$2 ;;
    --) shift && break ;;
    *) echo "run.sh: unknown flag $1" >&2 && exit 2 ;;
  esac
  shift 2
done
tokenizer=$here/models/mini-mdm/tokenizer.json
export PYTHONUNBUFFERED=1
results=${results:-$work}
mkdir -p "$work" "$results"

# With NVIDIA's multi-process service the kinds' kernels run side by side; without it they take turns, which is slower.
if command -v nvidia-cuda-mps-control > /dev/null && [ "${DEVICE:-cuda}" = cuda ]; then
  export CUDA_MPS_PIPE_DIRECTORY="$work/mps" CUDA_MPS_LOG_DIRECTORY="$work/mps"
  mkdir -p "$work/mps"
  if nvidia-cuda-mps-control -d && python3 -c 'import torch; torch.zeros(1).cuda()' 2> "$work/mps/try.log"; then
    trap 'echo quit | nvidia-cuda-mps-control > /dev/null 2>&1' EXIT
    echo "multi-process service: on"
  else
    echo quit | nvidia-cuda-mps-control > /dev/null 2>&1 || true
    unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
    echo "multi-process service: off"
  fi
fi

# The trainings start at once: they compile while the tools are built, and read data while it is written.
trainings=
for kind in $kinds; do
  # shellcheck disable=SC2086
  python3 "$here/training/train.py" "$kind" --data "$work/data" --out "$work/mini-$kind" --steps "$steps" \
    --seeds $seeds --tokens "$tokens" --seconds "$seconds" --began "$began" ${DEVICE:+--device "$DEVICE"} "$@" >> "$results/mini-$kind.log" 2>&1 &
  trainings="$trainings $kind:$!"
done
if ! [ -x "$work/tools/buoy-pack" ]; then
  sh "$here/training/build.sh" "$work/tools" "$include"
fi
last=$(printf '%05d' $(((steps - 1) / 64)))
# shellcheck disable=SC2086
[ -f "$work/data/$last.bin" ] ||
  nice "$work/tools/buoy-pack" --tokenizer "$tokenizer" -o "$work/data" --seed 1 --batches "$steps" \
    --tokens "$tokens" --ramp "${ramp:-$((steps * 15 / 100))}" $pack_flags &
pack=$!

# What is trained is brought to safety at once: the slowest kind takes twice as long as the fastest.
keep() {  # kind
  for seed in $seeds; do
    run=$work/mini-$1-$seed
    [ -f "$run/checkpoint/config.json" ] || continue
    cp "$tokenizer" "$run/checkpoint/"
    echo '{"prompt_template": "micro"}' > "$run/checkpoint/buoy.json"
    cp "$run/settings.json" "$results/mini-$1-$seed.settings.json"
    tar -C "$run" -cf "$results/mini-$1-$seed.tar" checkpoint
  done
}
for training in $trainings; do
  wait "${training#*:}" || echo "a training failed: see $results/mini-${training%:*}.log" >&2
  keep "${training%:*}"
done
kill "$pack" 2> /dev/null || true
echo "trained in $(($(date +%s) - began)) s"

scorings=
for seed in $seeds; do
  for kind in $kinds; do
    run=$work/mini-$kind-$seed
    [ -f "$run/checkpoint/config.json" ] || continue
    python3 "$here/training/evaluate.py" "$run/checkpoint" "$work/tools" --tokenizer "$tokenizer" --items "$items" \
      --seconds "$score" --file "$here/data/micro_test.jsonl" --out "$results/mini-$kind-$seed.json" ${DEVICE:+--device "$DEVICE"} \
      > "$results/mini-$kind-$seed.scores" 2>&1 &
    scorings="$scorings $!"
  done
done
for scoring in $scorings; do wait "$scoring" || echo "a scoring failed: see $results/*.scores" >&2; done
echo "done in $(($(date +%s) - began)) s"
