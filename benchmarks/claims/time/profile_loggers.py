"""What a log costs, and each logger that it passes: a trainer that does nothing yields
as many logs as a training would, of the same kinds."""

import contextlib
import io
import statistics
import tempfile
import time
from collections.abc import Callable, Generator
from typing import Any

from yieldrl import loggers
from yieldrl.abstractions import LogData
from yieldrl.algorithms import ppo
from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.runs import median
from yieldrl.benchmarks.style import bars
from yieldrl.benchmarks.trial import Runs, Table, Trial, at_most

# rollouts of a loop; logs of collecting in each, and of gradient steps
ROLLOUTS, STEPS, UPDATES = 400, 128, 16

ROUNDS = 3  # loops of each logger in a seed

# name -> makes the loggers
LOGGERS: dict[str, Callable[[], list[Any]]] = {
    "none": list,
    "progress": lambda: [loggers.progress()],
    "csv": lambda: [loggers.csv()],
    "jsonl": lambda: [loggers.jsonl()],
    "tensorboard": lambda: [loggers.tensorboard()],
    "early_stop": lambda: [loggers.early_stop("episode_return", threshold=1e9)],
    "checkpoint": lambda: [loggers.checkpoint()],
    "those of the command line": lambda: [
        *(loggers.checkpoint(), loggers.csv()),
        *(loggers.tensorboard(), loggers.progress()),
    ],
}


class Idle(ppo.Trainer):
    """PPO's logs without PPO."""

    def __call__(self) -> Generator[LogData, None, None]:
        agent = self.agent
        for _ in range(ROLLOUTS):
            for _ in range(STEPS):
                agent.sample_step += self.config.num_envs
                ended = agent.sample_step % 80 == 0
                logs = {"episode_return": 20.0, "episode_length": 20.0}
                yield self._log("collect", logs if ended else {})
            for _ in range(UPDATES):
                agent.learn_step += 1
                names = ("loss", "policy_loss", "value_loss", "entropy", "approx_kl")
                yield self._log("train", dict.fromkeys(names, 0.5))


def loop(name: str, seed: int) -> float:
    steps = ROLLOUTS * STEPS * 4
    with tempfile.TemporaryDirectory() as folder:
        config = ppo.Config(
            seed=seed, total_steps=steps, run_root=folder, eval_every=0, device="cpu"
        )
        with Idle(config) as trainer, contextlib.redirect_stderr(io.StringIO()):
            logged: Any = trainer
            for logger in LOGGERS[name]():
                logged = logger(logged)
            begin = time.perf_counter()
            count = sum(1 for _ in logged())
            return 1e6 * (time.perf_counter() - begin) / count


def take_turns(seed: int) -> dict[str, Any]:
    rounds = [{name: loop(name, seed) for name in LOGGERS} for _ in range(ROUNDS + 1)]
    found = {
        name: round(statistics.median(one[name] for one in rounds[1:]), 3)
        for name in LOGGERS
    }
    return {"seed": seed, **found}


def table(runs: Runs) -> Table:
    none = median(runs, "none")
    found = {name: median(runs, name) for name in LOGGERS}
    rows = [[name, f"{of:.2f}", f"{of - none:.2f}"] for name, of in found.items()]
    return ["loggers", "microseconds of a log", "of these the logger's"], rows


CLAIMS = [
    Trial(
        name="time-loggers",
        statement=(
            "What a log costs that a loop yields, and what each logger adds to it."
        ),
        settings={"rollouts": ROLLOUTS, "collect": STEPS, "train": UPDATES},
        run=take_turns,
        timed=True,
        table=table,
        judge=lambda runs: [  # a step of one environment takes some fifty
            at_most("microseconds of a yield", median(runs, "none"), 5.0)
        ],
        draw=lambda axes, runs: bars(
            axes, {name: {"": median(runs, name)} for name in LOGGERS}
        ),
        axes={"xlabel": "microseconds of a log"},
    )
]


if __name__ == "__main__":
    main(CLAIMS)
