"""A tiny policy on a task of LIBERO: as it begins, cloned from the script, and after a
few rollouts of PPO on Ray."""

import inspect
import tempfile
import time
from pathlib import Path
from typing import Any

from yieldrl.algorithms import vla_ppo
from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.style import COLORS
from yieldrl.benchmarks.trial import Runs, Table, Trial, at_least
from yieldrl.experiments.suite_evaluation import SuiteEvaluation, find_suite
from yieldrl.experiments.suite_results import SuiteResults
from yieldrl.foundations.files import read_file

EPISODES = 20
TUNED = Path(inspect.getfile(vla_ppo)).parent / "configs" / "libero.yaml"
# as users get it by `yieldrl train vla_ppo --config libero`
LIBERO: dict[str, Any] = {**read_file(TUNED), "device": "cpu", "threads": 1}
STAGES = {"new": "random weights", "cloned": "cloned", "improved": "after PPO"}


def with_task(env_kwargs: Any = None, **fields: Any) -> dict[str, Any]:
    """Fields of the tuned file, but for the task and what that takes."""
    env_kwargs = LIBERO["env_kwargs"] | (env_kwargs or {})
    return {**LIBERO, **fields, "env_kwargs": env_kwargs}


def train(seed: int, **fields: Any) -> dict[str, Any]:
    """Success from the first fixed first states, at three points of a run."""
    config = vla_ppo.Config(**with_task(**fields, seed=seed))
    found: dict[str, Any] = {}
    begun = time.perf_counter()
    with vla_ppo.Trainer(config) as trainer:
        found["new"] = successes(trainer, "new")
        for log in trainer():
            if "cloned" not in found and log["logs"]["phase"] == 1.0:
                found["cloned"] = successes(trainer, "cloned")
        found["improved"] = successes(trainer, "improved")
        size = sum(parameter.numel() for parameter in trainer.model.parameters())
    minutes = round((time.perf_counter() - begun) / 60, 1)
    return {"seed": seed, **found, "parameters": size, "minutes": minutes}


def successes(trainer: Any, stage: str) -> dict[str, Any]:
    """How many episodes are successes, and the interval."""
    own = trainer.config
    suite = find_suite(own.env_kwargs["suite"], own.env_id)
    name = [*suite][own.env_kwargs["task"]]
    trainer.config = own.to_play()
    with tempfile.TemporaryDirectory() as folder:
        results = SuiteResults(f"{folder}/{stage}.json", {"tasks": {name: suite[name]}})
        parts = trainer, {name: suite[name]}, results, EPISODES
        evaluation = SuiteEvaluation(*parts)
        for outcome in evaluation:
            print(stage, outcome, flush=True)
        evaluation.close()
        trainer.config, result = own, results.evaluation()
    assert result is not None
    assert result.successes is not None
    low, high = result.success_interval()
    return {
        "successes": int(result.successes.sum()),
        "episodes": EPISODES,
        "rate": float(result.successes.mean()),
        "low": round(low, 4),
        "high": round(high, 4),
        "lengths": result.lengths.tolist(),
    }


def table(runs: Runs) -> Table:
    rows: list[list[str]] = []
    for stage, label in STAGES.items():
        of = runs[0][stage]
        interval = f"{of['low']:.3f} to {of['high']:.3f}"
        rows.append([label, f"{of['successes']} of {of['episodes']}", interval])
    return ["policy", "successes", "95 % interval"], rows


def draw(axes: Any, runs: Runs) -> None:
    for place, (stage, color) in enumerate(zip(STAGES, COLORS, strict=False)):
        of = runs[0][stage]
        beside = [[of["rate"] - of["low"]], [of["high"] - of["rate"]]]
        axes.bar(place, of["rate"], color=color, width=0.6)
        axes.errorbar(place, of["rate"], beside, color="gray", capsize=4)
    axes.set_xticks(range(len(STAGES)), STAGES.values())


def claim(name: str, what: str, statement: str, **fields: Any) -> Trial:
    """A smoke test: how much better is not claimed."""
    return Trial(
        name=f"libero-{name}",
        statement=statement,
        settings={**with_task(**fields), "episodes": EPISODES},
        run=train,
        cases=[fields],
        timed=True,  # one at a time: simulators take much memory
        table=table,
        judge=lambda runs: [
            at_least(
                "successes gained by cloning",
                runs[0]["cloned"]["successes"] - runs[0]["new"]["successes"],
                1,
            )
        ],
        draw=draw,
        axes={
            "title": f"{what}: a smoke test on two cores",
            "ylabel": "success rate, with 95 % interval",
            "ylim": (0, 1),
        },
    )


CLAIMS = [
    claim(
        "improving",
        "A bowl onto a plate",
        "A tiny policy that has cloned a script does a task of LIBERO at times, one of"
        " random weights never; PPO goes on from the clone, on Ray.",
    ),
    claim(
        "improving_object",
        "A can into a basket",
        "What the smoke test on the bowl shows holds of a second task, too, with longer"
        " ways and more of the script.",
        env_kwargs={"suite": "libero_object", "task": 0, "horizon": 200},
        demonstration_steps=8_000,
        total_steps=8_600,
        num_steps=50,
        clone_steps=1_800,
    ),
]


if __name__ == "__main__":
    main(CLAIMS)
