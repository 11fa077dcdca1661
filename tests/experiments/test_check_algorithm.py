"""The check of an algorithm passes what is right and names what is wrong."""

import copy
import dataclasses
import re

import numpy as np
import pytest
import torch
from factories import config_of
from quick_tasks import Aim
from torch import nn

import yieldrl
from yieldrl import abstractions
from yieldrl.algorithms import dqn, ppo
from yieldrl.collectors import evaluate
from yieldrl.experiments import CHECKS, ContractError
from yieldrl.experiments.contract.values import changed, leaves
from yieldrl.networks import MLP, update_target

# Of batch norm and dropout trainers warn: they are here to be switched.
pytestmark = pytest.mark.filterwarnings("ignore:.*compute something else in train mode")


PPO = config_of(ppo, num_envs=4, total_steps=256, log_std_init=1.0)
PPO = dataclasses.replace(PPO, normalize_observation=True)
DQN = config_of(dqn, num_envs=1, total_steps=64)


def found(trainer):
    """Names of the checks that failed; the message must say what they are about."""
    with pytest.raises(ContractError, match="breaks the contract") as caught:
        yieldrl.check_algorithm(trainer)
    error = caught.value
    message = str(error)
    assert all(f"- {name}: {text}" in message for name, text in error.failures.items())
    return set(error.failures)


def trainer_of(cls, config=None):
    """PPO's or DQN's trainer with one class replaced, and layers that know the mode."""
    module = dqn if issubclass(cls, FROM_DQN) else ppo
    part = next(name for name in PARTS if issubclass(cls, getattr(abstractions, name)))
    args = config or (DQN if module is dqn else PPO)
    named_one = module is dqn or args.env_id != PPO.env_id
    options = {} if named_one else {"envs": Aim}
    if part == "Trainer":
        return cls(args, **options)

    class Model(cls if part == "Model" else module.Model):
        def __init__(self, *args):
            super().__init__(*args)
            for mlp in [p for p in self.modules() if type(p) is MLP]:
                layers = mlp.layers
                width = layers[0].out_features
                moody = nn.BatchNorm1d(width), nn.Dropout(0.3)
                layers[0] = nn.Sequential(layers[0], *moody)

    named = {} if part == "Model" else {f"{part.lower()}_class": cls}
    trainer_class = type("Trainer", (module.Trainer,), {"model_class": Model, **named})
    return trainer_class(args, **options)


PARTS = ("Model", "Algorithm", "Agent", "Trainer")
FROM_DQN = (dqn.Model, dqn.Algorithm, dqn.Agent, dqn.Trainer)


class Frozen(ppo.Model):
    """A part of it stays in eval mode, by its own will."""

    def train(self, mode=True):
        super().train(mode)
        self.critic.eval()
        return self


@pytest.mark.parametrize("cls", [ppo.Algorithm, dqn.Algorithm, Frozen])
def test_what_is_right_passes(cls):
    looks = yieldrl.check_algorithm(trainer_of(cls))
    assert looks.keys() == CHECKS.keys()
    absent = {name for name, count in looks.items() if count == 0}
    own = "stored_log_prob" if cls is dqn.Algorithm else "target_by_sync_alone"
    assert absent == {own}


class Faults:
    """Planted, one each."""

    class PredictsInTrainMode(ppo.Agent):
        def predict(self, obs):
            self.model.train()
            action = super().predict(obs)
            self.model.eval()
            return action

    class NormalizesWhileActing(ppo.Agent):
        def explore(self, obs):
            self.model.normalizer.update(obs)
            return super().explore(obs)

    class ActsWithGradients(ppo.Agent):
        def sample(self, obs):
            action, extras = self.explore(torch.as_tensor(obs))
            if self.counters.acted_version is None:
                self.counters.acted_version = self.policy_version
            return action.detach().clamp(-1, 1).numpy(), extras

    class LearnsInEvalMode(ppo.Algorithm):
        def learn(self, data):
            self.model.eval()
            return super().learn(data)

    class StaysInTrainMode(ppo.Algorithm):
        def update(self, minibatches):
            for logs in super().update(minibatches):
                self.model.train()
                yield logs

    class LearnStepsTheEnvironment(ppo.Trainer):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.learn, self.algorithm.learn = self.algorithm.learn, self.step_and_learn

        def step_and_learn(self, data):
            self.envs.step(np.zeros((4, 1), np.float32))
            return self.learn(data)

    class EvaluatesInTrainingEnvironments(ppo.Trainer):
        def evaluate(self, episodes=10, seed=None):
            return self._log("evaluate", evaluate(self.agent, self.envs, 1, 0).logs())

    class KeepsTheClippedAction(ppo.Agent):
        def sample(self, obs):
            action, extras = super().sample(obs)
            extras.pop("action", None)
            return action, extras

    class ActsWithOldWeights(ppo.Agent):
        def explore(self, obs):
            if not hasattr(self, "old"):
                self.old = copy.deepcopy(self.model)
            return self.old.sample(obs, self.generator, record=self.records_log_prob)

    class SignsAnotherVersion(ppo.Agent):
        def sample(self, obs):
            action, extras = super().sample(obs)
            if "policy_version" in extras:
                extras["policy_version"] -= 1
            return action, extras

    class DecaysWeightsInBetween(ppo.Trainer):
        @torch.no_grad()
        def _run_collect(self):
            for parameter in self.model.parameters():
                parameter.mul_(0.99)
            return super()._run_collect()

    class PredictSamples(ppo.Algorithm):
        def predict(self, obs):
            return self.model(obs)[0]

    class PredictDraws(dqn.Agent):
        def predict(self, obs):
            self.rng.random()
            return super().predict(obs)

    class LogsAGraph(ppo.Algorithm):
        def learn(self, data):
            log_prob = self.model.evaluate_actions(data["obs"], data["action"])[0]
            return super().learn(data) | {"log_prob": log_prob.mean()}

    class LogsManyNumbers(dqn.Algorithm):
        def learn(self, data):
            return super().learn(data) | {"reward": data["reward"]}

    class LearnsNothing(dqn.Algorithm):
        def learn(self, data):
            loss, logs = self.loss(data)
            loss.backward()
            return logs

    class LearnMovesTheTarget(dqn.Algorithm):
        def learn(self, data):
            logs = super().learn(data)
            update_target(self.model, self.target_model, 0.5)
            return logs

    class CountsTwice(dqn.Agent):
        def learn(self, data):
            logs = super().learn(data)
            self.counters.learn_step += 1
            return logs

    class ForgetsTheGenerator(dqn.Agent):
        def load_state_dict(self, state):
            super().load_state_dict({**state, "rng": self.rng.bit_generator.state})

    class ActorIsTheAgent(ppo.Agent):
        def actor(self):
            return self

    class ActorSharesTheWeights(dqn.Algorithm):
        def acting_copy(self):
            acting = super().acting_copy()
            acting.model = self.model
            return acting


