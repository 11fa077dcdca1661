"""A page about runs: one HTML file that needs no other, on any machine.

Everything in it was read from the folders of the runs, which may be a stranger's: text
is escaped, and the page allows no script and no request.
"""

import base64
import io
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import jinja2
import numpy as np

from yieldrl.experiments import plot, run, run_files, run_status
from yieldrl.loggers import list_checkpoints
from yieldrl.loggers.checkpoints import read_index
from yieldrl.loggers.files import write_atomically

TEMPLATE = Path(__file__).with_name("report.html")
FIRST = ("evaluate/", "collect/")  # kinds whose curves are open; others are folded
SPREAD = re.compile("/(episodes|episode_return_(std|min|max))$")  # need no curve
UNNAMED = ("loggers", "run_name", "run_root")  # fields that no result depends on

_WIDTH = 4.8  # inches of a figure: as wide as a telephone, letters and all


def write(
    runs: Sequence[str | Path], out: str | Path = "report.html", max_video_mb: float = 8
) -> Path:
    """Write the page about some runs, as one HTML file; its path.

    Args:
        runs: Folders of runs, or folders that hold such folders.
        out: File to write.
        max_video_mb: A larger film is named, and left out.

    Raises:
        FileNotFoundError: If a path leads to no run.
        ValueError: If a file of a run cannot be read.
        ImportError: If matplotlib is not installed.
        WriteError: If the file cannot be written.
    """
    folders = run_files.find_runs(runs)
    facts = [_facts(folder, max_video_mb * 1e6) for folder in folders]
    if len({one["name"] for one in facts}) < len(facts):
        facts = [{**one, "name": str(one["folder"])} for one in facts]
    configs = [one["config"] for one in facts]
    names = list(dict.fromkeys(name for config in configs for name in config))
    rows = {name: [config.get(name, "") for config in configs] for name in names}
    alike = {name: x[0] for name, x in rows.items() if all(y == x[0] for y in x)}
    page = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    page.filters["number"] = _number
    html = page.from_string(TEMPLATE.read_text("utf-8")).render(
        runs=facts,
        alike=alike,
        differing={k: x for k, x in rows.items() if k not in {*alike, *UNNAMED}},
        **_figures(facts),
    )
    (out := Path(out)).parent.mkdir(parents=True, exist_ok=True)
    write_atomically(out, html)
    return out


def _facts(folder: Path, max_video: float) -> dict[str, Any]:
    """What the files of a run say."""
    about, config = run_files.read_run(folder), run_files.read_config(folder)
    curves, index = run_files.read_curves(folder), read_index(folder / "checkpoints")
    evaluated: dict[str, Any] = {}
    for name, (steps, values) in curves.items():
        if name.startswith("evaluate/"):
            evaluated |= {name.removeprefix("evaluate/"): values[-1], "at": steps[-1]}
    running, cluster = False, folder / run_status.FILE
    with suppress(OSError):  # a folder that is only to be read
        running = run.in_use(folder)
    workers = run_status.workers(_json(cluster)) if cluster.is_file() else []
    films = sorted((folder / "videos").glob("*.mp4"))
    small = [film for film in films if film.stat().st_size <= max_video]
    film = next(reversed(small), None)
    return {
        "folder": folder,
        "name": folder.absolute().name,
        "algorithm": run_files.algorithm_name(str(about.get("trainer", ""))),
        "config": config,
        "about": about,
        "steps": max((x[-1] for x, _ in curves.values()), default=0),
        "running": running,
        "last": evaluated,
        "best": index["best"],
        "saved": [path.name for path in list_checkpoints(folder)[:1]],
        "evaluations": _evaluations(folder),
        "workers": "\n".join(workers),
        "film": film and film.name,
        "data": film and base64.b64encode(film.read_bytes()).decode(),
        "left_out": [x.name for x in films[-1:] if x not in small],
        "curves": curves,
        "setting": plot.setting(folder),
    }


def _evaluations(folder: Path) -> list[dict[str, Any]]:
    """The evaluations of `yieldrl evaluate`, each with all of its episodes."""
    found = []
    for path in sorted((folder / run_files.EVALUATIONS).glob("*.json")):
        facts = _json(path)
        try:
            returns = [float(one["episode_return"]) for one in facts["episodes"]]
            successes = [one.get("success") for one in facts["episodes"]]  # or None
        except (AttributeError, KeyError, TypeError, ValueError):
            raise ValueError(f"{path}: no evaluation as yieldrl writes it") from None
        facts |= {"name": path.stem, "success": None}
        facts |= {"mean": np.mean(returns or [0]), "std": np.std(returns or [0])}
        if returns and None not in successes:
            facts["success"] = np.mean(successes)
        found.append(facts)
    return found


def _figures(facts: list[dict[str, Any]]) -> dict[str, dict[str, str]]:
    """Metric -> its curves as SVG, the important ones apart from the others."""
    labels = plot.labels({one["folder"]: one["setting"] for one in facts})
    names = dict.fromkeys(name for one in facts for name in one["curves"])
    found: dict[str, dict[str, str]] = {"figures": {}, "more": {}}
    order = ("evaluate/episode_return", "evaluate/", "collect/episode_return", "")
    for name in sorted(names, key=lambda x: [not x.startswith(y) for y in order]):
        groups: dict[str, list[Any]] = {}
        for one in facts:
            if name in one["curves"] and not SPREAD.search(name):
                curve = one["curves"][name]
                groups.setdefault(labels[one["folder"]], []).append(curve)
        curves = [x for label, group in groups.items() for x in _lines(label, group)]
        if curves:
            place = "figures" if name.startswith(FIRST) else "more"
            found[place][name] = _svg(plot.figure(curves, name, _WIDTH))
    return found


def _lines(label: str, group: list[Any]) -> list[plot.Curve]:
    """One line for runs of a setting; one each if they have no step in common."""
    try:
        return [plot.aggregate(label, group)]
    except ValueError:
        return [plot.aggregate(label, [one]) for one in group]


def _svg(figure: Any) -> str:
    """A figure as an element of a page, in the page's colours and letters."""
    import matplotlib

    file = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    svg = file.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.S)
    # Names of groups, which are alike in all figures of a page.
    svg = re.sub(r' id="[A-Za-z][\w.]*_\d+"', "", svg)
    return svg.replace("#000000", "currentColor").replace("#ffffff", "none")


def _json(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text("utf-8")))
    except (TypeError, ValueError) as reason:
        raise ValueError(f"{path}: {reason}") from None


def _number(value: Any) -> str:
    """A number as people write it: 12,288 and 0.4271; what is none, as it is."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer):
        return str(value)
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.4g}"
