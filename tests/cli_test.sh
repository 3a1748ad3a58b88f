#!/usr/bin/env bash
# The command as a user types it: outputs, exit codes, one clear line for bad input, nothing half-written.
# usage: cli_test.sh BUOY GOLDENS
set -u
buoy=$1
goldens=$2
. "$(dirname "$0")/expect.sh"

fresh() { rm -rf "$work/m"; cp -r "$goldens/llada" "$work/m"; chmod -R u+w "$work/m"; }
weights=$work/m/model.safetensors
# spoil_header LENGTH: replaces the eight bytes that give the header's length
spoil_header() { printf "$(printf '%016x' "$1" | sed 's/\(..\)/\\x\1\n/g' | tac | tr -d '\n')" | dd of="$weights" conv=notrunc status=none; }

fresh
expect 0 '"ids":\[[0-9,]+\],"steps":8,"commit_step":\[[0-9,]+\],"confidence":' \
  generate -m "$work/m" --ids 5,6,7 --gen-length 16 --steps 8 --block-length 8 --json
expect 0 '"history":\[\[5,6,7,' generate -m "$work/m" --ids 5,6,7 --gen_length=4 --json --history
expect 0 '^[0-9]+(,[0-9]+){15}$' generate -m "$work/m" --ids 5,6,7 --gen-length 16
expect 0 'family +LLaDA' inspect -m "$work/m"
expect 0 '"parameters": 1' inspect -m "$work/m" --json
expect 0 '^  logits +float32 +\[48,304\]$' inspect "$goldens/llada/golden.npz"
expect 2 '^buoy: --model excludes PATH$' inspect "$work/m" --model mini-mdm
expect 0 'on cpu: 6 checks, 0 failed' verify -m "$work/m" --golden "$work/m/golden.npz"
expect 0 'on reference: 6 checks, 0 failed' verify -m "$work/m" --golden "$work/m/golden.npz" --device reference
expect 0 'attentions +\[3,4,3,3\]' forward -m "$work/m" --ids 5,6,7 --attentions --hidden -o "$work/o.npz"

# The same bytes for 1 and 2 threads and for a second run.
for threads in 1 2 2; do
  "$buoy" generate -m "$work/m" --ids 5,6,7 --gen-length 16 --temperature 1 --seed 4 --json --threads $threads
  "$buoy" forward -m "$work/m" --ids 5,6,7,300,300 --attentions -o "$work/f.npz" --threads $threads 2>/dev/null
  md5sum <"$work/f.npz"
done >"$work/runs"
[ "$(sort -u "$work/runs" | wc -l)" = 2 ] || note "results depend on the thread count or the run"

# Wrong usage: exit code 2.
expect 2 'outside|not a token id' generate -m "$work/m" --ids 1,x
expect 2 'one of --ids, --prompt and --prompt-file' generate -m "$work/m"
expect 2 'gen_length 16 does not divide by block_length 5' generate -m "$work/m" --ids 1 --gen-length 16 --block-length 5
expect 2 'steps 6 do not divide by the 4 blocks' generate -m "$work/m" --ids 1 --gen-length 16 --block-length 4 --steps 6
expect 2 '--alg has no effect on LLaDA' generate -m "$work/m" --ids 1 --alg entropy
expect 2 '--seed has no effect' generate -m "$work/m" --ids 1 --seed 1
expect 2 '--steps has no effect with --threshold' generate -m "$work/m" --ids 1 --threshold 0.9 --steps 4
expect 2 'threads have no effect' generate -m "$work/m" --ids 1 --device reference --threads 2
command -v nvidia-smi >/dev/null || expect 1 'device cuda: (this build has no CUDA backend|no NVIDIA)' generate -m "$work/m" --ids 1 --device cuda
expect 2 'dtype bf16 needs device cuda' generate -m "$work/m" --ids 1 --device cpu --dtype bf16
expect 0 'tokens +plain ms +recorded ms' bench --device cpu --tokens 16 --layers 1 --repeat 1
expect 0 'million parameters, .* million active' bench --device cpu --tokens 16 --layers 1 --repeat 1
expect 0 '"recorded_ms"' bench --device cpu --tokens 16 --layers 1 --repeat 1 --json
expect 0 'GFLOP/s .* MiB +more MiB' bench --device cpu --tokens 16 --layers 1 --repeat 1
expect 0 'mini-mdm on cpu, 12 layers' bench --device cpu --model mini-mdm --record columns --tokens 16 --repeat 1
expect 0 'attention .* ms = ' bench --device cpu --model mini-mdm --tokens 16 --repeat 1 --kernels
expect 2 'the context of mini is 32768' bench --device cpu --tokens 40000
expect 2 'the context of mini-mdm is 2048' bench --device cpu --model mini-mdm --tokens 2049
expect 2 '--shape excludes --model' bench --model mini-mdm --shape mini
expect 2 '--family has no effect without --model' bench --family llada
expect 2 '--kernels has no effect with --json' bench --json --kernels
expect 2 '--chat has no effect on --ids' generate -m "$work/m" --ids 1 --chat
expect 2 '^buoy: --bogus is no option of generate; "buoy help generate" lists them$' generate --bogus
expect 2 '^buoy: --gen-lenght is no option of generate; did you mean --gen-length\?$' generate --gen-lenght 4
expect 2 '^buoy: unknown verb "frobnicate"; "buoy --help" lists them$' frobnicate
expect 2 '^buoy: unknown verb "genrate"; did you mean "generate"\?$' genrate
expect 2 'did you mean low_confidence\?$' generate --remasking low-confidence
expect 2 '^buoy: --threads is 0, expected 1 to 1024$' generate --threads 0
expect 2 '^buoy: --seed is "-1", expected a whole number, 0 to 18446744073709551615$' generate --seed -1
expect 2 '0 to 18446744073709551615$' generate --seed 18446744073709551616
expect 2 '^buoy: --limit is "1e3", expected a whole number, 0 to 9223372036854775807$' eval --limit 1e3
expect 2 '0 to 9223372036854775807$' eval --limit 99999999999999999999
expect 0 '^usage: buoy VERB' help
expect 0 '^usage: buoy index add ' help index add
[ "$("$buoy" help generate)" = "$("$buoy" generate --help)" ] || note "help generate is not generate --help"
expect 0 '^backends +reference' --version
set -o pipefail
[ "$("$buoy" generate --help 2>&1 | head -1)" = 'usage: buoy generate [OPTIONS]' ] || note "--help | head complains"
set +o pipefail
expect 2 '--remasking has no effect on Llama' generate -m "$goldens/llama-gqa" --ids 1 --remasking random
expect 2 '--top-p has no effect at temperature 0' generate -m "$goldens/llama-gqa" --ids 1 --top-p 0.9

