"""Chunks of 1, 4 and 8 actions; ratios of tokens and of chunks."""

import dataclasses
from typing import Any

from yieldrl.algorithms import vla_ppo
from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.runs import mean, some, spread, values
from yieldrl.benchmarks.style import lines
from yieldrl.benchmarks.trial import Demand, Runs, Table, Trial, at_least

from .learning import AXES, CLONE, EPISODES, PPO, cloned, learned, look

LENGTHS = {1: {"1": "chunk"}}
# chunk length -> side -> what the ratio is of; for one action both are the same
LENGTHS |= {n: {f"{n}, {of}": of for of in ("chunk", "token")} for n in (4, 8)}
SIDES = tuple(side for sides in LENGTHS.values() for side in sides)


def train(length: int, seed: int) -> dict[str, Any]:
    config = vla_ppo.Config(**CLONE, chunk_length=length, seed=seed)
    weights, first = cloned(config, look)
    runs: list[dict[str, Any]] = []
    for side, level in LENGTHS[length].items():
        config = dataclasses.replace(config, **PPO, ratio_level=level)
        run = learned("vla", config, look, weights)
        runs.append({**run, "side": side, "seed": seed, "cloned": first})
    return {"runs": runs}


def table(runs: Runs) -> Table:
    rows: list[list[str]] = []
    for side in SIDES:
        of = some(runs, side=side)
        ends = (spread(values(of, when, "success")) for when in ("cloned", "improved"))
        rows.append([side, *ends, f"{mean(of, 'improved', 'looks'):.2f}"])
    header = ["actions of a chunk, ratio", "cloned", "improved"]
    return [*header, "looks of an episode"], rows


def judge(runs: Runs) -> list[Demand]:
    """PPO makes no clone worse, but for what 512 episodes cannot tell."""

    def gained(of: Runs) -> float:
        return mean(of, "improved", "success") - mean(of, "cloned", "success")

    words = "success gained by PPO"
    each = {side: gained(some(runs, side=side)) for side in SIDES}
    return [at_least(f"{side}: {words}", of, -0.02) for side, of in each.items()]


CLAIMS = [
    Trial(
        name="vla-chunks",
        statement=(
            "Chunks of 1, 4 and 8 actions, with one ratio for a chunk or one for each"
            " token, after as many looks."
        ),
        settings={**CLONE, **PPO, "episodes": EPISODES},
        run=train,
        cases=[{"length": length} for length in LENGTHS],
        table=table,
        judge=judge,
        draw=lambda axes, runs: lines(
            axes, {f"L = {side}": values(runs, "curve", side=side) for side in SIDES}
        ),
        axes={"title": "Chunks of actions on GoTo", **AXES}
        | {"xlabel": "looks of the policy"},
    )
]


if __name__ == "__main__":
    main(CLAIMS)
