"""What holds of three of Rainbow's differences."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from yieldrl.algorithms import rainbow
from yieldrl.exercises.comparing import expect, expect_close

HINTS = {
    "target": "the target network chooses, and judges itself: that is DQN",
    "both": "both networks choose together: the judge's luck is in the choice",
    "worst": "the worst action is chosen",
    "states": "the best of the batch is taken: actions are axis 1 of [B, A]",
    "sum": "rewards are summed without a discount",
    "late": "the first reward is discounted: it counts in full, the next one gamma",
    "through": "the sum runs on behind the end of the episode",
    "short": "the reward of the step that ends the episode is left out",
    "no cut": "`truncated` is ignored: behind a cut, too, another episode begins",
    "one step": "what follows is discounted by gamma, not by gamma^k",
    "n steps": "what follows is discounted by gamma^n, though fewer steps were used",
    "one less": "what follows is discounted by gamma^(k - 1): it lies k steps ahead",
    "swapped": "the shares are exchanged: the nearer atom gets more",
    "nearest": "all goes to the nearest atom: it is shared by two",
    "below": "all goes to the atom below: it is shared by two",
    "half": "both atoms get a half, wherever the return lies between them",
    "gone": "what lies on an atom is gone: floor and ceil are the same atom, and both"
    " shares are 0",
    "twice": "what lies on an atom counts twice: floor and ceil are the same atom",
    "dropped": "what lies outside is lost: it goes to the first or to the last atom",
    "wrapped": "what lies outside comes in again at the other end",
    "unclipped": "shares are not between 0 and 1: clip the place, and then share",
    "overwritten": "several returns on the same atom overwrite each other: they add up",
    "from zero": "atoms are taken to begin at 0: subtract the first",
    "by one": "atoms are taken to be 1 apart: divide by their spacing",
}
"""Mistake -> what to say of it."""
CHOICE = "return numbers of actions, not their values: `argmax`"
TRIPLE = "return three things: the sum, gamma^k and k"
IN_PLACE = "the argument was changed in place: make a new tensor"

ONLINE = torch.tensor([[1.0, 4.0, 2.0], [7.0, 3.0, 5.0], [6.0, 9.0, 11.0]])
"""`Q(s', .)`, three states and three actions, so that the axes can be mistaken."""
TARGET = torch.tensor([[5.0, 1.5, 1.0], [2.0, 0.5, 9.0], [8.0, 7.0, 3.0]])
"""`Q'(s', .)`; its best actions are others than those of `Q`."""
REWARD = torch.tensor([[1.0, 2.0, 4.0, 8.0], [3.0, -1.0, 5.0, 2.0]])
GAMMA = 0.5


def chooser(answer: Any) -> None:
    """The online network chooses the action that the target network values."""
    got = answer.next_action(ONLINE.clone(), TARGET.clone())
    if isinstance(got, Tensor):
        expect(not got.is_floating_point(), "next_action gives no integers", CHOICE)
    wrong = {
        "target": TARGET.argmax(1),
        "both": (ONLINE + TARGET).argmax(1),
        "worst": ONLINE.argmin(1),
        "states": ONLINE.argmax(0),
    }
    known = {HINTS[mistake]: values for mistake, values in wrong.items()}
    expect_close(got, ONLINE.argmax(1), named="next_action", mistakes=known)


def all_steps(answer: Any) -> None:
    """Without an end, n rewards count by powers of gamma, and k is n."""
    _expect_ahead(answer, (), (), ("sum", "late"), ("one step", "one less"))


def until_the_end(answer: Any) -> None:
    """The step that ends an episode is the last that counts, and k ends with it."""
    _expect_ahead(answer, (1, 0), (), ("through", "short"), ("n steps", "one less"))


def until_the_cut(answer: Any) -> None:
    """A cut stops the sum as an end does, the first of them if there are several."""
    _expect_ahead(answer, (3, 2), (1, 1), ("through", "no cut"), ("n steps", "no cut"))


def between(answer: Any) -> None:
    """What lies between two atoms is shared by them, the nearer one gets more."""
    returns = torch.tensor([[0.25, 1.5, 2.875], [1.75, 0.5, 2.25]])
    _expect_shared(answer, returns, ("swapped", "nearest", "below", "half"))


def on_atoms(answer: Any) -> None:
    """What lies on an atom stays there, all of it, on the last one, too."""
    returns = torch.tensor([[0.0, 1.0, 3.0], [2.0, 1.5, 0.0]])
    _expect_shared(answer, returns, ("gone", "twice", "half"))


def outside(answer: Any) -> None:
    """What lies outside goes to the first atom or to the last."""
    returns = torch.tensor([[-0.5, 1.0, 3.5], [4.25, 1.0, -1.5]])
    _expect_shared(answer, returns, ("dropped", "wrapped", "unclipped"))


def several(answer: Any) -> None:
    """All that goes to the same atom is added up."""
    returns = torch.tensor([[1.25, 1.5, 1.75], [2.0, 2.0, 2.0]])
    _expect_shared(answer, returns, ("overwritten",))


def any_atoms(answer: Any) -> None:
    """Atoms may begin anywhere and be any distance apart; the mean stays."""
    atoms = torch.tensor([-2.0, -1.5, -1.0, -0.5])
    returns = torch.tensor([[-1.9, -0.6, -1.25, -1.0], [-1.1, -1.7, -0.5, -0.9]])
    probability = torch.tensor([[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]])
    parts = (probability, returns, atoms)
    got = answer.project(*(part.clone() for part in parts))
    known = {HINTS[m]: _shared(*parts, m) for m in ("from zero", "by one")}
    expect_close(got, _shared(*parts), named="project", mistakes=known)
    expect_close(got @ atoms, (probability * returns).sum(1), named="mean")
    copies = [part.clone() for part in parts]
    answer.project(*copies)
    for name, copy, part in zip(
        ("probability", "returns", "atoms"), copies, parts, strict=True
    ):
        expect_close(copy, part, named=name, hint=IN_PLACE)


def training(answer: Any) -> None:
    """Rainbow that uses all three takes the same steps as the library's own."""
    config = rainbow.Config(
        env_kwargs={"max_episode_steps": 20},
        total_steps=200,
        learning_starts=100,
        batch_size=32,
        hidden_sizes=(32,),
        gamma=0.9,
        epsilon_start=1.0,  # else it falls before it is cut
        epsilon_end=1.0,
        v_max=6.0,
        num_atoms=13,
        eval_every=0,
        speed="eager",
        seed=7,
    )
    expect_close(
        _losses(answer.Trainer, config), _losses(rainbow.Trainer, config), named="loss"
    )


