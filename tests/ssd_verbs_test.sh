#!/usr/bin/env bash
# Every verb on a model without attention and on a hybrid: what fits runs, what does not says so in one line, and several models of one kind are judged
# together.
# usage: ssd_verbs_test.sh BUOY PYTHON
set -u
buoy=$1
python=$2
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/tests/expect.sh"
data=$root/data/micro_study.jsonl
settings=(--limit 2 --gen-length 8 --steps 4)

make() { # NAME LAYERS SEED
  "$python" -B "$root/tests/numpy/make_ssd_checkpoint.py" "$work/$1" --layers "$2" --vocabulary 2048 --seed "$3"
  cp "$root"/models/mini-mdm/tokenizer* "$work/$1"
}
make pure ssd,ssd,ssd 1
make hybrid ssd,attention,ssd 2
cp -r "$work/hybrid" "$work/copy"

# lines FILE PATTERN: how many match
lines() { grep -cE -- "$2" "$1"; }

for model in pure hybrid; do
  m=$work/$model
  expect 0 'mixers +state space in' inspect -m "$m"
  expect 0 'attentions +\[3,4,3,3\]' forward -m "$m" --ids 0,7,12 --attentions -o "$work/o.npz"
  expect 0 '"ids":' generate -m "$m" --ids 0,7,12 --gen-length 8 --steps 4 --json
  expect 0 'attention.svg' attention -m "$m" --ids 0,7,12 --gen-length 4 --steps 2 --layer 0 --head 1 -o "$work/look-$model"
  expect 0 "traces-$model" trace -m "$m" --data "$data" "${settings[@]}" --per-head --record received,flow,answer,qk,keys -o "$work/traces-$model"
  expect 0 'report.html' analyze "$work/traces-$model" --format svg -o "$work/tables-$model"
  expect 0 'report.html' eval -m "$m" --data "$data" "${settings[@]}" -o "$work/eval-$model"
  expect 0 'report.html' stress gold-position=1,5 -m "$m" --data "$data" "${settings[@]}" -o "$work/stress-$model"
  expect 0 "twin-$model" shuffle -m "$m" --seed 1 -o "$work/twin-$model"
  # What needs a softmax or keys that are kept.
  expect 2 'layer 0 of .* has a state space mixer: .*--at-layers' intervene pin-anchors=steps -m "$m" --data "$data" "${settings[@]}" -o "$work/no"
  expect 2 'cache dual: a state space layer keeps no keys' generate -m "$m" --ids 0,7 --gen-length 8 --steps 4 --block-length 4 --cache dual
  expect 2 'cache dual: a state space layer keeps no keys' audit --cache dual --block-length 4 -m "$m" --data "$data" "${settings[@]}" -o "$work/no"
  [ ! -e "$work/no" ] || note "a refused run left a folder"
done
expect 0 'no pin-anchors=steps: .* has a state space mixer in layer 0' intervene -m "$work/pure" --data "$data" "${settings[@]}" --rank-items 2 --no-trace -o "$work/fit"
expect 0 'report.html' intervene pin-anchors=steps --at-layers 1 -m "$work/hybrid" --data "$data" "${settings[@]}" --no-trace -o "$work/at"
expect 0 'pin-anchors=steps, pin-random=steps: left out of pure, whose layer 0' intervene mask-bos pin-anchors=steps -m mini-mdm -m "$work/pure" --data "$data" "${settings[@]}" --no-trace -o "$work/some"
[ "$(lines "$work/some/interventions.csv" '^mini-mdm,pin-anchors')" -gt 0 ] || note "the model with attention was not pinned"
[ "$(lines "$work/some/interventions.csv" '^pure,(pin-anchors|pin-random)')" = 0 ] || note "the model without attention was pinned"
expect 0 'rope +theta' inspect -m "$work/hybrid"
"$buoy" inspect -m "$work/pure" >"$work/inspected"
[ "$(lines "$work/inspected" '^rope')" = 0 ] || note "inspect shows positions that a model without attention does not have"

# Numbers of attention's scores stand in attention layers alone, those with recency in the others.
table=$work/tables-hybrid/summaries.csv
[ "$(lines "$table" ',attribution_covariance,1,-1,,')" = 1 ] || note "no covariance in the attention layer"
[ "$(lines "$table" ',(attribution|delta)_[a-z]+,1,-1,ssd,')" = 0 ] || note "the attention layer has numbers of a state space layer"
[ "$(lines "$table" ',(attribution|delta)_[a-z]+,[02],-1,,')" = 0 ] || note "state space layers have numbers of attention"
[ "$(lines "$table" ',proxy_recall,[02],')" = 0 ] || note "state space layers have a proxy recall"
[ "$(lines "$work/tables-pure/summaries.csv" ',attribution_recency,[0-2],-1,ssd,')" -gt 0 ] || note "no recency in state space layers"
[ -s "$work/tables-hybrid/figures/qk_ssd_columns_hybrid.svg" ] || note "no figure of the three factors"
[ "$(lines "$work/tables-hybrid/figures/qk_ssd_columns_hybrid.csv" '^recency,1,')" = 0 ] || note "the attention layer has recency"

# Kinds.
study=(study --data "$data" --gen-length 4 --steps 2 --twins 0 --figures claims --format svg)
expect 1 'nobody: no such model directory' "${study[@]}" -m "$work/hybrid" --kind-of a=nobody -o "$work/no"
expect 2 'expected KIND=MODEL,MODEL' "${study[@]}" --kind-of "$work/hybrid" -o "$work/no"
expect 2 'kind: hybrid belongs to 2' "${study[@]}" -m "$work/hybrid" --kind-of a=hybrid --kind-of b=hybrid -o "$work/no"
expect 2 'kind a: hybrid is masked diffusion and mini-arm is autoregressive' "${study[@]}" -m "$work/hybrid" -m mini-arm --kind-of a=hybrid,mini-arm -o "$work/no"
expect 0 'report.html' "${study[@]}" --limit 10 --stress-limit 1 --kind-of "same=$work/hybrid,$work/copy" -o "$work/kinds"
# Copies of a model: one verdict a claim, two models, no spread, no verdict over models.
claims=$work/kinds/claims.csv
[ "$(lines "$claims" '^sinks-exist,.*,same,')" = 1 ] || note "a kind has not one verdict"
[ "$(lines "$claims" '^sinks-exist,.*,2,,0,,[^,]+,[^,]+,cannot tell,')" = 1 ] || note "two copies have a spread: $(grep ^sinks-exist "$claims")"
[ "$(lines "$claims" 'all models say the same')" -gt 0 ] || note "copies pass for replicates"

echo "$count commands, $failures failures"
[ "$failures" = 0 ]
