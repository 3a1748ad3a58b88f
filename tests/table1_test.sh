#!/usr/bin/env bash
# recipes/table1.json runs as it stands: models by their Hub names from a Hugging Face cache, the paper's data sets by their files' names.
# The models are small stand-ins of the four families, the data one question a set: table1_test.sh BUOY PYTHON ROOT
set -euo pipefail
buoy=$1 python=$2 root=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HF_HOME=$work/hf

stand_in() {  # ORG--NAME: the folder that its files belong in
  local place=$HF_HOME/hub/models--$1
  mkdir -p "$place/refs" "$place/snapshots"
  printf %s stand-in >"$place/refs/main"
  echo "$place/snapshots/stand-in"
}
cp -r "$root/models/mini-mdm" "$(stand_in GSAI-ML--LLaDA-8B-Instruct)"
cp -r "$root/models/mini-arm" "$(stand_in meta-llama--Meta-Llama-3-8B-Instruct)"
"$python" -B "$root/tests/numpy/random_checkpoint.py" dream "$root/models/mini-mdm" "$(stand_in Dream-org--Dream-v0-Instruct-7B)"
"$python" -B "$root/tests/numpy/random_checkpoint.py" qwen2 "$root/models/mini-mdm" "$(stand_in Qwen--Qwen2.5-7B-Instruct)"

cp "$root/recipes/table1.json" "$work"
mkdir "$work/datasets"
seed=1
for set in nq_dev tqa_dev marco_qa hotpotqa_dev trex_dev; do
  "$buoy" world --seed $((seed++)) -k 5 -n 1 -o "$work/datasets/${set}_psg.jsonl" >"$work/log" 2>&1
done
cd "$work"
"$buoy" eval --recipe table1.json --log-samples -o out >table.txt 2>"$work/log" || { cat "$work/log"; exit 1; }

failed=0
note() { echo "table1: $*"; failed=1; }
for model in LLaDA-8B-Instruct Dream-v0-Instruct-7B Meta-Llama-3-8B-Instruct Qwen2.5-7B-Instruct; do
  for passages in none 'first 5'; do
    # A line in each of the three tables (EM, substring, F1): five data sets, of one question each.
    [ "$(grep -cE "^$model +$passages +([0-9.]+ ±[^ ]+ +){7}5\$" table.txt)" = 3 ] || note "$model, $passages: not three lines of five data sets"
  done
done
[ "$(grep -c '^masked - autoregressive ' table.txt)" = 3 ] || note "the difference of the kinds does not stand under each table"
[ "$(grep -c . out/samples.jsonl)" = 40 ] || note "$(grep -c . out/samples.jsonl) samples, expected 4 models × 5 data sets × 2 conditions"
# Without passages the repository's prompt says so; with them it holds the question's own.
"$python" -B - out/samples.jsonl <<'PYTHON' || failed=1
import collections, json, sys

prompts = collections.defaultdict(list)
for line in open(sys.argv[1]):
    sample = json.loads(line)
    prompts[sample["model"], len(sample["passages"])].append(sample["prompt"])
if {passages for _, passages in prompts} != {0, 5} or len(prompts) != 8:
    sys.exit(f"table1: got {sorted(prompts)}, expected four models without and with five passages")
for (model, passages), texts in sorted(prompts.items()):
    empty = sum("No relevant context available." in text for text in texts)
    if empty != (0 if passages else len(texts)):
        sys.exit(f"table1: {model}, {passages} passages: {empty} of {len(texts)} prompts say that there is no context")
PYTHON
exit $failed
