"""PPO for policies of many tokens: ratios, masks, micro batches, groups of rates."""

from __future__ import annotations

import dataclasses
import math
from functools import partial

import pytest
import torch
from factories import config_of, plain, resumed, train_logs
from gymnasium.spaces import Box, MultiDiscrete
from rollouts import Keeping, learners_values
from tensordict import TensorDict
from token_policy import Tokens
from worlds import Counter

from yieldrl.algorithms import ppo, vla_ppo
from yieldrl.functional import gae

SMALL = {"env_id": "CartPole-v1", "env_kwargs": {}, "total_steps": 64}
SMALL |= {"demonstration_steps": 0, "eval_every": 0}
config = partial(config_of, vla_ppo, **SMALL)


def algorithm(module=vla_ppo, **options):
    """Of a policy of chunks of 3 choices between 2."""
    torch.manual_seed(0)
    model = Tokens(Box(-9, 9, (4,)), MultiDiscrete([2, 2, 2]))
    options = {**SMALL, "chunk_length": 3, **options}
    return module.Algorithm(model, config_of(module, **options))


def minibatch(size=5):
    generator = torch.Generator().manual_seed(size)
    obs = torch.randn(size, 4, generator=generator)
    data = {
        "obs": obs,
        "action": torch.randint(2, (size, 3), generator=generator),
        "log_prob": -torch.rand(size, 3, 1, generator=generator),
        "num_steps": torch.arange(size) % 3 + 1,
        "advantage": torch.randn(size, generator=generator),
        "returns": torch.randn(size, generator=generator),
        "value": torch.zeros(size),
    }
    return TensorDict(data, [size])


def test_what_was_not_executed_gets_no_gradient():
    log_prob = torch.zeros(2, 3, 1, requires_grad=True)
    data = {"num_steps": torch.tensor([1, 2]), "log_prob": torch.zeros(2, 3, 1)}
    data["advantage"] = torch.tensor([1.0, 2.0])
    for level in ("token", "chunk"):
        own = algorithm(ratio_level=level, normalize_advantage=False)
        measured = own.measured(TensorDict(data, [2]))
        loss, _ = own.loss(measured, (log_prob, torch.zeros(2), None))
        (grad,) = torch.autograd.grad(loss, log_prob)
        moved = (grad != 0).squeeze(-1).int().tolist()
        assert moved == [[1, 0, 0], [1, 1, 0]]


