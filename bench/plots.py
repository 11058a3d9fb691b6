"""Pictures of the measurements of bench/run, as self-contained SVG files.

A picture is made from the JSON of one part, and only if that part has a result. Bars are medians with a line from the
minimum to the maximum. The colour distinguishes ours from the others, the ceiling and the bare pipeline.
"""

import math
import statistics
from xml.sax.saxutils import escape

from population import population_of

WIDTH, LABELS, RIGHT = 900, 330, 130  # the picture, the room for names on its left, for numbers on its right
LINE, BAR = 24, 15  # from one row to the next, and how thick a bar is
PLOT_HEIGHT, LEGEND = 380, 170  # of curves, and the room for their names on the right
OURS, OTHERS, CEILING, WAY = "#c2410c", "#64748b", "#cbd5e1", "#0f766e"
INK, FAINT, CALM = "#1f2937", "#e5e7eb", "#2563eb"


class Drawing:
    """Elements from top to bottom; `height` grows with what is drawn."""

    def __init__(self, title, subtitle):
        self.elements, self.height = [], 64
        self.text(16, 28, title, size=17, weight="bold")
        self.text(16, 48, subtitle, size=12)

    def text(self, x, y, words, size=12, anchor="start", weight="normal"):
        self.elements.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" '
                             f'font-weight="{weight}" fill="{INK}">{escape(words)}</text>')

    def rect(self, x, y, width, height, colour):
        self.elements.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}" height="{height:.1f}" '
                             f'fill="{colour}"/>')

    def line(self, points, colour=INK, width=1.0, dash=""):
        places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.elements.append(f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="{width}" '
                             f'stroke-dasharray="{dash}"/>')

    def dot(self, x, y, colour):
        self.elements.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>')

    def svg(self):
        head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{self.height}" '
                f'viewBox="0 0 {WIDTH} {self.height}" font-family="sans-serif">')
        paper = f'<rect width="{WIDTH}" height="{self.height}" fill="white"/>'
        return "\n".join([head, paper, *self.elements, "</svg>\n"])


# ---- scales ----------------------------------------------------------------------------------------------------


class Scale:
    """Converts values to positions. A logarithmic scale begins and ends with a power of ten."""

    def __init__(self, values, begin, end, is_log=False):
        self.begin, self.end, self.is_log = begin, end, is_log
        if is_log:
            self.low = math.floor(math.log10(min(values)))
            self.high = max(math.ceil(math.log10(max(values))), self.low + 1)
        else:
            self.low, self.high = 0, max(*values, 1e-9) * 1.02

    def at(self, value):
        if self.is_log:
            value = math.log10(max(value, 10 ** self.low))
        return self.begin + (self.end - self.begin) * (value - self.low) / (self.high - self.low)

    def ticks(self):
        if self.is_log:
            return [10 ** power for power in range(self.low, self.high + 1)]
        size = 10 ** math.floor(math.log10(self.high))
        step = next(size * part for part in (0.1, 0.2, 0.5, 1, 2) if self.high / (size * part) <= 8)
        return [step * count for count in range(int(self.high / step) + 1)]


def number_text(value):
    if value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2g}"


# ---- kinds of pictures -----------------------------------------------------------------------------------------


class Bar:
    def __init__(self, label, values, colour):
        self.label, self.values, self.colour = label, values, colour


def bars(title, subtitle, groups, is_log=False):
    """`groups`: (heading, bars). All bars have the same scale."""
    drawing = Drawing(title, subtitle)
    values = [value for _, group in groups for bar in group for value in bar.values if value > 0]
    scale = Scale(values, LABELS, WIDTH - RIGHT, is_log)
    top = drawing.height
    marks = Drawing("", "")  # bars are drawn over the lines of the scale
    for heading, group in groups:
        if heading:
            marks.text(16, drawing.height + 16, heading, size=13, weight="bold")
            drawing.height += LINE
        for bar in group:
            draw_bar(marks, scale, drawing.height, bar)
            drawing.height += LINE
        drawing.height += LINE / 2
    for tick in scale.ticks():
        drawing.line([(scale.at(tick), top), (scale.at(tick), drawing.height)], FAINT)
        drawing.text(scale.at(tick), drawing.height + 14, number_text(tick), size=11, anchor="middle")
    drawing.elements += marks.elements[2:]
    drawing.height += 28
    return drawing.svg()


def draw_bar(drawing, scale, y, bar):
    median, middle = statistics.median(bar.values), y + BAR / 2
    drawing.text(LABELS - 8, y + 12, bar.label, anchor="end")
    drawing.rect(scale.begin, y, scale.at(median) - scale.begin, BAR, bar.colour)
    drawing.line([(scale.at(min(bar.values)), middle), (scale.at(max(bar.values)), middle)], INK, 1.5)
    drawing.text(scale.at(max(bar.values)) + 6, y + 12, number_text(median) if median >= 10 else f"{median:.2f}")


