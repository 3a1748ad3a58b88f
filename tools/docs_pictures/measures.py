"""Pictures of the numbers made from attention and answers: curves over layers, scores, stress, verdicts."""
import random

from svg import AXIS, BLANK, INK, MARK, SERIES, SOFT, Axes, Picture, heat, legend

COLORS = SERIES[:2]


def nice(top, steps=4):
    """Round ticks from 0 to about `top`."""
    raw = top / steps
    size = next(s * 10 ** e for e in range(-6, 9) for s in (1, 2, 5) if s * 10 ** e >= raw)
    return [i * size for i in range(int(top / size + 1e-9) + 1)]


def by_layer(summaries, models, quantity, part, title, y_title, note=""):
    p = Picture(430, 200, title)
    curves = {m: summaries.layers(m, quantity, part) for m in models}
    values = [row["hi"] if row["hi"] is not None else row["mean"] for _, rows in curves.values() for row in rows]
    last = max(max(layers) for layers, _ in curves.values())
    top = max(values) * 1.08
    axes = Axes(p, (52, 26, 360, 126), (-0.3, last + 0.3), (0, top))
    axes.frame("layer", y_title, range(0, last + 1, 2), nice(top))
    entries = []
    for model, color in zip(models, COLORS):
        layers, rows = curves[model]
        if all(row["lo"] is not None for row in rows):
            axes.band(layers, [row["lo"] for row in rows], [row["hi"] for row in rows], color)
        axes.curve(layers, [row["mean"] for row in rows], color)
        if all(row["null"] is not None for row in rows):
            axes.curve(layers, [row["null"] for row in rows], color, "4 3", False)
        entries.append((color, "", model))
    legend(p, 52, entries + ([(SOFT, "4 3", "null of each")] if note == "null" else []))
    return p


def attribution(summaries, model):
    p = Picture(430, 205, "The lead of the anchors in score, split into direction, length and both together")
    parts = [("angle", SERIES[0]), ("scale", SERIES[1]), ("covariance", "#C9CDD4")]
    data = [(name, color, summaries.layers(model, f"attribution_{name}")) for name, color in parts]
    last = max(max(layers) for _, _, (layers, _) in data)
    sums = [row["mean"] for _, _, (_, rows) in data for row in rows]
    axes = Axes(p, (52, 26, 360, 130), (-0.6, last + 0.6), (min(sums + [0]) * 1.15, max(sums) * 1.15))
    axes.frame("layer", "part of Δ score", range(0, last + 1, 2), [t for t in nice(max(sums))])
    zero = axes.y(0)
    p.line(52, zero, 412, zero, AXIS)
    for k, (name, color, (layers, rows)) in enumerate(data):
        for layer, row in zip(layers, rows):
            x, y = axes.x(layer - 0.27 + 0.27 * k), axes.y(row["mean"])
            p.rect(x - 3.6, min(zero, y), 7.2, abs(zero - y), color)
    legend(p, 52, [(SERIES[0], "", "angle"), (SERIES[1], "", "scale"), ("#C9CDD4", "", "both together")])
    return p


def tasks(rows, model):
    """From the figure's own table: panel, row, column, value; a pair may stand there once."""
    mine = [r for r in rows if r["panel"].startswith(model)]
    names = sorted({r[side] for r in mine for side in ("row", "column")})
    values = {(name, name): 0.0 for name in names}
    for r in mine:
        values[r["row"], r["column"]] = values[r["column"], r["row"]] = float(r["value"])
    high = max(v for v in values.values() if v is not None)
    p = Picture(360, 230, "How far apart the anchor profiles of the tasks lie")
    heat(p, (80, 22, 260, 160), [[values.get((a, b)) for b in names] for a in names], high)
    for i, a in enumerate(names):
        p.text(74, 22 + 160 * (i + 0.6) / len(names), a, 9, INK, "end")
        p.text(80 + 260 * (i + 0.5) / len(names), 196, a, 9, SOFT, "middle")
        for j, b in enumerate(names):
            value = values.get((a, b))
            if value is not None:
                dark = value / high > 0.55
                p.text(80 + 260 * (j + 0.5) / len(names), 25 + 160 * (i + 0.5) / len(names), f"{value:.2f}", 8.5,
                       "#FFFFFF" if dark else INK, "middle")
    p.text(210, 216, f"{model}: Jensen–Shannon divergence, nats", 9, SOFT, "middle")
    return p


def gains(scores, models):
    p = Picture(430, 205, "Exact match without and with passages, and what passages add")
    axes = Axes(p, (48, 14, 365, 142), (-0.6, 3.6), (0, 112))
    cells = {(r["model"], r["passages"]): r for r in scores if r["column"] == "mean of items" and r["score"] == "em"}
    axes.frame("", "exact match, %", [0, 1, 2, 3], [0, 25, 50, 75, 100],
               [f"{m}, {c}" for m in models for c in ("none", "given")])
    for k, model in enumerate(models):
        for i, condition in enumerate(("none", "given")):
            row = cells[model, condition]
            value, error = float(row["mean"]), float(row["standard_error"])
            axes.bar(2 * k + i, value, COLORS[k], 0.32, value - error, value + error, 0.45 if i == 0 else 1)
        gain = cells[model, "given"]
        text = f"gain {float(gain['gain']):+.0f} [{float(gain['gain_lo']):.0f}, {float(gain['gain_hi']):.0f}]"
        p.text(axes.x(2 * k + 0.5), axes.y(106), text.replace("-", "−"), 9, INK, "middle")
    return p


