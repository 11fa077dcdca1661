"""Train the policies that play on the pages of the site, before, half way and after."""

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from yieldrl import exports
from yieldrl.algorithms import behavior_cloning
from yieldrl.collectors import evaluate
from yieldrl.foundations.files import read_file

from .tasks import make_config

FOLDER = Path(__file__).parents[1] / "docs" / "assets" / "demos" / "policies"
SITE = read_file(Path(__file__).with_name("site.yaml"))
STAGES = ("untrained", "halfway", "trained")
LOOKS = 20  # evaluations of the policy while it learns
EPISODES = 100
SEED = 1_000_000  # of the episodes, as `yieldrl evaluate` has it


class Demo(NamedTuple):
    """What is trained: an algorithm, its config's fields, and the seed."""

    algorithm: str
    fields: dict[str, Any]
    tuned: str | None = None
    seed: int = 1


DEMOS = {name: Demo(**fields) for name, fields in SITE["demos"].items()}


def train(name: str, seed: int | None = None, folder: Path = FOLDER) -> Iterator[Path]:
    """Train a demo's policy and write it as it was at first, half way and at the end.

    Half way is where its return came closest to the middle between the first and the
    last. Each file says how well it plays, and by which command it was made.
    """
    seed = DEMOS[name].seed if seed is None else seed
    command = f"python -m benchmarks demos {name} --seed {seed}"
    with make_trainer(name, seed) as trainer:
        looks = [_look(trainer)]
        for _ in trainer():
            if _share(trainer) >= len(looks) / LOOKS:
                looks.append(_look(trainer))
    first, last = looks[0], looks[-1]
    middle = (first["notes"]["episode_return"] + last["notes"]["episode_return"]) / 2
    between = min(
        looks[1:-1], key=lambda look: abs(look["notes"]["episode_return"] - middle)
    )
    for stage, policy in zip(STAGES, (first, between, last), strict=True):
        policy["notes"] |= {"stage": stage, "seed": seed, "command": command}
        yield exports.save(policy, folder / f"{name}-{stage}.json")


def make_trainer(name: str, seed: int) -> Any:
    return trainer_of(DEMOS[name], seed, eval_episodes=EPISODES)


def trainer_of(what: Any, seed: int, **fields: Any) -> Any:
    """A trainer for the site: of a demo, or of a film of the gallery."""
    fields |= {"seed": seed, "eval_every": 0, "device": "cpu"}
    own = {k: tuple(v) if isinstance(v, list) else v for k, v in what.fields.items()}
    module = importlib.import_module(f"yieldrl.algorithms.{what.algorithm}")
    return module.Trainer(make_config(what.algorithm, what.tuned, own | fields))


def mean_return(trainer: Any, episodes: int) -> float:
    """Mean return of deterministic episodes."""
    result = evaluate(trainer.agent, trainer.eval_envs, episodes, SEED)
    return round(float(result.returns.mean()), 2)


def _share(trainer: Any) -> float:
    """How much of the training is done: of the steps, or of what follows them where
    nothing is learned before they are all there."""
    if isinstance(trainer, behavior_cloning.Trainer):
        ready = trainer.collecting_done
        return trainer.agent.learn_step / trainer.learn_steps if ready else 0.0
    return trainer.agent.sample_step / trainer.config.total_steps


def _look(trainer: Any) -> dict[str, Any]:
    """The current policy, and how well it plays."""
    mean = mean_return(trainer, EPISODES)
    return exports.describe(trainer.agent, episode_return=mean, episodes=EPISODES)
