"""A policy that sees a picture and is told in words where to go: cloned from an expert,
then improved by PPO, and how often it succeeds.

A tiny vision-language-action model and a CNN; both are also told what means nothing.
"""

import itertools
from typing import Any

import gymnasium

from yieldrl.algorithms import ppo
from yieldrl.benchmarks import figure
from yieldrl.benchmarks.style import INK, lines
from yieldrl.benchmarks.tasks import make_trainer
from yieldrl.benchmarks.worlds import Misled
from yieldrl.collectors import evaluate
from yieldrl.envs.grid_world import GoToVectorEnv

SAYS = figure.said("vla-goto", __doc__)
POLICIES = ("vla", "cnn")
# The tiny model on small grids, where three pairs of colour and shape are never named.
# All else is the algorithm's defaults.
GOTO: dict[str, Any] = {"env_id": "yieldrl/GoToPixels-v1", "threads": 1}
GOTO |= {"env_kwargs": {"goals": "seen"}, "eval_every": 10_000, "eval_episodes": 128}
EPISODES, SEED = 512, 20_000  # of an evaluation: the same grids for every policy
# pairs of colour and shape that were named in training, those that were held out, and
# sentences that name any of the objects, whichever is rewarded
TOLD = ("seen", "unseen", "misled")


def measure(seed: int, side: str, **fields: Any) -> dict[str, Any]:
    """Success of the clone and of the improved policy, of each of `TOLD`."""
    run: dict[str, Any] = {"side": side, "seed": seed}
    fields, model = GOTO | fields | {"seed": seed}, ppo.Model if side == "cnn" else None

    def note(log: Any) -> None:
        if "cloned" not in run and log["logs"].get("phase") == 1.0:
            run["cloned"] = obedience(trainer)

    with make_trainer("vla_ppo", fields, model=model) as trainer:
        run["curve"] = figure.trained(trainer, 4, note, "success_rate")
        run["parameters"] = sum(p.numel() for p in trainer.model.parameters())
        return run | {"improved": obedience(trainer)}


def obedience(trainer: Any) -> dict[str, float]:
    """Success rates of a trainer's policy on GoTo, of each of `TOLD`."""
    config, found = trainer.config, {}
    world = {**gymnasium.spec(config.env_id).kwargs, **config.env_kwargs}
    for told in TOLD:
        kind, goals = (Misled, "seen") if told == "misled" else (GoToVectorEnv, told)
        envs = trainer.wrap_envs(kind(128, **world | {"goals": goals}), training=False)
        logs = evaluate(trainer.agent, envs, EPISODES, SEED).logs()
        found[told] = round(logs["success_rate"], 4)
    return found


def table(runs: figure.Runs) -> figure.Table:
    rows: list[list[str]] = []
    for side, when in itertools.product(POLICIES, ("cloned", "improved")):
        of = figure.some(runs, side=side)
        told = [figure.spread(figure.values(of, when, name)) for name in TOLD]
        rows.append([side, when, *told, f"{of[0]['parameters']:,}"])
    return ["policy", "", *TOLD, "parameters"], rows


def draw(axes: Any, runs: figure.Runs) -> None:
    lines(axes, {of.upper(): figure.values(runs, "curve", side=of) for of in POLICIES})
    label = "who does not listen, at best"
    axes.axhline(1 / 3, color=INK, linewidth=0.9, linestyle="--", label=label)
    axes.set(title="GoTo seen as images, told in words")
    axes.set(xlabel="environment steps, the expert's included")
    axes.set(ylabel="success rate of deterministic episodes")


if __name__ == "__main__":
    figure.main(SAYS, measure, table, draw, side=POLICIES)
