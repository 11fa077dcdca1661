"""Parts that are passed to a trainer, and the steps that it counts."""

import gymnasium as gym
import pytest
from gymnasium.spaces import Box, Discrete
from torch import nn
from worlds import Counter

from yieldrl.algorithms import dqn, ppo
from yieldrl.algorithms.off_policy import rows_of
from yieldrl.collectors import Collector, SyncCollector

CONFIG = ppo.Config(num_steps=8, total_steps=64, eval_every=0, device="cpu")


class From5(Counter):
    """Its actions are 5 and 6."""

    def __init__(self):
        super().__init__()
        self.action_space = Discrete(2, start=5)


class Wider(Counter):
    """Its observations have three numbers."""

    def __init__(self):
        super().__init__()
        self.observation_space = Box(-9, 9, (3,))


def test_what_is_no_such_part_is_refused():
    for parts, message in (
        ({"model": 3}, "model = 3 is no network, and makes none"),
        ({"model": nn.Linear(4, 2)}, "model: Linear has no spaces: derive"),
        ({"algorithm": ppo.Algorithm}, "algorithm = Algorithm is a class"),
        ({"agent": ppo.Agent}, "derive from Trainer with agent_class ="),
        ({"model": ppo.Model, "agent": 1}, "pass the outermost alone"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            ppo.Trainer(CONFIG, **parts)


@pytest.mark.parametrize("made_for", [From5, Wider])
def test_a_part_of_other_spaces_is_refused(made_for):
    """Actions 0 and 1 were sent where 5 and 6 are meant, in silence."""
    other = ppo.Trainer(CONFIG, envs=made_for)
    for part in ("model", "algorithm", "agent"):
        with pytest.raises(ValueError, match=r"the model observes .* make it of their"):
            ppo.Trainer(CONFIG, envs=Counter, **{part: getattr(other, part)})
        assert ppo.Trainer(CONFIG, envs=made_for, **{part: getattr(other, part)})
    trainer = ppo.Trainer(CONFIG, envs=Counter, eval_envs=made_for)
    with pytest.raises(ValueError, match="eval_envs: their observations are of"):
        trainer.evaluate(1)


def test_a_model_of_other_bounds_of_observations_fits():
    """They say how far numbers may go, and not what they are."""
    kept = ppo.Trainer(CONFIG, envs=Counter).model
    narrow = gym.spaces.Box(-99, 99, (2,))
    kept.observation_space = narrow
    assert ppo.Trainer(CONFIG, envs=Counter, model=kept).model is kept


def one_and_the_same():
    env = Counter()
    return lambda: env


@pytest.mark.parametrize("how", ["function", "batch", "wrapped"])
def test_evaluation_never_resets_what_is_trained_in(how):
    """Each one would leave a transition from before the reset to after it."""
    config = dqn.Config(num_envs=1, total_steps=64, eval_every=16, eval_episodes=1)
    same_step = gym.vector.AutoresetMode.SAME_STEP
    batch = gym.vector.SyncVectorEnv([Counter], autoreset_mode=same_step)
    sources = {
        "function": {"envs": one_and_the_same()},
        "batch": {"envs": batch, "eval_envs": batch},
        "wrapped": {"envs": batch, "eval_envs": gym.vector.VectorWrapper(batch)},
    }
    with pytest.raises(ValueError, match=r"evaluation would reset .* eval_every=0"):
        list(dqn.Trainer(config, **sources[how])())


class Delegating(Collector):
    """A collector of somebody's own, which is none of ours."""

    def __init__(self, envs, agent, buffer, *, seed):
        self.inner = SyncCollector(envs, agent, buffer, seed=seed)

    def step(self):
        return self.inner.step()

    def reset(self, seed):
        self.inner.reset(seed)

    def state_dict(self):
        return self.inner.state_dict()

    def load_state_dict(self, state):
        self.inner.load_state_dict(state)


def test_a_collector_of_ones_own_collects_in_turn(tmp_path):
    config = ppo.Config(num_steps=8, total_steps=64, eval_every=0, device="cpu")
    trainer = ppo.Trainer(config, collector=Delegating)
    next(trainer())
    assert trainer.state_dict()["collection"] == "sync"
    trainer.save(tmp_path / "own.pt")
    assert ppo.Trainer.load(tmp_path / "own.pt").agent.sample_step == 4


def test_an_evaluation_is_due_at_the_first_step_after_each_multiple():
    with ppo.Trainer(ppo.Config(eval_every=100, total_steps=400)) as trainer:
        found = []
        for trainer.agent.counters.sample_step in range(8, 400, 8):
            if trainer._evaluation_due:
                found.append(trainer.agent.sample_step)
                trainer._evaluated_at = found[-1]
        assert found == [104, 200, 304]
        trainer.agent.counters.sample_step = 400  # the end, and no multiple of 8
        assert trainer._evaluation_due


def test_a_run_resumed_between_two_evaluations_waits_for_the_next(tmp_path):
    config = ppo.Config(num_envs=4, eval_every=16, eval_episodes=1, device="cpu")
    trainer = ppo.Trainer(config)
    for log in trainer():
        if log["sample_step"] == 20:
            break
    trainer.save(tmp_path / "own.pt")
    assert not ppo.Trainer.load(tmp_path / "own.pt")._evaluation_due


def test_every_row_of_a_rollout_is_learned_from_at_its_own_step():
    with dqn.Trainer(dqn.Config(num_envs=2, device="cpu")) as trainer:
        rollout, now = trainer.collector.collect(3), trainer.agent.counters
        assert [now.sample_step for _ in rows_of(trainer, rollout)] == [2, 4, 6]
