"""`yieldrl evaluate RUN --suite NAME`: success by task."""

from pathlib import Path
from typing import Any

from yieldrl.cli.errors import usage_errors


def evaluate(
    run: str,
    checkpoint: str,
    device: str | None,
    suite: str,
    out: str | None,
    trust: bool,
    episodes_per_task: int,
    seed: int,
    workers: int,
    ray: bool,
    films: int,
) -> None:
    """Play the episodes that are not in the file yet, and print the results."""
    with usage_errors():
        from yieldrl.cli import restoring
        from yieldrl.experiments import run_files
        from yieldrl.loggers.checkpoints import describe_checkpoint

        path = run_files.find_checkpoint(run, checkpoint)
        trainer = restoring.player(path, 1, device, alone=True, trust=trust)
        folder = Path(run) if Path(run).is_dir() else path.parent
        file = folder / "evaluations" / f"{Path(suite).stem}.json"
        options = {"seed": seed, "workers": workers, "ray": ray}
        given = suite, episodes_per_task, path.name, file if out is None else Path(out)
        evaluation = _prepared(trainer, *given, **options)
    with trainer:
        try:
            results = evaluation.results
            chosen = describe_checkpoint(path, trainer.agent.sample_step)
            print(f"checkpoint: {chosen}\nepisodes: {results.path}", flush=True)
            _play(evaluation)
            for film in evaluation.films(results.path.with_suffix(""), films):
                print(f"film of a failure: {film}", flush=True)
            print(results.report())
        finally:
            evaluation.close()


def _prepared(
    trainer: Any, suite: str, episodes: int, checkpoint: str, file: Path, **options: Any
) -> Any:
    """The evaluation, with the episodes that are in the file already."""
    from yieldrl.experiments.suite_evaluation import SuiteEvaluation, find_suite
    from yieldrl.experiments.suite_results import SuiteResults

    config, agent = trainer.config, trainer.agent
    tasks = find_suite(suite, config.env_id)
    about = {
        "suite": Path(suite).stem,
        "env_id": config.env_id,
        "checkpoint": checkpoint,
        "sample_step": agent.sample_step,
        "learn_step": agent.learn_step,
        "seed": options["seed"],
        "tasks": {name: {**config.env_kwargs, **own} for name, own in tasks.items()},
    }
    results = SuiteResults(file, about)
    return SuiteEvaluation(trainer, tasks, results, episodes, **options)


def _play(evaluation: Any) -> None:
    """Print the longest time that it may take, then each episode."""
    pace, count = evaluation.pace(), evaluation.planned
    if pace is None:
        return
    limit = (
        f"of at most {pace.decisions}" if pace.decisions else "without a limit, 1 000"
    )
    print(
        f"{count} episodes to play, {limit} decisions, each {pace.deciding:.3g} s:"
        f" at most {_duration(evaluation.seconds(pace))}",
        flush=True,
    )
    for number, one in enumerate(evaluation, 1):
        said = {None: f"return {one.episode_return:g}", True: "success"}
        print(
            f"{number}/{count} {one.task} {one.number}:"
            f" {said.get(one.success, 'failure')}, {one.length} decisions,"
            f" {one.seconds:.1f} s",
            flush=True,
        )


def _duration(seconds: float) -> str:
    """
    >>> _duration(4.2), _duration(200), _duration(20_000)
    ('5 s', '4 min', '5 h 34 min')
    """
    if seconds < 60:
        return f"{int(seconds) + 1} s"
    minutes = -int(-seconds // 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
