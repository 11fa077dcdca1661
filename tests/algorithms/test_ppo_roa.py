"""PPO-ROA: who does what in which phase, what is learned from what, and who plays."""

import copy
import dataclasses
import functools
from collections import defaultdict

import pytest
import torch
from factories import plain, train_logs
from gymnasium.spaces import Box, Dict, Discrete
from interruptions import waiting
from pacing import Paced
from torch import nn
from torch.nn.functional import mse_loss

import yieldrl
from yieldrl.algorithms import ppo_roa
from yieldrl.algorithms.ppo_roa.phases import MODULES, PHASES, trained
from yieldrl.networks.encoder import Encoder

from .test_contract import Moody, moody

# Of batch norm and dropout trainers warn: they are here to be switched.
pytestmark = pytest.mark.filterwarnings("ignore:.*compute something else in train mode")

SMALL = {"num_envs": 4, "num_steps": 8, "num_epochs": 2}
SMALL |= {"num_minibatches": 2, "total_steps": 96, "hidden_sizes": (8,)}
SMALL |= {"latent_size": 3, "window": 3, "gru_size": 5, "eval_every": 0}
SMALL |= {"eval_episodes": 4, "device": "cpu", "threads": 1}
ONLY = {"train": (96, 0, 0), "adapt": (0, 96, 0), "finetune": (0, 0, 96)}


DOCUMENT = {
    "train": (
        "forward forward unused forward unused unused",
        "learns learns learns learns average learns",
    ),
    "finetune": (
        "unused unused forward unused forward unused",
        "forward unused learns learns average learns",
    ),
}
"""The paper's tables: what each of `MODULES` does in a rollout, and in training."""


def trainer_of(model=None, **options):
    return ppo_roa.Trainer(ppo_roa.Config(**{**SMALL, **options}), model=model)


def parameters_of(model, module):
    return [p.detach().clone() for p in model.parameters_of(module)]


def same(a, b):
    return all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


class TestTable:
    @pytest.mark.parametrize("phase", DOCUMENT)
    def test_it_is_the_documents(self, phase):
        learns = {"ppo": "learns", "adapt": "learns", "imitate": "learns"}
        uses = PHASES[phase].values()
        found = (
            " ".join(use.rollout for use in uses),
            " ".join(learns.get(use.training, use.training) for use in uses),
        )
        assert found == DOCUMENT[phase]

    @pytest.mark.parametrize("phase", PHASES)
    def test_every_cell_says_what_happens(self, phase):
        trainer = trainer_of(phase_steps=ONLY[phase])
        model, calls = trainer.model, defaultdict(int)

        def note(module):
            graph = torch.is_grad_enabled() and not torch.is_inference_mode_enabled()
            calls[module, "graph" if graph else "forward"] += 1

        for name in MODULES:
            hook = functools.partial(lambda name, *_: note(name), name)
            getattr(model, name).register_forward_hook(hook)
        before = {name: parameters_of(model, name) for name in MODULES}
        for _ in range(8):
            trainer.collector.step()
        uses = PHASES[phase]
        acting = [name for name in MODULES if uses[name].rollout == "forward"]
        assert dict(calls) == {(name, "forward"): 8 for name in acting}
        assert all(same(before[n], parameters_of(model, n)) for n in MODULES)

        calls.clear()
        trainer.update(trainer.buffer.rollout())
        after = {name: parameters_of(model, name) for name in MODULES}
        for name, use in uses.items():
            learns = use.training in ("ppo", "adapt", "imitate")
            idle = use.training in ("forward", "unused")
            assert same(before[name], after[name]) == idle, name
            assert ((name, "graph") in calls) == learns, name
            called = learns or (name, "forward") in calls
            assert called == (learns or use.training == "forward"), name
        pairs = zip(before["adapt_ema"], after["adapt_ema"], strict=True)
        for (old, new), towards in zip(pairs, after["adapt_module"], strict=True):
            torch.testing.assert_close(new, 0.96 * old + 0.04 * towards)


