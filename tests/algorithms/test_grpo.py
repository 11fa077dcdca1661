"""GRPO and DAPO: advantages by hand, gradients against exact ones, what is left out."""

import itertools
import math
from dataclasses import replace

import factories
import gymnasium as gym
import pytest
import torch
from factories import config_of, plain, resumed, train_logs, trainer_of, update
from gymnasium.spaces import Box, MultiDiscrete
from lettered import Lettered, algorithm_of
from tensordict import TensorDict
from token_policy import Tokens
from torch import nn

from yieldrl.algorithms import dapo, dr_grpo, grpo, gspo, reinforce_pp, rloo
from yieldrl.algorithms.tokens import tokens_taken
from yieldrl.cli import catalog
from yieldrl.envs import TorchVectorEnv
from yieldrl.envs.wrappers import ActionChunks, GroupStarts
from yieldrl.envs.writing import SumsVectorEnv
from yieldrl.language import TokenPolicy

PENDULUM = {"env_id": "yieldrl/Pendulum-v1", "num_envs": 4, "total_steps": 128}
ANSWERS = {"num_envs": 16, "group_size": 4, "learning_rate": 0.05, "num_epochs": 1}
ANSWERS |= {"total_steps": 4096, "eval_every": 0}


def cartpole(**options):
    config = catalog.load_config("grpo/cartpole", grpo.Trainer)
    return replace(config, eval_every=0, **options)


def answers(algorithm, action, advantage):
    """Episodes `[B, T]` of tokens `[B, T, L]`, all drawn by the policy of now."""
    tokens = torch.tensor(action)
    size = tokens.shape[:2]
    log_prob = algorithm.model.evaluate_actions(None, tokens.flatten(0, 1))[0]
    data = {
        "obs": torch.zeros(*size, 3),
        "action": tokens,
        "log_prob": log_prob.detach().unflatten(0, size),
        "advantage": torch.tensor(advantage).unsqueeze(1).expand(size).clone(),
        "valid": torch.ones(size, dtype=torch.bool),
        "used": torch.ones(size, dtype=torch.bool),
        "informative": torch.ones(size),
    }
    return algorithm.measured(TensorDict(data, list(size)))


RETURNS = torch.tensor([[1.0, 2.0, 6.0], [4.0, 4.0, 4.0], [0.0, 2.0, 9.0]])
COUNTED = torch.tensor([[True] * 3, [True] * 3, [True, True, False]])
STD = math.sqrt((4 + 1 + 9) / 3)
EXPECTED = {
    grpo: [[-2 / STD, -1 / STD, 3 / STD], [0, 0, 0], [-1, 1, 0]],
    rloo: [[-3, -1.5, 4.5], [0, 0, 0], [-2, 2, 0]],
    dr_grpo: [[-2, -1, 3], [0, 0, 0], [-1, 1, 0]],
}


@pytest.mark.parametrize("module", EXPECTED)
def test_advantages_by_hand(module):
    found = algorithm_of(module).relative(RETURNS, COUNTED)
    torch.testing.assert_close(found, torch.tensor(EXPECTED[module]).float())
    assert (found[1] == 0).all(), "exactly"


def test_reinforce_pp_has_one_mean_and_deviation_for_all_groups():
    found = algorithm_of(reinforce_pp).relative(RETURNS, COUNTED)
    values = RETURNS[COUNTED]
    expected = (values - values.mean()) / values.std(correction=0)
    torch.testing.assert_close(found[COUNTED], expected)
    assert found[2, 2] == 0
    equal = torch.full((2, 3), 0.1)
    assert (algorithm_of(reinforce_pp).relative(equal, equal > 0) == 0).all()


REWARD = (1.0, -0.5, 0.25)


def mean_gradient(module, size):
    """The mean over all rollouts of four pulls of a bandit's arms, in groups of `size`,
    weighed by their probability."""
    options = {"num_envs": 4, "group_size": size, "num_steps": 1}
    algorithm = algorithm_of(module, **options)
    total, logits = torch.zeros(3), algorithm.model.logits
    log_p = logits.detach().log_softmax(-1)
    for arms in itertools.product(range(3), repeat=4):
        action, index = torch.tensor(arms).view(1, 4, 1), list(arms)
        told = {"action": action, "log_prob": log_p[action]}
        rollout = rollout_of(algorithm, [[REWARD[arm] for arm in arms]], **told)
        episodes = algorithm.prepare(rollout)
        if len(episodes) > 0:
            loss, _ = algorithm.loss(algorithm.measured(episodes))
            (gradient,) = torch.autograd.grad(loss, logits)
            total += log_p[index].sum().exp() * gradient
    expected_return = lambda logits: logits.softmax(-1) @ torch.tensor(REWARD)  # noqa: E731
    return total, -torch.func.grad(expected_return)(logits.detach())


