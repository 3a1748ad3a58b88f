"""Salience a second time: the tenth of the keys that receives most, step by step, from whole matrices."""

import numpy as np


def top(values, null):
    """A mask of the tenth with the largest excess, or None: a flat row has no top."""
    excess = values - null
    if excess.std() < 1e-6 / len(excess):
        return None
    k = -(-len(excess) // 10)
    out = np.zeros(len(excess), dtype=bool)
    out[np.argsort(-excess, kind="stable")[:k]] = True
    return out


def agreement(wanted, found):
    """The share of the wanted keys that are found, beyond chance; either may be shorter than the other."""
    if wanted is None or found is None:
        return None
    n = max(len(wanted), len(found))
    wanted, found = [np.pad(x, (0, n - len(x))) for x in (wanted, found)]
    chance = found.mean()
    return (found[wanted].mean() - chance) / (1 - chance)


def pooled_scores(scores):
    padded = np.pad(scores, 1, constant_values=-np.inf)
    return np.max([padded[:-2], padded[1:-1], padded[2:]], axis=0)


def key_change(sample):
    """From the trace's own changes: no matrix holds the keys of steps."""
    t, numbers = sample.trace, sample.step_numbers
    if "key_change" not in t:
        return
    words = [p for p in sample.answer_positions()]
    for i, layer in enumerate(sample.layers):
        all_keys, on_top, rest, by_pass = [], [], [], {}
        for s in range(1, len(sample.steps)):
            before = sample.steps[s - 1][i].mean(axis=0)
            best = top(before, sample.flat(len(before)).mean(axis=0))
            if numbers[s] != numbers[s - 1] + 1 or best is None:
                continue
            change = t["key_change"][s, i, : len(before)].astype(np.float64)
            by_pass[numbers[s]] = change
            all_keys.extend(change)
            on_top.extend(change[best])
            rest.extend(change[~best])
        settling = []
        for p in words:
            commit = t["commit_step"][p - sample.P]
            later = [change[p] for n, change in by_pass.items() if n > commit + 1]
            if commit + 1 in by_pass and later:
                settling.append(by_pass[commit + 1][p] - np.mean(later))
        for part, values in [("", all_keys), ("top", on_top), ("rest", rest), ("settling", settling)]:
            if values:
                yield "key_change", layer, -1, part, np.mean(values)


def salience(sample):
    S, t = len(sample.steps), sample.trace
    if S == 0:
        return
    flats = [sample.flat(len(tokens)) for tokens in sample.step_tokens]
    writes = [sample.is_writing(s) for s in range(S)]

    def both(quantity, layer, part, values):
        for name, chosen in [(part, values), (f"{part} writing".strip(), [v for v, w in zip(values, writes) if w])]:
            known = [v for v in chosen if v is not None]
            if known:
                yield quantity, layer, -1, name, np.mean(known)

    for i, layer in enumerate(sample.layers):
        rows = {"read": [sample.read_rows(s) for s in range(S)], "all": [slice(None)] * S}
        of = lambda s, r: (sample.steps[s][i][r].mean(axis=0), flats[s][r].mean(axis=0))
        tops = [top(*of(s, slice(None))) for s in range(S)]
        yield from both("top_kept", layer, "mean", [agreement(tops[s], tops[s + 1]) for s in range(S - 1)])
        if sample.causal:  # the rows of a step stay as they were computed
            still = [None if best is None else 1.0 for best in tops[:-1]]
            yield from both("top_kept", layer, "fixed", still)
        else:
            fixed = []
            for s in range(S - 1):
                now, next_rows = rows["read"][s], rows["read"][s + 1]
                stay = set(next_rows) <= set(now)
                fixed.append(agreement(top(*of(s, next_rows)), top(*of(s + 1, next_rows))) if stay else None)
            yield from both("top_kept", layer, "fixed", fixed)
            in_prompt = lambda s, r: top(*(x[: sample.P] for x in of(s, r)))
            named = [agreement(in_prompt(s, slice(None)), in_prompt(s, rows["read"][s])) for s in range(S)]
            yield from both("mask_query_agreement", layer, "", named)
        if "received_heads" in t and not sample.is_null:
            heads = []
            for h in range(sample.H):
                by_step = []
                for s in range(S):
                    n = len(sample.step_tokens[s])
                    # A causal model's rows stay: its heads are in the finished pass.
                    whole = sample.A[i][h][:n, :n].mean(axis=0) if sample.causal else t["received_heads"][s, i, h, :n]
                    by_step.append(top(whole.astype(np.float64), flats[s].mean(axis=0)))
                heads.append([agreement(by_step[s], by_step[s + 1]) for s in range(S - 1)])
            for part, chosen in [("head", range(S - 1)), ("head writing", [s for s in range(S - 1) if writes[s]])]:
                known = [head[s] for head in heads for s in chosen if head[s] is not None]
                if known:
                    yield "top_kept", layer, -1, part, np.mean(known)
        if "score_means" in t and not sample.is_null and sample.mixer(i) == "attention":
            proxies = []
            for s in range(S):
                scores = t["score_means"][s, i, : len(sample.step_tokens[s])].astype(np.float64)
                proxies.append(top(pooled_scores(scores), 0))
            yield from both("proxy_recall", layer, "lag 0", [agreement(tops[s], proxies[s]) for s in range(S)])
            lagged = [agreement(tops[s + 1], proxies[s]) for s in range(S - 1)]
            yield from both("proxy_recall", layer, "lag 1", lagged)
        for part in ["read", "all"]:
            excesses = [np.subtract(*of(s, rows[part][s])) for s in range(S)]
            peaks = [e.argmax() if e.std() >= 1e-6 / len(e) else None for e in excesses]
            for name, chosen in [(part, peaks), (f"{part} writing", [p for p, w in zip(peaks, writes) if w])]:
                known = [p for p in chosen if p is not None]
                if len(known) >= 2:
                    yield "peak_spread", layer, -1, name, np.std(known) / sample.N
