#!/usr/bin/env bash
# What a stranger's files and a small machine do to the command: one clear line, the right exit code, nothing silent, nothing endless.
# usage: hostile_test.sh BUOY SOURCE_DIR
set -u
buoy=$1
source=$2
. "$(dirname "$0")/expect.sh"

fresh() { rm -rf "$work/m"; cp -r "$source/tests/goldens/llada" "$work/m"; chmod -R u+w "$work/m"; }

# Masks in a prompt are filled like those of the answer.
mask='<|mdm_mask|>'
many=$(printf "%.0s$mask" {1..40})
expect 0 '"commit_step":\[[0-9,]+\],' generate -p "Question: Who? $mask$mask$mask" --gen-length 8 --json
expect 0 'traces$' trace -p "Question: Who? $many" --gen-length 16 -o "$work/traces"
expect 0 'report.html$' analyze "$work/traces" --only drift -o "$work/tables"
printf '{"id": "a", "question": "Who? %s", "answers": ["x"]}\n{"id": "b", "question": "Who?", "answers": ["x"]}\n' "$mask$mask$mask$mask" >"$work/masks.jsonl"
expect 0 'report.html$' eval -m mini-mdm --data "$work/masks.jsonl" --passages none --gen-length 8 --trace -o "$work/run"

# Numbers that are none.
fresh; sed -i 's/"rms_norm_eps": [^,}]*/"rms_norm_eps": -1/' "$work/m/config.json"
expect 1 '"rms_norm_eps" is -1, expected above 0, below 1' generate -m "$work/m" --ids 1
fresh; sed -i 's/"n_layers": [0-9]*/"n_layers": 268435456/' "$work/m/config.json"
expect 1 '"n_layers" is 268435456, expected 1 to 4096' inspect -m "$work/m"

# Input that would be passed over.
fresh; printf '\0{"model_type": "llada"}' >>"$work/m/config.json"; expect 1 'config.json: not valid JSON: byte [0-9]+ is NUL' inspect -m "$work/m"
fresh; expect 2 'steps is 32, more than the 16 positions' generate -m "$work/m" --ids 1 --gen-length 16 --steps 32
expect 2 'stop_ids holds 2048, outside the vocabulary of 2048' generate -m mini-arm --ids 1 --stop-ids 2048
expect 2 '--seed is "-1", expected a whole number, 0 to 18446744073709551615' generate --ids 1 --temperature 1 --seed -1
expect 2 '--seed is "18446744073709551616", expected' generate --ids 1 --temperature 1 --seed 18446744073709551616
expect 2 'date is "2023-02-29", expected a day' generate -p x --date 2023-02-29

# Templates that take gigabytes, the stack or for ever; the day they see is not that of the clock.
fresh
for hostile in "$source"/fuzz/corpus/jinja/hostile_*.jinja; do
  cp "$hostile" "$work/m/chat_template.jinja"
  begun=$SECONDS
  ([[ $buoy == *asan* ]] || ulimit -v 4000000; echo '[]' | timeout -s KILL 300 "$buoy" tokenize --chat -m "$work/m" >"$work/out" 2>&1)
  status=$?
  count=$((count + 1))
  [ $status = 0 ] || [ $status = 1 ] || note "$hostile: exit code $status"
  [ "$(wc -l <"$work/out")" -le 2 ] || note "$hostile: $(head -c 300 "$work/out")"
done
echo "{{ strftime_now('%Y-%m-%d') }}" >"$work/m/chat_template.jinja"
[ "$(echo '[]' | "$buoy" tokenize --chat -m "$work/m")" = 2024-07-26 ] || note "strftime_now reads the clock"
[ "$(echo '[]' | "$buoy" tokenize --chat -m "$work/m" --date 2028-02-29)" = 2028-02-29 ] || note "--date is not heard"

# A folder whose name is no UTF-8 and sets the title of a terminal.
odd=$work/$(printf 'm\xff\e]0;x\a'); cp -r "$work/m" "$odd"; rm "$odd/chat_template.jinja"
expect 0 '"parameters": 1' inspect -m "$odd" --json
sed -i 's/"LLaDAModelLM"/"gpt\\u001b[31m"/' "$odd/config.json"; expect 1 'unknown architecture' inspect -m "$odd"

