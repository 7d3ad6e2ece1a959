"""Drawings as SVG text, and axes for plots.

A drawing has a background of its own and two sets of colours, of which the reader's settings choose one, so it can be
read on a light page and on a dark one. Numbers have one decimal: the same calls give the same text everywhere.
"""

import math
from xml.sax.saxutils import escape

# What classes of shapes look like: light, dark.
COLOURS = {
    "page": ("#ffffff", "#12161c"), "ink": ("#1c2430", "#e4e9f1"), "soft": ("#566072", "#a3aec0"),
    "rule": ("#d5dbe5", "#2f3845"), "box": ("#f2f5f9", "#1c232d"),
    "c0": ("#2f6fb0", "#6ba6e0"), "c1": ("#b85c00", "#e5a04f"), "c2": ("#2a7d4f", "#63c38d"),
    "c3": ("#7d4fb3", "#b596e6"), "c4": ("#b3261e", "#ff8a80"), "c5": ("#0b7a7a", "#4fc4c4"),
}
SERIES = ("c0", "c1", "c2", "c3", "c5", "c4")


def number(value):
    text = f"{value:.1f}"
    return "0" if text in ("-0.0", "0.0") else text[:-2] if text.endswith(".0") else text


def style():
    def rules(of):
        filled = "".join(f".{name}{{fill:{colours[of]}}}" for name, colours in COLOURS.items())
        drawn = "".join(f".{name}-line{{stroke:{colours[of]};fill:none}}" for name, colours in COLOURS.items())
        return filled + drawn
    return f"text{{font-family:sans-serif}}{rules(0)}@media(prefers-color-scheme:dark){{{rules(1)}}}"


class Drawing:
    def __init__(self, width, height, title, description):
        self.width, self.height, self.title, self.description = width, height, title, description
        self.parts = []

    def add(self, kind, content=None, **attributes):
        """An element; class_ stands for class, and stroke_width for stroke-width."""
        text = "".join(f' {name.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
                       for name, value in attributes.items() if value is not None)
        self.parts.append(f"<{kind}{text}/>" if content is None else f"<{kind}{text}>{content}</{kind}>")

    def rect(self, x, y, width, height, look, radius=0, opacity=None):
        self.add("rect", class_=look, x=number(x), y=number(y), width=number(width), height=number(height),
                 rx=number(radius) if radius else None, opacity=opacity)

    def frame(self, x, y, width, height, look="rule", radius=4, stroke=1.5):
        self.add("rect", class_=f"{look}-line", x=number(x), y=number(y), width=number(width), height=number(height),
                 rx=number(radius), stroke_width=stroke)

    def line(self, x1, y1, x2, y2, look="rule", width=1, dash=None):
        self.add("line", class_=f"{look}-line", x1=number(x1), y1=number(y1), x2=number(x2), y2=number(y2),
                 stroke_width=width, stroke_dasharray=dash)

    def curve(self, points, look, width=2, dash=None):
        places = " ".join(f"{number(x)},{number(y)}" for x, y in points)
        self.add("polyline", class_=f"{look}-line", points=places, stroke_width=width, stroke_dasharray=dash,
                 stroke_linejoin="round")

    def shape(self, points, look, opacity=None):
        self.add("polygon", class_=look, points=" ".join(f"{number(x)},{number(y)}" for x, y in points),
                 opacity=opacity)

    def arrow(self, x1, y1, x2, y2, look="soft", width=1.5):
        self.line(x1, y1, x2, y2, look, width)
        length = math.hypot(x2 - x1, y2 - y1)
        ahead_x, ahead_y = (x2 - x1) / length, (y2 - y1) / length
        back_x, back_y = x2 - 7 * ahead_x, y2 - 7 * ahead_y
        self.shape([(x2, y2), (back_x - 3.5 * ahead_y, back_y + 3.5 * ahead_x),
                    (back_x + 3.5 * ahead_y, back_y - 3.5 * ahead_x)], look)

    def text(self, x, y, text, look="ink", size=12, anchor=None, bold=False, turn=False):
        turned = f"rotate(-90 {number(x)} {number(y)})" if turn else None
        self.add("text", escape(text), class_=look, x=number(x), y=number(y), font_size=size, transform=turned,
                 text_anchor=anchor, font_weight="bold" if bold else None)

    def lines(self, x, y, texts, look="ink", size=12, anchor=None, spacing=1.4):
        for place, text in enumerate(texts):
            self.text(x, y + place * size * spacing, text, look, size, anchor)

    def svg(self):
        head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
                f'width="{self.width}" height="{self.height}" role="img" aria-labelledby="title description">')
        return "\n".join([head, f'<title id="title">{escape(self.title)}</title>',
                          f'<desc id="description">{escape(self.description)}</desc>', f"<style>{style()}</style>",
                          f'<rect class="page" width="{self.width}" height="{self.height}" rx="6"/>',
                          *self.parts, "</svg>", ""])


class LogAxis:
    """Places of numbers from low to high between the places start and end; what lies outside is put on the end."""

    def __init__(self, low, high, start, end):
        self.low, self.high, self.start, self.end = low, high, start, end

    def __call__(self, value):
        share = math.log(min(max(value, self.low), self.high) / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)


class Panel:
    """A plot with logarithmic axes, by the places of its corners."""

    def __init__(self, drawing, left, top, right, bottom, x_range, y_range):
        self.drawing, self.left, self.top, self.right, self.bottom = drawing, left, top, right, bottom
        self.x = LogAxis(*x_range, left, right)
        self.y = LogAxis(*y_range, bottom, top)

    def axes(self, x_ticks, y_ticks, x_title=None, y_title=None, size=11):
        """Ticks are pairs of a number and its text, which may be empty."""
        for value, text in x_ticks:
            self.drawing.line(self.x(value), self.top, self.x(value), self.bottom)
            if text:
                self.drawing.text(self.x(value), self.bottom + size + 4, text, "soft", size, "middle")
        for value, text in y_ticks:
            self.drawing.line(self.left, self.y(value), self.right, self.y(value))
            if text:
                self.drawing.text(self.left - 6, self.y(value) + size / 3, text, "soft", size, "end")
        if x_title:
            middle = (self.left + self.right) / 2
            self.drawing.text(middle, self.bottom + 2 * size + 12, x_title, "soft", size, "middle")
        if y_title:
            self.drawing.text(self.left - 56, (self.top + self.bottom) / 2, y_title, "soft", size, "middle", turn=True)

    def curve(self, points, look, width=2, dash=None):
        self.drawing.curve([(self.x(x), self.y(y)) for x, y in points], look, width, dash)
