"""Pictures of attention itself: how an answer is written, received attention, anchors, drift, heads, flow."""
from svg import AXIS, BLANK, INK, MARK, SERIES, SOFT, Axes, Picture, heat, legend

MASKED, CAUSAL = SERIES[0], SERIES[1]
EPSILON = 3


def uniform(trace):
    """r⁰ of every position of the finished sequence."""
    n = len(trace["tokens"])
    if trace.header["kind"] == "masked":
        return [1 / n] * n
    tails, total = [0.0] * n, 0.0
    for j in range(n - 1, -1, -1):
        total += 1 / (j + 1)
        tails[j] = total / n
    return tails


def anchors_of(received, null):
    """The rule `excess`: positions, and the excess that they pass."""
    excess = [r - z for r, z in zip(received, null)]
    mean = sum(excess) / len(excess)
    std = (sum((e - mean) ** 2 for e in excess) / len(excess)) ** 0.5
    return [j for j, e in enumerate(excess) if e > EPSILON * std], EPSILON * std


def mean_heads(trace, layer):
    heads = trace["finished_received"][layer]
    return [sum(heads[h][j] for h in range(len(heads))) / len(heads) for j in range(heads.shape[1])]


def label(trace, j):
    return trace["token_texts"][j].strip() or "␣"


def writing(generated, tokens):
    """Steps × positions of one answer: masks, words, EOS. `generated` is the JSON of buoy generate --history."""
    length, history = len(generated["ids"]), generated["history"]
    p = Picture(520, 34 + 22 * len(history), "An answer is written in any order, the surest positions first")
    p.text(70, 14, "positions after the prompt", 9.5, SOFT)
    for t, sequence in enumerate(history):
        p.text(62, 38 + 22 * t, f"step {t}", 9, SOFT, "end")
        for i, token in enumerate(sequence[-length:]):
            x, y = 70 + 55 * i, 24 + 22 * t
            new = generated["commit_step"][i] == t
            masked = generated["commit_step"][i] > t
            p.rect(x, y, 52, 19, BLANK if masked else "#FFFFFF", MARK if new else AXIS, 'rx="2"')
            p.text(x + 26, y + 13, "mask" if masked else tokens[token], 9, SOFT if masked else INK, "middle")
    return p


def received(forward, names):
    """One head's matrix and, under it, the mean of every column."""
    p = Picture(560, 300, "Received attention is the mean of a column of the attention matrix")
    for k, (npz, layer, head, title) in enumerate(forward):
        matrix = npz["attentions"][layer][head]
        n, left = len(matrix), 46 + 270 * k
        rows = [list(matrix[i].values) for i in range(n)]
        heat(p, (left, 26, 200, 200), rows, 0.5)
        if all(rows[0][j] == 0 for j in range(1, n)):  # causal: what no row may see
            p.area([(left + 200 / n, 26), (left + 200, 26), (left + 200, 226 - 200 / n)], SOFT)
        p.text(left + 100, 18, title, 9.5, INK, "middle")
        columns = [sum(row[j] for row in rows) / n for j in range(n)]
        axes = Axes(p, (left, 236, 200, 36), (-0.5, n - 0.5), (0, max(columns)))
        for j, value in enumerate(columns):
            axes.bar(j, value, (MASKED, CAUSAL)[k], 0.4)
        p.line(left, 272, left + 200, 272)
        p.text(left - 6, 130, "query i", 9, SOFT, "middle", -90)
        p.text(left + 100, 286, "key j: mean of its column = rⱼ", 9, SOFT, "middle")
    return p