# Bad input: exit code 1, the file and the trouble.
expect 1 'token id 999 at position 2 is outside the vocabulary of 304' generate -m "$work/m" --ids 1,2,999
expect 2 "gen_length is 600, more than the model's context of 512" generate -m "$work/m" --ids 1,2 --gen-length 600
expect 1 'no tokenizer files' generate -m "$work/m" --prompt hi
expect 1 'no such model directory' inspect -m "$work/none"
expect 1 'o.npz: cannot write' forward -m "$work/m" --ids 1 -o "$work/none/o.npz"
expect 1 'config.json: not a zip archive' verify -m "$work/m" --golden "$work/m/config.json"
expect 1 'none.npz: cannot open' verify -m "$work/m" --golden "$work/none.npz"
head -c 5000 "$goldens/llada/model.safetensors" >"$weights"; expect 1 'model.safetensors: truncated' inspect -m "$work/m"
fresh; spoil_header 900000; expect 1 'model.safetensors: .*header' inspect -m "$work/m"
fresh; spoil_header 9223372036854775807; expect 1 'model.safetensors: .*header' inspect -m "$work/m"
fresh; sed -i 's/"data_offsets":\[0,/"data_offsets":[4,/' "$weights"; expect 1 'model.safetensors: ' inspect -m "$work/m"
fresh; rm "$weights"; expect 1 'neither model.safetensors nor' inspect -m "$work/m"
fresh; cp "$goldens/dream/model.safetensors" "$weights"; expect 1 'is missing' generate -m "$work/m" --ids 1
fresh; rm "$weights"; echo '{"weight_map": {"a": "model-00001-of-00002.safetensors"}}' >"$work/m/model.safetensors.index.json"
expect 1 'model-00001-of-00002.safetensors' inspect -m "$work/m"
fresh; sed -i 's/"LLaDAModelLM"/"GPT2LMHeadModel"/' "$work/m/config.json"
expect 1 'unknown architecture "GPT2LMHeadModel"; known: LLaDAModelLM, DreamModel' inspect -m "$work/m"
expect 0 'family +LLaDA .*as told by --family' inspect -m "$work/m" --family llada
expect 2 "llada3" inspect -m "$work/m" --family llada3
expect 1 'unknown architecture "BlockwiseNovelForCausalLM"' inspect -m "$goldens/trap-llama-unknown"
fresh; sed -i 's/"LLaDAModelLM"//; s/"llada"/"gpt2"/' "$work/m/config.json"; expect 1 'unknown model_type "gpt2"; known: llada, Dream' inspect -m "$work/m"
expect 0 '7 checks, 0 failed' verify -m "$goldens/open-dcoder" --golden "$goldens/open-dcoder/golden.npz" --family open-dcoder
expect 0 '"family":"open-dcoder"' generate -m "$goldens/open-dcoder" --family open-dcoder --ids 5,6 --gen-length 4 --alg entropy --json
expect 0 'family +\[\]' forward -m "$goldens/open-dcoder" --family open-dcoder --ids 5,6 -o "$work/told.npz"
expect 0 'family +given: what the model was told to be' verify -m "$goldens/open-dcoder" --family open-dcoder --golden "$work/told.npz"
expect 0 'read as Open-dCoder, as told' verify -m "$goldens/open-dcoder" --golden "$goldens/open-dcoder/golden.npz" --family open-dcoder
expect 0 'mask +blocks of 4' inspect -m "$goldens/sdar"
expect 0 'experts +16 of width 20, 4 a token, and a shared one of 20, from 2 of 4 groups; 1 of 3 layers without' inspect -m "$goldens/llada2-moe"
expect 2 'block.length is 0, expected at least 1' generate -m "$goldens/sdar" --ids 1 --block-length 0
expect 2 "block_length is 600, more than the model's context of 512" generate -m "$goldens/sdar" --ids 1 --block-length 600
expect 2 '--cfg-scale has no effect on SDAR models' generate -m "$goldens/sdar" --ids 1 --cfg-scale 1
expect 2 '--steps has no effect with --threshold' generate -m "$goldens/stable-diffcoder" --ids 1 --gen-length 8 --steps 4 --threshold 0.5
expect 0 'mask_id +not compared: as it was read the model has no mask' verify -m "$goldens/open-dcoder" --golden "$goldens/open-dcoder/golden.npz"
fresh; echo '{' >"$work/m/config.json"; expect 1 'config.json: not valid JSON' inspect -m "$work/m"
fresh; printf '\xff\xff\xff\xff' | dd of="$weights" bs=1 seek=$(($(stat -c %s "$weights") - 4)) conv=notrunc status=none
expect 1 '" holds 1 NaN or infinite weights' generate -m "$work/m" --ids 1 --gen-length 4

