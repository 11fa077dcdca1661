"""The page of a search for hyperparameters: which of them mattered, and where."""

import html
import importlib
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from yieldrl.loggers.files import write_atomically

STYLE = "body{margin:2em auto;max-width:70em}pre,body>div{overflow:auto}"


def write_page(study: Any, path: Path, title: str, lines: Sequence[str]) -> Path:
    """Write an HTML file that needs no other: lines, and pictures that Optuna draws.

    They are how much each hyperparameter mattered (PED-ANOVA, Watanabe et al. 2023,
    arXiv:2304.10255), slices through each, the returns of trials, and their curves.
    """
    draw = importlib.import_module("optuna.visualization")
    importance, parts = importlib.import_module("optuna.importance"), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what Optuna calls experimental
        judge = importance.PedAnovaImportanceEvaluator()
        for figure in (
            lambda: draw.plot_param_importances(study, evaluator=judge),
            lambda: draw.plot_slice(study),
            lambda: draw.plot_optimization_history(study),
            lambda: draw.plot_intermediate_values(study),
        ):
            with suppress(ValueError):  # of importances, for there is a single trial
                page = figure().to_html(full_html=False, include_plotlyjs=not parts)
                parts.append(page)
    head = f"<!doctype html><meta charset=utf-8><title>{html.escape(title)}</title>"
    text = html.escape("\n".join([title, *lines]))
    page = [head, f"<style>{STYLE}</style><pre>{text}</pre>", *parts, ""]
    write_atomically(path, "\n".join(page))
    return path
