"""The schedule around a rollout: what of observations it keeps."""

import gymnasium as gym
import numpy as np
import pytest
import torch
from factories import plain, trainer_of
from gymnasium.spaces import Box, Discrete

from yieldrl.algorithms import ppo, vla_ppo, vla_ppo_steady
from yieldrl.experiments.parts import transition_parts

TINY = {"env_kwargs": {"max_episode_steps": 6}, "chunk_length": 2}
TINY |= {"model_config": {"width": 16, "layers": 1, "heads": 2, "vision_width": 8}}


class Pictures(gym.Env):
    """Noise of 36 x 36 pixels, for episodes of chance lengths up to 5."""

    observation_space = Box(0, 255, (1, 36, 36), np.uint8)
    action_space = Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.look(), {}

    def step(self, action):
        self.steps += 1
        ends = bool(self.np_random.random() < 0.1)
        return self.look(), float(action), ends, self.steps == 5, {}

    def look(self):
        return self.np_random.integers(0, 256, (1, 36, 36), np.uint8)


def of_pictures(**parts):
    return trainer_of(ppo, envs=Pictures, num_envs=4, total_steps=128, **parts)


def of_tokens(module, **options):
    def made(**parts):
        pytest.importorskip("transformers", reason="its model is of yieldrl[vla]")
        sizes = {**TINY, "num_envs": 4, "num_epochs": 1, "total_steps": 128}
        return trainer_of(module, **sizes, **options, **parts)

    return made


MAKERS = {
    "ppo": of_pictures,
    "vla_ppo": of_tokens(vla_ppo, collection="sync"),
    "vla_ppo_steady": of_tokens(
        vla_ppo_steady, ratio_level="action", value_per="action", max_policy_lag=0
    ),
}


@pytest.mark.parametrize("name", MAKERS)
def test_pictures_are_kept_once_and_learning_is_the_same_to_the_bit(name):
    runs = []
    for once in (True, False):
        with MAKERS[name]() as run:
            assert run.buffer._storage._linked
            if not once:
                own = run.buffer
                buffer = type(own)(own.num_steps, **transition_parts(run))
                run = MAKERS[name](buffer=buffer)
                assert not run.buffer._storage._linked
            cut, logs = 0, []
            for log in run():
                if log["log_type"] == "train":
                    logs.append(plain(log)["logs"])
                elif run.buffer.full:
                    cut += int(run.buffer.rollout()["truncated"][:-1].sum())
            assert cut > 0
            runs.append((logs, [p.detach().clone() for p in run.model.parameters()]))
    assert len(runs[0][0]) >= 8
    assert runs[0][0] == runs[1][0]
    assert all(map(torch.equal, runs[0][1], runs[1][1]))


@pytest.mark.parametrize("env_id", ["CartPole-v1", "yieldrl/CartPole-v1"])
def test_numbers_are_kept_twice(env_id):
    few = {"total_steps": 64, "eval_every": 0, "device": "cpu"}
    config = ppo.Config(env_id=env_id, num_envs=4, num_steps=4, **few)
    assert not ppo.Trainer(config).buffer._storage._linked