class TestRatios:
    """Two chunks of two actions, of which the second executed one; clip at 0.2."""

    RATIO = torch.tensor([[[1.5], [0.5]], [[1.1], [7.0]]])
    DATA = TensorDict(
        {
            "num_steps": torch.tensor([2, 1]),
            "log_prob": torch.full((2, 2, 1), -1.0),
            "advantage": torch.tensor([2.0, -1.0]),
        },
        [2],
    )

    @pytest.mark.parametrize(
        ("level", "gains", "clipped", "ratios"),
        [
            # min(1.5 * 2, 1.2 * 2), min(0.5 * 2, 0.8 * 2), min(1.1 * -1, 1.1 * -1)
            ("token", [2.4, 1.0, -1.1], 2 / 3, (1.5, 0.5, 1.1)),
            # 1.5 * 0.5 = 0.75: min(0.75 * 2, 0.8 * 2), and min(1.1 * -1, 1.1 * -1)
            ("chunk", [1.5, -1.1], 1 / 2, (0.75, 1.1)),
        ],
    )
    def test_of_tokens_and_of_chunks(self, level, gains, clipped, ratios):
        own = algorithm(ratio_level=level, normalize_advantage=False)
        data = own.measured(self.DATA)
        evaluated = self.RATIO.log() - 1.0, torch.zeros(len(data)), None
        loss, logs = own.loss(data, evaluated)
        assert float(loss) == pytest.approx(-sum(gains) / len(gains))
        assert float(logs["clip_fraction"]) == pytest.approx(clipped)
        k3 = [r - 1 - math.log(r) for r in ratios]
        assert float(logs["approx_kl"]) == pytest.approx(sum(k3) / 2), "of whole chunks"

    def test_of_actions_of_several_tokens(self):
        """Two chunks of two actions of two tokens; the second executed one action."""
        own = algorithm(ratio_level="action", normalize_advantage=False)
        ratio = torch.tensor([[[1.5, 0.8], [0.5, 0.5]], [[2.0, 0.6], [7.0, 7.0]]])
        before = torch.full((2, 2, 2), -1.0)
        data = own.measured(self.DATA.copy().set("log_prob", before))
        evaluated = ratio.log() - 1.0, torch.zeros(len(data)), None
        loss, logs = own.loss(data, evaluated)
        # of 1.2 and 0.25 with 2, and of 1.2 with -1
        gains = min(1.2 * 2, 1.2 * 2) + min(0.25 * 2, 0.8 * 2) + min(-1.2, -1.2)
        assert float(loss) == pytest.approx(-gains / 3)
        k3 = [r - 1 - math.log(r) for r in (1.2, 0.25, 1.2)]
        assert float(logs["approx_kl"]) == pytest.approx(sum(k3) / 2)

    def test_the_entropy_is_that_of_executed_tokens(self):
        own = algorithm(entropy_coef=0.5, value_coef=0.0)
        entropy = torch.tensor([[[1.0], [2.0]], [[4.0], [8.0]]], requires_grad=True)
        data = own.measured(self.DATA)
        loss, logs = own.loss(data, (data["log_prob"], entropy, None))
        assert float(logs["entropy"]) == (1 + 2 + 4) / 2
        (grad,) = torch.autograd.grad(loss, entropy)
        assert grad.flatten().tolist() == [-0.25, -0.25, -0.25, 0]
        whole = torch.tensor([3.0, 12.0])  # of a policy that tells it of chunks
        _, logs = own.loss(data, (data["log_prob"], whole, None))
        assert float(logs["entropy"]) == 7.5

    def test_one_number_per_action_is_trained_as_by_ppo(self):
        for level in ("token", "chunk"):
            torch.manual_seed(1)
            options = {"collection": "sync", "ratio_level": level}
            own = vla_ppo.Trainer(config(**options), model=ppo.Model)
            theirs = {
                k: getattr(own.config, k)
                for k in (f.name for f in dataclasses.fields(ppo.Config))
            }
            usual = ppo.Trainer(ppo.Config(**theirs))
            a, b = (list(map(plain, run())) for run in (own, usual))
            assert len(a) == len(b) > 16
            for one, other in zip(a, b, strict=True):
                assert one["logs"] == pytest.approx(other["logs"], rel=1e-3, abs=1e-5)


class TestMicroBatches:
    @pytest.mark.parametrize("level", ["token", "chunk"])
    def test_they_give_the_step_of_the_whole_minibatch(self, level):
        data = minibatch().double()
        data["action"] = data["action"].long()
        weights, logs = [], []
        for micro_batches in (1, 2, 9):
            own = algorithm(ratio_level=level, micro_batches=micro_batches)
            own.model.double()
            own.optimizer = torch.optim.SGD(own.model.parameters(), lr=0.1)
            logs.append({k: float(v) for k, v in own.learn(data).items()})
            flat = [p.detach().flatten() for p in own.model.parameters()]
            weights.append(torch.cat(flat))
        for part in (1, 2):
            assert float((weights[0] - weights[part]).abs().max()) < 1e-9
            assert logs[0] == pytest.approx(logs[part], abs=1e-6)

    def test_advantages_are_normalized_over_the_minibatch_and_it_stays(self):
        data, own = minibatch(), algorithm()
        before = data["advantage"].clone()
        measured = own.measured(data)["advantage"]
        assert measured.mean().item() == pytest.approx(0, abs=1e-6)
        assert measured.std().item() == pytest.approx(1, abs=1e-4)
        own.learn(data)
        assert torch.equal(data["advantage"], before)
        assert "parts" not in data.keys()  # noqa: SIM118


def test_each_group_has_its_rate_and_keeps_its_ratio():
    rates = {"value_learning_rate": 1e-2, "adapter_learning_rate": 1e-4}
    own = algorithm(learning_rate=1e-3, **rates)
    rates = lambda: [group["lr"] for group in own.optimizer.param_groups]  # noqa: E731
    assert rates() == [1e-3, 1e-4, 1e-2]
    own.anneal(0.75)
    assert rates() == pytest.approx([2.5e-4, 2.5e-5, 2.5e-3])
    own.learning_rate = 2e-3
    assert rates() == pytest.approx([2e-3, 2e-4, 2e-2])
    assert own.learn(minibatch())["learning_rate"] == pytest.approx(2e-3)
    groups = algorithm(learning_rate=5e-4).optimizer.param_groups
    assert [group["lr"] for group in groups] == [5e-4] * 3, "by default"


