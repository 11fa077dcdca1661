"""PPO with action masks: impossible actions are never taken, and teach nothing."""

import math
from functools import partial

import gymnasium as gym
import pytest
import torch
from factories import plain, resumed, train_logs
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete
from worlds import Counter, Doors

from yieldrl.algorithms import ppo, ppo_masked
from yieldrl.networks import Categorical

SMALL = {"num_envs": 2, "num_steps": 16, "num_epochs": 2, "num_minibatches": 2}


def model_of(action_space, options):
    space = Dict(there=Box(-1, 1, (3,)), action_mask=Box(0, 1, (options,)))
    torch.manual_seed(0)
    model = ppo_masked.Model(space, action_space, ppo_masked.Config())
    with torch.no_grad():  # a policy that has made up its mind
        for parameter in model.actor.parameters():
            parameter.mul_(30)
    return model


def observations(mask):
    generator = torch.Generator().manual_seed(1)
    there = torch.randn(len(mask), 3, generator=generator)
    return {"there": there, "action_mask": torch.tensor(mask)}


class TestModel:
    mask = ((True, False, True), (False, True, False), (True, True, True))

    def test_log_prob_and_entropy_are_of_the_possible_and_so_are_gradients(self):
        model, obs = model_of(Discrete(3), 3), observations(self.mask)
        action = torch.tensor([2, 1, 0])
        log_prob, entropy, _ = model.evaluate_actions(obs, action)
        free = model.actor(obs["there"]).detach()
        two = Categorical(free[:1, [0, 2]])
        three = Categorical(free[2:])
        expected = [two.log_prob(torch.tensor([1])), two.entropy()]
        torch.testing.assert_close(log_prob[:1], expected[0])
        torch.testing.assert_close(entropy[:1], expected[1])
        assert log_prob[1].item() == entropy[1].item() == 0  # no choice at all
        torch.testing.assert_close(entropy[2:], three.entropy())
        bias = model.actor.layers[2].bias
        gradient = torch.autograd.grad(log_prob[0] + entropy[0], bias)[0]
        assert gradient.isfinite().all()
        assert gradient[1].item() == 0
        assert gradient[0].item() == pytest.approx(-gradient[2].item(), rel=1e-4)
        assert gradient[0].item() != 0

    @pytest.mark.parametrize(
        ("space", "mask"),
        [
            (MultiDiscrete([[2], [3]]), (False, True, True, False, False)),
            (MultiBinary(2), (False, True, True, False)),
        ],
    )
    def test_masks_of_several_choices_lie_one_behind_the_other(self, space, mask):
        model = model_of(space, len(mask))
        obs = observations([mask] * 50)
        action, log_prob, _ = model(obs)
        assert action.reshape(50, -1).eq(torch.tensor([1, 0])).all()
        assert log_prob.eq(0).all()
        assert torch.equal(model(obs, deterministic=True)[0], action)

    @pytest.mark.parametrize(
        "space",
        [
            Dict(there=Box(-1, 1, (3,))),
            Dict(action_mask=Box(0, 1, (3,))),
            Dict(there=Box(-1, 1, (3,)), action_mask=Box(0, 1, (4,))),
        ],
    )
    def test_what_does_not_fit_is_refused(self, space):
        with pytest.raises(TypeError, match="'action_mask' of 3 values"):
            ppo_masked.Model(space, Discrete(3), ppo_masked.Config())
        with pytest.raises(TypeError, match="are no choices"):
            ppo_masked.Model(space, Box(-1, 1), ppo_masked.Config())


@pytest.mark.parametrize("rows", [(6,), (3, 4)])
def test_no_action_is_impossible(rows):
    """Every one of them would cost a point."""
    envs = Doors(500, rows=rows, max_episode_steps=64)
    config = ppo_masked.Config(num_envs=500, num_steps=1, hidden_sizes=(8,))
    agent = ppo_masked.Trainer(config, envs=envs).agent
    with torch.no_grad():
        agent.model.actor.layers[-1].bias[0] = 100.0  # it would always take this one
    obs, _ = envs.reset(seed=0)
    for act in (agent.predict, lambda obs: agent.sample(obs)[0]) * 5:
        free = {**obs, "action_mask": torch.ones_like(obs["action_mask"])}
        assert envs.dynamics(envs.state, act(free))[1].sum() < -50, "it is noticed"
        action = act(obs)
        first = action.view(500, -1)[:, 0] == 0
        assert torch.equal(first, obs["action_mask"][:, 0].bool())
        obs, reward, *_ = envs.step(action)
        assert (reward == 0).all()


