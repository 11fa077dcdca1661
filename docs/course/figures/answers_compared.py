"""Chapter 18's figure: eight answers to one prompt, and how hard each token is pushed.

The push is the derivative of the library's own objective by the token's log-probability
where the ratio is 1: `relative` and `mean` of the algorithms.
"""

from types import SimpleNamespace
from typing import Any, NamedTuple

import torch
from tensordict import TensorDict

from yieldrl.algorithms import dapo, dr_grpo, grpo, rloo

from . import drawing as svg
from .drawing import Frame

RIGHT, END, LENGTH = "42", "end", 4
WRONG = ("52", "43", "420", "32", "4", "", "41", "4222")
"""What stands in the place of an answer as long as it is not right."""
ALGORITHMS = {"GRPO": grpo, "RLOO": rloo, "Dr. GRPO": dr_grpo, "DAPO": dapo}
LEFT, WIDE, TOP, HIGH = 20, 62, 36, 30  # of cells, in pixels
REACH = 12  # of the longest bar
COLUMNS = {"return": 300, "advantage": 380, "all tokens": 464}


class Pushed(NamedTuple):
    """A group of eight answers."""

    words: list[list[str]]
    returns: list[float]
    advantage: list[float]
    push: torch.Tensor
    """Of each token, `[8, 4]`, 0 after the end; times 8."""


def group(right: int, module: Any) -> Pushed:
    """The first answers are right, the others are not."""
    answers = [RIGHT] * right + list(WRONG[right:])
    words = [[*answer, END][:LENGTH] for answer in answers]
    lengths = torch.tensor([len(word) for word in words])
    mask = (torch.arange(LENGTH) < lengths.unsqueeze(1)).unsqueeze(1)
    returns = torch.tensor([float(answer == RIGHT) for answer in answers])
    algorithm: Any = SimpleNamespace(config=SimpleNamespace(num_steps=1))
    every = torch.ones(1, len(answers), dtype=torch.bool)
    advantage = module.Algorithm.relative(algorithm, returns.unsqueeze(0), every)[0]
    log_prob = torch.zeros(mask.shape, requires_grad=True)
    counts = {"episodes": torch.ones(len(answers), 1), "tokens": mask.sum(2)}
    data = TensorDict({"mask": mask, **counts}, [len(answers), 1])
    gain = log_prob.exp() * advantage.view(-1, 1, 1)
    module.Algorithm.mean(algorithm, gain, data).backward()
    assert log_prob.grad is not None
    push = len(answers) * log_prob.grad[:, 0]
    return Pushed(words, returns.tolist(), advantage.tolist(), push)


def figure() -> dict[str, Any]:
    """All frames: how many answers are right, and an algorithm."""
    return svg.figure(
        size=(480, TOP + HIGH * len(WRONG) + 6),
        svg=drawing(),
        controls={
            "right answers": svg.labelled(range(len(WRONG) + 1)),
            "algorithm": ALGORITHMS,
        },
        start=("3", "GRPO"),
        frame=frame,
    )


def frame(right: int, module: Any) -> Frame:
    """One group by one algorithm."""
    found = group(right, module)
    longest = float(found.push.abs().max()) or 1.0
    cells = []
    for row, (word, pushes) in enumerate(
        zip(found.words, found.push.tolist(), strict=True)
    ):
        middle = TOP + HIGH * (row + 0.5)
        for column, push in enumerate(pushes):
            up, down = (
                round(max(0.0, way * push) / longest * REACH, 1) for way in (1, -1)
            )
            cells.append(
                {
                    "letter text": word[column] if column < len(word) else "",
                    "up y": round(middle - up, 1),
                    "up height": up,
                    "down height": down,
                    "up visibility": "visible" if up else "hidden",
                    "down visibility": "visible" if down else "hidden",
                }
            )
    total = found.push.sum(1).tolist()
    return svg.each(cells) | {
        "returned text": [f"{earned:g}" for earned in found.returns],
        "better text": [svg.signed(advantage, ".2f") for advantage in found.advantage],
        "total text": [svg.signed(push, ".2f") for push in total],
        "says text": said(found),
    }


def said(found: Pushed) -> str:
    """What a group teaches, in words."""
    right = sum(map(bool, found.returns))
    begin = f"{right} of 8 are right."
    if not found.push.any():
        return f"{begin} All earned the same, and no token is pushed."
    pushes = found.push[found.push != 0]
    fair = svg.minus(f"{float(pushes.max()):+.2f}")
    least, most = (
        svg.signed(float(of), ".2f") for of in (pushes[pushes < 0].max(), pushes.min())
    )
    wrong = least if least == most else f"{least} to {most}"
    return f"{begin} A token of a right answer is pushed by {fair}, others by {wrong}."


def drawing() -> str:
    """Cells, bars and columns."""
    heads = svg.label(LEFT, 20, "answer, token by token")
    heads += "".join(svg.label(x, 20, name, "end") for name, x in COLUMNS.items())
    columns = dict(zip(("returned", "better", "total"), COLUMNS.values(), strict=True))
    cells = ""
    for row in range(len(WRONG)):
        middle = TOP + HIGH * (row + 0.5)
        for column in range(LENGTH):
            x = LEFT + WIDE * column
            cells += svg.label(x, middle + 4, class_="letter")
            cells += svg.box("up shade", x + 30, "", 12, "")
            cells += svg.box("down red line", x + 30, middle, 12, "")
        cells += svg.line("axis dotted", f"M{LEFT} {middle + HIGH / 2}H466")
        for name, x in columns.items():
            cells += svg.label(x, middle + 4, "", "end", class_=name)
    return heads + cells