@pytest.mark.parametrize("size", [2, 4])
def test_the_mean_gradient_on_a_bandit_is_that_of_the_expected_return(size):
    """RLOO's to rounding, with groups of equal returns among the others; with the
    return in its own baseline it is too small."""
    torch.testing.assert_close(*mean_gradient(rloo, size))
    shrunk, wanted = mean_gradient(dr_grpo, size)
    torch.testing.assert_close(shrunk, wanted * (size - 1) / size)


ACTION = [[[1, 2, 0]], [[2, 0, 0]]]  # of three tokens and of two
RATIO = [[0.3, -0.1, 0.05], [0.3, -0.1]]  # logarithms
ADVANTAGE = [1.0, -2.0]


def gains(log_ratios, low=0.2, high=0.2):
    found = []
    for row, advantage in zip(log_ratios, ADVANTAGE, strict=True):
        ratios = [math.exp(x) for x in row]
        near = [min(max(ratio, 1 - low), 1 + high) for ratio in ratios]
        pairs = zip(ratios, near, strict=True)
        found.append([min(r * advantage, n * advantage) for r, n in pairs])
    return found


def loss_of(module, **options):
    """Where the policy has moved from the one that acted."""
    algorithm = algorithm_of(module, Lettered(3), num_steps=1, **options)
    data = answers(algorithm, ACTION, ADVANTAGE)
    data["log_prob"] -= torch.tensor([0.3, -0.1, 0.05]).expand_as(data["log_prob"])
    mask = algorithm.model.written(data["action"].flatten(0, 1))
    data["log_prob"] *= mask.view(data["log_prob"].shape)
    logs = algorithm.loss(data)[1]
    gap = sum(abs(x) for row in RATIO for x in row) / 5
    assert logs["sampling_gap"].item() == pytest.approx(gap), "of all tokens"
    return logs["policy_loss"].item()


def mean_of_means(rows):
    return sum(sum(row) / len(row) for row in rows) / len(rows)


MEANS = [[sum(row) / len(row)] for row in RATIO]
GAINS = [
    (grpo, {}, mean_of_means(gains(RATIO))),
    (dapo, {}, sum(map(sum, gains(RATIO, high=0.28))) / 5),
    (dr_grpo, {}, sum(map(sum, gains(RATIO))) / 2 / 3),
    (gspo, {"clip_coef": 0.2}, mean_of_means(gains(MEANS))),
    (gspo, {}, mean_of_means(gains(MEANS, 0.01, 0.01))),
]


@pytest.mark.parametrize(("module", "options", "gain"), GAINS)
def test_losses_by_hand(module, options, gain):
    """DAPO clips wider upwards and takes all tokens alike, Dr. GRPO divides by a
    constant, and GSPO has the geometric mean of an answer's ratios."""
    assert loss_of(module, **options) == pytest.approx(-gain)


def test_a_ratio_is_of_a_token_a_step_or_an_episode():
    log_ratio = torch.arange(6.0).view(1, 2, 3)  # of two steps of three tokens
    mask = torch.ones_like(log_ratio, dtype=torch.bool)
    expected = {"token": [0, 1, 2, 3, 4, 5], "step": [3] * 3 + [12] * 3}
    for level, numbers in {**expected, "sequence": [15] * 6}.items():
        found = algorithm_of(ratio_level=level).shared(log_ratio, mask)
        assert found.flatten().tolist() == numbers


def test_padding_has_no_part():
    algorithm = algorithm_of()
    data = answers(algorithm, [[[1], [2]], [[2], [1]]], [1.0, -2.0])
    alone = answers(algorithm, [[[1]], [[2]]], [1.0, -2.0])
    for each in (data, alone):
        each["log_prob"] -= 0.1
    data["valid"][:, 1] = False
    data["log_prob"][:, 1] = torch.nan
    data = algorithm.measured(data)
    for name, value in algorithm.loss(alone)[1].items():
        torch.testing.assert_close(algorithm.loss(data)[1][name], value)


