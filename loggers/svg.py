"""Curves as a string of SVG: a millisecond, where a drawing library takes hundreds."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape

Points = Sequence[tuple[float, float]]

WIDTH, HEIGHT, COLUMNS = 300, 180, 3
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 288, 38, 152  # where the curve lies in its panel


def draw_panels(curves: Mapping[str, Points]) -> str:
    """One panel a curve, side by side, over a common range of steps.

    `curves` are title -> points `(x, y)` in order of x; not finite ones leave a gap.
    """
    steps = [x for curve in curves.values() for x, _ in curve]
    span = (min(steps), max(steps)) if steps else (0.0, 0.0)
    columns = max(1, min(COLUMNS, len(curves)))
    width, height = columns * WIDTH, -(-len(curves) // columns) * HEIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}"'
        ' font-family="sans-serif" font-size="11" fill="#555">'
    ]
    for i, (title, curve) in enumerate(curves.items()):
        x, y = i % columns * WIDTH, i // columns * HEIGHT
        parts += [f'<g transform="translate({x},{y})">', *_panel(title, curve, span)]
        parts += ["</g>"]
    return "".join([*parts, "</svg>"])


def drawable(y: float) -> bool:
    """Whether a value is no gap: beyond 1e100 differences overflow."""
    return abs(y) < 1e100  # false for NaN too


def short(value: float) -> str:
    """A number in few characters: 12.3k, 1.5M, 0.000123."""
    for unit, suffix in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= unit:
            return f"{value / (1e3 if suffix == 'k' else unit):.4g}{suffix}"
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.4g}"


def _panel(title: str, curve: Points, span: tuple[float, float]) -> Iterator[str]:
    yield (
        f'<rect x="3" y="3" width="{WIDTH - 6}" height="{HEIGHT - 6}" rx="6"'
        ' fill="#fff" stroke="#ddd"/>'
        f'<text x="12" y="22" fill="#222" font-size="12">{escape(title)}</text>'
    )
    values = [y for _, y in curve if drawable(y)]
    if not values:
        yield f'<text x="{_LEFT}" y="95">nothing to draw yet</text>'
        return
    low, high = min(values), max(values)
    if high - low <= 1e-9 * abs(high):  # flat: the middle of the panel
        margin = abs(high) * 0.1 or 1.0
        low, high = low - margin, high + margin
    yield _frame(low, high, span, values[-1])
    x_scale = (_RIGHT - _LEFT) / ((span[1] - span[0]) or 1.0)
    y_scale = (_BOTTOM - _TOP) / (high - low)
    for shown, piece in itertools.groupby(curve, lambda point: drawable(point[1])):
        if shown:
            yield _line(
                (_LEFT + (x - span[0]) * x_scale, _BOTTOM - (y - low) * y_scale)
                for x, y in piece
            )


def _frame(low: float, high: float, span: tuple[float, float], last: float) -> str:
    lines = "".join(
        f'<path d="M{_LEFT} {y}H{_RIGHT}" stroke="#eee"/>'
        f'<text x="{_LEFT - 5}" y="{y + 4}" text-anchor="end">{short(value)}</text>'
        for y, value in ((_TOP, high), (_BOTTOM, low))
    )
    return (
        f'{lines}<text x="{_LEFT}" y="{_BOTTOM + 16}">{short(span[0])}</text>'
        f'<text x="{(_LEFT + _RIGHT) // 2}" y="{_BOTTOM + 16}" text-anchor="middle">'
        "environment steps</text>"
        f'<text x="{_RIGHT}" y="{_BOTTOM + 16}" text-anchor="end">{short(span[1])}'
        f'</text><text x="{_RIGHT}" y="22" text-anchor="end" fill="#1f6feb"'
        f' font-weight="bold" font-size="12">{short(last)}</text>'
    )


def _line(points: Iterable[tuple[float, float]]) -> str:
    """The line through points; a dot if there is one alone."""
    places = [(f"{x:.1f}", f"{y:.1f}") for x, y in points]
    if len(places) == 1:
        ((x, y),) = places
        return f'<circle cx="{x}" cy="{y}" r="2.5" fill="#1f6feb"/>'
    path = " ".join(map(",".join, places))
    return (
        f'<polyline points="{path}" fill="none" stroke="#1f6feb" stroke-width="1.5"'
        ' stroke-linejoin="round"/>'
    )