class Chunked(Counter):
    """Of four numbers; its rewards count its steps."""

    def __init__(self):
        super().__init__(5)
        self.observation_space = Box(-99, 99, (4,))

    def _obs(self):
        return torch.tensor([self.episode, self.step_number, 0, 0]).float().numpy()


def trainer(**options):
    options = {"chunk_length": 3, "collection": "sync", **options}
    return vla_ppo.Trainer(config(**options), envs=Chunked, model=Tokens)


class TestTrainer:
    def test_chunks_are_executed_and_what_they_took_is_learned_from(self):
        run = trainer(gamma=0.5)
        assert run.envs.single_action_space == MultiDiscrete([2, 2, 2])
        assert run.evaluator.envs.single_action_space == MultiDiscrete([2, 2, 2])
        while not run.learning_due:
            run.collector.step()
        rollout = run.buffer.rollout()
        assert rollout["num_steps"][:4, 0].tolist() == [3, 2, 3, 2]
        assert rollout["discount"][:2, 0].tolist() == [0.125, 0.25]
        assert rollout["reward"][:2, 0].tolist() == [1 + 1 + 0.75, 4 + 2.5]
        assert rollout["log_prob"].shape == (8, 2, 3, 1)
        logs = [plain(log)["logs"] for log in run() if log["log_type"] == "train"]
        assert all(math.isfinite(v) for log in logs for v in log.values())

    def test_receding_horizons_execute_the_first_actions(self):
        run = trainer(execute_steps=2)
        next(run())
        assert run.buffer.rollout()["num_steps"].unique().tolist() == [2]

    def test_without_lag_the_background_gives_what_turns_give(self):
        runs = []
        for collection in ("sync", "async"):
            run = trainer(collection=collection, max_policy_lag=0, ratio_level="token")
            runs.append(train_logs(run))
        assert len(runs[0]) > 8
        assert runs[0] == runs[1]


def balanced(**options):
    """Of a world whose state can be saved, and that has an expert."""
    options = {"env_id": "yieldrl/CartPole-v1", "collection": "sync", **options}
    return vla_ppo.Trainer(config(chunk_length=2, **options), model=Tokens)


CLONING = {"demonstration_steps": 40, "clone_epochs": 2, "clone_batch_size": 10}
CLONING |= {"total_steps": 80}


class TestCloning:
    def test_it_comes_first_and_counters_and_rates_run_on(self):
        run = balanced(**CLONING, learning_rate=1e-2)
        logs = list(map(plain, run()))
        cloning = [log for log in logs if log["logs"]["phase"] == 0]
        improving = logs[len(cloning) :]
        assert all(log["logs"]["phase"] == 1 for log in improving)
        last = cloning[-1]
        assert (last["sample_step"], last["learn_step"]) == (40, 8)
        assert "log_likelihood" in last["logs"]
        assert improving[0]["sample_step"] == 42
        steps = [log["learn_step"] for log in logs]
        assert steps == sorted(steps)
        assert logs[-1]["sample_step"] == 88  # with the first rollout that is whole
        assert run.cloning is None
        assert "phase" not in next(balanced()())["logs"]
        train = [log["logs"] for log in improving if log["log_type"] == "train"]
        rates = [log["learning_rate"] for log in train]
        assert rates[:5] == pytest.approx([1e-2] * 4 + [1e-2 * (1 - 16 / 40)])

    @pytest.mark.parametrize("collection", ["sync", "async"])
    def test_breaking_out_and_resuming_change_nothing(self, collection, tmp_path):
        options = {**CLONING, "collection": collection, "max_policy_lag": 0}
        options |= {"eval_every": 10_000, "eval_episodes": 1}
        through = list(map(plain, balanced(**options)()))
        assert through[28]["log_type"] == "evaluate"  # the clone, before PPO begins
        for stop in (5, 28, 50):
            run = balanced(**options)
            found = resumed(run, stop, tmp_path, model=Tokens)
            assert found == through
            assert found[:stop] + list(map(plain, run())) == through
            assert run.cloning is None

    def test_a_checkpoint_holds_the_model_once(self):
        run = balanced(**CLONING)
        next(run())
        state = run.state_dict()
        assert "model" in state["agent"]["algorithm"]
        assert set(state["cloning"]["agent"]["algorithm"]) == {"optimizer"}


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"log_prob_per": "chunk", "ratio_level": "token"}, "ratio_level"),
        ({"log_prob_per": "chunk", "ratio_level": "action"}, "ratio_level"),
        ({"demonstration_steps": 64}, "demonstration_steps"),
        ({"demonstration_steps": 10, "expert_noise": 2.0}, "expert_noise"),
        ({"value_learning_rate": 0.1}, "value_learning_rate"),
        ({"adapter_learning_rate": 0.1}, "adapter_learning_rate"),
        ({"demonstration_steps": 10}, "has no expert"),
    ],
)
def test_what_does_not_fit_is_refused(options, field):
    with pytest.raises(ValueError, match=field):
        vla_ppo.Trainer(config(**options), model=ppo.Model)


