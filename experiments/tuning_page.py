"""The page of a search for hyperparameters: which of them mattered, and where."""

import functools
import html
import importlib
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from yieldrl.loggers.files import write_atomically

STYLE = "body{font:16px sans-serif;max-width:70em;margin:2em auto}pre{overflow:auto}"


def write_page(study: Any, path: Path, title: str, lines: Sequence[str]) -> Path:
    """Write one HTML file that needs no other: text, and pictures of Optuna's.

    They are the returns of trials, their curves, how much each hyperparameter mattered
    (PED-ANOVA, Watanabe et al. 2023, arXiv:2304.10255), and slices through each; those
    for which there are too few trials are left out.
    """
    visual = importlib.import_module("optuna.visualization")
    importance, parts = importlib.import_module("optuna.importance"), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what is called experimental, or too few
        importances = functools.partial(
            visual.plot_param_importances,
            evaluator=importance.PedAnovaImportanceEvaluator(),
        )
        for draw in (
            importances,
            visual.plot_slice,
            visual.plot_optimization_history,
            visual.plot_intermediate_values,
        ):
            try:
                figure = draw(study)
            except (RuntimeError, ValueError):
                continue
            parts.append(figure.to_html(full_html=False, include_plotlyjs=not parts))
    text = html.escape("\n".join(lines))
    head = f"<meta charset=utf-8><title>{html.escape(title)}</title>"
    page = [
        f"<!doctype html>{head}<style>{STYLE}</style>",
        f"<pre>{text}</pre>",
        *parts,
    ]
    write_atomically(path, "\n".join(page) + "\n")
    return path
