"""n-step DQN: its target by hand, its samples, its config, learning."""

import pytest
import torch
from quick_tasks import learned_error
from worlds import Counter

from yieldrl.algorithms import dqn, n_step_dqn


def trainer_of(module=n_step_dqn, **kwargs):
    settings = {"total_steps": 40, "learning_starts": 20, "eval_every": 0}
    return module.Trainer(
        module.Config(**{**settings, **kwargs}), envs=lambda: Counter(5)
    )


def test_the_target_is_n_rewards_and_the_value_after_them():
    trainer = trainer_of(gamma=0.5, buffer_size=30)
    for _ in trainer():
        pass
    data = trainer.buffer.sample(500)
    with torch.no_grad():
        value = trainer.algorithm.target_model.value(data["next_obs"]).max(1).values
        target = trainer.algorithm.td_target(data)
    step = data["obs"][:, 1]  # rewards are step + 1, step + 2, ... up to 5
    used = (5 - step).clamp(max=3)
    weights = 0.5 ** torch.arange(3)
    later = torch.arange(3) + 1
    rewards = (
        (step.unsqueeze(1) + later) * weights * (later <= used.unsqueeze(1))
    ).sum(1)
    assert torch.equal(data["next_obs"][:, 1], step + used)
    future = 0.5**used * value * ~data["terminated"]
    torch.testing.assert_close(target, rewards + future)
    ended = step + used == 5
    assert (data["terminated"] == ended & (data["obs"][:, 0] % 2 == 0)).all()
    assert (ended & ~data["terminated"]).any()  # a truncation, which bootstraps


def test_one_step_is_dqn():
    def finish(trainer):
        for _ in trainer():
            pass
        return torch.cat([p.flatten() for p in trainer.model.parameters()])

    child, parent = finish(trainer_of(n_step=1)), finish(trainer_of(dqn))
    assert torch.equal(child, parent)
    assert not torch.equal(finish(trainer_of()), parent)


def test_learning_waits_for_the_first_future():
    trainer = trainer_of(n_step=7, learning_starts=0)
    for log in trainer():
        if log["log_type"] == "train":
            break
    assert trainer.agent.sample_step == 7


def test_n_must_be_a_number_of_steps_that_the_buffer_holds():
    with pytest.raises(ValueError, match=r"n_step = 0: choose a number at least 1"):
        n_step_dqn.Config(n_step=0)
    with pytest.raises(ValueError, match=r"n_step = 9: buffer_size = 32 .* 4 env"):
        n_step_dqn.Config(n_step=9, buffer_size=32, num_envs=4)


def test_it_learns_the_values_of_a_corridor():
    """Roughly: returns of two steps are those of who explored a little."""
    few = {"epsilon_end": 0.1, "exploration_fraction": 0.4, "buffer_size": 300}
    assert learned_error(n_step_dqn, n_step=2, **few) < 0.15