def test_entropy_and_divergence_are_terms_of_the_loss():
    options = {"entropy_coef": 0.5, "kl_coef": 0.25}
    algorithm = algorithm_of(grpo, Lettered(3), **options)
    data = answers(algorithm, ACTION, ADVANTAGE)
    data["reference"] = data["log_prob"] + torch.tensor([0.3, -0.1, 0.05])
    loss, logs = algorithm.loss(data)
    k3 = [[math.exp(x) - 1 - x for x in row] for row in RATIO]
    assert logs["kl"].item() == pytest.approx(mean_of_means(k3), rel=1e-4)
    expected = logs["policy_loss"] - 0.5 * logs["entropy"] + 0.25 * logs["kl"]
    torch.testing.assert_close(loss, expected)
    assert logs["approx_kl"] == 0
    assert not any(metric.requires_grad for metric in logs.values())


def rollout_of(algorithm, reward, **changes):
    """Answers `[T, N]` that end at once, in each of `T` steps."""
    size = len(reward), len(reward[0])
    ends = torch.ones(size, dtype=torch.bool)
    step = torch.arange(len(reward)).unsqueeze(1).expand(size)
    log_prob = algorithm.model.evaluate_actions(None, torch.ones(1, 1).long())[0]
    entries = {
        "obs": torch.zeros(*size, 3),
        "action": torch.ones(*size, 1, dtype=torch.int64),
        "log_prob": log_prob.detach().expand(*size, 1).clone(),
        "reward": torch.tensor(reward),
        "terminated": ends.clone(),
        "truncated": ~ends,
        "valid": ends.clone(),
        "begins": ends.clone(),
        "ends": ends.clone(),
        "episode": step.clone(),
    }
    return TensorDict({**entries, **changes}, list(size))


def test_groups_of_equal_returns_are_left_out_and_counted():
    algorithm = algorithm_of()
    rollout = rollout_of(algorithm, [[1, 1, 1, 0, 1, 0.0], [0, 0, 0, 2, 2, 2.0]])
    minibatches, logs = algorithm.begin(rollout)
    assert logs["grpo/informative_groups"] == 0.25
    assert logs["grpo/whole_episodes"] == 1
    assert len(minibatches.data) == 3
    assert minibatches.data["valid"].all()
    assert rollout["advantage"][1].tolist() == [0] * 6
    expected = torch.tensor([-0.5, 1, -0.5]) * math.sqrt(2)
    torch.testing.assert_close(rollout["advantage"][0, 3:], expected)
    assert rollout["returns"].tolist() == rollout["reward"].tolist()


def test_nothing_is_learned_where_no_group_differs():
    algorithm = algorithm_of()
    before = algorithm.model.logits.detach().clone()
    logs = update(algorithm, rollout_of(algorithm, [[1.0] * 6]))
    assert logs == {"grpo/informative_groups": 0, "grpo/whole_episodes": 1}
    assert algorithm.counters.learn_step == 0
    assert torch.equal(algorithm.model.logits, before)


def test_episodes_that_were_cut_have_no_part():
    algorithm = algorithm_of()
    rollout = rollout_of(algorithm, [[1, 2, 90, 4, 5, 6.0]])
    rollout["ends"][0, 2] = False
    minibatches, logs = algorithm.begin(rollout)
    assert rollout["advantage"][0, :3].tolist() == pytest.approx([-1, 1, 0], rel=1e-5)
    assert logs["grpo/whole_episodes"].item() == pytest.approx(5 / 6)
    assert len(minibatches.data) == 5


def test_a_group_is_played_by_one_policy():
    version = torch.zeros(1, 6, dtype=torch.int64)
    version[0, 1] = 3
    algorithm = algorithm_of()
    rollout = rollout_of(algorithm, [[1, 2, 3, 4, 5, 6.0]], policy_version=version)
    with pytest.raises(ValueError, match="several policies acted in one group"):
        algorithm.begin(rollout)
    beside = algorithm_of(collection="async")  # where a resumed run may have two
    minibatches, logs = beside.begin(rollout)
    assert len(minibatches.data) == 3
    assert logs["grpo/informative_groups"] == 0.5


