"""How often the script does tasks of LIBERO from their fixed first states."""

from collections.abc import Sequence
from typing import Any

from yieldrl.benchmarks.claim import Run, constants
from yieldrl.benchmarks.style import COLORS
from yieldrl.collectors.outcomes import Evaluation

EPISODES, TASKS = constants("libero/expert", "EPISODES", "TASKS")
CASES = [
    {"suite": suite, "task": n} for suite, count in TASKS.items() for n in range(count)
]
PLACES = [f"{case['suite']}, {case['task']}" for case in CASES]
SETTINGS = {"episodes": EPISODES}
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
    result = Evaluation.of(played, known=True)
    low, high = result.success_interval()
    return {
        "seed": seed,
        "place": f"{suite}, {task}",
        "sentence": told,
        "successes": sum(int(success) for _, _, success, _ in played),
        "low": round(low, 4),
        "high": round(high, 4),
        "steps": [steps for _, steps, success, _ in played if success],
    }


def reliable(runs: Sequence[Run]) -> int:
    return sum(run["successes"] >= RELIABLE * EPISODES for run in runs)


def sentence(runs: Sequence[Run]) -> str:
    return runs[0]["sentence"]


def draw(axes: Any, runs: Sequence[Run]) -> None:
    for height, run in enumerate(reversed(runs)):
        steps = run["steps"]
        axes.plot(steps, [height] * len(steps), "o", color=COLORS[0], alpha=0.4)
    axes.set_yticks(range(len(runs)), [run["place"] for run in reversed(runs)])