class TestPhases:
    def test_one_run_goes_through_them(self):
        trainer = trainer_of(phase_steps=(32, 32, 32))
        model, acted, learned, ends = trainer.model, [], [], {}
        rates = {True: set(), False: set()}
        for log in trainer():
            found = acted if log["log_type"] == "collect" else learned
            found.append((log["sample_step"], float(log["logs"]["phase"])))
            if log["log_type"] == "train":
                rate = log["logs"]["learning_rate"]
                rates["adaptation_loss" in log["logs"]].add(rate)
            if log["log_type"] == "train" and len(trainer.buffer) == 0:
                module, average = model.adapt_module, model.adapt_ema
                equal = alike(module.state_dict(), average.state_dict())
                ends[log["sample_step"]] = equal
        assert [phase for step, phase in acted if step % 32 == 0] == [0, 1, 2]
        assert all(phase == (step - 1) // 32 for step, phase in acted if step <= 64)
        assert {*learned} == {(32, 0.0), (64, 1.0), (96, 2.0)}
        assert len(learned) == 2 * ((2 + 2) + 2 + (2 + 2))  # minibatches times epochs
        assert rates[True] == {1e-3}
        assert len(rates[False]) > 1, "rates of PPO alone are annealed"
        # The average is copied when a phase ends. The last one goes on to act as it has
        # learned to.
        assert ends == {32: True, 64: True, 96: False}

    def test_the_student_explores_as_much_as_the_teacher_did(self):
        trainer = trainer_of()
        model = trainer.model
        with torch.no_grad():
            model.log_std.fill_(-0.7)
        trainer.algorithm.enter("finetune")
        assert model.log_std_adapt.tolist() == pytest.approx([-0.7])
        with torch.no_grad():
            model.log_std.fill_(0.3)
        trainer.algorithm.enter("adapt")  # from student to student
        assert model.log_std_adapt.tolist() == pytest.approx([-0.7])

    def test_a_finished_run_that_goes_on_stays_where_it_is(self, tmp_path):
        first = trainer_of()  # default shares
        list(first())
        path = first.save(tmp_path / "checkpoint.pt")
        longer = dataclasses.replace(first.config, total_steps=960)
        assert longer.phase_at(96) == "train"
        second = ppo_roa.Trainer.load(path, config=longer)
        assert {log["logs"]["phase"] for log in second()} == {2.0}

    def test_statistics_stand_still_where_the_student_acts(self):
        trainer = trainer_of(phase_steps=(32, 0, 64), normalize_observation=True)
        counts = []
        for log in trainer():
            if log["log_type"] == "collect" and log["sample_step"] % 32 == 4:
                counts.append(float(trainer.model.normalizer.moments[0].count))
        assert counts == [0, 32, 32]

    def test_shares_of_the_steps_are_the_default(self):
        config = ppo_roa.Config(total_steps=1000)
        lengths = {"train": 600, "adapt": 100, "finetune": 300}
        assert config.phase_lengths() == lengths
        found = [config.phase_at(step) for step in (0, 599, 600, 699, 700, 10**6)]
        names = ["train", "train", "adapt", "adapt", "finetune", "finetune"]
        assert found == names
        alone = ppo_roa.Config(total_steps=96, phase_steps=(96, 0, 0))
        assert alone.phase_at(96) == "train"


class TestLosses:
    def rollout(self, **options):
        trainer = trainer_of(phase_steps=ONLY["train"], **options)
        return trainer, trainer.collector.collect(8)

    def test_the_regularizer_is_the_distance_from_what_was_inferred(self):
        options = {"regularizer_coef": 0.5, "regularizer_ramp": (0.0, 0.0)}
        trainer, rollout = self.rollout(**options)
        plain, _ = self.rollout(regularizer_coef=0.0)
        plain.model.load_state_dict(trainer.model.state_dict())
        flat = rollout.flatten(0, 1)
        encoded = trainer.model.encoded(flat["obs"])
        gap = (encoded - flat["priv_pred"]).square().mean().detach()
        losses = []
        for one in (trainer, plain):
            prepared = one.algorithm.prepare(rollout.copy())
            losses.append(one.algorithm.learn(prepared)["loss"])
        torch.testing.assert_close(losses[0] - losses[1], 0.5 * gap)

    @pytest.mark.parametrize("adaptation", ["mlp", "gru"])
    def test_adaptation_and_imitation_are_squared_distances(self, adaptation):
        trainer, rollout = self.rollout(adaptation=adaptation)
        model = trainer.model
        with torch.no_grad():  # so that means of actions are large
            model.actor_adapt.layers[-1].weight.mul_(100)
        algorithm = trainer.algorithm
        walked = algorithm.samples(rollout).transpose(0, 1)
        loss, logs = algorithm.adaptation_loss(walked)
        flat = rollout.flatten(0, 1)
        encoded, inferred = model.encoded(flat["obs"]), flat["priv_pred"]
        features = flat["obs", "obs"]
        teacher = model.actor(torch.cat((features, encoded), -1))
        student = model.actor_adapt(torch.cat((features, inferred), -1))
        expected = mse_loss(inferred, encoded), mse_loss(student, teacher)
        names = ("adaptation_loss", "imitation_loss")
        for name, value in zip(names, expected, strict=True):
            torch.testing.assert_close(logs[name], value.detach())
        torch.testing.assert_close(loss, sum(expected))
        # Imitation leaves the adaptation module alone.
        module = list(model.adapt_module.parameters())
        distance = mse_loss(model.infer_sequence(walked).flatten(0, 1), encoded)
        pairs = (torch.autograd.grad(x, module) for x in (loss, distance))
        for found, alone in zip(*pairs, strict=True):
            torch.testing.assert_close(found, alone)

    def test_what_is_inferred_is_what_acting_inferred(self):
        """Across the ends of episodes and of rollouts, from the same weights."""
        options = {"phase_steps": (4096, 0, 0), "total_steps": 4096}
        for adaptation in ("mlp", "gru"):
            trainer = trainer_of(
                **options, adaptation=adaptation, env_kwargs={"max_episode_steps": 5}
            )
            for _ in range(2):
                rollout = trainer.collector.collect(8)
                trainer.agent.acted_since = None
                walked = trainer.algorithm.samples(rollout).transpose(0, 1)
                inferred = trainer.model.infer_sequence(walked)
                torch.testing.assert_close(inferred, rollout["priv_pred"])
                assert rollout["truncated"].any()

    def test_a_kl_that_is_too_large_ends_the_passes_of_ppo_alone(self):
        trainer = trainer_of(target_kl=1e-9, total_steps=32, phase_steps=(32, 0, 0))
        kinds = ["adaptation_loss" in log["logs"] for log in train_logs(trainer)]
        assert kinds.count(True) == 4  # two epochs of two minibatches
        assert 1 <= kinds.count(False) < 4
        assert kinds == sorted(kinds)

    def test_its_weight_rises_between_two_shares_of_the_first_phase(self):
        options = {"regularizer_coef": 0.2, "regularizer_ramp": (0.2, 0.6)}
        config = ppo_roa.Config(total_steps=1000, phase_steps=(500, 0, 500), **options)
        weights = [config.regularizer_at(s) for s in (0, 100, 150, 200, 300, 900)]
        assert weights == pytest.approx([0, 0, 0.05, 0.1, 0.2, 0.2])


class TestStudent:
    def test_it_plays_without_what_is_privileged(self):
        trainer = trainer_of(phase_steps=(32, 32, 32))
        list(trainer())
        agent, envs = trainer.agent, trainer.envs
        obs, _ = envs.reset(seed=3)
        agent.begin_episode()
        other = agent.as_student()
        other.begin_episode()
        for _ in range(6):
            action = agent.predict(obs)
            told = {**obs, "privileged": torch.randn_like(obs["privileged"])}
            assert torch.equal(action, other.predict({"obs": told["obs"]}))
            obs, *_ = envs.step(action)

    def test_it_remembers_and_forgets_at_the_start_of_an_episode(self):
        agent = trainer_of().agent.as_student()
        obs = {"obs": torch.tensor([[1.0, 0.0, 0.3]])}
        agent.begin_episode()
        first = agent.predict(obs)
        second = agent.predict(obs)
        assert not torch.equal(first, second)
        agent.begin_episode()
        assert torch.equal(agent.predict(obs), first)

    def test_it_is_exported_and_acts_alike(self, tmp_path):
        trainer = trainer_of(adaptation="gru", normalize_observation=True)
        path = tmp_path / "student.pt2"
        trainer.agent.export(path)
        student = torch.export.load(path).module()
        agent = trainer.agent.as_student()
        agent.begin_episode()
        for count in (4, 1):
            obs = torch.randn(8, count, 3)
            agent.begin_episode()
            memory = torch.zeros(count, trainer.model.memory_size)
            for t in range(8):
                first = torch.full((count,), t == 0)
                action, memory = student({"obs": obs[t]}, memory, first)
                torch.testing.assert_close(action, agent.predict({"obs": obs[t]}))


class TestConfig:
    @pytest.mark.parametrize(
        ("field", "options"),
        [
            ("phase_steps", {"phase_steps": (1, 2, 3)}),
            ("phase_steps", {"phase_steps": (-1, 0, 1)}),
            ("regularizer_ramp", {"regularizer_ramp": (0.5, 0.1)}),
            ("privileged_obs", {"privileged_obs": ()}),
            ("actor_obs", {"actor_obs": ("obs", "privileged")}),
            ("num_minibatches", {"num_envs": 2, "num_minibatches": 3}),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, field, options):
        with pytest.raises(ValueError, match=rf"Config\.{field} = "):
            ppo_roa.Config(**options)

    def test_student_and_teacher_read_other_entries(self):
        box = Box(-1, 1, (2,))
        for space in (box, Dict(obs=box), Dict(privileged=box)):
            with pytest.raises(ValueError, match=r"Config\.privileged_obs = "):
                ppo_roa.Model(space, Discrete(2), ppo_roa.Config(**SMALL))


def test_the_contract_is_kept_where_the_student_acts():
    options = {"total_steps": 400, "phase_steps": (0, 0, 400), "adaptation": "gru"}
    config = ppo_roa.Config(**SMALL | options)
    looks = yieldrl.check_algorithm(ppo_roa.Trainer(config))
    assert looks["stored_log_prob"] > 0


LEARNS = ("ppo", "adapt", "imitate", "average")


through = functools.partial(trainer_of, phase_steps=(32, 32, 32))


def begun_since(trainer):
    """Whether all of the rollout was acted by policies of the phase of now."""
    versions = trainer.buffer.rollout()["policy_version"]
    return int(versions.min()) >= trainer.agent.counters.learns_since


def alike(before, after):
    return all(torch.equal(before[name], after[name]) for name in before)


class MoodyEncoder(Encoder):
    def __init__(self, encoder):
        super().__init__()
        self.inner, self.size = encoder, encoder.size
        self.moody = Moody(nn.Linear(encoder.size, encoder.size))

    def forward(self, obs):
        return self.moody(self.inner(obs))


class Model(moody(ppo_roa.Model)):
    """Statistics everywhere."""

    def __init__(self, *args):
        super().__init__(*args)
        self.encoder = MoodyEncoder(self.encoder)
        self.critic_encoder = MoodyEncoder(self.critic_encoder)


def states_of(model):
    """Of every module all parameters and statistics, with what belongs to it."""
    parts = [*MODULES, "encoder", "critic_encoder"]
    states = {name: getattr(model, name).state_dict() for name in parts}
    return copy.deepcopy(states)


class TestFrozen:
    @pytest.mark.parametrize("phase", PHASES)
    def test_what_does_not_learn_keeps_its_statistics_too(self, phase):
        trainer = trainer_of(Model, phase_steps=ONLY[phase])
        rollout = trainer.collector.collect(8)
        before = states_of(trainer.model)
        trainer.update(rollout)
        after = states_of(trainer.model)
        for name in MODULES:
            learns = PHASES[phase][name].training in LEARNS
            assert alike(before[name], after[name]) != learns, name
        # The encoder of both actors is the teacher's, the critic's its own.
        learned = trained(phase, "ppo")
        assert alike(before["encoder"], after["encoder"]) != ("actor" in learned)
        moved = not alike(before["critic_encoder"], after["critic_encoder"])
        assert moved == ("critic" in learned)

    @pytest.mark.parametrize("name", ["encoder", "critic"])
    def test_what_a_user_freezes_stays_while_the_others_learn(self, name):
        trainer = trainer_of(Model, phase_steps=ONLY["train"])
        trainer.model.get_submodule(name).requires_grad_(False)
        before = states_of(trainer.model)
        list(trainer())
        after = states_of(trainer.model)
        assert alike(before[name], after[name])
        others = {*before} - {name}
        assert not any(alike(before[other], after[other]) for other in others)


def test_nothing_untrained_is_left_where_the_student_takes_over():
    trainer = through(phase_steps=ONLY["train"])
    list(trainer())
    model = trainer.model
    assert not alike(model.adapt_module.state_dict(), model.adapt_ema.state_dict())
    before = copy.deepcopy(model.state_dict())
    student = trainer.agent.as_student().algorithm.model
    assert alike(model.adapt_module.state_dict(), student.adapt_ema.state_dict())
    assert alike(before, model.state_dict())
    trainer.algorithm.enter("finetune")
    assert alike(model.adapt_module.state_dict(), model.adapt_ema.state_dict())


class TestAsynchronous:
    @pytest.mark.parametrize("lag", [0, 3])
    def test_nothing_is_learned_from_that_another_phase_began(self, lag):
        """Always as far ahead as may be: a phase ends with `lag` rollouts waiting."""
        steps = {"total_steps": 192, "phase_steps": (64, 64, 64)}
        trainer = through(collection="async", max_policy_lag=lag, **steps)
        buffer, paced = trainer.buffer, Paced(trainer)
        phases, firsts = [], {}
        for log in trainer():
            if log["log_type"] == "train":
                phase = log["logs"]["phase"]
                if buffer.minibatches is not None and buffer.minibatches.position == 1:
                    assert begun_since(trainer)
                    phases.append(phase)
                    logs = log["logs"]
                    if "approx_kl" in logs:
                        firsts.setdefault(phase, float(logs["approx_kl"]))
                    paced.settle()
        assert phases == [0, 0, 1, 1, 2, 2]
        assert firsts == pytest.approx({0: 0, 2: 0}, abs=1e-6)
        assert trainer.collector.segments.dropped == 2 * 8 * 4 * lag

    def test_what_waits_is_still_dropped_after_loading(self, tmp_path):
        trainer = through(collection="async", phase_steps=(32, 0, 64))
        paced = Paced(trainer)
        for log in trainer():
            if log["log_type"] == "train" and trainer.buffer.minibatches is None:
                break
            if log["log_type"] == "train":
                paced.settle()
        again = ppo_roa.Trainer.load(trainer.save(tmp_path / "checkpoint.pt"))
        assert again.model.phase == "finetune"
        assert waiting(again.collector) > 0
        logs = next(log["logs"] for log in again() if log["log_type"] == "train")
        assert begun_since(again)
        assert float(logs["approx_kl"]) == pytest.approx(0, abs=1e-6)


class TestSynchronous:
    def test_what_another_phase_collected_is_dropped(self):
        rows = 3
        trainer = through(phase_steps=ONLY["train"])
        next(log for log in trainer() if len(trainer.buffer) == rows)
        trainer.algorithm.enter("finetune")
        log = next(iter(trainer()))
        assert (log["log_type"], log["sample_step"]) == ("collect", 4 * rows + 4)
        assert len(trainer.buffer) == 1
        assert not trainer.buffer.continues
        logs = [log["logs"] for log in train_logs(trainer)]
        assert {found["phase"] for found in logs} == {2.0}
        assert logs[0]["approx_kl"] == pytest.approx(0, abs=1e-6)

    def test_a_rollout_of_another_phase_is_refused(self):
        trainer = through()
        rollout = trainer.collector.collect(8)
        trainer.algorithm.enter("finetune")
        with pytest.raises(RuntimeError, match="before the phase 'finetune' began"):
            trainer.update(rollout)
        logs = trainer.update(trainer.collector.collect(8))
        assert "adaptation_loss" in logs

    def test_a_run_that_is_loaded_begins_the_phase_that_is_due(self, tmp_path):
        first = through(phase_steps=ONLY["train"])
        list(first())
        first.save(tmp_path / "checkpoint.pt")
        steps = {"total_steps": 192, "phase_steps": (96, 0, 96)}
        longer = dataclasses.replace(first.config, **steps)
        second = ppo_roa.Trainer.load(tmp_path / "checkpoint.pt", config=longer)
        logs = list(map(plain, second()))
        assert {log["logs"]["phase"] for log in logs} == {2.0}
        learned = next(log["logs"] for log in logs if log["log_type"] == "train")
        assert learned["approx_kl"] == pytest.approx(0, abs=1e-6)