def _losses(trainer_class: Any, config: rainbow.Config) -> Tensor:
    """The losses of a whole run."""
    with trainer_class(config) as trainer:
        logs = [log["logs"] for log in trainer() if log["log_type"] == "train"]
    return torch.stack([torch.as_tensor(of["loss"]) for of in logs])


def _expect_ahead(
    answer: Any,
    ends: tuple[int, ...],
    cuts: tuple[int, ...],
    of_reward: tuple[str, ...],
    of_discount: tuple[str, ...],
) -> None:
    """Compare what follows with what is right, and with what mistakes would give."""
    flags = _flags(ends), _flags(cuts)
    got = answer.look_ahead(REWARD.clone(), _flags(ends), _flags(cuts), GAMMA)
    whole = isinstance(got, tuple | list) and len(got) == 3
    expect(whole, f"look_ahead returned a {type(got).__name__}", TRIPLE)
    wanted = _ahead(*flags)
    for part, name, mistakes in (
        (0, "reward", of_reward),
        (1, "discount", of_discount),
        (2, "k", ()),
    ):
        known = {HINTS[mistake]: _ahead(*flags, mistake)[part] for mistake in mistakes}
        expect_close(got[part], wanted[part], named=name, mistakes=known)


def _flags(steps: tuple[int, ...]) -> Tensor:
    """The given step of each row, `[B, n]`; of no row, if none is given."""
    flags = torch.zeros_like(REWARD, dtype=torch.bool)
    for row, step in enumerate(steps):
        flags[row, step] = True
    return flags


