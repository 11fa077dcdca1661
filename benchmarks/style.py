"""How figures look: the same on a light page and on a dark one.

The background is left out and all colours lie between light and dark.
"""

from typing import Any

INK = "#7f7f7f"
"""Text, axes and references."""

COLORS = (
    "#d1502f",  # the yield sign's red
    "#3a86d0",
    "#2a9d6f",
    "#9b6bd1",
    "#b8860b",
    "#1f9aaa",
    "#d6589f",
    "#a0703c",
)
STYLE: dict[Any, Any] = {
    "axes.edgecolor": INK,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "font.size": 9,
    "grid.alpha": 0.25,
    "grid.color": INK,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.labelcolor": INK,
    "lines.linewidth": 2,
    "savefig.transparent": True,
    "xtick.color": INK,
    "ytick.color": INK,
}
