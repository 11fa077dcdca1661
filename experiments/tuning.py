"""A search for hyperparameters by Optuna, in a folder where it goes on after a kill."""

import importlib
import json
import math
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import torch

from yieldrl.core import Config, derive_seed
from yieldrl.experiments.run import Run
from yieldrl.experiments.search_space import distribution, from_label, holds, label
from yieldrl.experiments.side_by_side import SideBySide
from yieldrl.experiments.tuning_jobs import spread
from yieldrl.loggers import prune
from yieldrl.loggers.answers import SEED, episodes_at_end

SAME = "seeds", "sampler", "pruner", "metric"
"""Options of a search that must be the same when it goes on, as its config must."""

FAILURES = FloatingPointError, MemoryError, torch.OutOfMemoryError
"""What settings are to blame for: the search goes on with others."""


class Tuner:
    """A search whose trials train on the same seeds, and count by their mean.

    With one job, what is drawn for a trial depends on `config.seed` and on the trials
    that ended before it, also after a kill. The first has the config's own values, as
    far as the ranges hold them.

    Args:
        folder: Of the search; its `study.db` is a storage of Optuna.
        make: Makes a trainer from a config; picklable, if there are several jobs.
        config: All that is not tuned; its `seed` is the first of `options.seeds`.
        space: Field -> range, of `make_space`.
        options: Has what `SAME` names: `TuneOptions` of the command line.
        about: What else must be the same.

    Raises:
        ImportError: If Optuna is not installed.
        RunInUseError: If another process searches in the folder.
        ValueError: If the search in the folder has other settings.
    """

    def __init__(
        self,
        folder: Path,
        make: Callable[[Any], Any],
        config: Config,
        space: dict[str, Any],
        options: Any,
        about: dict[str, Any],
    ) -> None:
        if config.eval_every == 0:
            raise config.error("eval_every", "trials are compared by evaluations")
        self._optuna = optuna = _import_optuna()
        self._state = optuna.trial.TrialState
        self.make, self.config, self.options = make, config, options
        self.space = {k: distribution(config, k, one) for k, one in space.items()}
        self.seeds = range(config.seed, config.seed + options.seeds)
        self._run = Run("tune", config)
        self._run.folder = folder
        self.folder = self._run.claim()
        url = f"sqlite:///{self.folder / 'study.db'}"
        patient = {"connect_args": {"timeout": 60}}  # several processes write
        self._storage = optuna.storages.RDBStorage(url, patient)
        self.study = optuna.create_study(
            storage=self._storage,
            study_name="tune",
            direction="maximize",
            load_if_exists=True,
            pruner=_pruner(optuna.pruners, options.pruner, config),
        )
        self._fail_running()  # of a process that was killed
        same = {name: getattr(options, name) for name in SAME}
        same |= {f"range of {name}": one for name, one in space.items()}
        where = dict.fromkeys(("run_root", "run_name", "ray_address"))
        every = {**about, **config.to_dict(), **same, **where}
        self._refuse_others(json.loads(json.dumps(every)))

    def __call__(
        self, trials: int, executor: Any = None, jobs: int = 1
    ) -> Generator[Any, None, None]:
        """Search until so many trials have ended in all, yielding each that does.

        They are Optuna's `FrozenTrial`; what was interrupted is none. The user
        attribute `note` says why one was not trained to its end.
        """

        def asked() -> Iterator[tuple[Any, ...]]:
            own = {k: label(getattr(self.config, k)) for k in self.space}
            own = {k: x for k, x in own.items() if holds(self.space[k], x)}
            for taken in range(len(self.ended()), trials):
                seed = derive_seed(self.config.seed, f"trial {taken}")
                samplers = self._optuna.samplers
                kinds = {"tpe": samplers.TPESampler, "random": samplers.RandomSampler}
                self.study.sampler = kinds[self.options.sampler](seed=seed)
                if taken == 0:
                    self.study.enqueue_trial(own)
                trial = self.study.ask(self.space)
                metric = self.options.metric
                yield trial, self.make, self.config, self.seeds, trial, metric

        for trial, (value, note) in spread(train_trial, asked(), executor, jobs):
            trial.set_user_attr("note", note)
            state = self._state.PRUNED if note else self._state.COMPLETE
            yield self.study.tell(trial, value, state=state)

    def ended(self) -> list[Any]:
        """The trials that count: complete or pruned."""
        counted = self._state.COMPLETE, self._state.PRUNED
        return self.study.get_trials(deepcopy=False, states=counted)

    @property
    def best(self) -> Any:
        """The complete trial with the highest value; None if there is none."""
        complete = self.study.get_trials(states=(self._state.COMPLETE,))
        return max(complete, key=lambda trial: trial.value, default=None)

    def fresh(
        self, trial: Any, count: int, executor: Any = None, jobs: int = 1
    ) -> dict[int, float]:
        """Seed -> return `[count]`, of the seeds after those that trials trained on.

        They train with the settings of a trial, or with the config's own for None, and
        then play as `yieldrl train` does. Results of earlier calls are kept.
        """
        params = {} if trial is None else trial.params
        name = "beginning" if trial is None else f"trial {trial.number}"
        keys = {
            self.seeds.stop + i: f"{name}, {self.seeds.stop + i}" for i in range(count)
        }
        known = {**self.study.user_attrs.get("fresh", {})}
        tasks = (
            (key, self.make, settings(self.config, params, seed), self.options.metric)
            for seed, key in keys.items()
            if key not in known
        )
        for key, value in spread(train_fresh, tasks, executor, jobs):
            known[key] = value
            self.study.set_user_attr("fresh", known)
        return {seed: known[key] for seed, key in keys.items()}

    def close(self) -> None:
        """Close the storage, and free the folder. Trials that are under way fail, and
        do not count."""
        self._fail_running()
        self._storage.remove_session()
        self._storage.engine.dispose()
        self._run.close()

    def _fail_running(self) -> None:
        for trial in self.study.get_trials(states=(self._state.RUNNING,)):
            self.study.tell(trial.number, state=self._state.FAIL)

    def _refuse_others(self, about: dict[str, Any]) -> None:
        before = self.study.user_attrs.get("about", about)
        names = [x for x in {**before, **about} if before.get(x) != about.get(x)]
        if names:
            self.close()
            wrong = [f"{x} was {before.get(x)}, and is {about.get(x)}" for x in names]
            raise ValueError(
                f"{self.folder}: this search has other settings: {'; '.join(wrong)};"
                " give the new one another --run-name"
            )
        self.study.set_user_attr("about", about)


