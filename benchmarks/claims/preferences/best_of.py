"""The best of n answers by a reward model, beside GRPO on it, from one clone."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from yieldrl.benchmarks.claim import Run

from . import learning
from .judges import right
from .learning import TRUE

NUMBERS = [2**i for i in range(9)]
PAIRS = {f"{count} pairs": count for count in (50, 400, 1200)}
SAME, GRPO = "400 pairs", "400 pairs, GRPO"
SIDES, RISING = (TRUE, *PAIRS, GRPO), [*PAIRS][1:]
DRAWN, LOOKED = 1024, 32  # answers to each prompt: of the clone, and in a look at GRPO
EVERY = 4  # rollouts of GRPO from one look to the next
SETTINGS = {"numbers": NUMBERS, "drawn": DRAWN, "looked": LOOKED, "every": EVERY}
SETTINGS |= learning.SETTINGS | {"pairs": PAIRS}


def train(seed: int) -> dict[str, Any]:
    """All sides, from one clone."""
    cloning, pairs = learning.cloned(seed)
    clone, found = cloning.model, {}
    prompt, text, _ = drawn(clone, DRAWN, seed)
    found[TRUE] = {"curve": best_of(prompt, text, right)}
    for side, count in PAIRS.items():
        model, held = learning.fitted(clone, pairs, count, seed)
        found[side] = {"held_out": held, "curve": best_of(prompt, text, model.judge)}
        if side == SAME:
            found[GRPO] = {"curve": climbed(clone, model, seed)}
    return {"runs": [{"seed": seed, "side": side} | found[side] for side in SIDES]}


def drawn(policy: Any, count: int, seed: int) -> tuple[Tensor, Tensor, Any]:
    """Prompts and answers in bytes, `[P * count, ...]`, so many to each prompt that
    there is, and what the policy says of its answers."""
    numbers = range(learning.DPO["env_kwargs"]["max_operand"] + 1)
    texts = [f"{one}+{other}=" for one in numbers for other in numbers]
    prompt = torch.as_tensor(policy.observation_space["prompt"].encode(texts))
    prompt = prompt.repeat_interleave(count, 0)
    answer = policy.write({"prompt": prompt}, torch.Generator().manual_seed(seed))
    return prompt, policy.tokenizer.to_bytes(answer.tokens, policy.length), answer


def best_of(prompt: Tensor, text: Tensor, judge: Callable[..., Tensor]) -> Any:
    """Of the best of n by a judge, for each n: n, the divergence from all answers, the
    mean score, and the share that is right."""
    parts = prompt.shape[1], text.shape[1]
    rows, place = torch.cat([prompt, text], 1).unique(dim=0, return_inverse=True)
    prompt, text = rows.split(parts, 1)
    answers, place = ({"prompt": prompt}, text), place.view(-1, DRAWN)
    scores, points = judge(*answers).double(), []
    before = chances(scores, place, 1)
    for n in NUMBERS:
        chance = chances(scores, place, n)
        kl = torch.xlogy(chance, chance / before).sum()
        means = kl, chance @ scores, chance @ right(*answers).double()
        points.append([n, *(round(float(x) / len(place), 4) for x in means)])
    return points


def chances(scores: Tensor, place: Tensor, n: int) -> Tensor:
    """How often each of A answers is the best of n drawn to a prompt, `[A]`.

    The mean over all subsets of the N drawn, `place [P, N]`: the one above i others is
    best in `C(i, n - 1)` of `C(N, n)` (Nakano et al. 2021, arXiv:2112.09332, appendix).
    """
    size = place.shape[1]
    shares = [math.comb(i, n - 1) / math.comb(size, n) for i in range(size)]
    order = scores[place].argsort(dim=1, stable=True)
    weights = torch.tensor(shares, dtype=scores.dtype).repeat(len(place))
    ranked = place.gather(1, order).flatten()
    return torch.zeros_like(scores).index_add(0, ranked, weights)


def climbed(clone: Any, model: Any, seed: int) -> list[list[float]]:
    """GRPO on a reward model: rollouts that it has learned from, and as above."""
    side, *_ = learning.PENALTIES
    trainer = learning.improver(side, model, learning.weights(clone), seed)
    looks = functools.partial(look, trainer.model, clone, model, seed)
    rollouts = (log for log in trainer() if log["log_type"] == "collect")
    return [[i, *looks()] for i, _ in enumerate(rollouts) if i % EVERY == 0]


@torch.no_grad()
def look(policy: Any, clone: Any, model: Any, seed: int) -> list[float]:
    prompt, text, (tokens, log_prob) = drawn(policy, LOOKED, seed)
    obs = {"prompt": prompt}
    kl = (log_prob - clone.evaluate_actions(obs, tokens)[0]).sum(1)
    found = kl, model.judge(obs, text), right(obs, text)
    return [round(float(of.mean()), 4) for of in found]


draw = functools.partial(learning.draw, sides=SIDES, entry=1)


def best(runs: Sequence[Run], place: int | None = None, entry: int = 3) -> float:
    """An entry of a point of the mean curve, by default of that where most is right."""
    points = np.mean([run["curve"] for run in runs], 0)
    return float(points[points[:, 3].argmax() if place is None else place][entry])


first, last = (functools.partial(best, place=place) for place in (0, -1))
number, kl = (functools.partial(best, entry=entry) for entry in (0, 1))
far = functools.partial(last, entry=1)


def ahead(runs: Sequence[Run]) -> float:
    """How much more is right of the best of n, at as many nats as GRPO ends with."""
    one, other = ([r for r in runs if r["side"] == side] for side in (SAME, GRPO))
    points = np.mean([run["curve"] for run in one], 0)
    return float(np.interp(far(other), points[:, 1], points[:, 3])) - last(other)
