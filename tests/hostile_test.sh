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

# Too little memory to draw in ends in a line: the libraries would crash, or wait for a thread that could not be started.
if [[ $buoy != *asan* ]]; then
  "$buoy" trace -m mini-arm -p x --gen-length 2 -o "$work/drawn.npz" >/dev/null 2>&1
  for kilobytes in 120000 150000 175000 200000 225000; do
    count=$((count + 1)); rm -rf "$work/drawn"
    (ulimit -v $kilobytes; timeout -s KILL 60 "$buoy" analyze "$work/drawn.npz" --only absorption -o "$work/drawn" >"$work/out" 2>&1); status=$?
    [ $status -le 1 ] || note "drawing in $kilobytes kB: exit code $status, $(tail -1 "$work/out")"
  done
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

# Foreign text in an error is one line of bounded length; ids, lengths and days that would be passed over are refused.
expect 1 '^buoy: a\\nb: no such file' table $'a\nb'
count=$((count + 1)); long=$(printf '%05000d' 0)
[ "$("$buoy" inspect -m "$long$long" 2>&1 | wc -c)" -lt 4300 ] || note "an error has no end"
expect 2 '--ids: no token id stands before a comma' generate --ids 1,,2
expect 2 '--ids ends with a comma' generate --ids 1,
for model in llada dream llama-gqa sdar; do
  expect 2 "gen.length is 9223372036854775807, more than the model's context of 512" generate -m "$source/tests/goldens/$model" --ids 1 --gen-length 9223372036854775807
done
expect 1 '513 tokens, more than the model.s context of 512' generate -m "$source/tests/goldens/llada" --ids 1,2 --gen-length 511
expect 2 '--date has no effect on --ids' generate --ids 1 --date today
expect 2 '--date has no effect: the chat template does not ask' generate -p x --date 2024-01-01
expect 2 'date has no effect: no chat template that is used asks for it' eval -m mini-arm --limit 1 --date 2024-01-01 -o "$work/none"
expect 2 'date has no effect' trace -m mini-arm -p x --date 2024-01-01 -o "$work/none.npz"

expect 2 '--limit has no effect without --data' trace -m mini-arm -p x --limit 1 -o "$work/none.npz"
expect 2 '--twin-seed has no effect with --quick or --only' study --quick --twin-seed 2 -o "$work/none"
expect 2 '--twins has no effect with --quick or --only' study --only drift --twins 1 -o "$work/none"
expect 2 '--list runs nothing' stress irrelevant --list
expect 2 '--list runs nothing' intervene mask-bos --list

# Standard output that is closed: said, and nothing is printed into a file of the run.
one=(eval -m mini-arm --data "$source/data/micro_test.jsonl" --limit 1 --passages 1 --gen-length 2)
count=$((count + 1))
"$buoy" "${one[@]}" -o "$work/closed" >&- 2>"$work/err"; status=$?
[ $status = 1 ] && grep -q 'cannot write to standard output' "$work/err" || note "standard output closed: exit code $status, $(cat "$work/err")"
for file in "$work/closed"/run.db*; do
  grep -q 'mini-arm *first 1' "$file" && note "a table was printed into $file"
done

# Names that are no UTF-8, and a record of a folder that names what is not in it.
expect 0 'report.html$' "${one[@]}" -o "$work/$(printf 'o\xff')"
expect 0 '"runs": \{' table "$work/$(printf 'o\xff')" --format json
mkdir -p "$work/linked" "$work/victim"; touch "$work/victim/file" "$work/linked/$(printf 'x\xfe')"; ln -s "$work/victim" "$work/linked/link"
echo '{"verb": 5, "inputs": {}, "files": ["link/file"]}' >"$work/linked/made.json"
expect 1 'linked: holds what buoy once made' "${one[@]}" -o "$work/linked"
expect 0 'report.html$' analyze "$work/traces" --only drift --format svg --overwrite -o "$work/linked"
[ -e "$work/victim/file" ] || note "--overwrite removed a file behind a link"

# Answers of another program, with something behind a NUL.
printf '{"micro-2026-000000": "x"}\0{' >"$work/answers.json"
expect 1 'answers.json: not valid JSON: byte 26 is NUL' score "$work/answers.json" --data "$source/data/micro_test.jsonl"

# A run's file that someone has changed.
if command -v sqlite3 >/dev/null; then
  "$buoy" "${one[@]}" --trace --only absorption -o "$work/store" >/dev/null 2>&1
  damaged() { # SQL PATTERN
    rm -rf "$work/spoiled"; cp -r "$work/store" "$work/spoiled"
    sqlite3 "$work/spoiled/run.db" "$1"
    count=$((count + 1))
    timeout 60 "$buoy" "${one[@]}" --trace --only absorption -o "$work/spoiled" >"$work/out" 2>&1; status=$?
    [ $status = 1 ] && tail -1 "$work/out" | grep -q "$2" || note "$1: exit code $status, $(tail -1 "$work/out")"
  }
  damaged "UPDATE samples SET seen = '[[]]'" 'seen of "micro-2026-000000": a measurement is an array of 0'
  damaged "UPDATE samples SET commit_step = '5'" 'commit_step of "micro-2026-000000" is an integer, expected a list'
  damaged "UPDATE samples SET em = 9e999" 'em of "micro-2026-000000" is inf, expected 0 to 1'
  damaged "UPDATE samples SET data = 'x'" 'which is not among the data of the settings'
  damaged "CREATE INDEX more ON samples(hex(zeroblob(100000000)))" 'run.db: holds "more", which is no part of a run'
  damaged "UPDATE run SET settings = '5'" 'the settings: is an integer, expected an object'
fi

# A database whose table is a view that never ends.
if command -v sqlite3 >/dev/null; then
  echo '{"id": "a", "title": "t", "text": "x"}' >"$work/docs.jsonl"
  "$buoy" index "$work/c.db" add "$work/docs.jsonl" >/dev/null 2>&1
  sqlite3 "$work/c.db" "DROP TABLE documents; CREATE VIEW documents AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS id FROM n;" 2>/dev/null
  expect 1 'c.db: ' index "$work/c.db" info
  rm "$work/c.db"; "$buoy" index "$work/c.db" add "$work/docs.jsonl" >/dev/null 2>&1
  sqlite3 "$work/c.db" "UPDATE documents SET rowid = -5"
  expect 1 'c.db: is damaged: a document has the number -5' index "$work/c.db" delete a
fi

[ $failures = 0 ] && echo "$count checks, none failed" || echo "$failures of $count checks failed"
[ $failures = 0 ]