def test_the_reference_is_asked_once_a_rollout_and_moved_by_its_sync():
    algorithm = algorithm_of(kl_coef=0.1)
    assert algorithm_of().reference is None
    algorithm.model.logits.data += torch.tensor([0.5, 0.0, 0.0])
    rollout = rollout_of(algorithm, [[1, 2, 3, 4, 5, 6.0]])
    own = algorithm.reference.evaluate_actions(None, torch.ones(6, 1).long())[0]
    pieces = algorithm.begin(rollout)[0].data
    assert torch.equal(pieces["reference"], own.unsqueeze(1))
    assert algorithm.loss(algorithm.measured(pieces))[1]["kl"] > 0
    update(algorithm, rollout)
    assert not algorithm.reference.logits.requires_grad
    assert not torch.equal(algorithm.reference.logits, algorithm.model.logits)
    assert algorithm.state_dict().keys() == {"model", "optimizer", "reference"}
    algorithm.sync_target()
    assert torch.equal(algorithm.reference.logits, algorithm.model.logits)
    pieces = algorithm.begin(rollout)[0].data
    assert algorithm.loss(algorithm.measured(pieces))[1]["kl"] == 0


def test_it_trains_on_groups_and_evaluates_without():
    trainer = trainer_of(grpo, **PENDULUM)
    assert isinstance(trainer.envs, GroupStarts)
    before = [p.detach().clone() for p in trainer.model.parameters()]
    logs = [log["logs"] for log in trainer() if log["log_type"] == "train"]
    assert len(logs) == 4 * 2 * 2
    assert logs[0]["grpo/informative_groups"] == 1
    assert logs[0]["approx_kl"] == pytest.approx(0, abs=1e-6)
    assert not any("value" in name for name in logs[0])
    assert not any(map(torch.equal, before, trainer.model.parameters()))
    assert not isinstance(trainer.evaluator.envs, GroupStarts)
    assert trainer.evaluate(3)["logs"]["episodes"] == 3


def shares(logs):
    """Of episodes that were whole, by rollout."""
    name = "grpo/whole_episodes"
    return [float(log["logs"][name]) for log in logs if name in log["logs"]]


def test_environments_without_a_state_lose_the_rollout_under_way_alone(tmp_path):
    config = config_of(grpo, eval_every=0, **{**PENDULUM, "env_id": "Pendulum-v1"})
    trainer = grpo.Trainer(config)
    next(log for log in trainer() if log["sample_step"] == 12)
    trainer.save(tmp_path / "run.pt")
    resumed = list(grpo.Trainer.load(tmp_path / "run.pt")())
    assert shares(resumed) == [0, 1, 1, 1]
    assert max(log["logs"].get("episode_length", 8) for log in resumed) == 8


