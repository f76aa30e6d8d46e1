"""Pictures as plain SVG: text, lines and shapes, for light and dark pages, with a text alternative."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

FONT = "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', Helvetica, Arial, sans-serif"
# Each class in light and in dark. The page has its own ground, so that it fits wherever it is shown.
_INKS = {
    "ground": ("fill", "#ffffff", "#0d1117"),
    "ink": ("fill", "#1f2328", "#f0f6fc"),
    "faint": ("fill", "#59636e", "#9198a1"),
    "rule": ("stroke", "#dfe4ea", "#2b323b"),
    "whisker": ("stroke", "#59636e", "#9198a1"),
    "ours": ("fill", "#0969da", "#4493f8"),
    "theirs": ("fill", "#b6c0cb", "#4a5461"),
}
SERIES = (("#0969da", "#4493f8"), ("#1a7f37", "#3fb950"), ("#bc4c00", "#f0883e"), ("#8250df", "#ab7df8"))


class Picture:
    """Shapes on a page. `title` and `story` are what somebody hears who cannot see it."""

    def __init__(self, width: int, height: int, *, title: str, story: str) -> None:
        self.width = width
        self.height = height
        self._title = title
        self._story = story
        self._shapes: list[str] = []

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        ink: str = "ink",
        size: int = 13,
        at: str = "start",
        bold: bool = False,
    ) -> None:
        weight = ' font-weight="600"' if bold else ""
        self._shapes.append(
            f'<text class="{ink}" x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{at}"{weight}>'
            f"{escape(words)}</text>"
        )

    def bar(self, x: float, y: float, width: float, height: float, *, ink: str) -> None:
        self._shapes.append(
            f'<rect class="{ink}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="3"/>'
        )

    def line(self, points: Sequence[tuple[float, float]], *, ink: str, width: float = 1.0) -> None:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._shapes.append(f'<polyline class="{ink}" points="{path}" fill="none" stroke-width="{width}"/>')

    def mark(self, x: float, y: float, *, series: int) -> None:
        """A shape of its own for each series: colours alone do not reach everybody."""
        shape = (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5"',
            f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8"',
            f'<path d="M{x:.1f} {y - 5:.1f}l5 9h-10z"',
            f'<path d="M{x:.1f} {y - 6:.1f}l6 6l-6 6l-6 -6z"',
        )[series % len(SERIES)]
        self._shapes.append(f'{shape} class="mark{series % len(SERIES)}"/>')

    def drawn(self) -> str:
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}"'
                f' width="{self.width}" height="{self.height}" role="img" aria-labelledby="title story"'
                f" font-family={quoteattr(FONT)}>",
                f'<title id="title">{escape(self._title)}</title>',
                f'<desc id="story">{escape(self._story)}</desc>',
                f"<style>\n{_rules(0)}\n@media (prefers-color-scheme: dark) {{\n{_rules(1)}\n}}\n</style>",
                f'<rect class="ground" width="{self.width}" height="{self.height}" rx="8"/>',
                *self._shapes,
                "</svg>\n",
            ]
        )


def _rules(dark: int) -> str:
    """The classes, of one of the two ways."""
    inks = [f".{name} {{ {way}: {colours[dark]} }}" for name, (way, *colours) in _INKS.items()]
    for series, colours in enumerate(SERIES):
        inks.append(f".mark{series} {{ fill: {colours[dark]} }}")
        inks.append(f".path{series} {{ stroke: {colours[dark]} }}")
    return "\n".join(inks)