def stress(rows, models):
    """From figures/stress_…_curves.csv: panel, series, x, y, lo, hi."""
    p = Picture(430, 200, "Exact match under growing stress; the slope is the loss per unit")
    xs = sorted({float(r["x"]) for r in rows})
    axes = Axes(p, (48, 26, 365, 126), (xs[0] - 0.3, xs[-1] + 0.3), (0, 108))
    axes.frame("place of the gold passage", "exact match, %", xs, [0, 25, 50, 75, 100])
    for model, color in zip(models, COLORS):
        mine = [r for r in rows if r["series"] == model]
        x, y = [float(r["x"]) for r in mine], [float(r["y"]) for r in mine]
        axes.band(x, [float(r["lo"]) for r in mine], [float(r["hi"]) for r in mine], color)
        axes.curve(x, y, color)
    legend(p, 52, [(c, "", m) for m, c in zip(models, COLORS)])
    return p


def interventions(rows, model):
    """From figures/interventions.csv: the change of exact match, the control beside it."""
    groups = list(dict.fromkeys(r["group"] for r in rows))
    values = {(r["series"], r["group"]): r for r in rows if r["value"]}
    p = Picture(490, 205, "Change of exact match under an intervention and under its control")
    axes = Axes(p, (52, 26, 420, 130), (-0.6, len(groups) - 0.4), (-110, 10))
    axes.frame("", "change, points", range(len(groups)), [-100, -75, -50, -25, 0], groups)
    zero = axes.y(0)
    p.line(52, zero, 472, zero, AXIS)
    for g, group in enumerate(groups):
        for series, color, shift in ((model, COLORS[0], -0.17), (f"{model}, control", "#C9CDD4", 0.17)):
            row = values.get((series, group))
            if row:
                x, y = axes.x(g + shift), axes.y(float(row["value"]))
                p.rect(x - 11, zero, 22, max(y - zero, 1), color)
                if row["lo"]:
                    p.line(x, axes.y(float(row["lo"])), x, axes.y(float(row["hi"])), INK)
    legend(p, 52, [(COLORS[0], "", model), ("#C9CDD4", "", "its control")])
    return p


def coverage(seed=1, runs=1500, resamples=400):
    """How often a percentile interval of 95 % holds the true mean, for samples from a normal distribution."""
    draw, found, sizes = random.Random(seed), [], [3, 5, 10, 20, 60]
    for n in sizes:
        hits = 0
        for _ in range(runs):
            sample = [draw.gauss(0, 1) for _ in range(n)]
            means = sorted(sum(draw.choices(sample, k=n)) / n for _ in range(resamples))
            hits += means[int(0.025 * resamples)] <= 0 <= means[int(0.975 * resamples) - 1]
        found.append(100 * hits / runs)
    p = Picture(400, 195, "Percentile intervals are too narrow when samples are few")
    axes = Axes(p, (52, 14, 330, 132), (-0.4, len(sizes) - 0.6), (70, 100))
    axes.frame("number of samples n", "holds the truth, %", range(len(sizes)), [70, 80, 90, 95, 100], [str(n) for n in sizes])
    p.line(52, axes.y(95), 382, axes.y(95), MARK, 1, "4 3")
    axes.curve(range(len(sizes)), found, COLORS[0])
    for i, value in enumerate(found):
        p.text(axes.x(i), axes.y(value) + 14, f"{value:.0f}", 9, INK, "middle")
    return p


def verdicts():
    """The rule, drawn: where the interval lies against δ."""
    p = Picture(430, 150, "A verdict is where the interval of value − null lies against δ")
    axes = Axes(p, (120, 26, 290, 90), (-1, 3), (0, 3))
    p.line(axes.x(0), 20, axes.x(0), 118, AXIS)
    p.line(axes.x(1), 20, axes.x(1), 118, MARK, 1, "4 3")
    p.text(axes.x(0), 130, "null", 9, SOFT, "middle")
    p.text(axes.x(1), 130, "δ", 10, MARK, "middle")
    p.text(axes.x(2.2), 130, "as claimed →", 9, SOFT, "middle")
    for i, (name, low, value, high) in enumerate([("supported", 1.3, 1.8, 2.4), ("cannot tell", 0.4, 1.1, 1.9), ("not supported", -0.5, 0.1, 0.7)]):
        y = axes.y(2.5 - i)
        p.text(112, y + 3, name, 9.5, INK, "end")
        p.line(axes.x(low), y, axes.x(high), y, COLORS[0], 2)
        p.dot(axes.x(value), y, COLORS[0], 3.4, name == "cannot tell")
    return p