# Traces, analyses, studies. The data lies beside the goldens' grandparent.
data=$(dirname "$(dirname "$goldens")")/data/micro_test.jsonl
quick=(--gen-length 4 --limit 2)
expect 0 '/traces$' trace -m mini-mdm --data "$data" "${quick[@]}" -o "$work/traces"
expect 0 '2 of 2 traces were there already' trace -m mini-mdm --data "$data" "${quick[@]}" -o "$work/traces"
expect 1 'made by another model or with other settings' trace -m mini-mdm --data "$data" "${quick[@]}" --layers 1-3 -o "$work/traces"
expect 0 'arm.npz$' trace -m mini-arm --prompt 'Question: Who?' --gen-length 4 -o "$work/arm.npz"
expect 0 '^question +Question: Who\?' inspect "$work/arm.npz"
expect 0 '^recorded +received attention of every step; flow' inspect "$work/arm.npz"
expect 0 '2 .npz files' inspect "$work/traces"
expect 2 'give either --data, or --prompt' trace -m mini-arm --gen-length 4 -o "$work/none"
expect 2 'there is no 12' trace -m mini-mdm --prompt x --layers 3,12 -o "$work/none"
expect 2 '"every:0"' trace -m mini-mdm --prompt x --record-steps every:0 -o "$work/none"
expect 2 'no effect without --record received' trace -m mini-mdm --prompt x --record qk --per-head -o "$work/none"
expect 1 'no such prompt template; bundled are' trace -m mini-mdm --data "$data" --template none -o "$work/none"
expect 2 'template has no effect without --data' trace -m mini-mdm --prompt x --template micro -o "$work/none"
expect 2 'step 32 is to be recorded, the last of mini-mdm is 31' trace -m mini-mdm --prompt x --record-steps 0,32 -o "$work/none"
expect 2 'step 3 is to be recorded, the last of mini-arm is 2' trace -m mini-arm --prompt x --gen-length 3 --record-steps 3 -o "$work/none"
expect 2 'record experts has no effect: mini-mdm has no experts' trace -m mini-mdm --prompt x --record experts -o "$work/none"
expect 2 'implicit magnitude has no effect: mini-mdm has no state space' trace -m mini-mdm --prompt x --implicit magnitude -o "$work/none"
expect 1 'none.jsonl: cannot be read' trace -m mini-mdm --data "$work/none.jsonl" -o "$work/none"
printf '{"id":"a","question":"Who?","answers":"x","passages":["The mayor."]}\n' >"$work/kilt.jsonl"
expect 1 'kilt.jsonl: .*"answers" is a string' trace -m mini-arm --data "$work/kilt.jsonl" "${quick[@]}" -o "$work/kilt"
expect 0 'kilt$' trace -m mini-arm --data "$work/kilt.jsonl" --format kilt "${quick[@]}" -o "$work/kilt"
expect 2 '"none": no such dataset format, expected one of buoy, kilt' study --data "$data" --data-format none "${quick[@]}" -o "$work/none"
expect 1 'micro_test.jsonl: ' eval --data "$data" --format hotpotqa "${quick[@]}" -o "$work/none"
expect 2 'no effect without --data' trace -m mini-arm --prompt x --format kilt -o "$work/none"
expect 1 'no tokenizer files' trace -m "$goldens/llada" --prompt x -o "$work/none"
expect 0 'report.html$' analyze "$work/traces" --only absorption,heads -o "$work/out"
for file in report.html samples.csv summaries.csv figures/absorption.{pdf,svg,png,csv}; do
  [ -s "$work/out/$file" ] || note "analyze did not write $file"
