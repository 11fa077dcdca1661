"""What holds of three of Rainbow's differences."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor

from yieldrl.algorithms import rainbow
from yieldrl.exercises.cases import Chapter, flags

# Three states and three actions, so that the axes can be mistaken.
ONLINE = torch.tensor([[1.0, 4.0, 2.0], [7.0, 3.0, 5.0], [6.0, 9.0, 11.0]])
TARGET = torch.tensor([[5.0, 1.5, 1.0], [2.0, 0.5, 9.0], [8.0, 7.0, 3.0]])
REWARD = torch.tensor([[1.0, 2.0, 4.0, 8.0], [3.0, -1.0, 5.0, 2.0]])
PROBABILITY = torch.tensor([[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]])
# arguments of `project`, with atoms that do not begin at 0 and are not 1 apart
ANYWHERE = (
    PROBABILITY,
    torch.tensor([[-1.9, -0.6, -1.25, -1.0], [-1.1, -1.7, -0.5, -0.9]]),
    torch.tensor([-2.0, -1.5, -1.0, -0.5]),
)


def _steps(ends: Sequence[int] = (), cuts: Sequence[int] = ()) -> list[Any]:
    """Arguments of `look_ahead`: in which step each row ends, and is cut."""
    never = torch.zeros(2, 4, dtype=torch.bool)
    both = [flags(4, *([step] for step in steps)) for steps in (ends, cuts)]
    return [REWARD, *(torch.stack(of) if of else never for of in both), 0.5]


def _shared(first: Sequence[float], second: Sequence[float]) -> list[Tensor]:
    """Arguments of `project`: in each row an impossible return, and three others.

    The atoms are 0 to 3.
    """
    probability = torch.tensor([[0.0, 0.5, 0.3, 0.2], [0.0, 0.2, 0.1, 0.7]])
    returns = torch.tensor([[0.5, *first], [0.5, *second]])
    return [probability, returns, torch.arange(4.0)]


def any_atoms(answer: Any) -> None:
    """Atoms may begin anywhere and be any distance apart; the mean stays."""
    solve = lambda of: [{"project": of.project(*deepcopy(ANYWHERE))}]  # noqa: E731
    CHAPTER.compare(answer, solve)
    CHAPTER.leaves(answer, "project", ANYWHERE)


SETTINGS = {"total_steps": 200, "learning_starts": 100, "seed": 7}
SETTINGS |= {"batch_size": 32, "hidden_sizes": (32,), "gamma": 0.9, "v_max": 6.0}
SETTINGS |= {"env_kwargs": {"max_episode_steps": 20}, "num_atoms": 13}
SETTINGS |= {"epsilon_start": 1.0, "epsilon_end": 1.0}  # else none is cut
CHAPTER = Chapter(__name__)
CHAPTER.same(
    "next_action",
    "The online network chooses the action that the target network values",
    (ONLINE, TARGET),
)
CHAPTER.same(
    "look_ahead",
    "Without an end, n rewards count by powers of gamma, and k is n",
    _steps(),
    "The step that ends an episode is the last that counts, and k ends with it",
    _steps(ends=[1, 0]),
    "A cut stops the sum as an end does, the first of them if there are several",
    _steps(ends=[3, 2], cuts=[1, 1]),
    named=("the sum", "gamma^k", "k"),
)
CHAPTER.same(
    "project",
    "What lies between two atoms is shared by them, the nearer one gets more",
    _shared([0.25, 1.5, 2.875], [1.75, 0.5, 2.25]),
    "What lies on an atom stays there, all of it, on the last one, too",
    _shared([0.0, 1.0, 3.0], [2.0, 1.5, 0.0]),
    "What lies outside goes to the first atom or to the last",
    _shared([-0.5, 1.0, 3.5], [4.25, 1.0, -1.5]),
    "All that goes to the same atom is added up",
    _shared([1.25, 1.5, 1.75], [2.0, 2.0, 2.0]),
)
CHAPTER.holds(any_atoms)
CHAPTER.trains(
    "Rainbow that uses all three takes the same steps as the library's own",
    SETTINGS,
    Trainer=rainbow,
)
