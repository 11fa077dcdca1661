"""How often the script does tasks of LIBERO from their fixed first states."""

import statistics
from typing import Any

from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.runs import values
from yieldrl.benchmarks.style import strips
from yieldrl.benchmarks.trial import Demand, Runs, Table, Trial, at_least
from yieldrl.collectors.outcomes import Evaluation

EPISODES = 10
SUITES = "libero_spatial", "libero_object"  # each of ten tasks
RELIABLE = 0.9  # of the first states


def train(seed: int, suite: str, task: int) -> dict[str, Any]:
    """Nothing is drawn: first states are taken in their order, whatever the seed."""
    import gymnasium

    kwargs = {"suite": suite, "task": task, "cameras": ()}
    env: Any = gymnasium.make("yieldrl/LIBERO-v1", **kwargs)
    played = []
    for number in range(EPISODES):
        env.reset(seed=number)
        steps, ended, info = 0, False, {}
        while not ended:
            *_, terminated, truncated, info = env.step(env.unwrapped.expert())
            steps, ended = steps + 1, terminated or truncated
        played.append((float(info["success"]), steps, info["success"], ""))
    told = env.unwrapped.instruction
    env.close()
    low, high = Evaluation.of(played, known=True).success_interval()
    return {
        "seed": seed,
        "place": f"{suite}, {task}",
        "sentence": told,
        "successes": sum(int(success) for _, _, success, _ in played),
        "low": round(low, 4),
        "high": round(high, 4),
        "steps": [steps for _, steps, success, _ in played if success],
    }


def table(runs: Runs) -> Table:
    rows: list[list[str]] = []
    for run in runs:
        steps, row = run["steps"], [run["place"], run["sentence"]]
        row += [f"{run['successes']}", f"{run['low']:.2f} to {run['high']:.2f}"]
        if steps:
            row.append(f"{statistics.median(steps):.0f}")
            row += [str(min(steps)), str(max(steps))]
        rows.append(row if steps else [*row, "", "", ""])
    header = ["task", "sentence", "successes, of ten", "95 % interval"]
    return [*header, "steps", "from", "to"], rows


def judge(runs: Runs) -> list[Demand]:
    reliable = sum(run["successes"] >= RELIABLE * EPISODES for run in runs)
    words = "tasks that are done from nine of ten first states"
    bowl, can = (
        min(values(runs, "successes", place=place))
        for place in ("libero_spatial, 2", "libero_object, 0")
    )
    return [
        at_least(words, reliable, 16),
        at_least("successes in libero_spatial 2, of ten", bowl, 9),
        at_least("successes in libero_object 0, of ten", can, 9),
    ]


CLAIMS = [
    Trial(
        name="libero-expert",
        statement=(
            "The script does sixteen of the twenty tasks of two suites of LIBERO from"
            " nine of the first ten fixed first states."
        ),
        settings={"episodes": EPISODES},
        run=train,
        cases=[{"suite": of, "task": n} for of in SUITES for n in range(10)],
        timed=True,  # one at a time: a simulator takes much memory
        table=table,
        judge=judge,
        draw=lambda axes, runs: strips(axes, {r["place"]: r["steps"] for r in runs}),
        axes={
            "title": "the script in libero_spatial and libero_object",
            "xlabel": "steps to success, one dot for each first state",
        },
    )
]


if __name__ == "__main__":
    main(CLAIMS)