@pytest.mark.parametrize(
    ("faulty", "check"),
    [
        (Faults.PredictsInTrainMode, "acting_in_eval_mode"),
        (Faults.NormalizesWhileActing, "acting_changes_nothing"),
        (Faults.ActsWithGradients, "acting_without_gradients"),
        (Faults.LearnsInEvalMode, "learning_in_train_mode"),
        (Faults.StaysInTrainMode, "learning_in_train_mode"),
        (Faults.LearnStepsTheEnvironment, "learning_steps_no_environment"),
        (
            Faults.EvaluatesInTrainingEnvironments,
            "evaluating_steps_no_training_environment",
        ),
        (Faults.KeepsTheClippedAction, "stored_log_prob"),
        (Faults.ActsWithOldWeights, "stored_log_prob"),
        (Faults.SignsAnotherVersion, "policy_version"),
        (Faults.DecaysWeightsInBetween, "policy_version"),
        (Faults.PredictSamples, "predict_is_deterministic"),
        (Faults.PredictDraws, "predict_is_deterministic"),
        (Faults.LogsAGraph, "metrics"),
        (Faults.LogsManyNumbers, "metrics"),
        (Faults.LearnsNothing, "learning_moves_parameters"),
        (Faults.LearnMovesTheTarget, "target_by_sync_alone"),
        (Faults.CountsTwice, "counters"),
        (Faults.ForgetsTheGenerator, "state_dict"),
        (Faults.ActorIsTheAgent, "acting_copy"),
        (Faults.ActorSharesTheWeights, "acting_copy"),
    ],
)
def test_planted_faults(faulty, check):
    assert check in CHECKS
    assert check in found(trainer_of(faulty))


def test_beside_a_collector_in_the_background_it_is_found_too():
    config = dataclasses.replace(PPO, collection="async")
    assert "stored_log_prob" in found(trainer_of(Faults.ActsWithOldWeights, config))
    config = dataclasses.replace(DQN, collection="async")
    with pytest.raises(RuntimeError, match="shares parameters that learn"):
        trainer_of(Faults.ActorSharesTheWeights, config)


@pytest.mark.parametrize(
    ("cls", "steps"), [(ppo.Algorithm, 0), (ppo.Algorithm, 9), (dqn.Algorithm, 40)]
)
def test_training_goes_on_as_if_nothing_had_happened(cls, steps):
    config = PPO if cls is ppo.Algorithm else DQN
    config = dataclasses.replace(config, env_id="yieldrl/CartPole-v1", num_envs=4)

    def trained(*, checked):
        trainer = trainer_of(cls, config)
        for _ in zip(range(steps), trainer(), strict=False):
            pass
        if checked:
            yieldrl.check_algorithm(trainer)
        logs = list(trainer())
        return logs, trainer.agent.state_dict()

    (logs, state), (others, other) = trained(checked=True), trained(checked=False)
    assert logs == others
    assert not changed(leaves(state), leaves(other))


def test_nothing_stays_wrapped_whatever_happens():
    class Breaks(ppo.Algorithm):
        def learn(self, data):
            raise ConnectionError("in the cable")

    for cls in (ppo.Algorithm, Breaks):
        trainer = trainer_of(cls)
        if cls is Breaks:
            with pytest.raises(ConnectionError, match="in the cable"):
                yieldrl.check_algorithm(trainer)
        else:
            yieldrl.check_algorithm(trainer)
        for part in (trainer.agent, trainer.algorithm, trainer.collector, trainer.envs):
            assert "Watch" not in repr(vars(part).values())
        assert not trainer.agent.records_log_prob
        assert not any(part._forward_pre_hooks for part in trainer.model.modules())
        assert trainer.agent.sample_step == 0


def test_a_trainer_that_does_not_learn_is_refused():
    trainer = trainer_of(ppo.Algorithm)
    with pytest.raises(ValueError, match=re.escape("took 3 steps and did not learn")):
        yieldrl.check_algorithm(trainer, max_steps=3)
    for _ in trainer():
        pass
    with pytest.raises(ValueError, match="took 0 steps and did not learn"):
        yieldrl.check_algorithm(trainer)
