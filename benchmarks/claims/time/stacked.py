"""Actor and critic as one batched product a layer: `[2, B, F] x [2, F, F]` takes the
place of two products. Whether that is faster is a matter of libraries."""

import statistics
import time
from functools import partial
from typing import Any

import torch
from gymnasium.spaces import Box, Discrete
from tensordict import TensorDict
from torch import Tensor, nn

from yieldrl.algorithms import ppo
from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.runs import median
from yieldrl.benchmarks.style import dots
from yieldrl.benchmarks.timing import in_turns
from yieldrl.benchmarks.trial import Runs, Table, Trial

ROWS = (128, 2048, 8192)  # of a minibatch
TURNS = 30  # of both sides
STEPS = 40_000  # rows of a turn, about
SPACES = Box(-5.0, 5.0, (4,)), Discrete(2)


class Stacked(ppo.Model):
    """PPO's networks, whose hidden layers `[2, F, F']` and biases `[2, 1, F']` lie
    together."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        both = self.actor.layers[:-1], self.critic.layers[:-1]
        pairs = [*zip(*both, strict=True)]
        self.weights = nn.ParameterList(
            [torch.stack([of.weight.detach().T for of in pair]) for pair in pairs]
        )
        self.biases = nn.ParameterList(
            [torch.stack([of.bias.detach()[None] for of in pair]) for pair in pairs]
        )
        for network in (self.actor, self.critic):
            network.layers = network.layers[-1:]

    def evaluate_actions(
        self, obs: Any, action: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        x = self.features(obs).expand(2, -1, -1)
        for weight, bias in zip(self.weights, self.biases, strict=True):
            x = torch.baddbmm(bias, x, weight).tanh()
        policy = self.distribution(self.actor(x[0]))
        value = self.critic(x[1]).squeeze(-1)
        return policy.log_prob(action), policy.entropy(), value


SIDES: dict[str, type[ppo.Model]] = {"apart": ppo.Model, "stacked": Stacked}


def make_batch(rows: int, seed: int) -> TensorDict:
    """A minibatch `[B]` of CartPole's shapes."""
    generator = torch.Generator().manual_seed(seed)
    numbers = torch.randn(rows, 7, generator=generator)
    batch = {"obs": numbers[:, :4].contiguous(), "advantage": numbers[:, 4].clone()}
    batch |= {"returns": numbers[:, 5].clone(), "log_prob": -numbers[:, 6].abs()}
    batch["action"] = torch.randint(2, (rows,), generator=generator)
    return TensorDict(batch, [rows])


def make_algorithm(side: str, seed: int, speed: Any = "compile") -> ppo.Algorithm:
    """The algorithm around a side's networks, which begin with the same numbers."""
    torch.manual_seed(seed)
    config = ppo.Config(device="cpu", speed=speed, anneal_learning_rate=False)
    return ppo.Algorithm(SIDES[side](*SPACES, config), config)


def take_turns(rows: int, seed: int) -> dict[str, Any]:
    batch, count = make_batch(rows, seed), max(3, STEPS // rows)

    def timed(algorithm: ppo.Algorithm) -> float:
        begin = time.perf_counter()
        for _ in range(count):
            algorithm.learn(batch)
        return 1e6 * (time.perf_counter() - begin) / count

    sides = {side: partial(timed, make_algorithm(side, seed)) for side in SIDES}
    taken = in_turns(sides, TURNS)
    found = {side: round(statistics.median(times), 1) for side, times in taken.items()}
    return {"seed": seed, "rows": rows, **found}


def table(runs: Runs) -> Table:
    rows: list[list[str]] = []
    for count in ROWS:
        apart, stacked = (median(runs, side, rows=count) for side in SIDES)
        times = f"{apart:,.0f}", f"{stacked:,.0f}", f"{stacked / apart:.2f}"
        rows.append([f"{count:,}", *times])
    header = ["rows", "apart, microseconds", "stacked, microseconds", "ratio"]
    return header, rows


def draw(axes: Any, runs: Runs) -> None:
    times = {
        side: [median(runs, side, rows=rows) / rows for rows in ROWS] for side in SIDES
    }
    dots(axes, {side: (ROWS, found) for side, found in times.items()}, "o-")
    axes.set_xscale("log", base=2)


CLAIMS = [
    Trial(
        name="time-stacked",
        statement=(
            "PPO's gradient step with actor and critic apart, and with their hidden"
            " layers as one batched product each; compiled, one thread."
        ),
        settings={"rows": ROWS, "turns": TURNS},
        run=take_turns,
        cases=[{"rows": rows} for rows in ROWS],
        timed=True,
        table=table,
        draw=draw,
        axes={
            "xlabel": "rows of a minibatch",
            "ylabel": "microseconds of a gradient step, for each row",
            "ylim": (0, None),
        },
    )
]


if __name__ == "__main__":
    main(CLAIMS)
