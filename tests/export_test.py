"""buoy export as NumPy and the published scripts see it: keys, shapes, the numbers themselves, and what is refused.

export_test.py BUOY
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

BUOY = sys.argv[1]
DATA = Path(__file__).resolve().parent.parent / "data" / "micro_test.jsonl"
SETTINGS = {"mini-mdm": ["--gen-length", "8", "--steps", "4"], "mini-arm": ["--gen-length", "8"]}
failures = []


def expect(condition, fact):
    if not condition:
        failures.append(fact)
        print("FAIL", fact)


def buoy(*arguments):
    done = subprocess.run([BUOY, *map(str, arguments)], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def succeed(*arguments):
    code, output = buoy(*arguments)
    if code != 0:
        sys.exit(f"FAIL buoy {' '.join(map(str, arguments))}: {output}")


def refuse(code, words, directory, *arguments):
    """The call fails with this code and a message that holds these words, and leaves nothing behind."""
    before = sorted(directory.iterdir())
    got, output = buoy("export", *arguments, "-o", directory / "refused_attentions.npz")
    expect(got == code, f"export {arguments} ends with {code}, got {got}: {output}")
    for word in words:
        expect(word in output, f"export {arguments} says {word!r}: {output}")
    expect(sorted(directory.iterdir()) == before, f"export {arguments} leaves nothing behind")


def load(path):
    data = np.load(path, allow_pickle=True)
    return {key: data[key] for key in data.keys()}


def check_contents(model, trace, data, attentions):
    """attentions: [L,H,N,N] of buoy forward over the same tokens."""
    header = json.loads(str(trace["header"]))
    N, P, (L, H) = len(trace["tokens"]), header["prompt_length"], attentions.shape[:2]
    expect(int(data["input_length"]) == P and int(data["num_generated_tokens"]) == N - P, f"{model}: lengths")
    expect(data["question"].shape == () and str(data["question"]) == header["question"], f"{model}: the question")
    # As the scripts find the layers.
    layers = sorted(int(key.split("_")[1]) for key in data if key.endswith("_full_attention"))
    expect(layers == list(range(L)), f"{model}: layers {layers}")
    for l in layers:
        heads, q, k = (data[f"layer_{l}_{name}"] for name in ["full_attention_heads", "query_states", "key_states"])
        expect(heads.dtype == np.float32 and heads.shape == (H, N, N), f"{model}: heads of layer {l}")
        expect(np.array_equal(heads, attentions[l]), f"{model}: heads of layer {l} are those of buoy forward")
        expect(np.allclose(data[f"layer_{l}_full_attention"], heads.mean(axis=0), atol=1e-7), f"{model}: mean of {l}")
        expect(q.shape == k.shape == (H, N, q.shape[-1]), f"{model}: states of layer {l}")
    check_steps(model, trace, data["step_attention_data"], L)


def check_steps(model, trace, steps, L):
    expect(steps.dtype == object and steps.shape == trace["steps"].shape, f"{model}: steps {steps.shape}")
    for t, step in enumerate(steps):
        n = trace["step_lengths"][t]
        expect(type(step["step"]) is int and step["step"] == trace["steps"][t], f"{model}: number of step {t}")
        expect(step["sequence"].dtype == np.int64, f"{model}: sequence of step {t}")
        expect(np.array_equal(step["sequence"], trace["step_tokens"][t, :n]), f"{model}: sequence of step {t}")
        for l in range(L):
            matrix = step[f"layer_{l}_attention_avg"]
            expect(matrix.shape == (n, n) and matrix.dtype == np.float32, f"{model}: step {t} layer {l}")
            received = trace["received"][t, l, :n]
            expect(np.allclose(matrix.mean(axis=0), received, atol=1e-6), f"{model}: received at step {t} layer {l}")
            if model == "mini-arm":
                expect(not np.triu(matrix, 1).any(), f"{model}: step {t} layer {l} is causal")


def check_choices(work, trace_path):
    """What the flags leave out is left out, and what stays is the same."""
    whole = load(work / "mini-mdm_attentions.npz")
    flags = ["--layers", "2,5", "--steps", "0,3", "--no-heads", "--threads", "1"]
    succeed("export", "--format", "attention-floating", trace_path, *flags, "-o", work / "some_attentions.npz")
    some = load(work / "some_attentions.npz")
    kept = {f"layer_{l}_{name}" for l in [2, 5] for name in ["full_attention", "query_states", "key_states"]}
    expect({key for key in some if key.startswith("layer_")} == kept, f"only these layers, no heads: {sorted(some)}")
    expect(all(np.array_equal(some[key], whole[key]) for key in kept), "a choice changes no bit, nor do threads")
    steps = some["step_attention_data"]
    expect([step["step"] for step in steps] == [0, 3], "only these steps")
    expect(list(steps[0]) == ["step", "sequence", "layer_2_attention_avg", "layer_5_attention_avg"], "layers of a step")
    succeed("export", trace_path, "--steps", "none", "--layers", "0", "-o", work / "none_attentions.npz")
    expect(load(work / "none_attentions.npz")["step_attention_data"].shape == (0,), "no steps")


def check_refusals(work, trace_path):
    trace = dict(np.load(trace_path))
    header = json.loads(str(trace["header"]))
    refuse(1, [header["model_hash"], "mini-arm", "fingerprint"], work, trace_path, "--model", "mini-arm")
    refuse(1, ["GiB", "--max-gib", "--layers", "--steps", "--no-heads"], work, trace_path, "--max-gib", "0.001")
    refuse(2, ["did not record step 9"], work, trace_path, "--steps", "9")
    refuse(2, ["there is no 12"], work, trace_path, "--layers", "12")
    refuse(2, ["--format"], work, trace_path, "--format", "other")
    refuse(1, ["cannot open"], work, work / "none.npz")
    partial = work / "partial.npz"
    succeed("trace", "--prompt", "The mayor", "--gen-length", 4, "--steps", 1, "--layers", 1, "-o", partial)
    refuse(2, ["did not record layer 2"], work, partial, "--layers", "1,2")
    _, output = buoy("export", partial, "-o", work / "partial-all.npz")
    expect("_attentions.npz" in output, "a name that the scripts would not find is warned about")
    header["model"] = "elsewhere"
    other = work / "other.npz"
    np.savez(other, **{**trace, "header": json.dumps(header)})
    refuse(2, ["elsewhere", "--model"], work, other)
    succeed("export", other, "--model", "mini-mdm", "--steps", "none", "-o", work / "other_attentions.npz")


def main():
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        for model, settings in SETTINGS.items():
            path = work / f"{model}.npz"
            succeed("trace", "--model", model, "--data", DATA, "--limit", 1, *settings, "-o", path)
            succeed("export", path, "-o", work / f"{model}_attentions.npz")
            trace = dict(np.load(path))
            ids = ",".join(map(str, trace["tokens"]))
            succeed("forward", "--model", model, "--ids", ids, "--attentions", "-o", work / "forward.npz")
            exported = load(work / f"{model}_attentions.npz")
            check_contents(model, trace, exported, np.load(work / "forward.npz")["attentions"])
        check_choices(work, work / "mini-mdm.npz")
        check_refusals(work, work / "mini-mdm.npz")
    print(f"{len(failures)} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
