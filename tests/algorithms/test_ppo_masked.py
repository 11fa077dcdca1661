"""PPO with action masks: impossible actions are never taken, and teach nothing."""

import math

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

    def test_log_prob_and_entropy_are_those_of_the_possible(self):
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

    def test_what_is_impossible_gets_no_gradient(self):
        model, obs = model_of(Discrete(3), 3), observations(self.mask)
        log_prob, entropy, _ = model.evaluate_actions(obs, torch.tensor([2, 1, 0]))
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

    def test_masks_of_other_types(self):
        """A vector environment's own space may hold them as int8 or float32."""
        model, obs = model_of(Discrete(3), 3), observations(self.mask)
        for dtype in (torch.int8, torch.float32):
            other = {**obs, "action_mask": obs["action_mask"].to(dtype)}
            assert torch.equal(model.action(other), model.action(obs))

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
def test_among_many_steps_no_action_is_impossible(rows):
    """Every one of them would cost a point."""
    envs = Doors(4096, rows=rows, max_episode_steps=64)
    config = ppo_masked.Config(num_envs=4096, num_steps=1, hidden_sizes=(8,))
    agent = ppo_masked.Trainer(config, envs=envs).agent
    obs, _ = envs.reset(seed=0)
    reward, punished = torch.zeros(2)
    for _ in range(25):
        action, _ = agent.sample(obs)
        free = {**obs, "action_mask": torch.ones_like(obs["action_mask"])}
        punished += envs.dynamics(envs.state, agent.sample(free)[0])[1].sum()
        obs, earned, *_ = envs.step(action)
        reward += earned.sum()
    assert reward == 0
    assert punished < -10_000  # without masks the world does notice


def test_predict_is_masked_too():
    envs = Doors(500, rows=(6,))
    trainer = ppo_masked.Trainer(ppo_masked.Config(num_envs=500), envs=envs)
    with torch.no_grad():
        trainer.model.actor.layers[2].bias[3] = 100.0  # it would always take this one
    obs, _ = envs.reset(seed=0)
    action = trainer.agent.predict(obs)
    locked = ~obs["action_mask"][:, 3]
    assert 100 < locked.sum() < 400
    assert torch.equal(action == 3, ~locked)
    assert envs.step(action)[1].eq(0).all()


class TestSources:
    def test_an_environment_as_an_object_is_wrapped_for_evaluation_too(self):
        config = ppo_masked.Config(**SMALL, total_steps=32, eval_every=0)
        trainer = ppo_masked.Trainer(config, envs=gym.make("Taxi-v4"))
        list(trainer())
        assert "action_mask" in trainer.evaluator.envs.single_observation_space.spaces
        assert trainer.evaluate(2)["logs"]["episode_length"] > 0

    def test_without_masks_it_is_said_who_lacks_them(self):
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


def trainer_of_doors(**kwargs):
    config = {**SMALL, "total_steps": 96, "eval_every": 0, **kwargs}
    envs = Doors(2, rows=(3, 2), max_episode_steps=7)
    return ppo_masked.Trainer(ppo_masked.Config(**config), envs=envs)


def test_breaking_out_and_resuming_change_nothing(tmp_path):
    through = list(map(plain, trainer_of_doors()()))
    for stop in (5, 21):
        envs = Doors(2, rows=(3, 2), max_episode_steps=7)
        assert resumed(trainer_of_doors(), stop, tmp_path, envs=envs) == through


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