done
# The paper is a link, which is not fetched.
sed 's|<a href="https://arxiv.org/abs/2601.07894">||' "$work/out/report.html" >"$work/out/without_link"
grep -qE 'https?://' "$work/out/without_link" && note "the report refers to the network"
grep -q "default-src 'none'" "$work/out/report.html" || note "the report has no content security policy"
[ -s "$work/out/questions.csv" ] || note "analyze did not write questions.csv"
explored=$(grep -o 'href="explore/[^"]*"' "$work/out/report.html" | head -1)
explored=${explored#href=\"} explored=${explored%\"}
[ -s "$work/out/$explored" ] || note "the report links to $explored, which is not there"
expect 0 'one.html$' view "$work/arm.npz" --html "$work/one.html"
cmp -s <(grep -o 'default-src [^"]*' "$work/one.html") /dev/null && note "a page of its own has no content security policy"
expect 1 'golden.npz: ' view "$goldens/llada/golden.npz" --html "$work/none.html"
expect 1 'nowhere' serve --model "$work/nowhere"
expect 1 'holds no .npz files' view "$goldens" --html "$work/none.html"
expect 1 'cannot listen there' serve --host 203.0.113.7
expect 2 'port' serve --port 99999
expect 1 'analyse one model at a time' analyze "$work/traces" "$work/arm.npz" -o "$work/none"
expect 2 'absorbtion' analyze "$work/traces" --only absorbtion -o "$work/none"
expect 2 'no effect with --anchors topk' analyze "$work/traces" --anchors topk --epsilon 2 -o "$work/none"
expect 2 'min-lift has no effect with --anchors sigma' analyze "$work/traces" --anchors sigma --min-lift 2 -o "$work/none"
expect 2 'min-lift' analyze "$work/traces" --min-lift -1 -o "$work/none"
expect 1 'is not a trace|has no array "header"|which no trace has' analyze "$goldens/llada/golden.npz" -o "$work/none"
head -c 20000 "$work/arm.npz" >"$work/cut.npz"; expect 1 'cut.npz: ' analyze "$work/cut.npz" -o "$work/none"
expect 0 'report.html$' study "${quick[@]}" --only drift,flow --steps 2 --format svg -o "$work/study"
expect 0 'report.html$' study -m mini-arm --limit 2 --gen-length 6 --format svg -o "$work/whole"
for file in claims.csv answers/run.db stress/run.db interventions/run.db figures/{claims,interventions,scores}.svg; do
  [ -s "$work/whole/$file" ] || note "study did not write $file"
done
grep -q 'not measured,.*,no masked diffusion model' "$work/whole/claims.csv" || note "claims.csv does not say what is missing"
expect 0 'report.html$' study -m mini-arm --quick --limit 1 --gen-length 4 --format svg -o "$work/look"
# A folder of another study is neither mixed with nor replaced unless that is said; the same one is made again.
expect 0 'look/report.html$' study -m mini-arm --quick --limit 1 --gen-length 4 --format svg -o "$work/look"
other=(study -m mini-arm --only drift --limit 1 --gen-length 4 --format svg -o "$work/look")
before=$(md5sum "$work/look/report.html")
expect 1 'look: holds results of something else: /inputs/analyses was .* --overwrite replaces it, --new writes beside it' "${other[@]}"
[ "$before" = "$(md5sum "$work/look/report.html")" ] || note "a study was written over"
expect 0 'look-2/report.html$' "${other[@]}" --new
expect 0 'look/report.html$' "${other[@]}" --overwrite
[ ! -e "$work/look/figures/absorption.svg" ] || note "study --overwrite left figures of what it replaced"
expect 2 'overwrite excludes --new' "${other[@]}" --overwrite --new
[ ! -e "$work/look/claims.csv" ] || note "study --quick judged the claims"
expect 2 'has no effect on' study -m mini-arm --steps 4 -o "$work/none"
expect 2 'no effect: no model has experts' study --record received,experts -o "$work/none"
expect 2 'step 40 is to be recorded' study --record-steps 40 -o "$work/none"
expect 2 'two models are called mini-arm' study -m mini-arm -m mini-arm "${quick[@]}" -o "$work/none"
expect 1 'cannot be made a directory' analyze "$work/traces" --only absorption -o "$work/arm.npz/x"

# Figures and their files by name.
expect 0 'report.html$' analyze "$work/traces" --only absorption,drift --figures drift --format svg -o "$work/chosen"
[ -n "$(find "$work/chosen/figures" -name 'drift*.svg')" ] || note "--figures drift drew no drift"
[ -z "$(find "$work/chosen/figures" -name '*.pdf' -o -name '*.png' -o -name 'absorption*.svg')" ] || note "--figures and --format left too much"
expect 2 '--figures flow has no effect' analyze "$work/traces" --only drift --figures flow -o "$work/none"

# Ctrl-C once a sample is stored: what is kept is said, the exit code is 130, and the same command goes on.
long=(eval -m mini-arm --data "$data" --limit 60 --batch-size 1 --gen-length 8 -o "$work/stopped")
"$buoy" "${long[@]}" >/dev/null 2>"$work/stopped.err" &
pid=$!
stored=0
for ((i = 0; i < 600 && stored == 0; i++)); do
  sleep 0.05
  stored=$("$buoy" inspect "$work/stopped" 2>/dev/null | sed -n 's/.*: \([0-9]*\) samples$/\1/p'); stored=${stored:-0}
done
[ "$stored" -gt 0 ] || note "eval stored nothing in 30 s"
kill -INT $pid
wait $pid; status=$?
[ "$status" = 130 ] || note "eval ended by Ctrl-C has exit code $status, expected 130"
kept=$("$buoy" inspect "$work/stopped" | sed -n 's/.*: \([0-9]*\) samples$/\1/p')
grep -qE "stopped: kept $kept samples? in .*stopped; the same command goes on from there" "$work/stopped.err" ||
  note "eval ended by Ctrl-C does not say what is kept: $(cat "$work/stopped.err")"
[ "$kept" -ge "$stored" ] && [ "$kept" -lt 120 ] || note "eval kept $kept samples of 120 after $stored"
expect 0 "run.db: $kept samples? w(as|ere) there already" "${long[@]}"
expect 0 'run.db: 120 samples$' inspect "$work/stopped"
# Stopped before anything is finished, a verb claims to keep nothing, whatever else its folder holds.
mkdir "$work/early"; echo mine >"$work/early/notes.txt"
"$buoy" trace -m mini-mdm --data "$data" --limit 20 --batch-size 20 --gen-length 256 -o "$work/early" >/dev/null 2>"$work/early.err" &
pid=$!
for ((i = 0; i < 600; i++)); do sleep 0.05; grep -q 'mini-mdm on' "$work/early.err" && break; done
kill -TERM $pid
wait $pid; status=$?
[ "$status" = 130 ] || note "trace ended by SIGTERM has exit code $status, expected 130"
grep -q 'stopped: nothing was finished yet' "$work/early.err" || note "trace stopped early says: $(cat "$work/early.err")"

# Approximate caches: named in every output; an audit, again, stopped and refused.
fresh
cached=(-m "$work/m" --ids 5,6,7 --gen-length 8 --block-length 4)
expect 0 '"cache":"dual","approximate":true' generate "${cached[@]}" --cache dual --json
expect 0 'cache: delayed, approximate, refreshed every 2 passes' generate "${cached[@]}" --cache delayed --cache-refresh 2
expect 2 'cache-refresh has no effect without --cache' generate "${cached[@]}" --cache-refresh 2
expect 2 'cache dual and cfg_scale 1: guidance has no cache' generate "${cached[@]}" --cache dual --cfg-scale 1
expect 2 'cache has no effect on Llama models' generate -m mini-arm --ids 5 --gen-length 2 --cache dual
expect 2 'cache dual computes some rows only, and a trace needs whole passes' trace --cache dual -p x --gen-length 2 -o "$work/none.npz"
expect 2 'and recording needs whole passes' eval --trace --cache dual -m mini-mdm "${quick[@]}" -o "$work/none"
expect 0 'mini-mdm \(dual cache, approximate\)' eval --cache dual -m mini-mdm "${quick[@]}" -o "$work/cached"
audit=(audit --cache none,dual -m mini-mdm --limit 2 --passages 1 --gen-length 8 --block-length 4)
expect 0 'none +1?[0-9.]+ .* 100.0 .100.0, 100.0. ' "${audit[@]}" -o "$work/audit"
for file in report.html audit.csv audit_steps.csv audit.json questions.jsonl figures/pareto.svg made.json; do
  [ -s "$work/audit/$file" ] || note "audit did not write $file"
done
# A line that was cut short is audited again, the others are kept.
head -c -100 "$work/audit/questions.jsonl" >"$work/cut" && cp "$work/cut" "$work/audit/questions.jsonl"
first=$(sed -n 2p "$work/audit/questions.jsonl" | md5sum)
expect 0 'report.html$' "${audit[@]}" -o "$work/audit"
[ "$(sed -n 2p "$work/audit/questions.jsonl" | md5sum)" = "$first" ] || note "audit did not keep a finished question"
[ "$(wc -l <"$work/audit/questions.jsonl")" = 3 ] || note "audit did not finish a question that was cut short"
expect 1 'holds results of something else' audit --cache prefix -m mini-mdm --limit 2 --passages 1 --gen-length 8 --block-length 4 -o "$work/audit"
expect 0 'report.html$' audit --cache prefix -m mini-mdm --limit 2 --passages 1 --gen-length 8 --block-length 4 -o "$work/audit" --overwrite
expect 2 'expected one of none, prefix, dual, delayed' audit --cache both -o "$work/none"
expect 2 'cache dual is given twice' audit --cache dual,dual -o "$work/none"
expect 1 'expected a model that sees both ways' audit -m mini-arm --gen-length 8 -o "$work/none"

# Stress and interventions: a run, a resumed run, and what is refused.
expect 0 'irrelevant +.*mini-arm +2 ' stress irrelevant=0,0.9 -m mini-arm "${quick[@]}" -o "$work/stress"
expect 0 'report.html$' stress irrelevant=0,0.9 -m mini-arm "${quick[@]}" -o "$work/stress"
expect 0 'irrelevant +.*mini-arm +2 ' stress gold-position=1,5 -m mini-arm "${quick[@]}" -o "$work/stress"
expect 1 'begun with other settings: /seed was 0, now 1' stress irrelevant=0,0.5 --stress-seed 1 -m mini-arm "${quick[@]}" -o "$work/stress"
for file in report.html stress.csv robustness.csv figures/stress_noise_curves.svg; do
  [ -s "$work/stress/$file" ] || note "stress did not write $file: $(ls "$work/stress/figures")"
done
expect 0 '^gold-position +position' stress --list
expect 2 '"noise" is no stressor; there are irrelevant' stress noise -o "$work/none"
expect 2 'out of range, expected from 0 to 1' stress irrelevant=0,1.5 -o "$work/none"
expect 2 'gold' stress gold-position=1 -m mini-arm --data "$work/kilt.jsonl" --format kilt -o "$work/none"
expect 2 'is given twice' stress irrelevant=0 irrelevant=0.5 -m mini-arm "${quick[@]}" -o "$work/none"
expect 0 'mini-arm \+ mask-bos' stress gold-position=1,2 --k 5 --intervene mask-bos -m mini-arm "${quick[@]}" -o "$work/masked"
[ -s "$work/masked/intervened.csv" ] || note "stress --intervene did not write intervened.csv"
expect 0 'mask-random=1 ' intervene mask-bos -m mini-arm "${quick[@]}" -o "$work/intervene"
for file in report.html interventions.csv figures/interventions.svg; do
  [ -s "$work/intervene/$file" ] || note "intervene did not write $file"
done
expect 0 '^mask-anchors=N' intervene --list
expect 2 'expected one of mask-anchors' intervene mask -o "$work/none"
expect 2 'acts on layers 12, but mini-arm has layers 0 to' intervene mask-bos --at-layers 12 -m mini-arm "${quick[@]}" -o "$work/none"
expect 2 'acts on heads 40, but mini-arm has heads 0 to' intervene mask-bos --at-heads 40 -m mini-arm "${quick[@]}" -o "$work/none"
expect 2 'ranks heads on items that are not evaluated' intervene cut-heads=1 -m mini-arm --gen-length 4 -o "$work/none"
expect 2 'no effect with --no-trace' intervene mask-bos --no-trace --only drift -m mini-arm -o "$work/none"
expect 2 'one half of such a pass' intervene mask-bos --cfg-scale 1 -o "$work/none"
expect 2 'spare-evidence has no effect without mask-anchors' intervene mask-bos --spare-evidence -m mini-arm -o "$work/none"
expect 2 'pin-epsilon has no effect without pin-anchors or press-anchors' intervene mask-bos --pin-epsilon 2 -m mini-arm -o "$work/none"
expect 2 'act at step 5, but mini-mdm takes at most 4 steps' intervene mask-bos --at-steps 2,5 -m mini-mdm --limit 1 --gen-length 4 -o "$work/none"
expect 2 'act at step 9, but mini-mdm takes at most 4 steps' stress steps=2,4 --intervene mask-bos --at-steps 9 -m mini-mdm --limit 1 --gen-length 8 -o "$work/none"
expect 2 'at-layers has no effect without an intervention' stress --at-layers 1 -m mini-arm "${quick[@]}" -o "$work/none"
expect 2 'steps=4 means nothing to mini-arm' stress steps=4 -m mini-arm "${quick[@]}" -o "$work/none"
expect 2 'steps=4 has no effect with threshold' stress steps=2,4 --threshold 0.9 -m mini-mdm --limit 1 --gen-length 4 -o "$work/none"
expect 2 'stress-limit has no effect with --quick' study --quick --stress-limit 2 -o "$work/none"
expect 2 'log-samples has no effect with --quick' study --quick --log-samples -o "$work/none"
head -1 "$data" >"$work/one.jsonl"
expect 0 'no stress tests: ' study -m mini-arm --data "$work/one.jsonl" --gen-length 4 --format svg -o "$work/single"
expect 1 '2 prompts are too long: "[^"]+" of micro_study under given has [0-9]+ tokens, 8 fit mini-arm' study --quick -m mini-arm --limit 2 --gen-length 2040 -o "$work/none"
expect 2 'no effect without --trace' eval --only drift -o "$work/none"
expect 0 'report.html$' eval --trace --only absorption -m mini-arm "${quick[@]}" -o "$work/traced"
[ "$(grep -c absorb_bos "$work/traced/attention.csv")" -gt 1 ] || note "eval --trace kept nothing"

# A run grows, refuses what changed by its name, or begins beside it; its table; other programs' answers; a recipe.
grown=(eval -m mini-arm --data "q=$data" --gen-length 4 --log-ids -o "$work/grown")
expect 0 '^mini-arm +none +' "${grown[@]}" --limit 1 --passages none
expect 0 '1 sample was there already' "${grown[@]}" --limit 2 --passages none,1
expect 0 'run.db: 4 samples$' inspect "$work/grown"
expect 1 '/models/mini-arm/sampler/temperature was' "${grown[@]}" --limit 2 --temperature 0.5
expect 0 'this run is kept in .*grown-2' "${grown[@]}" --limit 1 --passages none --temperature 0.5 --new
expect 1 '/models/mini-arm/answer_end was "eos", now "none"' "${grown[@]}" --limit 1 --passages none --answer-end none
expect 1 'holds what buoy analyze made' eval -m mini-arm "${quick[@]}" -o "$work/out"
python3 - "$work/grown" <<'END' || note "samples.jsonl and scores.json do not say what the run was made of"
import json, sys
for line in open(sys.argv[1] + "/samples.jsonl"):
    sample = json.loads(line)
    assert sample["question"] and sample["answers"] and sample["prompt_ids"] and sample["settings"]["device"] == "cpu", sample
    assert len(sample["passages"]) == (1 if sample["condition"] == "first 1" else 0), sample
scores = json.load(open(sys.argv[1] + "/scores.json"))
assert scores["sessions"][-1]["buoy"] and scores["sessions"][-1]["processor"] and scores["settings"]["models"]["mini-arm"]["weights"], scores
END
expect 0 '^mini-arm,first 1,mean of cells,em,' table "$work/grown" --format csv
expect 1 'is a run of stress, expected one of eval' table "$work/grown" "$work/stress"
head -2 "$data" >"$work/one2.jsonl"; printf '{"micro-2026-000000": "Jalo Dawen"}' >"$work/answers.json"
expect 0 '1 of 2 items of one2 are not answered' score "$work/answers.json" --data "$work/one2.jsonl"
expect 0 '^answers +as given .* 50\.0 ±0\.0 ' score "$work/answers.json" --data "$work/one2.jsonl" --score em
expect 2 '--model stands in the recipe' eval --recipe "$(dirname "$data")/../recipes/micro.json" -m mini-arm -o "$work/none"
sed 's/"gen_length": 32}/"gen_length": 32, "cache": "dual"}/' "$(dirname "$data")/../recipes/micro.json" >"$work/recipe.json"
expect 2 '^buoy: mini-arm: cache has no effect on Llama models$' eval --recipe "$work/recipe.json" --data "micro=$data" --data "closed=$data" -o "$work/none"
expect 0 'masked - autoregressive +first 5' eval --recipe "$(dirname "$data")/../recipes/micro.json" --limit 1 -o "$work/recipe"
expect 1 'holds results of something else: /inputs/options' analyze "$work/traces" --only drift -o "$work/out"
expect 0 'out-2/report.html$' analyze "$work/traces" --only drift --new -o "$work/out"
expect 0 'out/report.html$' analyze "$work/traces" --only drift --overwrite -o "$work/out"
[ ! -e "$work/out/figures/absorption.svg" ] || note "analyze --overwrite left figures of what it replaced"
printf '%s\n' '{"id":"q/1","question":"Who?","answers":["x"]}' '{"id":"q_1","question":"Where?","answers":["y"]}' >"$work/slash.jsonl"
expect 0 'slash$' trace -m mini-arm --data "$work/slash.jsonl" --gen-length 4 -o "$work/slash"
[ "$(ls "$work/slash" | wc -l)" = 2 ] || note "two ids share one trace: $(ls "$work/slash")"
# A model may write an id that its tokenizer does not have: it stands in the trace, and in a text as a character that nobody knows.
cp -r "$(dirname "$data")/../models/mini-arm" "$work/short"; chmod -R u+w "$work/short"
python3 - "$work/short/tokenizer.json" <<'END'
import json, sys
made = json.load(open(sys.argv[1]))
model = made["model"]
model["vocab"] = {piece: i for piece, i in model["vocab"].items() if i < 700}
joined = lambda merge: "".join(merge) if isinstance(merge, list) else merge.replace(" ", "")
model["merges"] = [merge for merge in model["merges"] if joined(merge) in model["vocab"]]
json.dump(made, open(sys.argv[1], "w"))
END
unknown=(-m "$work/short" --prompt 'Question: Who wrote it? Short Answer:' --gen-length 4)
expect 0 '"ids":\[[0-9,]*1[0-9]{3}[],].*"text":".*�' generate "${unknown[@]}" --json
expect 0 'short.npz$' trace "${unknown[@]}" -o "$work/short.npz"

# A stream of events: made, replayed, grown; what is wrong in one.
expect 2 'events: got 10, expected more than 48' world --events 10
expect 2 '--events excludes --task' world --events 100 --task slot
expect 2 '--rumours has no effect without --events' world --rumours 0.5
expect 0 'stream.jsonl: 60 events, [0-9]+ of them questions and [0-9]+ changes$' world --events 60 --subjects 6 --seed 3 -o "$work/stream.jsonl"
replayed=(replay "$work/stream.jsonl" -m mini-arm --gen-length 4 --log-samples -o "$work/replayed")
expect 0 '^Exact match, % +mini-arm +[0-9.]+ .* 6 +[0-9]$' "${replayed[@]}" --limit 6
expect 0 'samples were there already' "${replayed[@]}" --limit 8 --no-control
expect 1 'begun with other settings: /trace' "${replayed[@]}" --limit 8 --trace
python3 - "$work/replayed" "$work/stream.jsonl" <<'END' || note "samples.jsonl of a replay does not say what each passage was"
import json, sys
asked = [json.loads(line) for line in open(sys.argv[2]) if '"event":"ask"' in line]
samples = [json.loads(line) for line in open(sys.argv[1] + "/samples.jsonl")]
first = [s for s in samples if s["condition"] == "retrieved 5"]
assert [s["id"] for s in first] == [a["id"] for a in asked[:8]]
for s in first:
    assert s["passages"] and all(p["version"] >= 1 and p["role"] and "@" not in p["id"] for p in s["passages"]), s
END
printf '%s\n' '{"event":"add","id":"a","text":"t"}' '{"event":"change","id":"b","text":"t"}' >"$work/wrong.jsonl"
expect 1 'wrong.jsonl: line 2: changes "b", which is not there; expected' replay "$work/wrong.jsonl" -m mini-arm -o "$work/none"

# A collection: add, search, update, delete; what is refused leaves it as it was.
c=$work/c.db
printf '%s\n' '{"id":"x","title":"Gasen","text":"The mayor of Gasen."}' '{"text":"A river."}' >"$work/docs.jsonl"
mkdir "$work/texts"; printf 'One two three. Four five.\n\nA lute.\n' >"$work/texts/a.md"
expect 0 'docs.jsonl: 2 added, 0 updated, 0 unchanged' index "$c" add "$work/docs.jsonl"
expect 0 'micro_test.jsonl: 500 added' index "$c" add "$data"
expect 0 'texts: 2 added' index "$c" add --passage-words 5 "$work/texts"
expect 0 '^documents +504$' index "$c" info
expect 0 '"results":\[\{"id":"x","score":[0-9.]+,"title":"Gasen"' index "$c" search 'mayor AND "gasen' --top 1 --json
expect 0 'docs.jsonl:2' index "$c" search 'a RIVER?' --top 3
expect 0 'nothing found' index "$c" search '*'
expect 0 '"results":\[\]' index "$c" search add --json
sed -i 's/river/lake/' "$work/docs.jsonl"
expect 0 '0 added, 1 updated, 1 unchanged' index "$c" update "$work/docs.jsonl"
expect 0 'c.db: 1 deleted' index "$c" delete x
expect 1 'c.db: has no document "x"' index "$c" delete x
expect 0 'c.db: 2 deleted' index "$c" delete --prefix "$work/texts/a.md#"
expect 2 'either ids or --prefix' index "$c" delete
expect 2 '--passage-words has no effect' index "$c" add --passage-words 5 "$work/docs.jsonl"
expect 2 'index needs one of add, delete, search, info' index "$c"
expect 2 '--top' index "$c" search river --top 0

# Worlds: levels, what they set, and what makes no sense.
expect 0 '"level":"middle","question":"Name in alphabetical order' world --task list --level middle -n 1
expect 0 '"passages":40,.*"near_miss":10' world --task chain --level hard -n 1
expect 0 '"passages":6,.*"near_miss":1}' world --task chain --level hard --passages 6 --near-miss 1 -n 1
expect 2 '^buoy: length: got 7, but chain has 2 to 4$' world --task chain --length 7
expect 2 'passages: got 0, but dated is about the records in them' world --task dated --passages 0
expect 2 'contradict: conflict has its own rule' world --task conflict --contradict 1
expect 2 '"several" stands alone' world --task several,single
expect 2 '--documents excludes --level' world --documents --level hard
expect 1 'none.db: no such file' index "$work/none.db" search river
expect 1 'docs.jsonl: is not an SQLite database' index "$work/docs.jsonl" info
expect 1 'run.db: is a database, but not a document collection' index "$work/stopped/run.db" add "$work/docs.jsonl"
expect 0 'run.db: 120 samples$' inspect "$work/stopped"
expect 1 'none: no such folder' index "$work/none/c.db" add "$work/docs.jsonl"
expect 1 'none.jsonl: cannot be read' index "$work/none.db" add "$work/docs.jsonl" "$work/none.jsonl"
{ yes '{"text":"fine"}' | head -97; yes '{"text":' | head -3; } >"$work/bad.jsonl"
expect 1 '3 of 100 records are bad, more than 1 %; the first: .*bad.jsonl: line 98' index "$work/none.db" add "$work/bad.jsonl"
sed -i 98,99d "$work/bad.jsonl"; yes '{"text":"fine"}' | head -2 >>"$work/bad.jsonl"
expect 0 'warning: .*bad.jsonl: 1 of 100 records are bad and were left out' index "$c" add "$work/bad.jsonl"
[ ! -e "$work/none.db" ] || note "a collection appeared from nowhere"
expect 0 '^documents +600$' index "$c" info

leftovers=$(find "$work" -name '*.tmp*' | wc -l)
[ "$leftovers" = 0 ] || note "temporary files were left behind"
[ ! -e "$work/none" ] || note "a directory appeared from nowhere"

echo "$count commands, $failures failures"
[ "$failures" = 0 ]
