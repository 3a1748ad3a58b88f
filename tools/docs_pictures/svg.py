"""Draws the small pictures of docs/explained.md as SVG, in the colours of buoy/draw/theme.cc. Standard library only."""
import html

SERIES = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]
INK, SOFT, AXIS, GRID, BLANK, MARK = "#1F2430", "#5B6270", "#8A909C", "#E7E9ED", "#E4E5E8", "#D55E00"
TIDE = ["#F6F9FB", "#D9E8F0", "#ACD0E1", "#78B0D0", "#4A8DBB", "#2A689F", "#17447A", "#0B2450"]


def tide(t):
    """The colour of the scale at t in [0, 1]."""
    place = min(max(t, 0.0), 1.0) * (len(TIDE) - 1)
    i = min(int(place), len(TIDE) - 2)
    a, b = ([int(c[k:k + 2], 16) for k in (1, 3, 5)] for c in TIDE[i:i + 2])
    return "#" + "".join(f"{round(x + (y - x) * (place - i)):02X}" for x, y in zip(a, b))


class Picture:
    """A drawing of `width` × `height` points, white behind."""

    def __init__(self, width, height, title):
        self.width, self.height, self.title, self.parts = width, height, title, []

    def rect(self, x, y, w, h, fill, stroke="", extra=""):
        outline = f' stroke="{stroke}"' if stroke else ""
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" fill="{fill}"{outline}{" " + extra if extra else ""}/>')

    def line(self, x1, y1, x2, y2, color=AXIS, width=0.8, dash=""):
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" stroke-width="{width}"{dashes}/>')

    def path(self, points, color, width=1.6, dash=""):
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polyline points="{text}" fill="none" stroke="{color}" stroke-width="{width}"{dashes}/>')

    def area(self, points, color):
        text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polygon points="{text}" fill="{color}" fill-opacity="0.18"/>')

    def dot(self, x, y, color, r=2.4, hollow=False):
        fill = "#FFFFFF" if hollow else color
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}" fill="{fill}" stroke="{color}" stroke-width="1.2"/>')

    def text(self, x, y, what, size=10, color=INK, anchor="start", turn=0, weight="normal"):
        turned = f' transform="rotate({turn} {x:.1f} {y:.1f})"' if turn else ""
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{color}" text-anchor="{anchor}" '
                          f'font-weight="{weight}"{turned}>{html.escape(what)}</text>')

    def save(self, path):
        body = "\n".join(self.parts)
        path.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" '
                        f'height="{self.height}" role="img" font-family="DejaVu Sans, Verdana, sans-serif">\n'
                        f'<title>{html.escape(self.title)}</title>\n'
                        f'<rect width="{self.width}" height="{self.height}" fill="#FFFFFF"/>\n{body}\n</svg>\n')


def short(value):
    """A tick's label: as few digits as say it, with a true minus sign."""
    return f"{value:.4g}".replace("-", "−")


class Axes:
    """A plot's frame: data to points. Ticks are given."""

    def __init__(self, picture, box, x_range, y_range):
        self.p, self.box, self.xr, self.yr = picture, box, x_range, y_range

    def x(self, value):
        left, _, width, _ = self.box
        return left + (value - self.xr[0]) / (self.xr[1] - self.xr[0]) * width

    def y(self, value):
        _, top, _, height = self.box
        return top + height - (value - self.yr[0]) / (self.yr[1] - self.yr[0]) * height

    def frame(self, x_title, y_title, x_ticks, y_ticks, x_labels=None):
        left, top, width, height = self.box
        for tick in y_ticks:
            self.p.line(left, self.y(tick), left + width, self.y(tick), GRID)
            self.p.text(left - 4, self.y(tick) + 3, short(tick), 8.5, SOFT, "end")
        for i, tick in enumerate(x_ticks):
            self.p.text(self.x(tick), top + height + 12, x_labels[i] if x_labels else short(tick), 8.5, SOFT, "middle")
        self.p.line(left, top + height, left + width, top + height)
        self.p.text(left + width / 2, top + height + 26, x_title, 9.5, INK, "middle")
        self.p.text(left - 30, top + height / 2, y_title, 9.5, INK, "middle", -90)

    def curve(self, xs, ys, color, dash="", dots=True):
        points = [(self.x(a), self.y(b)) for a, b in zip(xs, ys)]
        self.p.path(points, color, dash=dash)
        for x, y in points if dots else []:
            self.p.dot(x, y, color, 1.8)

    def band(self, xs, lows, highs, color):
        up = [(self.x(a), self.y(b)) for a, b in zip(xs, highs)]
        down = [(self.x(a), self.y(b)) for a, b in zip(xs, lows)]
        self.p.area(up + down[::-1], color)

    def bar(self, x, value, color, half=0.3, low=None, high=None, opacity=1.0):
        zero, end = self.y(max(self.yr[0], 0)), self.y(value)
        left, right = self.x(x - half), self.x(x + half)
        self.p.rect(left, min(zero, end), right - left, abs(zero - end), color, extra=f'fill-opacity="{opacity}"')
        if low is not None:
            self.p.line(self.x(x), self.y(low), self.x(x), self.y(high), INK, 1)


def legend(picture, x, entries):
    """Lines (colour, dash, name) side by side, above the plot."""
    for color, dash, name in entries:
        picture.line(x, 11, x + 16, 11, color, 2.4, dash)
        picture.text(x + 20, 14, name, 9, INK)
        x += 36 + 5.6 * len(name)


def heat(picture, box, rows, high, marks=(), fill=tide):
    """A matrix as cells; `marks` are (row, column) outlined."""
    left, top, width, height = box
    h, w = height / len(rows), width / len(rows[0])
    picture.rect(left, top, width, height, fill(0))
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            if value is None or value / high > 0.03:  # fainter cells look like the ground: leave them out of the file
                picture.rect(left + j * w, top + i * h, w + 0.05, h + 0.05, BLANK if value is None else fill(value / high))
    for i, j in marks:
        picture.rect(left + j * w + 0.4, top + i * h + 0.4, w - 0.8, h - 0.8, "none", MARK, 'stroke-width="1.1"')
    picture.rect(left, top, width, height, "none", AXIS, 'stroke-width="0.6"')