def settings(config: Any, params: dict[str, Any], seed: int) -> Any:
    """A config with what Optuna has drawn; ValueError if that does not go together."""
    tuned = {name: from_label(value) for name, value in params.items()}
    own = {"seed": seed, "run_name": None}
    return type(config).from_dict(config.to_dict() | tuned | own)


def train_trial(
    make: Callable[[Any], Any], config: Any, seeds: range, trial: Any, metric: str
) -> tuple[float | None, str]:
    """Train the seeds of a trial side by side: the mean of their last evaluations.

    Or None, and a note: it was pruned, or cannot be trained with its settings.
    """
    optuna, value = _import_optuna(), math.nan
    try:
        configs = [settings(config, trial.params, seed) for seed in seeds]
        trainers = SideBySide(map(make, configs))
    except ValueError as reason:
        return None, f"impossible: {reason}"
    try:
        with closing(trainers):
            for log in prune(trial, metric=metric)(trainers)():
                value = log["logs"][metric]
    except optuna.TrialPruned as reason:
        return None, f"pruned {reason}"
    except FAILURES as reason:
        return None, f"{type(reason).__name__}: {reason}"
    return (None, "diverged") if math.isnan(value) else (value, "")


def train_fresh(make: Callable[[Any], Any], config: Any, metric: str) -> float:
    """Train on one seed, and play as the command line does at the end; NaN if training
    diverged."""
    try:
        with make(config) as trainer:
            for _ in trainer():
                pass
            log = trainer.evaluate(episodes_at_end(trainer), SEED)
            return float(log["logs"][metric])
    except FAILURES:
        return math.nan


def _import_optuna() -> Any:
    """Optuna, which says nothing of its own."""
    optuna = importlib.import_module("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def _pruner(pruners: Any, name: str, config: Any) -> Any:
    every, total = config.eval_every, max(config.total_steps, config.eval_every)
    return {
        "median": pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=total // 3),
        "halving": pruners.SuccessiveHalvingPruner(every, reduction_factor=3),
        "hyperband": pruners.HyperbandPruner(every, total, reduction_factor=3),
        "none": pruners.NopPruner(),
    }[name]