# Ids that differ only in what a file name cannot hold leave a file each.
for id in 東京 京都 q/1 q_1 ../../x; do printf '{"id": "%s", "question": "Who?", "answers": ["x"]}\n' "$id"; done >"$work/ids.jsonl"
expect 0 'files$' trace -m mini-mdm --data "$work/ids.jsonl" --gen-length 2 --layers 0 -o "$work/files"
[ "$(find "$work/files" -name '*.npz' | wc -l)" = 5 ] || note "5 ids left $(ls "$work/files")"

# A full disk and small limits.
for verb in "--version" "inspect" "generate --ids 1,2 --gen-length 2" "bench --shape mini --layers 1 --tokens 8 --repeat 1" "help" "manual"; do
  count=$((count + 1))
  "$buoy" $verb >/dev/full 2>"$work/err" && note "$verb: exit code 0 on a full disk"
  grep -q 'cannot write to standard output' "$work/err" || note "$verb: $(cat "$work/err")"
done
echo hello | "$buoy" tokenize >/dev/full 2>/dev/null && note "tokenize: exit code 0 on a full disk"
(ulimit -s 64; "$buoy" generate --ids 1 --gen-length 2 >"$work/out" 2>&1); status=$?
[ $status = 1 ] && grep -q 'limit of the stack' "$work/out" || note "a small stack: exit code $status, $(cat "$work/out")"

# More threads than the memory has room for, said in one line.
if [[ $buoy != *asan* ]]; then
  (ulimit -v 6000000; "$buoy" generate --ids 1 --gen-length 2 --threads 1024 >"$work/out" 2>&1); status=$?
  [ $status = 1 ] && grep -q 'threads is 1024, but the system starts no more than' "$work/out" || note "too many threads: exit code $status, $(cat "$work/out")"
fi

# A pipe that nobody writes into, and a link to what never ends, where a checkpoint has its files.
for file in config.json tokenizer.json tokenizer_config.json generation_config.json model.safetensors buoy.json; do
  rm -rf "$work/m"; cp -r "$source/models/mini-mdm" "$work/m"; chmod -R u+w "$work/m"
  rm -f "$work/m/$file"; mkfifo "$work/m/$file"
  count=$((count + 1))
  timeout 60 "$buoy" study -m "$work/m" --quick --limit 1 -o "$work/none" >"$work/out" 2>&1; status=$?
  [ $status = 1 ] && grep -q "$file: is not a regular file" "$work/out" || note "a pipe as $file: exit code $status, $(tail -1 "$work/out")"
  rm "$work/m/$file"; ln -s /dev/zero "$work/m/$file"
  timeout 60 "$buoy" study -m "$work/m" --quick --limit 1 -o "$work/none" >"$work/out" 2>&1; status=$?
  [ $status = 1 ] && grep -q "$file: is not a regular file" "$work/out" || note "a device as $file: exit code $status, $(tail -1 "$work/out")"
done
rm -rf "$work/m" "$work/none"
mkdir "$work/run.pipe"; mkfifo "$work/run.pipe/run.db"
count=$((count + 1))
timeout 60 "$buoy" inspect "$work/run.pipe" >"$work/out" 2>&1; status=$?
[ $status = 1 ] && grep -q "run.db: is not a regular file" "$work/out" || note "a pipe as run.db: exit code $status, $(tail -1 "$work/out")"

# A database whose table is a view that never ends.
if command -v sqlite3 >/dev/null; then
  echo '{"id": "a", "title": "t", "text": "x"}' >"$work/docs.jsonl"
  "$buoy" index "$work/c.db" add "$work/docs.jsonl" >/dev/null 2>&1
  sqlite3 "$work/c.db" "DROP TABLE documents; CREATE VIEW documents AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS id FROM n;" 2>/dev/null
  expect 1 'c.db: ' index "$work/c.db" info
fi

[ $failures = 0 ] && echo "$count checks, none failed" || echo "$failures of $count checks failed"
[ $failures = 0 ]
