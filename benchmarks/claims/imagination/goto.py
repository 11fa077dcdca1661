"""From one weak clone, with imagined rollouts beside the real ones and without."""

import time
from typing import Any

from yieldrl.algorithms import grpo_imagined, ppo_imagined, vla_grpo, vla_ppo
from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.runs import mean, some, spread, values
from yieldrl.benchmarks.style import lines
from yieldrl.benchmarks.trial import Runs, Table, Trial

WORLD: dict[str, Any] = {
    "env_id": "yieldrl/GoToPixels-v1",
    "env_kwargs": {"height": 3, "width": 3, "num_objects": 1, "max_episode_steps": 4},
    "model_config": {"width": 32, "vision_width": 16},
    "device": "cpu",
    "threads": 1,
    "num_envs": 256,
    "num_steps": 4,
    "collection": "sync",
    "demonstration_steps": 1_024,
    "clone_steps": 120,
    "total_steps": 13_312,
    "eval_every": 3_072,
    "eval_episodes": 256,
    "learning_rate": 0.0006,
}
REAL = {"num_epochs": 4, "num_minibatches": 4}  # as many gradient steps as imagined
IMAGINED = {
    "num_epochs": 2,
    "num_minibatches": 2,
    "refreshes": 4,
    "num_branches": 256,
    "model_warmup_steps": 200,
    "model_steps": 50,
}
SIDES: dict[str, tuple[Any, dict[str, Any]]] = {
    "vla_grpo": (vla_grpo, REAL),
    "grpo_imagined": (grpo_imagined, IMAGINED),
    "grpo_imagined, one stage": (grpo_imagined, {**IMAGINED, "stages": 1}),
    "vla_ppo": (vla_ppo, REAL),
    "ppo_imagined": (ppo_imagined, IMAGINED),
}
HORIZONS: dict[str, dict[str, Any]] = {
    **{f"horizon {h}": {"horizon": h} for h in (1, 5, 15)},
    "horizon 5, one stage": {"horizon": 5, "stages": 1},
}
ALL = SIDES | {
    side: (ppo_imagined, {**IMAGINED, **of}) for side, of in HORIZONS.items()
}
MODEL = ("model/error_1_step", "model/error_4_steps", "model/end_recall")
MODEL += ("model/end_calibration", "imagined/return", "imagined/real_return")


def train(side: str, seed: int) -> dict[str, Any]:
    """`curve` has rows of environment step, success rate and CPU seconds of this
    process but for evaluations; `model` what was logged of the model by then. Gradient
    steps are the policy's after cloning, and the model's by itself or beside it."""
    module, options = ALL[side]
    curve: list[tuple[float, ...]] = []
    model: list[dict[str, float]] = []
    logged: dict[str, float] = {}
    seconds = 0.0
    with module.Trainer(module.Config(**WORLD, **options, seed=seed)) as trainer:
        begin = time.process_time()
        for log in trainer():
            now = time.process_time()
            if log["log_type"] == "evaluate":
                success = round(float(log["logs"]["success_rate"]), 4)
                curve.append((log["sample_step"], success, round(seconds, 1)))
                model.append({**logged})
            else:
                seconds += now - begin
            logged |= {
                k: round(float(v), 4) for k, v in log["logs"].items() if k in MODEL
            }
            begin = time.process_time()
        world = getattr(trainer.algorithm, "world", None)
        steps = {"policy": trainer.agent.learn_step - WORLD["clone_steps"]}
        steps["model"] = 0 if world is None else int(world.version)
    ends = {"first": curve[0], "last": curve[-1]}
    names = "step", "success", "seconds"
    found = {k: dict(zip(names, row, strict=True)) for k, row in ends.items()}
    found["gradient_steps"] = steps
    return {"side": side, "seed": seed, **found, "curve": curve, "model": model}


def table(runs: Runs) -> Table:
    rows: list[list[str]] = []
    for side in SIDES:
        of = some(runs, side=side)
        row = [side, f"{mean(of, 'first', 'success'):.3f}"]
        row.append(spread(values(of, "last", "success")))
        rows.append([*row, f"{mean(of, 'last', 'seconds'):.0f}"])
    return ["improved by", "cloned", "improved", "CPU seconds"], rows


def table_of_horizons(runs: Runs) -> Table:
    rows: list[list[str]] = []
    for side in HORIZONS:
        of = some(runs, side=side)
        row = [side, f"{mean(of, 'first', 'success'):.3f}"]
        row.append(spread(values(of, "last", "success")))
        row += [f"{mean(of, 'gradient_steps', k):.0f}" for k in ("policy", "model")]
        rows.append([*row, f"{mean(of, 'last', 'seconds'):.0f}"])
    header = ["branches", "cloned", "improved", "gradient steps of the policy"]
    return [*header, "of the model", "CPU seconds"], rows


def draw(axes: Any, runs: Runs) -> None:
    sides = dict.fromkeys(run["side"] for run in runs)
    lines(axes, {side: values(runs, "curve", side=side) for side in sides})


AXES = {
    "xlabel": "real environment steps, the expert's included",
    "ylabel": "success rate of deterministic episodes",
}
CLAIMS = [
    Trial(
        name="imagination-goto",
        statement=(
            "A policy that sees a thing on a small grid, improved from one weak clone"
            " by nothing but its successes: on real rollouts alone, and on those and"
            " what a model of the world imagines beside them, in as many real steps."
        ),
        settings={**WORLD, "real": REAL, "imagined": IMAGINED},
        run=train,
        cases=[{"side": side} for side in SIDES],
        table=table,
        draw=draw,
        axes={"title": "GoTo from a weak clone, with and without imagination", **AXES},
    ),
    Trial(
        name="imagination-horizons",
        statement=(
            "ppo_imagined on the grid of `goto`, whose episodes have four decisions at"
            " most: branches of 1, 5 and 15 decisions, and the model learning first or"
            " beside the policy, in as many real steps and gradient steps of the"
            " policy."
        ),
        settings={**WORLD, "imagined": IMAGINED, "sides": HORIZONS},
        run=train,
        cases=[{"side": side} for side in HORIZONS],
        table=table_of_horizons,
        draw=draw,
        axes={"title": "GoTo from a weak clone, by horizon and stages", **AXES},
    ),
]


if __name__ == "__main__":
    main(CLAIMS)
