"""Checks around training: predict, evaluate, save and load, acting copies."""

import copy
from typing import Any

import numpy as np
from gymnasium.vector.utils import batch_space

from yieldrl.envs.arrays import copied
from yieldrl.experiments.check_algorithm.instrument import Instrument
from yieldrl.experiments.check_algorithm.observers import ChangeLog
from yieldrl.experiments.check_algorithm.report import (
    Values,
    changed,
    generators,
    leaves,
    same,
)
from yieldrl.foundations.conversion import as_array
from yieldrl.foundations.text import listed


def predict_twice(instrument: Instrument) -> None:
    """Check that equal observations get equal actions, without random numbers."""
    agent, algorithm = instrument.agent, instrument.algorithm
    owners = {"agent": agent, "algorithm": algorithm, "model": algorithm.model}
    for obs in instrument.seen:
        before = generators(**owners)
        once, again = (_predicted(agent, obs) for _ in range(2))
        drawn = changed(before, generators(**owners))
        instrument.report.expect(
            "predict_is_deterministic",
            same(once, again) and not drawn,
            f"predict gave {once.tolist()} and then {again.tolist()} for the same"
            f" observations, and drew from {listed(drawn) or 'no generator we know'}:"
            " take the mean, the mode or the greedy action, without noise",
        )


def evaluate(instrument: Instrument) -> None:
    """Check that evaluation changes nothing that training needs."""
    agent = instrument.agent
    before = agent.sample_step
    instrument.within("evaluate", instrument.trainer.evaluate, 1)
    instrument.changes.acted("evaluate")
    instrument.report.expect(
        "evaluating_steps_no_training_environment",
        agent.sample_step == before,
        f"evaluate moved sample_step from {before} to {agent.sample_step}: count the"
        " steps that are learned from, alone",
    )


def has_eval_envs(trainer: Any) -> bool:
    """Whether there are environments to evaluate in."""
    try:
        return trainer.eval_envs is not None
    except ValueError:  # cannot be made a second time
        return False


class Snapshot:
    """The current state and actions, to compare with later ones."""

    def __init__(self, instrument: Instrument) -> None:
        self.instrument, self.trainer = instrument, instrument.trainer
        self.agent = agent = instrument.agent
        self.obs = self._observations()
        self.state = copy.deepcopy(self.trainer.state_dict())
        self.saved = copied(leaves(self.trainer.algorithm.state_dict()))
        self.actions = self._actions()
        agent.load_state_dict(copy.deepcopy(self.state["agent"]))  # with its memory
        self.actor: Any = None
        if hasattr(agent, "actor"):
            self.actor, self.version = agent.actor(), agent.policy_version
            self.weights = copied(leaves(agent.model.state_dict()))
            self._expect_of_copy("when it was made")

    def try_state(self) -> None:
        """Load the state: the actions must be the earlier ones."""
        self.trainer.load_state_dict(copy.deepcopy(self.state))
        lost = changed(self.saved, leaves(self.trainer.algorithm.state_dict()))
        lost += changed(self.actions, self._actions())
        self.instrument.report.expect(
            "state_dict",
            not lost,
            f"state_dict() was loaded after more training, and {listed(lost)} differ"
            " from what they were: save all that acting depends on (running statistics"
            " are buffers of the model, a generator is saved by the agent)",
        )

    def try_copy(self) -> None:
        """Check that later learning does not change the acting copy."""
        if self.actor is None:
            return
        self._expect_of_copy("after more was learned")
        changes = ChangeLog(self.actor, self.instrument.report)
        self.instrument.follow(self.actor, changes)
        self.actor.predict(self.obs)
        self.actor.sample(self.obs)
        self.instrument.changes.acted("agent.actor()")

    def _expect_of_copy(self, when: str) -> None:
        actor, chosen = self.actor, self.actions["predict"]
        action = _predicted(actor, self.obs)
        wrong = changed(self.weights, leaves(actor.model.state_dict()))
        wrong += [n for n, p in actor.model.named_modules() if p.training]
        self.instrument.report.expect(
            "acting_copy",
            same(action, chosen) and actor.policy_version == self.version and not wrong,
            f"{when}, agent.actor() chose {action.tolist()} at policy_version"
            f" {actor.policy_version}, where the agent had chosen {chosen.tolist()} at"
            f" {self.version}; other weights or train mode: {listed(wrong) or 'none'}."
            " Give it a copy of the model, in eval mode, and counters of its own, as"
            " Algorithm.acting_copy does",
        )

    def _observations(self) -> Any:
        """The latest that were acted on; random ones, if another thread acts."""
        if self.instrument.seen:
            return self.instrument.seen[-1]
        envs = self.trainer.envs
        space = batch_space(envs.single_observation_space, envs.num_envs)
        space.seed(0)
        return space.sample()

    def _actions(self) -> Values:
        sampled = [self.agent.sample(self.obs)[0] for _ in range(4)]
        samples = {f"sample {i}": as_array(x) for i, x in enumerate(sampled, 1)}
        return {"predict": _predicted(self.agent, self.obs), **samples}


def _predicted(agent: Any, obs: Any) -> np.ndarray:
    agent.begin_episode()
    return as_array(agent.predict(obs))
