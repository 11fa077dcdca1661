"""`yieldrl evaluate`, and the evaluation at the end of training."""

import json
import sys
from pathlib import Path
from typing import Any

from tyro.conf import Positional

from yieldrl.cli.errors import usage_errors
from yieldrl.loggers.answers import ANSWERS, SEED, episodes_at_end, writes


def evaluate(
    run: Positional[str],
    episodes: int | None = None,
    seed: int = SEED,
    checkpoint: str = "last",
    device: str | None = None,
    in_order: bool = False,
    suite: str | None = None,
    episodes_per_task: int = 50,
    workers: int = 1,
    films: int = 1,
    out: str | None = None,
    trust: bool = False,
) -> None:
    """Play whole episodes with a trained agent, deterministically.

    Args:
        run: Folder of a run, a file of an agent, or an agent of `yieldrl list`.
        episodes: Episodes to play; by default 20, and 512 where actions are text.
        seed: Seed of the environments, the same for all runs, so that they compare.
        checkpoint: `last`, `best` in the evaluations of training (the last, if none was
            the best), or a file.
        device: Device to use; by default the one that it was trained on.
        in_order: Seed each episode separately: with `seed`, `seed + 1`, ...
        suite: Play several tasks: the name of a suite (`libero_spatial`), or a file of
            tasks and their `env_kwargs`. The same command continues an interrupted one.
        episodes_per_task: Episodes of each task of a suite.
        workers: Episodes of a suite to play side by side, each environment in a process
            of its own if there are several.
        films: Failed episodes of each task of a suite to record as videos.
        out: File of a suite's episodes, by default `evaluations/SUITE.json` in the
            folder of the run; films lie beside it.
        trust: Import and run code that the run names and that is not of yieldrl.
    """
    with usage_errors():
        from yieldrl.cli import restoring
        from yieldrl.experiments import run_files
        from yieldrl.loggers.checkpoints import describe_checkpoint

        path = restoring.locate(run, checkpoint)
        count = 1 if suite else ANSWERS if episodes is None else episodes
        trainer = restoring.player(path, count, device, alone=bool(suite), trust=trust)
        chosen = describe_checkpoint(path, trainer.agent.sample_step)
        evaluation = None
        if suite is not None:
            folder = Path(run) if Path(run).is_dir() else path.parent
            default = folder / run_files.EVALUATIONS / f"{Path(suite).stem}.json"
            file = default if out is None else Path(out)
            given = suite, path.name, seed, episodes_per_task, workers
            evaluation = _suite_evaluation(trainer, file, *given)
    with trainer:
        print(f"checkpoint: {chosen}")
        if evaluation is not None:
            _play_suite(evaluation, films)
            return
        how = {"every_episode": not writes(trainer), "in_order": in_order}
        kept = path.parent.parent if path.parent.name == run_files.CHECKPOINTS else None
        print(report(trainer, episodes, seed, **how, folder=kept))


def report(
    trainer: Any,
    episodes: int | None = None,
    seed: int = SEED,
    *,
    every_episode: bool = False,
    in_order: bool = False,
    folder: Path | None = None,
) -> str:
    """Play episodes deterministically; the text of their means, or of each episode.

    Each is kept in the `folder` of a run, if there is one.
    """
    from yieldrl.collectors import evaluate, play_in_order

    episodes = episodes_at_end(trainer) if episodes is None else episodes
    play = play_in_order if in_order else evaluate
    result = play(trainer.agent, trainer.evaluator.envs, episodes, seed)
    returns, lengths = result.returns, result.lengths
    if folder is not None:
        _keep(result, trainer, seed, folder, "-in-order" * in_order)
    summary = (
        f"{trainer.run.name} on {trainer.config.env_id}, {episodes} episodes:"
        f" return {returns.mean():.2f} +- {returns.std():.2f}"
        f" (min {returns.min():g}, max {returns.max():g}),"
        f" length {lengths.mean():.1f}"
    )
    if result.successes is not None:
        low, high = (f"{x:.1%}" for x in result.success_interval())
        rate = result.successes.mean()
        summary += f", success {rate:.1%} (95 % interval {low} to {high})"
    if not every_episode:
        return summary
    lines = [
        f"episode {number:3}: return {value:g}, length {length}"
        for number, (value, length) in enumerate(zip(returns, lengths, strict=True), 1)
    ]
    return "\n".join([*lines, summary])


def _keep(result: Any, trainer: Any, seed: int, folder: Path, how: str) -> None:
    """Write the episodes to `evaluations/`, for `yieldrl report`; or say why not."""
    from yieldrl.experiments import run_files
    from yieldrl.loggers.files import WriteError, write_atomically

    step, count = trainer.agent.sample_step, len(result.returns)
    told = {"success": result.successes} if result.successes is not None else {}
    columns = {"episode_return": result.returns, "length": result.lengths, **told}
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    facts = {"env_id": trainer.config.env_id, "sample_step": step, "seed": seed}
    facts["episodes"] = [dict(zip(columns, row, strict=True)) for row in rows]
    name = f"step_{step:09d}-seed{seed}-{count}{how}.json"
    try:
        write_atomically(folder / run_files.EVALUATIONS / name, json.dumps(facts))
    except WriteError as reason:  # a folder of somebody else's
        print(f"yieldrl: {reason}", file=sys.stderr)


def _suite_evaluation(
    trainer: Any,
    file: Path,
    suite: str,
    checkpoint: str,
    seed: int,
    episodes: int,
    workers: int,
) -> Any:
    """The evaluation of a suite, with the episodes that are in the file already."""
    from yieldrl.experiments.suites import SuiteEvaluation, SuiteResults, find_suite

    config, agent = trainer.config, trainer.agent
    tasks = find_suite(suite, config.env_id)
    about = {
        "suite": Path(suite).stem,
        "env_id": config.env_id,
        "checkpoint": checkpoint,
        "sample_step": agent.sample_step,
        "learn_step": agent.learn_step,
        "seed": seed,
        "tasks": {name: {**config.env_kwargs, **own} for name, own in tasks.items()},
    }
    parts = trainer, tasks, SuiteResults(file, about), episodes
    return SuiteEvaluation(*parts, seed=seed, workers=workers)


def _play_suite(evaluation: Any, films: int) -> None:
    """Play the episodes that are not in the file yet, and print the results."""
    results = evaluation.results
    print(f"episodes: {results.path}, {evaluation.planned} to play", flush=True)
    for number, one in enumerate(evaluation, 1):
        words = {None: f"return {one.episode_return:g}", True: "success"}
        print(
            f"{number}/{evaluation.planned} {one.task} {one.number}:"
            f" {words.get(one.success, 'failure')}, {one.length} decisions,"
            f" {one.seconds:.1f} s",
            flush=True,
        )
    for film in evaluation.films(results.path.with_suffix(""), films):
        print(f"film of a failure: {film}", flush=True)
    print(results.report())
