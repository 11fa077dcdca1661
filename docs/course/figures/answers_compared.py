"""Chapter 18's figure: eight answers to one prompt, and how hard each token is pushed.

The push is the derivative of the library's own objective by the token's log-probability
where the ratio is 1: `relative` and `mean` of the algorithms.
"""

from types import SimpleNamespace
from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.algorithms import dapo, dr_grpo, grpo, rloo

from . import drawing as svg
from .drawing import Frame

RIGHT, END, LENGTH = "42", "end", 4
WRONG = ("52", "43", "420", "32", "4", "", "41", "4222")
"""What stands in the place of an answer as long as it is not right."""
ALGORITHMS = {"GRPO": grpo, "RLOO": rloo, "Dr. GRPO": dr_grpo, "DAPO": dapo}
TOP, HIGH, REACH = 36, 30, 12  # of cells and of the longest bar, in pixels


def group(right: int, module: Any) -> tuple[list[list[str]], Tensor, Tensor]:
    """Eight answers, of which the first are right.

    Returns:
        The words of each; its advantage, `[8]`; and the push of each token, `[8, 4]`, 0
        after the end; times 8.
    """
    answers = [RIGHT] * right + list(WRONG[right:])
    words = [[*answer, END][:LENGTH] for answer in answers]
    lengths = torch.tensor([len(word) for word in words])
    mask = (torch.arange(LENGTH) < lengths.unsqueeze(1)).unsqueeze(1)
    algorithm: Any = SimpleNamespace(config=SimpleNamespace(num_steps=1))
    every = torch.ones(1, len(answers), dtype=torch.bool)
    returns = (torch.arange(len(answers)) < right).float().unsqueeze(0)
    advantage = module.Algorithm.relative(algorithm, returns, every)[0]
    log_prob = torch.zeros(mask.shape, requires_grad=True)
    counts = {"episodes": torch.ones(len(answers), 1), "tokens": mask.sum(2)}
    data = TensorDict({"mask": mask, **counts}, [len(answers), 1])
    gain = log_prob.exp() * advantage.view(-1, 1, 1)
    loss = module.Algorithm.mean(algorithm, gain, data)
    (push,) = torch.autograd.grad(loss, log_prob)
    return words, advantage, len(answers) * push[:, 0]


def figure() -> dict[str, Any]:
    """All frames: how many answers are right, and an algorithm."""
    return svg.figure(
        size=(480, 282),
        svg=svg.drawn("answers_compared"),
        controls={
            "right answers": svg.labelled(range(len(WRONG) + 1)),
            "algorithm": ALGORITHMS,
        },
        start=("3", "GRPO"),
        frame=frame,
    )


def frame(right: int, module: Any) -> Frame:
    """One group by one algorithm."""
    words, advantage, push = group(right, module)
    longest = float(push.abs().max()) or 1.0
    cells = []
    for row, word in enumerate(words):
        middle = TOP + HIGH * (row + 0.5)
        for column, pushed in enumerate(push[row].tolist()):
            up, down = (
                round(max(0.0, way * pushed) / longest * REACH, 1) for way in (1, -1)
            )
            up_shown, down_shown = svg.visible((up, down))
            cells.append(
                {
                    "letter text": word[column] if column < len(word) else "",
                    "up y": round(middle - up, 1),
                    "up height": up,
                    "down height": down,
                    "up visibility": up_shown,
                    "down visibility": down_shown,
                }
            )
    return svg.each(cells) | {
        "returned text": [f"{row < right:d}" for row in range(len(words))],
        "better text": [svg.signed(better, ".2f") for better in advantage.tolist()],
        "total text": [svg.signed(total, ".2f") for total in push.sum(1).tolist()],
        "says text": f"{right} of 8 are right. {said(push)}",
    }


def said(push: Tensor) -> str:
    """What a group teaches, in words."""
    pushes = push[push != 0]
    if not len(pushes):
        return "All earned the same, and no token is pushed."
    fair, least, most = (
        svg.signed(float(of), ".2f")
        for of in (pushes.max(), pushes[pushes < 0].max(), pushes.min())
    )
    wrong = least if least == most else f"{least} to {most}"
    return f"A token of a right answer is pushed by {fair}, others by {wrong}."
