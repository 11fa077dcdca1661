"""The actor and the critic read the entries of observations that they are to read."""

import factories
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete
from tensordict import TensorDict
from worlds import Counter

import yieldrl
from yieldrl.algorithms import ppo, ppo_lstm, ppo_masked
from yieldrl.cli import restoring
from yieldrl.collectors import evaluate

SMALL = {"total_steps": 32, "eval_every": 0}
GROUPS = {"actor_obs": ("obs",), "critic_obs": ("obs", "privileged")}
SPACE = Dict(
    obs=Box(-9, 9, (3,)),
    privileged=Box(-9, 9, (2,)),
    camera=Box(0, 255, (8, 8, 3), np.uint8),
)


class Seen(Counter):
    """What can be seen of a counter anywhere: `obs [2]`."""

    def __init__(self):
        super().__init__(3)
        self.observation_space = Dict(obs=self.observation_space)

    def _obs(self):
        return {"obs": super()._obs()}


class Whole(Seen):
    """What is known of it in training besides: `privileged [1]`."""

    def __init__(self):
        super().__init__()
        known = {"privileged": Box(-9, 9, (1,))}
        self.observation_space = Dict({**self.observation_space.spaces, **known})

    def _obs(self):
        return {**super()._obs(), "privileged": np.array([self.step_number], "f4")}


def config_of(module, **options):
    return factories.config_of(module, **{**SMALL, **options})


def model_of(space=SPACE, **options):
    torch.manual_seed(0)
    return ppo.Model(space, Discrete(3), config_of(ppo, **options))