TINY = {"env_id": "yieldrl/GoTo-v1", "env_kwargs": {"view": "pixels"}}
TINY |= {"model_config": {"width": 16, "layers": 1, "heads": 2, "vision_width": 8}}
TINY |= {"num_steps": 4, "num_epochs": 1, "total_steps": 48, "chunk_length": 2}


def test_frozen_weights_stay_and_are_shared_and_adapters_learn():
    pytest.importorskip("transformers", reason="its model is of yieldrl[vla]")
    options = {**TINY, "freeze_vision": True, "lora_rank": 2, "learning_rate": 1e-2}
    options |= {"adapter_learning_rate": 1e-3, "value_learning_rate": 1e-1}
    run = vla_ppo.Trainer(config(**options))
    acting = dict(run.collector.segments.actor.model.named_parameters())
    before = {k: p.detach().clone() for k, p in run.model.named_parameters()}
    groups = run.model.parameter_groups()
    assert groups["adapters"]
    assert groups["value"]
    for log in run():
        rates = [group["lr"] for group in run.algorithm.optimizer.param_groups]
        if log["log_type"] == "train":
            assert max(rates) == pytest.approx(100 * min(rates))
    moved = set()
    for name, parameter in run.model.named_parameters():
        if not parameter.requires_grad:
            assert torch.equal(parameter, before[name])
            assert acting[name] is parameter
        elif not torch.equal(parameter, before[name]):
            moved.add(name)
    frozen = [k for k, p in run.model.named_parameters() if not p.requires_grad]
    assert any("siglip" in k or "vision" in k for k in frozen)
    assert any("lora_" in name for name in moved)
    assert any("value" in name for name in moved)


@pytest.mark.parametrize("module", [ppo, vla_ppo])
def test_one_critic_values_a_rollout_that_older_weights_collected(module):
    """Those of now, which also say what comes after the last transitions."""
    options = {"env_id": "CartPole-v1", "env_kwargs": {}, "num_steps": 300}
    options |= {"normalize_reward": False, "eval_every": 0}
    options |= {"collection": "sync"} if module is vla_ppo else {}
    trainer = module.Trainer(config_of(module, **options), model=Keeping)
    rollout, model = trainer.collector.collect(300), trainer.model
    assert rollout["truncated"].any() or rollout["terminated"].any()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
        values = model.get_value(rollout["obs"].flatten(0, 1)).view(300, 2)
        after = model.get_value(rollout["next_obs"].flatten(0, 1)).view(300, 2)
    known, stale = rollout.clone(), rollout.exclude("advantage", "returns")
    assert not stale["policy_version"].any()  # all are of the first weights
    trainer.algorithm.prepare(known)
    assert torch.equal(known["value"], rollout["value"])
    trainer.algorithm.counters.policy_version += 1
    trainer.algorithm.prepare(stale)
    torch.testing.assert_close(stale["value"], values)
    ended = stale["terminated"], stale["truncated"]
    wanted = gae(stale["reward"], values, after, *ended, 0.99, 0.95)
    torch.testing.assert_close(stale["advantage"], wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("module", [ppo, vla_ppo])
def test_beside_a_lag_values_are_of_the_weights_that_learn(module):
    """Not of the copy that acts, though a VLA's policy writes down its values."""
    keeps = Keeping if module is vla_ppo else ppo.Model
    learners_values(module, keeps, collection="async")