def test_an_environment_as_an_object_is_wrapped_for_evaluation_too():
    config = ppo_masked.Config(**SMALL, total_steps=32, eval_every=0)
    trainer = ppo_masked.Trainer(config, envs=gym.make("Taxi-v4"))
    list(trainer())
    assert "action_mask" in trainer.evaluator.envs.single_observation_space.spaces
    assert trainer.evaluate(2)["logs"]["episode_length"] > 0


def test_without_masks_it_is_said_who_lacks_them():
    trainer = ppo_masked.Trainer(ppo_masked.Config(), envs=Counter)
    with pytest.raises(ValueError, match="which actions are possible"):
        next(trainer())
    with pytest.raises(TypeError, match=r"yieldrl.envs:ActionMask"):
        ppo_masked.Trainer(ppo_masked.Config(wrappers=()))


class Stuck(Doors):
    """From the third step on, the second environment has options of none of its
    choices, or of the first alone."""

    closed = slice(None)

    def observe(self, state):
        obs = super().observe(state)
        if self.elapsed.max() >= 2:
            obs["action_mask"][1, self.closed] = False
        return obs


@pytest.mark.parametrize(
    ("mode", "closed"), [("SameStep", slice(None)), ("NextStep", slice(3, 5))]
)
def test_a_mask_that_forbids_everything_is_reported_once_a_rollout(mode, closed):
    envs = Stuck(2, rows=(3, 2), autoreset_mode=mode)
    envs.closed = closed
    trainer = ppo_masked.Trainer(ppo_masked.Config(**SMALL), envs=envs)
    with pytest.raises(ValueError, match=r"environment 1 gave a mask.*at step 3 of"):
        list(trainer())


def test_the_mask_after_the_end_may_say_anything():
    """In NEXT_STEP mode the last observation is acted on, though nobody minds."""

    class Ending(Doors):
        def observe(self, state):
            obs = super().observe(state)
            obs["action_mask"][self.elapsed == 3] = False  # led to by the fourth step
            return obs

    envs = Ending(2, max_episode_steps=4, autoreset_mode="NextStep")
    config = ppo_masked.Config(**SMALL, total_steps=64, eval_every=0)
    logs = train_logs(ppo_masked.Trainer(config, envs=envs))
    assert logs
    assert all(math.isfinite(log["logs"]["loss"]) for log in logs)


def test_breaking_out_and_resuming_change_nothing(tmp_path):
    def trainer():
        config = ppo_masked.Config(**SMALL, total_steps=96, eval_every=0)
        return ppo_masked.Trainer(config, envs=doors())

    doors = partial(Doors, 2, rows=(3, 2), max_episode_steps=7)
    through = list(map(plain, trainer()()))
    for stop in (5, 21):
        assert resumed(trainer(), stop, tmp_path, envs=doors()) == through


def test_masks_that_allow_everything_are_ppo():
    """Its numbers are those of PPO on the rest of the observation, step by step."""

    class Open(Counter):
        def action_masks(self):
            return [True, True]

    class Nested(gym.ObservationWrapper):
        def __init__(self, **kwargs):
            super().__init__(Counter(**kwargs))
            self.observation_space = Dict(observation=self.env.observation_space)

        def observation(self, observation):
            return {"observation": observation}

    runs = []
    for algorithm, envs in ((ppo_masked, Open), (ppo, Nested)):
        config = algorithm.Config(**SMALL, total_steps=64, eval_every=0)
        runs.append(train_logs(algorithm.Trainer(config, envs=envs)))
    assert runs[0] == runs[1]
