"""A tiny policy on a task of LIBERO: as it begins, cloned from the script, and after a
few rollouts of PPO on Ray."""

import tempfile
from typing import Any

from yieldrl.benchmarks import figure
from yieldrl.benchmarks.tasks import make_config, make_trainer
from yieldrl.experiments.suites import SuiteEvaluation, SuiteResults, find_suite

SAYS = {
    "libero-improving": (
        "A tiny policy that has cloned a script does a task of LIBERO at times, one of"
        " random weights never; PPO goes on from the clone, on Ray."
    ),
    "libero-improving_object": (
        "What the smoke test on the bowl shows holds of a second task, too, with"
        " longer ways and more of the script."
    ),
}
FIELDS: dict[str, dict[str, Any]] = {  # over those of the tuned file
    "libero-improving": {},
    "libero-improving_object": {
        "env_kwargs": {"suite": "libero_object", "task": 0, "horizon": 200},
        "demonstration_steps": 8_000,
        "total_steps": 8_600,
        "num_steps": 50,
        "clone_steps": 1_800,
    },
}
EPISODES = 20
STAGES = {"new": "random weights", "cloned": "cloned", "improved": "after PPO"}


def measure(seed: int, name: str, **fields: Any) -> dict[str, Any]:
    """Success from the first fixed first states, at three points of a run."""
    tuned = make_config("vla_ppo", "libero", {})
    given = {"threads": 1, **FIELDS[name], **fields, "seed": seed}
    given["env_kwargs"] = {**tuned.env_kwargs, **given.get("env_kwargs", {})}
    found: dict[str, Any] = {"seed": seed}
    with make_trainer("vla_ppo", given, "libero") as trainer:
        found["new"] = successes(trainer)
        for log in trainer():
            if "cloned" not in found and log["logs"]["phase"] == 1.0:
                found["cloned"] = successes(trainer)
        return found | {"improved": successes(trainer)}


def successes(trainer: Any) -> dict[str, Any]:
    """How many episodes are successes, and the interval."""
    own = trainer.config
    suite = find_suite(own.env_kwargs["suite"], own.env_id)
    task = dict([[*suite.items()][own.env_kwargs["task"]]])
    trainer.config = own.to_play()
    with tempfile.TemporaryDirectory() as folder:
        results = SuiteResults(f"{folder}/results.json", {"tasks": task})
        for _ in SuiteEvaluation(trainer, task, results, EPISODES):
            pass
        trainer.config, result = own, results.evaluation()
    assert result is not None
    assert result.successes is not None
    low, high = (round(end, 4) for end in result.success_interval())
    return {"successes": int(result.successes.sum()), "low": low, "high": high}


def table(runs: figure.Runs) -> figure.Table:
    found = [(label, runs[0][stage]) for stage, label in STAGES.items()]
    rows = [
        [label, f"{n['successes']} of {EPISODES}", f"{n['low']:.3f} to {n['high']:.3f}"]
        for label, n in found
    ]
    return ["policy", "successes", "95 % interval"], rows


if __name__ == "__main__":
    figure.main(SAYS, measure, table, None, one_at_a_time=True)