def test_a_step_that_was_interrupted_moves_no_round():
    """After its row was written: one rollout is lost."""
    trainer = trainer_of(grpo, **PENDULUM)
    factories.fails_once(trainer.agent, "count_steps", 6, KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        list(trainer())
    lost, *others = shares(trainer())
    assert (lost, set(others)) == (0, {1})


class Spell(TorchVectorEnv):
    """Say the two numbers that you see; an answer is an episode, worth its share."""

    single_observation_space = Box(0, 1, (6,))
    single_action_space = MultiDiscrete([3, 3])
    noise_size = 2

    def initial_state(self, noise):
        return (3 * noise).floor()

    def dynamics(self, state, action):
        right = (state == action.T).float().mean(0)
        return state, right, torch.ones_like(right, dtype=torch.bool)

    def observe(self, state):
        return nn.functional.one_hot(state.T.long(), 3).flatten(1).float()


@pytest.mark.parametrize("options", [{}, {"ratio_level": "sequence"}])
def test_answers_of_several_tokens_are_learned(options):
    """From one look at each prompt, by groups that see the same one."""
    config = config_of(grpo, **ANSWERS, **options)
    worlds = Spell(config.num_envs, max_episode_steps=1)
    trainer = grpo.Trainer(config, envs=worlds, model=Tokens)
    before = trainer.evaluate(64)["logs"]["episode_return"]
    for log in trainer():
        assert log["logs"].get("grpo/whole_episodes", 1) == 1
    assert before < 0.7
    assert trainer.evaluate(64)["logs"]["episode_return"] > 0.95


def test_chunks_count_as_far_as_they_were_executed():
    """CartPole falls in the middle of some; the rest of such a chunk has no part."""
    poles = gym.make_vec("yieldrl/CartPole-v1", num_envs=8, max_episode_steps=60)
    chunks = ActionChunks(poles, length=4)
    options = {"group_size": 4, "num_steps": 15, "total_steps": 120, "eval_every": 0}
    options["demonstration_steps"] = 0
    trainer = grpo.Trainer(grpo.Config(**options), envs=chunks, model=Tokens)
    assert trainer.envs.horizon == 15
    next(log for log in trainer() if log["log_type"] == "train")
    pieces = trainer.buffer.minibatches.data
    steps = pieces[pieces["valid"]]
    taken = tokens_taken(trainer.model, steps, steps["log_prob"])
    assert torch.equal(taken.flatten(1).sum(1), steps["num_steps"])
    assert 0 < (steps["num_steps"] < 4).sum() <= len(pieces), "only where they end"
    lengths = (pieces["num_steps"] * pieces["valid"]).sum(1)
    assert torch.equal(pieces["returns"][:, 0], lengths.float())


SUMS = {"env_id": "yieldrl/Sums-v1", "env_kwargs": {"max_operand": 9}}
SUMS |= {"num_envs": 64, "demonstration_steps": 0, "eval_every": 0, "device": "cpu"}
SUMS |= {"threads": 1}


SMALL = {"d_model": 16, "num_layers": 1, "num_heads": 2}
WAY = {**SUMS, **SMALL, "demonstration_steps": 128, "clone_steps": 6, "kl_coef": 0.1}
WAY |= {"total_steps": 512, "num_epochs": 1}


class Even(SumsVectorEnv):
    """Sums that are worth their share of even bytes, so that all groups differ."""

    def grade(self, state, answer):
        return (answer % 2 == 0).float().mean(1)


def on_the_way(**options):
    config = grpo.Config(**WAY | options)
    return grpo.Trainer(config, envs=Even(64, max_operand=9))


def test_sums_go_on_bitwise(tmp_path):
    """While cloning, between rollouts, and between two minibatches."""
    expected = list(map(plain, on_the_way()()))
    assert len([log for log in expected if "kl" in log["logs"]]) == 6 * 4
    for stop in (3, 9, 12):
        envs = Even(64, max_operand=9)
        assert resumed(on_the_way(), stop, tmp_path, envs=envs) == expected


def test_logs_say_how_far_cloning_is_and_whose_returns_they_are():
    logs = list(on_the_way()())
    cloned = [log["logs"].get("cloned") for log in logs if log["log_type"] == "train"]
    assert cloned[:6] == [(i + 1) / 6 for i in range(6)]
    assert set(cloned[6:]) == {None}
    names = {"expert_return", "episode_return"}
    told = ((log["logs"]["phase"], log["logs"].keys() & names) for log in logs)
    found = {(phase, *each) for phase, each in told if each}
    assert found == {(0.0, "expert_return"), (1.0, "episode_return")}


class Hopeless(Even):
    def grade(self, state, answer):
        return torch.zeros(len(answer))


def test_a_run_in_which_no_group_differed_says_so():
    """A checkpoint remembers whether there was one."""
    options = {"demonstration_steps": 0, "total_steps": 128}
    hopeless = grpo.Trainer(grpo.Config(**WAY | options), envs=Hopeless(64))
    with pytest.warns(UserWarning, match="in no group did the returns"):
        assert list(hopeless())
    trainer = on_the_way(**options)
    list(itertools.islice(trainer(), 2))
    other = on_the_way(**options)
    other.load_state_dict(trainer.state_dict())
    assert other.informative == trainer.informative == 1


def test_the_clone_is_made_of_single_prompts_and_is_the_reference():
    trainer = on_the_way()
    assert isinstance(trainer.model, TokenPolicy)
    assert not isinstance(trainer.cloning.envs, GroupStarts)
    next(log for log in trainer() if log["logs"]["phase"] == 1.0)
    assert trainer.cloning is None
    states = [m.state_dict() for m in (trainer.model, trainer.algorithm.reference)]
    torch.testing.assert_close(*states, rtol=0, atol=0)
    rate = trainer.config.learning_rate
    assert trainer.algorithm.learning_rate == rate
    trainer.algorithm.anneal(0.625)  # half way from 128 to 512 steps
    [group] = trainer.algorithm.optimizer.param_groups
    assert group["lr"] == pytest.approx(0.5 * rate)


def test_the_rate_rises_before_it_falls_and_is_never_zero():
    algorithm = on_the_way(warmup_share=0.5, learning_rate=0.6).algorithm
    assert algorithm.config.batch_size == 64
    rates = []
    for step in range(128, 512, 64):  # at the start of every rollout
        algorithm.anneal(step / 512)
        rates.append(algorithm.learning_rate)
    assert rates == pytest.approx([0.2, 1 / 3, 0.4, 0.3, 0.2, 0.1])


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_first_step_says_how_far_learner_and_sampler_are(precision):
    """Rounding, or what bfloat16 makes of it."""
    logs = [log["logs"] for log in on_the_way(precision=precision)()]
    gaps = [float(log["sampling_gap"]) for log in logs if "sampling_gap" in log]
    most = 1e-5 if precision == "float32" else 0.1
    assert len(gaps) == 6, "of four steps of each rollout the first"
    assert all(0 <= gap < most for gap in gaps)


def test_what_does_not_fit_is_said_at_construction():
    with pytest.raises(ValueError, match=r"num_envs = 12: .* = group_size"):
        grpo.Config(num_envs=12)
    for name in ("rollout_workers", "learners"):
        with pytest.raises(ValueError, match=rf"num_envs = 24: .* each of {name}"):
            grpo.Config(num_envs=24, collection="ray", **{name: 2})
    with pytest.warns(UserWarning, match="num_steps = 100: .* and may take 500"):
        grpo.Trainer(cartpole(num_steps=100))


@pytest.mark.slow
def test_it_learns_to_balance():
    trainer = grpo.Trainer(cartpole())
    list(trainer())
    assert trainer.evaluate(20)["logs"]["episode_return"] > 400


def test_a_policy_of_the_background_changes_only_between_rollouts():
    trainer, versions = trainer_of(grpo, **PENDULUM, collection="async"), []
    for log in trainer():
        if log["log_type"] == "train" and trainer.buffer.full:
            versions.append(trainer.buffer.rollout()["policy_version"].unique())
    assert all(len(version) == 1 for version in versions)
    assert len({int(version) for version in versions}) > 1


POLES = {"env_id": "yieldrl/CartPole-v1", "env_kwargs": {"max_episode_steps": 14}}
POLES |= {"num_envs": 8, "num_steps": 14, "total_steps": 14 * 8 * 20}


def begun(**options):
    """Of each rollout what share of its groups differs, and whether it is learned."""
    name = "grpo/informative_groups"
    logs = [log["logs"] for log in train_logs(trainer_of(dapo, **POLES | options))]
    return [(float(log[name]), "loss" in log) for log in logs if name in log]


def test_it_learns_when_enough_episodes_are_of_groups_that_differ():
    """Eight of eight environments, of which two make a group."""
    rollouts, kept, learned = begun(), 0, 0
    assert len(rollouts) == 20
    for i, (share, learns) in enumerate(rollouts):
        kept += 1  # rollouts, of all of which that is the share
        found = 8 * share * kept
        assert learns == (found >= 8 or (i == 19 and found > 0))
        learned += learns
        kept = 0 if learns else kept
    assert 1 < learned < 12


def test_all_that_was_kept_is_learned_from_by_the_policy_that_acted():
    trainer = trainer_of(dapo, **POLES)
    before, sizes = trainer.model.actor.layers[0].weight.detach().clone(), []
    for log in trainer():
        if log["log_type"] == "train":
            sizes.append(len(trainer.kept))
            if "loss" in log["logs"]:
                break
            assert torch.equal(trainer.model.actor.layers[0].weight, before)
    assert len(sizes) > 1
    assert sizes[-1] == 0
    assert sizes == [*range(1, len(sizes)), 0]
    assert len(trainer.buffer.minibatches.data) >= 8
    assert log["logs"]["approx_kl"] < 1e-9, "none has moved"
    assert log["logs"]["sampling_gap"] < 1e-5


@pytest.mark.parametrize(
    ("options", "waits"),
    [({"max_rollouts": 1}, 1), ({"max_rollouts": 3, "batch_episodes": 1000}, 3)],
)
def test_how_long_it_waits_is_bounded(options, waits):
    rollouts = begun(**options)
    for i, (_, learns) in enumerate(rollouts[:18]):
        assert not learns or (i + 1) % waits == 0
    assert any(learns for _, learns in rollouts)


def test_a_saved_run_has_what_it_kept(tmp_path):
    expected = [plain(log) for log in trainer_of(dapo, **POLES)()]
    trainer, found = trainer_of(dapo, **POLES), []
    for log in trainer():
        found.append(plain(log))
        if trainer.kept:
            break
    trainer.save(tmp_path / "run.pt")
    found += [plain(log) for log in dapo.Trainer.load(tmp_path / "run.pt")()]
    assert found == expected