def _ahead(
    terminated: Tensor, truncated: Tensor, mistake: str = ""
) -> tuple[Tensor, Tensor, Tensor]:
    """Sum, discount and number of steps, with or without one mistake."""
    n = REWARD.shape[1]
    stops = terminated & (mistake != "no end") | truncated & (mistake != "no cut")
    before = stops.long().cumsum(1) - stops.long()
    used = before == 0
    length = used.sum(1)
    if mistake == "through":
        used = torch.ones_like(used)
    if mistake == "short":
        used = used & ~stops
    powers = GAMMA ** torch.arange(n)
    powers = {"sum": torch.ones(n), "late": powers * GAMMA}.get(mistake, powers)
    exponents = {
        "one step": torch.ones_like(length),
        "n steps": torch.full_like(length, n),
        "one less": length - 1,
    }
    exponent = exponents.get(mistake, length)
    return (REWARD * used * powers).sum(1), GAMMA**exponent, length


def _expect_shared(answer: Any, returns: Tensor, mistakes: tuple[str, ...]) -> None:
    """Compare what comes out on the atoms 0 to 3, for three returns in a row each."""
    probability = torch.tensor([[0.0, 0.5, 0.3, 0.2], [0.0, 0.2, 0.1, 0.7]])
    returns = torch.cat([torch.full((2, 1), 0.5), returns], 1)  # one that is impossible
    parts = (probability, returns, torch.arange(4.0))
    got = answer.project(*(part.clone() for part in parts))
    known = {HINTS[mistake]: _shared(*parts, mistake) for mistake in mistakes}
    expect_close(got, _shared(*parts), named="project", mistakes=known)


def _shared(
    probability: Tensor, returns: Tensor, atoms: Tensor, mistake: str = ""
) -> Tensor:
    """Probability of each atom `[B, K]`, with or without one mistake; one by one."""
    last, spacing = len(atoms) - 1, atoms[1] - atoms[0]
    first = 0.0 if mistake == "from zero" else atoms[0]
    places = (returns - first) / (1.0 if mistake == "by one" else spacing)
    lower, upper = torch.zeros(2, *probability.shape)
    for b in range(len(places)):
        for p, place in zip(probability[b].tolist(), places[b].tolist(), strict=True):
            for side, (atom, share) in zip(
                (lower, upper), _atoms(place, last, mistake), strict=False
            ):
                before = 0.0 if mistake == "overwritten" else side[b, atom]
                side[b, atom] = before + p * share
    return lower + upper


def _atoms(place: float, last: int, mistake: str) -> list[tuple[int, float]]:
    """The atoms that a return goes to, each with its share."""
    if not 0 <= place <= last and mistake == "dropped":
        return []
    if mistake == "wrapped":
        below, share = int(place // 1), place % 1
        return [(below % (last + 1), 1 - share), ((below + 1) % (last + 1), share)]
    clipped = min(max(place, 0.0), float(last))
    below = min(int(clipped), last - 1)
    share = (place if mistake == "unclipped" else clipped) - below
    if mistake in {"gone", "twice"} and clipped == int(clipped):
        return [] if mistake == "gone" else [(int(clipped), 2.0)]
    shares = {
        "swapped": (share, 1 - share),
        "nearest": (float(share <= 0.5), float(share > 0.5)),
        "below": (1.0, 0.0),
        "half": (0.5, 0.5),
    }.get(mistake, (1 - share, share))
    return [(below, shares[0]), (below + 1, shares[1])]
