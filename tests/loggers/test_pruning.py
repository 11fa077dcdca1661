"""The prune logger, with a trial of Optuna that is nothing but its contract."""

import math

import pytest

from yieldrl import loggers
from yieldrl.experiments import SideBySide

optuna = pytest.importorskip("optuna", reason="the extra `tune` is not installed")


class Trial:
    """It is to be pruned from a step on."""

    def __init__(self, prune_at=math.inf):
        self.prune_at, self.reports = prune_at, {}

    def report(self, value, step):
        assert step not in self.reports
        self.reports[step] = value

    def should_prune(self):
        return max(self.reports, default=0) >= self.prune_at


def test_evaluations_are_reported_at_the_steps_at_which_trials_compare(make_trainer):
    """The fake trainer evaluates after 30, 60 and 90 steps, to half of that."""
    trainer, trial = make_trainer(eval_every=30, total_steps=90), Trial()
    late = make_trainer(eval_every=30, total_steps=90)  # by longer rollouts
    late._evaluated_by = "learn_step"
    list(loggers.prune(trial)(trainer)())
    assert trial.reports == {30: 15.0, 60: 30.0, 90: 45.0}
    list(loggers.prune(trial := Trial())(late)())
    assert trial.reports == {0: 15.0, 30: 45.0}  # after 14, 29 and 44 gradient steps
    list(loggers.prune(trial := Trial(), metric="lost")(trainer)())
    assert trial.reports == {}


def test_a_trial_that_falls_behind_ends_all_of_its_seeds(make_trainer):
    """By their mean; after the last evaluation there is nothing to prune."""
    trainers = [make_trainer(eval_every=30, total_steps=90) for _ in range(2)]
    trainers[1].evaluate = lambda *_: trainers[1].log("evaluate", {"episode_return": 1})
    seen, trial = [], Trial(prune_at=60)
    loop = loggers.prune(trial)(SideBySide(trainers))()
    with pytest.raises(optuna.TrialPruned, match=r"at step 60, with 15\.5"):
        seen.extend(log["logs"] for log in loop)
    assert trial.reports == {30: 8.0, 60: 15.5}
    assert seen == [{"episode_return": 8.0}, {"episode_return": 15.5}]  # what both have
    assert [trainer.closed_loops for trainer in trainers] == [1, 1]
    assert [trainer.agent.sample_step for trainer in trainers] == [60, 60]
    list(
        loggers.prune(Trial(prune_at=90))(make_trainer(eval_every=30, total_steps=90))()
    )