def observations(count=4, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return {
        "obs": torch.randn(count, 3, generator=generator),
        "privileged": torch.randn(count, 2, generator=generator),
        "camera": torch.randint(255, (count, 8, 8, 3), generator=generator).byte(),
    }


class TestWhoReadsWhat:
    def test_what_the_critic_alone_reads_moves_the_value_alone(self):
        actor = ("camera", "obs")
        model = model_of(actor_obs=actor, normalize_observation=True)
        one, other = observations(), observations()
        other["privileged"] += 1
        assert torch.equal(model.action(one), model.action(other))
        assert torch.equal(model.predict(one), model.predict(other))
        assert not model.get_value(one).eq(model.get_value(other)).any()
        for name in actor:
            assert not torch.equal(
                model.action(one), model.action({**one, name: other[name] // 2})
            )

    def test_a_critic_may_read_less(self):
        model = model_of(critic_obs=("privileged",))
        one, other = observations(), observations(seed=2)
        other["privileged"] = one["privileged"]
        assert torch.equal(model.get_value(one), model.get_value(other))
        assert not torch.equal(model.action(one), model.action(other))

    def test_no_gradient_reaches_the_other_ones_encoder(self):
        """Both read the image, each by a CNN of its own."""
        options = {"entropy_coef": 0.0, "normalize_reward": False}
        config = config_of(ppo, **options, actor_obs=("camera",))
        algorithm = ppo.Algorithm(ppo.Model(SPACE, Discrete(3), config), config)
        model = algorithm.model
        data = TensorDict({"obs": TensorDict(observations(), [4])}, [4])
        data["action"] = torch.tensor([0, 1, 2, 0])
        data["advantage"] = data["returns"] = torch.tensor([1.0, -1.0, 2.0, 0.5])
        data["log_prob"] = torch.full((4,), -1.0)
        log_prob, _, value = model.evaluate_actions(data["obs"], data["action"])
        ratio = (log_prob - data["log_prob"]).exp()
        losses = {
            "encoder actor": algorithm.surrogate(ratio, data["advantage"]).sum(),
            "critic_encoder critic": algorithm.value_loss(value, data),
        }
        for reached, loss in losses.items():
            model.zero_grad()
            loss.backward()
            for name, parameter in model.named_parameters():
                gradient = parameter.grad
                if name.partition(".")[0] in reached.split():
                    assert gradient.abs().sum() > 0, name
                else:
                    assert gradient is None or gradient.eq(0).all(), name

    def test_all_that_is_read_is_normalized(self):
        model = model_of(**GROUPS, normalize_observation=True)
        model.update_normalization(TensorDict({"obs": observations(64)}, [64]))
        seen = observations(64)
        for name in ("obs", "privileged"):
            scaled = model.observed(seen, (name,))
            assert list(scaled) == [name]
            zero = torch.zeros(seen[name].shape[1])
            torch.testing.assert_close(scaled[name].mean(0), zero)
        assert torch.equal(model.features(seen), model.observed(seen)["obs"])
        both = model.critic_features(seen, model.features(seen))
        parts = [model.observed(seen)[name] for name in ("obs", "privileged")]
        assert torch.equal(both, torch.cat(parts, dim=1))

    @pytest.mark.parametrize(
        "groups",
        [
            {"critic_obs": ("camera", "obs", "privileged")},
            {"actor_obs": ("obs", "camera"), "critic_obs": ("camera", "obs")},
        ],
    )
    def test_those_who_read_alike_share_one_encoder(self, groups):
        model = model_of(**groups)
        assert model.critic_encoder is None
        assert not [name for name in model.state_dict() if "critic_enc" in name]
        read = next(iter(groups.values()))
        usual = model_of(Dict([(name, SPACE[name]) for name in SPACE if name in read]))
        assert list(model.state_dict()) == list(usual.state_dict())
        ours, theirs = model(observations(), True), usual(observations(), True)
        assert all(map(torch.equal, ours, theirs))


@pytest.mark.parametrize("field", ["actor_obs", "critic_obs"])
def test_entries_that_are_not_there_are_refused(field):
    with pytest.raises(ValueError, match=rf"{field} = .*no entries \['other'\]"):
        model_of(**{field: ("obs", "other")})
    with pytest.raises(ValueError, match=rf"{field} = .* is no Dict"):
        model_of(SPACE["obs"], **{field: ("obs",)})


class TestActing:
    @pytest.mark.parametrize("module", [ppo, ppo_lstm])
    def test_what_only_the_critic_reads_may_be_missing(self, module):
        config = config_of(module, **GROUPS, normalize_observation=True)
        agent = module.Trainer(config, envs=Whole).agent
        obs = {"obs": np.ones((2, 2), "f4"), "privileged": np.ones((2, 1), "f4")}
        seen = {"obs": obs["obs"]}
        one = {"obs": np.ones(2, "f4")}
        for records in (False, True):
            agent.records_log_prob = records
            assert agent.sample(seen)[0].shape == (2,)
        agent.begin_episode()
        expected = agent.predict(obs)
        agent.begin_episode()
        assert agent.predict(seen).tolist() == expected.tolist()
        agent.begin_episode()
        assert agent.predict(one) == expected[0]
        for act in (agent.sample, agent.predict):
            with pytest.raises(ValueError, match=r"lacks \['obs'\], it has \['priv"):
                act({"privileged": obs["privileged"]})

    def test_a_mask_is_needed(self):
        space = Dict(**SPACE.spaces, action_mask=Box(0, 1, (3,)))
        config = config_of(ppo_masked, **GROUPS)
        model = ppo_masked.Model(space, Discrete(3), config)
        assert model.needed_obs == ("obs", "action_mask")
        agent = ppo_masked.Agent(ppo_masked.Algorithm(model, config), config)
        mask = np.array([0, 0, 1], "f4")
        assert agent.predict({"obs": np.ones(3, "f4"), "action_mask": mask}) == 2
        with pytest.raises(ValueError, match=r"lacks \['action_mask'\]"):
            agent.predict({"obs": np.ones(3, "f4")})
        usual = ppo_masked.Model(space, Discrete(3), config_of(ppo_masked))
        assert usual.needed_obs == ()

    def test_a_trained_policy_plays_where_less_is_known(self, tmp_path):
        module = ppo_lstm
        env_id = f"{__name__}:{Whole.__name__}"
        config = config_of(module, **GROUPS, env_id=env_id, normalize_observation=True)
        trainer = module.Trainer(config, eval_envs=Seen)
        list(trainer())
        assert trainer.evaluate(2)["logs"]["episode_return"] == 6.0
        path = trainer.save(tmp_path / "trained.pt")
        there = yieldrl.envs.make(Seen, config)
        for played in (
            restoring.player(path, 2, None, trust=True),
            module.Trainer.load(path, envs=Whole, eval_envs=Seen),
        ):
            assert evaluate(played.agent, there, 2, 0).returns.tolist() == [6, 6]
            state = played.model.state_dict()
            for name, value in trainer.model.state_dict().items():
                assert torch.equal(value, state[name]), name


class TestRecurrent:
    def trainer(self, **options):
        return ppo_lstm.Trainer(config_of(ppo_lstm, **options), envs=Whole)

    def test_the_critic_reads_the_memory_beside_its_own_entries(self):
        model = self.trainer(**GROUPS).model
        assert model.actor.layers[0].weight.shape == (8, 4)
        assert model.critic.layers[0].weight.shape == (8, 4 + 3)
        obs = {"obs": torch.ones(2, 2), "privileged": torch.ones(2, 1)}
        memory = torch.randn(2, model.memory_size)
        inputs = {"obs": obs, "memory": memory, "first": torch.zeros(2).bool()}
        features = model.features(inputs)
        own = torch.cat([obs["obs"], obs["privileged"]], dim=1)
        read = model.critic_features(inputs, features)
        assert torch.equal(read, torch.cat([features, own], dim=1))
        begun = {**inputs, "first": torch.ones(2).bool()}
        assert not torch.equal(model.get_value(inputs), model.get_value(begun))
        other = {**inputs, "obs": {**obs, "privileged": torch.zeros(2, 1)}}
        assert not torch.equal(model.get_value(inputs), model.get_value(other))
        assert torch.equal(model.predict(inputs), model.predict(other))

    def test_sequences_are_read_as_single_steps_are(self):
        trainer = self.trainer(**GROUPS)
        for log in trainer():
            if log["sample_step"] == 16 and trainer.buffer.full:
                break
        rollout = trainer.buffer.rollout()
        inputs = trainer.model.inputs(rollout)
        action = rollout["action"].flatten(0, 1)
        model = trainer.model
        whole = model.evaluate_actions(inputs, action)
        singly = model.evaluate_actions(inputs.flatten(0, 1), action)
        torch.testing.assert_close([*whole], [*singly])