def null(causal, layer):
    p = Picture(420, 210, "What uniform attention gives each key: flat for a masked model, a slope for a causal one")
    zero = uniform(causal)
    n = len(zero)
    measured = mean_heads(causal, layer)
    axes = Axes(p, (52, 26, 350, 138), (0, n), (0, 1.05 * n * max(measured + zero)))
    axes.frame("position j", "r × N", [0, n // 4, n // 2, 3 * n // 4, n - 1], [0, 1, 2, 4, 6])
    axes.curve(range(n), [r * n for r in measured], CAUSAL, dots=False)
    axes.curve(range(n), [z * n for z in zero], INK, "4 3", False)
    axes.curve([0, n], [1, 1], MASKED, "4 3", False)
    legend(p, 40, [(CAUSAL, "", f"mini-arm, layer {layer}"), (INK, "4 3", "r⁰, causal mask"), (MASKED, "4 3", "r⁰, no mask")])
    return p


def anchors(trace, layer):
    n, got, zero = len(trace["tokens"]), mean_heads(trace, layer), uniform(trace)
    found, threshold = anchors_of(got, zero)
    top = max(got) * n * 1.15
    p = Picture(520, 215, "Anchors are the keys whose excess over chance passes three deviations")
    axes = Axes(p, (48, 16, 455, 150), (0, n), (0, top))
    axes.frame("position j", "r × N", [0, n // 4, n // 2, 3 * n // 4, n - 1], [0, 1, round(top / 2), round(top)])
    for j, r in enumerate(got):
        p.line(axes.x(j), axes.y(0), axes.x(j), axes.y(r * n), MARK if j in found else "#78B0D0", 1.6)
    level = (zero[0] + threshold) * n
    p.line(axes.x(0), axes.y(level), axes.x(n), axes.y(level), INK, 0.9, "4 3")
    p.text(axes.x(n), axes.y(level) - 4, "r⁰ + 3 std", 8.5, SOFT, "end")
    last = -99
    for j in sorted(found, key=lambda j: -got[j])[:7]:
        if abs(j - last) > 6:
            p.text(axes.x(j), axes.y(got[j] * n) - 4, label(trace, j), 8.5, MARK, "middle")
            last = j
    return p


def sharpest_layer(trace):
    """The layer whose strongest key stands furthest above chance."""
    return max(range(len(trace["finished_received"])), key=lambda layer: max(mean_heads(trace, layer)))


def step_sets(trace, layer):
    """Received attention of every step over the read rows, in multiples of 1/N, and the anchors."""
    n, rows, sets = len(trace["tokens"]), [], []
    for t in range(len(trace["steps"])):
        got = list(trace["received_read"][t][layer].values)
        rows.append([r * n for r in got])
        sets.append(anchors_of(got, [1 / n] * n)[0])
    return rows, sets


def drift(trace, layer):
    rows, sets = step_sets(trace, layer)
    first = max(0, min(j for s in sets for j in s) - 12)  # what stands before attracts nothing here
    p = Picture(560, 50 + 13 * len(rows), "Received attention step by step; outlined cells are anchors")
    heat(p, (60, 22, 485, 13 * len(rows)), [row[first:] for row in rows], 20, [(t, j - first) for t, s in enumerate(sets) for j in s])
    p.text(300, 14, f"layer {layer}: darker = more attention, 20 × chance at the darkest", 9.5, INK, "middle")
    for t in range(0, len(rows), 3):
        p.text(55, 32 + 13 * t, f"step {t}", 8.5, SOFT, "end")
    p.text(300, 42 + 13 * len(rows), f"positions {first} to {len(rows[0]) - 1}; the last {len(trace['commit_step'])} are generated", 9.5, SOFT, "middle")
    return p


def turnover(trace, layer):
    """Two consecutive steps whose sets differ, as words."""
    _, sets = step_sets(trace, layer)
    pairs = [(1 - len(set(a) & set(b)) / len(set(a) | set(b)), t) for t, (a, b) in enumerate(zip(sets, sets[1:])) if a and b]
    value, t = sorted(pairs)[int(len(pairs) * 0.7)]
    before, after = sets[t], sets[t + 1]
    every = sorted(set(before) | set(after))
    cell = min(80, 470 / len(every))
    p = Picture(560, 112, "Turnover compares the anchor sets of two steps")
    for row, (name, those) in enumerate([(f"step {t}", before), (f"step {t + 1}", after)]):
        p.text(60, 34 + 26 * row, name, 9.5, SOFT, "end")
        for i, j in enumerate(every):
            there, both = j in those, j in before and j in after
            p.rect(68 + cell * i, 20 + 26 * row, cell - 4, 20, (MASKED if both else MARK) if there else "#FFFFFF", AXIS, 'rx="2"')
            if there:
                p.text(66 + cell * (i + 0.5), 34 + 26 * row, label(trace, j)[:10], 8.5, "#FFFFFF", "middle")
    both = len(set(before) & set(after))
    p.text(68, 94, f"in both: {both}, in either: {len(every)}; turnover 1 − {both}/{len(every)} = {value:.2f}", 10, INK)
    return p


def copying(summaries, models):
    p = Picture(520, 180, "Retrieval heads: layers by heads, share of answer tokens that a head copies from the evidence")
    for k, model in enumerate(models):
        scores = summaries.heads(model, "copy", "all")
        layers, heads = max(l for l, _ in scores) + 1, max(h for _, h in scores) + 1
        left = 50 + 245 * k
        heat(p, (left, 26, 210, 110), [[scores.get((l, h)) for l in range(layers)] for h in range(heads)], 1)
        p.text(left + 105, 18, model, 9.5, INK, "middle")
        p.text(left + 105, 164, "layer", 9, SOFT, "middle")
        p.text(left - 8, 81, "head", 9, SOFT, "middle", -90)
        for l in range(0, layers, 3):
            p.text(left + 210 * (l + 0.5) / layers, 150, str(l), 8.5, SOFT, "middle")
    return p


def dormant(summaries, models):
    p = Picture(400, 230, "Dormant heads take one key and put out little")
    axes = Axes(p, (52, 26, 330, 158), (0, 1), (0, 1.1))
    axes.frame("sink share: largest rⱼ of the head", "drain", [0, 0.25, 0.5, 0.75, 1], [0, 0.2, 0.5, 1])
    p.rect(axes.x(0.5), axes.y(0.2), axes.x(1) - axes.x(0.5), axes.y(0) - axes.y(0.2), BLANK)
    p.text(axes.x(0.98), axes.y(0.22), "dormant", 9, SOFT, "end")
    for model, color in zip(models, (MASKED, CAUSAL)):
        sinks, drains = summaries.heads(model, "sink_share"), summaries.heads(model, "drain")
        for key, sink in sinks.items():
            axes.p.dot(axes.x(sink), axes.y(min(drains[key], 1.1)), color, 2, True)
    legend(p, 52, [(MASKED, "", models[0]), (CAUSAL, "", models[1])])
    return p


def flow(trace, layer):
    """The flow of one layer on the finished sequence, gold outlined."""
    names, matrix = trace["region_names"], trace["finished_flow"][layer]
    rows = [list(matrix[i].values) for i in range(len(matrix))]
    gold = [i for i in range(len(names)) if trace["region_gold"][i]]
    p = Picture(380, 300, "Share of its attention that every region sends into every other")
    heat(p, (90, 20, 270, 220), rows, 0.6, [(i, g) for g in gold for i in range(len(rows)) if names[i] == "Answer"])
    for i in range(len(names)):
        p.text(84, 20 + 220 * (i + 0.6) / len(names), names[i], 9, INK, "end")
        p.text(90 + 270 * (i + 0.5) / len(names), 252, names[i], 8.5, MARK if i in gold else SOFT, "end", -45)
    p.text(225, 14, f"layer {layer}: from the row into the column", 9.5, INK, "middle")
    return p


def committed(traces):
    """How many tokens of the answer, and how many EOS, each step wrote."""
    words, ends = {}, {}
    for trace in traces:
        start, eos, done = trace.header["prompt_length"], None, False
        for i in range(len(trace["commit_step"])):
            eos_here = trace["token_classes"][start + i] in ("eos/pad", "eos")
            step = trace["commit_step"][i]
            (ends if done else words).setdefault(step, 0)
            if done:
                ends[step] += 1
            else:
                words[step] += 1
            done = done or eos_here
    steps = range(max([*words, *ends]) + 1)
    most = max(words.get(t, 0) + ends.get(t, 0) for t in steps)
    p = Picture(430, 200, "The first denoising steps write much of the padding behind the answer, the last the answer")
    axes = Axes(p, (48, 26, 365, 126), (-0.6, len(steps) - 0.4), (0, most * 1.05))
    axes.frame("denoising step", "positions written", list(steps)[::3], [0, most // 2, most])
    for t in steps:
        axes.bar(t, words.get(t, 0) + ends.get(t, 0), "#C9CDD4", 0.38)
        axes.bar(t, words.get(t, 0), MASKED, 0.38)
    legend(p, 52, [(MASKED, "", "answer, up to its EOS"), ("#C9CDD4", "", "after it")])
    return p