def curves(title, subtitle, x_name, series):
    """`series`: (name, colour, dash, points); x begins at zero, y is logarithmic."""
    drawing = Drawing(title, subtitle)
    top, bottom, right = drawing.height, drawing.height + PLOT_HEIGHT, WIDTH - LEGEND
    points = [point for *_, line in series for point in line]
    x = Scale([point[0] for point in points], 70, right)
    y = Scale([point[1] for point in points], bottom, top, is_log=True)
    for tick in x.ticks():
        drawing.line([(x.at(tick), top), (x.at(tick), bottom)], FAINT)
        drawing.text(x.at(tick), bottom + 16, number_text(tick), size=11, anchor="middle")
    for tick in y.ticks():
        drawing.line([(70, y.at(tick)), (right, y.at(tick))], FAINT)
        drawing.text(64, y.at(tick) + 4, number_text(tick), size=11, anchor="end")
    for number, (name, colour, dash, line) in enumerate(series):
        places = [(x.at(value), y.at(height)) for value, height in sorted(line)]
        drawing.line(places, colour, 2, dash)
        for place in places:
            drawing.dot(*place, colour)
        at = top + 10 + 20 * number
        drawing.line([(right + 16, at), (right + 46, at)], colour, 2, dash)
        drawing.text(right + 54, at + 4, name)
    drawing.text((70 + right) / 2, bottom + 36, x_name, anchor="middle")
    drawing.height = bottom + 52
    return drawing.svg()


# ---- the pictures ----------------------------------------------------------------------------------------------

OPERATIONS = {"delta": "durable deltas a second", "get": "reads of a pass a second"}


def values_of(row, field):
    return [sample[field] for sample in row["samples"] if field in sample]


def colour_of(name):
    return {"stampede": OURS, "ceiling": CEILING}.get(name, OTHERS)


def about(result):
    return ", ".join(result["facts"][name] for name in ("machine", "disk", "commit", "begun"))


def peers_picture(result):
    groups = [(OPERATIONS[op], [Bar(row["system"], values_of(row, "requests_per_s"), colour_of(row["system"]))
                                for row in result["rows"] if row["op"] == op]) for op in OPERATIONS]
    passes = result["rows"][0]["passes"]
    return bars(f"The same work by others, {passes:,} passes", about(result), groups)


def colour_of_row(row):
    return WAY if row["name"].startswith("pipeline") else OURS


def rates_picture(result):
    sizes = sorted({population_of(row) for row in result["rows"]})
    groups = [(size.title, [
        Bar(row["name"], values, colour_of_row(row)) for row in result["rows"]
        if population_of(row) == size and (values := values_of(row, "of_ceiling"))]) for size in sizes]
    names = list(dict.fromkeys(row["conditions"] for row in result["variations"]))
    groups += [(f"{name}, {sizes[0].title}" if sizes else name, [
        Bar(row["name"], values, colour_of_row(row)) for row in result["variations"]
        if row["conditions"] == name and (values := values_of(row, "of_ceiling"))]) for name in names]
    return bars("Requests, as a share of the ceiling of the HTTP library", about(result), groups)


def lists_picture(result):
    groups = [("", [Bar(name, row[system], colour_of(system))
                    for system, name in (("stampede", query), ("postgresql", "PostgreSQL")) if row[system]])
              for query, row in result["lists"].items()]
    return bars("A page of a list and its count, in milliseconds (logarithmic)", about(result), groups, is_log=True)


CURVES = {"p50": CALM, "p99": OURS, "p99_9": OTHERS, "pipeline_p99": WAY, "ceiling_p99": CEILING}
CURVE_NAMES = {"p99_9": "p99.9", "pipeline_p99": "pipeline p99", "ceiling_p99": "ceiling p99"}
DASHES = ("", "6 4", "2 3")


def curve_picture(result, size):
    """Latency from the instant when a request was due, against the offered rate; one line for each number of
    connections."""
    crowds = sorted({step["connections"] for step in size["steps"]})
    series = []
    for crowd, dash in zip(crowds, DASHES):
        for name, colour in CURVES.items():
            line = [(statistics.median(values_of(step, "offered")), statistics.median(values) / 1e3)
                    for step in size["steps"]
                    if step["connections"] == crowd and (values := values_of(step, name)) and all(values)]
            if line:
                series.append((f"{CURVE_NAMES.get(name, name)} over {crowd:,}", colour, dash, line))
    return curves(f"Durable deltas, open loop, {size['passes']:,} passes: milliseconds (logarithmic)", about(result),
                  "offered, a second", series)


PICTURES = {
    "rates": lambda result: {"rates": rates_picture(result)},
    "peers": lambda result: {"peers": peers_picture(result)},
    "curve": lambda result: {f"curve-{size['passes']}" if at else "curve": curve_picture(result, size)
                             for at, size in enumerate(result["sizes"])},
    "lists": lambda result: {"lists": lists_picture(result)},
}


def write(directory, results):
    """`results` maps the part's name to its JSON. Returns the paths of the files."""
    paths = []
    for part in (part for part in PICTURES if part in results):
        for name, picture in PICTURES[part](results[part]).items():
            paths.append(f"{directory}/{name}.svg")
            with open(paths[-1], "w", encoding="utf-8") as file:
                file.write(picture)
    return paths
