"""Chapters, reading times, exercises and interactive figures of the course.

- `::: chapters` is the table of chapters; one that has no page yet has no link.
- `::: reading time` is how long a page's prose takes, at 200 words a minute.
- `::: exercise ch09` is what `yieldrl check ch09` asks for, read off its `check.py`.
- `::: frames gae_lambda` is a figure of `docs/course/figures/`: all of its frames are
  computed here, and `docs/assets/course/frames.js` shows the one that is chosen.
"""

from __future__ import annotations

import html
import importlib
import json
import re
from pathlib import Path
from typing import Any

from .directives import DOCS, ROOT, DirectiveError, Page, directive
from .sources import FENCE

COURSE = DOCS / "course"
EXERCISES = ROOT / "exercises"
FIGURES = "yieldrl.docs.course.figures"
CHAPTERS = (
    "What is an agent",
    "Bandits and exploration",
    "MDPs, returns and planning",
    "Monte Carlo, TD, SARSA and Q-learning",
    "The four classes, and measuring",
    "DQN",
    "From Double DQN to Rainbow",
    "REINFORCE",
    "Actor-critic and GAE",
    "PPO",
    "DDPG, TD3 and SAC",
    "Memory and masks",
    "Batched worlds and throughput",
    "Debugging, from symptom to cause",
    "Rollout and training",
    "From an MLP to vision-language-action policies",
    "Your own algorithm",
    "Policies that write: from REINFORCE to GRPO",
    "Preferences",
    "Worlds inside",
)
WORDS_A_MINUTE = 200


@directive("reading time")
def reading_time(page: Page) -> str:
    """How long the prose of a page takes to read, in words."""
    count = minutes(page.text)
    return f"*{count} minutes to read; code and exercises take as long as they take.*"


def minutes(text: str) -> int:
    """What the prose of a page takes to read; code and exercises take their own."""
    prose = re.sub(r"\A---\n.*?\n---\n", "", FENCE.sub("", text), flags=re.DOTALL)
    prose = re.sub(r"^:::.*$", "", prose, flags=re.MULTILINE)
    return max(1, round(len(prose.split()) / WORDS_A_MINUTE))


@directive("chapters")
def table() -> str:
    """A row for each chapter, with a link and its reading time where it has a page."""
    rows = ["| | chapter | to read | exercise |", "|---:|---|---|---|"]
    for number, title in enumerate(CHAPTERS, 1):
        page, key = chapter(number), f"ch{number:02}"
        asked = f"`yieldrl check {key}`" if list(EXERCISES.glob(f"{key}_*")) else " "
        if page is None:
            rows.append(f"| {number} | {title} | not written yet | {asked} |")
        else:
            time = f"{minutes(page.read_text('utf-8'))} min"
            rows.append(f"| {number} | [{title}]({page.name}) | {time} | {asked} |")
    return "\n".join(rows)


def chapter(number: int) -> Path | None:
    """The page of a chapter, if it has one."""
    return next(iter(COURSE.glob(f"{number:02}-*.md")), None)


@directive(r"exercise (ch\d\d)")
def exercise(key: str) -> str:
    """The properties that are asked for, and the command that asks."""
    from yieldrl.exercises import chapters
    from yieldrl.exercises.checking import properties, statement

    folder = chapters().get(key)
    if folder is None:
        raise DirectiveError(f"there is no exercise {key}")
    check = importlib.import_module(f"yieldrl.exercises.{folder.name}.check")
    said = [f"{statement(holds)}." for holds in properties(check)]
    lines = [f"- {html.escape(text, quote=False)}" for text in said]
    return "\n".join(["```bash", f"yieldrl check {key}", "```", "", *lines])


@directive(r"frames (\w+)")
def frames(name: str) -> str:
    """A figure that controls turn over; without a script it is its first frame.

    Its module has a function `figure` that returns a dictionary, made by `figure` of
    `docs/course/figures/drawing.py`: `parts` are pairs of a CSS selector and the
    attribute that a frame sets, `frames` has for each choice, the last control fastest,
    a value for each part, or one for each of its elements.
    """
    figure = load(name)["figure"]()
    sizes = [len(labels) for labels in figure["controls"].values()]
    at = 0
    for size, index in zip(sizes, figure["start"], strict=True):
        at = at * size + index
    data = {key: figure[key] for key in ("parts", "frames")}
    width, height = figure["size"]
    controls = "".join(
        _control(name, control, labels, start)
        for (control, labels), start in zip(
            figure["controls"].items(), figure["start"], strict=True
        )
    )
    said = [i for i, (selector, _) in enumerate(figure["parts"]) if selector == ".says"]
    text = "".join(str(figure["frames"][at][i]) for i in said)
    return (
        f'<figure class="frames" id="{name}">'
        f'<svg viewBox="0 0 {width} {height}" role="img"'
        f' aria-labelledby="{name}-title">'
        f'<title id="{name}-title">{html.escape(figure["title"])}</title>'
        f"{figure['svg']}</svg>"
        f'<form class="controls" hidden>{controls}</form>'
        f'<p class="says" aria-live="polite">{html.escape(text)}</p>'
        f'<script type="application/json">{json.dumps(data, separators=(",", ":"))}'
        f"</script><figcaption>{figure['caption']}</figcaption></figure>"
    )


def load(name: str) -> dict[str, Any]:
    """The names of a module of figures."""
    path = COURSE / "figures" / f"{name}.py"
    if not path.exists():
        raise DirectiveError(f"there is no figure {name}: {path} is missing")
    return vars(importlib.import_module(f"{FIGURES}.{name}"))


def _control(figure: str, name: str, labels: list[str], start: int) -> str:
    """A slider for many values, radio buttons for a few."""
    if len(labels) > 5:
        key = f"{figure}-{name.replace(' ', '-')}"
        values = html.escape(json.dumps(labels))
        return (
            f'<label for="{key}">{name}</label><input type="range" id="{key}" min="0"'
            f' max="{len(labels) - 1}" value="{start}" data-labels="{values}">'
            f'<output for="{key}">{labels[start]}</output>'
        )
    buttons = "".join(
        f'<label><input type="radio" name="{figure}-{name}" value="{i}"'
        f"{' checked' if i == start else ''}> {label}</label>"
        for i, label in enumerate(labels)
    )
    return f"<fieldset><legend>{name}</legend>{buttons}</fieldset>"
