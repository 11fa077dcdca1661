"""The best of n answers by a reward model, beside GRPO on it, from one clone."""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.runs import values
from yieldrl.benchmarks.trial import Demand, Runs, Table, Trial, at_least

from . import learning
from .judges import right
from .learning import TRUE

NUMBERS = [2**i for i in range(9)]
PAIRS = {f"{count} pairs": count for count in (50, 400, 1200)}
SAME, GRPO = "400 pairs", "400 pairs, GRPO"
SIDES = TRUE, *PAIRS, GRPO
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


def points(runs: Runs, side: str) -> Any:
    """The mean curve, `[T, 4]`: n or rollouts, KL, mean score, share that is right."""
    return np.mean(values(runs, "curve", side=side), 0)


def table(runs: Runs) -> Table:
    rows: list[list[str]] = []
    for side in SIDES:
        of = points(runs, side)
        number, kl, _, most = of[of[:, 3].argmax()]
        row = [side, f"{of[0, 3]:.3f}", f"{most:.3f}", f"{number:.0f}", f"{kl:.2f}"]
        rows.append([*row, f"{of[-1, 3]:.3f}", f"{of[-1, 1]:.2f}"])
    header = ["learned from", "right: n = 1", "at best", "by n (rollouts)", "and KL"]
    return [*header, "at the end", "at KL"], rows


def judge(runs: Runs) -> list[Demand]:
    found = {side: points(runs, side)[:, 3] for side in PAIRS}
    rises = {side: of.max() - of[0] for side, of in [*found.items()][1:]}
    falls = {side: of.max() - of[-1] for side, of in found.items()}
    same, grpo = points(runs, SAME), points(runs, GRPO)
    ahead = np.interp(grpo[-1, 1], same[:, 1], same[:, 3]) - grpo[-1, 3]
    words = "the true reward rises with n at first"
    asked = [(f"{of}: {words}", x) for of, x in rises.items()]
    asked += [(f"{of}: and falls again", x) for of, x in falls.items()]
    words = "at as much KL, more is right of the best of n than by GRPO"
    asked.append((f"{SAME}: {words}", ahead))
    return [at_least(demand, float(value), 0.05) for demand, value in asked]


CLAIMS = [
    Trial(
        name="preferences-best_of",
        statement=(
            "The best of n answers of a clone, by a reward model of few comparisons: as"
            " n grows more are right at first and fewer later, the sooner the fewer"
            " comparisons; and at as much KL from the clone more are right than by GRPO"
            " on the same reward model."
        ),
        settings=SETTINGS,
        run=train,
        table=table,
        judge=judge,
        draw=functools.partial(learning.draw, sides=SIDES, entry=1),
        axes={
            "title": "The best of n answers, and GRPO, by reward models",
            "xlabel": "KL from the clone, nats",
            "xticks": [0, 1, 2, 3, 4],
            "ylabel": "share: preferred to the clone's, right",
        },
    )
]


if __name__ == "__main__":
    main(CLAIMS)
