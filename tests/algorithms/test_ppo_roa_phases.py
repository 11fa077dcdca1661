"""PPO-ROA from phase to phase: what is frozen, what is learned from, what is copied."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import pytest
import torch
from pacing import Paced
from torch import Tensor, nn

from yieldrl.algorithms import ppo_roa
from yieldrl.algorithms.ppo_roa.phases import MODULES, PHASES
from yieldrl.buffers import CircularBuffer
from yieldrl.networks.encoder import Encoder

# Of batch norm and dropout trainers warn: they are here to be switched.
pytestmark = pytest.mark.filterwarnings("ignore:.*compute something else in train mode")

SMALL: dict[str, Any] = {
    "num_envs": 4,
    "num_steps": 8,
    "num_epochs": 2,
    "num_minibatches": 2,
    "total_steps": 96,
    "phase_steps": (32, 32, 32),
    "hidden_sizes": (8,),
    "latent_size": 3,
    "window": 3,
    "gru_size": 5,
    "eval_every": 0,
    "device": "cpu",
    "threads": 1,
}
ONLY = {"train": (96, 0, 0), "adapt": (0, 96, 0), "finetune": (0, 0, 96)}
LEARNS = ("ppo", "adapt", "imitate", "average")


def trainer_of(model_class: Any = None, **options: Any) -> ppo_roa.Trainer:
    config = ppo_roa.Config(**{**SMALL, **options})
    return ppo_roa.Trainer(config, model=model_class)


def logs_of(trainer: ppo_roa.Trainer) -> list[Any]:
    return [
        (log["log_type"], log["sample_step"], {k: float(v) for k, v in logs.items()})
        for log in trainer()
        for logs in [log["logs"]]
    ]


def same(before: dict[str, Tensor], after: dict[str, Tensor]) -> bool:
    return all(torch.equal(before[name], after[name]) for name in before)


class Moody(nn.Module):
    """A part whose statistics move, and which drops numbers, while it learns."""

    def __init__(self, part: nn.Module, size: int) -> None:
        super().__init__()
        self.part = part
        self.norm = nn.BatchNorm1d(size, affine=False)
        self.gain = nn.utils.parametrizations.spectral_norm(nn.Linear(size, size))
        self.dropout = nn.Dropout(0.3)

    def forward(self, x: Any) -> Tensor:
        x = self.part(x)
        flat = self.gain(self.norm(x.flatten(0, -2)))
        return self.dropout(flat).view(x.shape)


class MoodyEncoder(Encoder):
    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.moody, self.size = Moody(encoder, encoder.size), encoder.size

    def forward(self, obs: Any) -> Tensor:
        return self.moody(obs)


class Model(ppo_roa.Model):
    """Statistics everywhere."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        assert self.critic_encoder is not None
        self.encoder = MoodyEncoder(self.encoder)
        self.critic_encoder = MoodyEncoder(self.critic_encoder)
        config: ppo_roa.Config = args[2]
        self.encoder_priv = nn.Sequential(self.encoder_priv, Moody(nn.Identity(), 3))
        heads: Any = self.actor, self.actor_adapt, self.critic
        for part in heads:
            width = config.hidden_sizes[0]
            part.layers[0] = Moody(part.layers[0], width)
        layers: Any = self.adapt_module
        layers.mlp.layers[0] = Moody(layers.mlp.layers[0], config.hidden_sizes[0])
        self.adapt_ema = copy.deepcopy(self.adapt_module)


def states_of(model: ppo_roa.Model) -> dict[str, dict[str, Tensor]]:
    """Of every module all parameters and statistics, with what belongs to it."""
    parts = [*MODULES, "encoder", "critic_encoder"]
    states = {name: getattr(model, name).state_dict() for name in parts}
    return copy.deepcopy(states)


class TestFrozen:
    @pytest.mark.parametrize("phase", PHASES)
    def test_what_does_not_learn_keeps_its_statistics_too(self, phase: str) -> None:
        trainer = trainer_of(Model, phase_steps=ONLY[phase])
        rollout = trainer.collector.collect(8)
        before = states_of(trainer.model)
        trainer.algorithm.update(rollout)
        after = states_of(trainer.model)
        for name in MODULES:
            learns = getattr(PHASES[phase], name).training in LEARNS
            assert same(before[name], after[name]) != learns, name
        # The encoder of both actors is the teacher's, the critic's its own.
        learned = PHASES[phase].trained("ppo")
        assert same(before["encoder"], after["encoder"]) != ("actor" in learned)
        moved = not same(before["critic_encoder"], after["critic_encoder"])
        assert moved == ("critic" in learned)

    def test_adaptation_moves_nothing_of_what_learns_by_ppo(self) -> None:
        trainer = trainer_of(Model, phase_steps=ONLY["train"])
        algorithm = trainer.algorithm
        rollout = algorithm.prepare(trainer.collector.collect(8))
        before = states_of(trainer.model)
        algorithm.adapting = True
        algorithm.train_step(algorithm.pieces(rollout).transpose(0, 1))
        after = states_of(trainer.model)
        moved = [name for name in before if not same(before[name], after[name])]
        assert moved == ["actor_adapt", "adapt_module"]

    @pytest.mark.parametrize("name", ["encoder", "encoder_priv", "actor", "critic"])
    def test_what_a_user_freezes_stays_while_the_others_learn(self, name: str) -> None:
        trainer = trainer_of(Model, phase_steps=ONLY["train"])
        trainer.model.get_submodule(name).requires_grad_(False)
        before = states_of(trainer.model)
        logs_of(trainer)
        after = states_of(trainer.model)
        assert same(before[name], after[name])
        others = {*before} - {name}
        assert not any(same(before[other], after[other]) for other in others)

    def test_the_first_ratio_of_the_student_is_one(self) -> None:
        """The encoder acts as it learns."""

        class Seeing(ppo_roa.Model):
            def __init__(self, *args: Any) -> None:
                super().__init__(*args)
                self.encoder = MoodyEncoder(self.encoder)

        trainer = trainer_of(Seeing, phase_steps=ONLY["finetune"])
        found = [logs for kind, _, logs in logs_of(trainer) if kind == "train"]
        assert found[0]["approx_kl"] == pytest.approx(0, abs=1e-6)


class TestAverage:
    def test_it_begins_as_a_copy(self) -> None:
        model = trainer_of().model
        module, average = model.adapt_module, model.adapt_ema
        assert same(module.state_dict(), average.state_dict())

    def test_it_is_copied_when_a_phase_ends(self) -> None:
        trainer = trainer_of()
        model, ends = trainer.model, {}
        for log in trainer():
            if log["log_type"] == "train" and len(trainer.buffer) == 0:
                module, average = model.adapt_module, model.adapt_ema
                alike = same(module.state_dict(), average.state_dict())
                ends[log["sample_step"]] = alike
        # The last one goes on to act as it has learned to.
        assert ends == {32: True, 64: True, 96: False}

    def test_nothing_untrained_is_left_where_the_student_takes_over(self) -> None:
        trainer = trainer_of(phase_steps=ONLY["train"])
        logs_of(trainer)
        model = trainer.model
        assert not same(model.adapt_module.state_dict(), model.adapt_ema.state_dict())
        before = copy.deepcopy(model.state_dict())
        student = trainer.agent.as_student().algorithm.model
        assert same(model.adapt_module.state_dict(), student.adapt_ema.state_dict())
        assert same(before, model.state_dict())
        trainer.algorithm.enter("finetune")
        assert same(model.adapt_module.state_dict(), model.adapt_ema.state_dict())

    def test_a_student_beside_a_student_acts_alike(self) -> None:
        trainer = trainer_of(phase_steps=ONLY["adapt"])
        logs_of(trainer)
        own = trainer.model.adapt_ema
        other = trainer.agent.as_student().algorithm.model.adapt_ema
        assert same(own.state_dict(), other.state_dict())

    def test_a_frozen_average_is_no_one_elses(self) -> None:
        trainer = trainer_of(phase_steps=ONLY["train"])
        trainer.model.adapt_ema.requires_grad_(False)  # it has no gradients anyway
        logs_of(trainer)
        before = copy.deepcopy(trainer.model.adapt_ema.state_dict())
        trainer.agent.as_student()
        assert same(before, trainer.model.adapt_ema.state_dict())
        copied = trainer.algorithm.acting_copy().model
        shared = {p.data_ptr() for p in trainer.model.adapt_ema.parameters()}
        assert not shared & {p.data_ptr() for p in copied.adapt_ema.parameters()}


def ring_of(trainer: ppo_roa.Trainer) -> CircularBuffer:
    assert isinstance(trainer.buffer, CircularBuffer)
    return trainer.buffer


def first_of(trainer: ppo_roa.Trainer, kind: str) -> dict[str, float]:
    """Loop on until such a log comes; its metrics."""
    for log in trainer():
        if log["log_type"] == kind:
            return {name: float(value) for name, value in log["logs"].items()}
    raise AssertionError(f"the run ended without a log of {kind!r}")


def begun_since(trainer: ppo_roa.Trainer) -> bool:
    """Whether all of the rollout was acted by policies of the phase of now."""
    versions = trainer.buffer.rollout()["policy_version"]
    return int(versions.min()) >= trainer.algorithm.phase_since


class TestAsynchronous:
    @pytest.mark.parametrize("lag", [0, 1, 3])
    def test_nothing_is_learned_from_that_another_phase_began(self, lag: int) -> None:
        """Always as far ahead as may be: a phase ends with `lag` rollouts waiting."""
        steps = {"total_steps": 192, "phase_steps": (64, 64, 64)}
        trainer = trainer_of(collection="async", max_policy_lag=lag, **steps)
        paced, ring = Paced(trainer, 8), ring_of(trainer)
        phases, firsts = [], {}
        for log in trainer():
            if log["log_type"] == "train":
                phase = log["logs"]["phase"]
                if ring.passes is not None and ring.passes.learned == 1:
                    assert begun_since(trainer)
                    phases.append(phase)
                    logs = log["logs"]
                    if "approx_kl" in logs:
                        firsts.setdefault(phase, float(logs["approx_kl"]))
                    paced.go_on_to(ring.next_row + 8 * lag)
                elif ring.passes is None:
                    paced.allowed = ring.next_row + 8 * (lag + 1)
                    paced.background.notify()
        assert phases == [0, 0, 1, 1, 2, 2]
        assert firsts == pytest.approx({0: 0, 2: 0}, abs=1e-6)
        assert ring.dropped == 2 * 8 * lag

    def test_neither_where_the_oldest_are_dropped_anyway(self) -> None:
        options = {"collection": "async", "when_stale": "drop"}
        trainer = trainer_of(**options, total_steps=192, phase_steps=(64, 64, 64))
        phases = []
        for log in trainer():
            passes = trainer.buffer.passes
            if log["log_type"] == "train" and passes is not None:
                assert begun_since(trainer)
                phases.append(log["logs"]["phase"])
        assert sorted({*phases}) == [0, 1, 2]

    def test_a_segment_that_is_half_collected_is_not_waited_for(self) -> None:
        trainer = trainer_of(collection="async", phase_steps=(32, 0, 64))
        paced, ring = Paced(trainer, 8), ring_of(trainer)
        for log in trainer():
            passes = ring.passes
            if log["log_type"] == "train" and passes is not None:
                if log["sample_step"] == 32 and passes.learned == 1:
                    paced.go_on_to(8 + 3)
            elif log["log_type"] == "train":
                break
        assert trainer.algorithm.phase == "finetune"
        paced.let_go()
        logs = first_of(trainer, "train")
        assert begun_since(trainer)
        assert ring.dropped >= 3
        assert logs["approx_kl"] == pytest.approx(0, abs=1e-6)
        assert ring.begins_anew

    def test_a_phase_that_a_loop_begins_counts_from_there(self) -> None:
        trainer = trainer_of(collection="async", phase_steps=ONLY["train"])
        for log in trainer():
            if log["log_type"] == "collect" and len(trainer.buffer) == 3:
                break
        trainer.algorithm.enter("finetune")
        logs = first_of(trainer, "train")
        assert begun_since(trainer)
        assert logs["phase"] == 2
        assert logs["approx_kl"] == pytest.approx(0, abs=1e-6)

    def test_what_waits_is_still_dropped_after_loading(self, tmp_path: Any) -> None:
        trainer = trainer_of(collection="async", phase_steps=(32, 0, 64))
        Paced(trainer, 16)
        for log in trainer():
            if log["log_type"] == "train" and trainer.buffer.passes is None:
                break
        trainer.save(tmp_path / "checkpoint.pt")
        again = ppo_roa.Trainer.load(tmp_path / "checkpoint.pt")
        assert again.algorithm.phase == "finetune"
        assert ring_of(again).waiting > 0
        logs = first_of(again, "train")
        assert begun_since(again)
        assert logs["approx_kl"] == pytest.approx(0, abs=1e-6)


class TestSynchronous:
    @pytest.mark.parametrize("rows", [3, 8])
    def test_what_another_phase_collected_is_dropped(self, rows: int) -> None:
        trainer = trainer_of(phase_steps=ONLY["train"])
        for _ in trainer():
            if len(trainer.buffer) == rows:
                break
        trainer.algorithm.enter("finetune")
        log = next(iter(trainer()))
        assert (log["log_type"], log["sample_step"]) == ("collect", 4 * rows + 4)
        assert len(trainer.buffer) == 1
        assert trainer.buffer.begins_anew
        logs = [logs for kind, _, logs in logs_of(trainer) if kind == "train"]
        assert {found["phase"] for found in logs} == {2.0}
        assert logs[0]["approx_kl"] == pytest.approx(0, abs=1e-6)

    def test_a_rollout_that_is_half_learned_from_is_dropped(self) -> None:
        trainer = trainer_of(phase_steps=ONLY["train"])
        first_of(trainer, "train")
        trainer.algorithm.enter("adapt")
        assert next(iter(trainer()))["log_type"] == "collect"
        assert len(trainer.buffer) == 1

    def test_a_rollout_of_another_phase_is_refused(self) -> None:
        trainer = trainer_of()
        rollout = trainer.collector.collect(8)
        trainer.algorithm.enter("finetune")
        with pytest.raises(RuntimeError, match=r"in the phase 'train', .* 'finetune'"):
            trainer.algorithm.update(rollout)
        logs = trainer.algorithm.update(trainer.collector.collect(8))
        assert "adaptation_loss" in logs

    def test_a_run_that_is_loaded_begins_the_phase_that_is_due(
        self, tmp_path: Any
    ) -> None:
        first = trainer_of(phase_steps=ONLY["train"])
        logs_of(first)
        first.save(tmp_path / "checkpoint.pt")
        steps = {"total_steps": 192, "phase_steps": (96, 0, 96)}
        longer = dataclasses.replace(first.config, **steps)
        second = ppo_roa.Trainer.load(tmp_path / "checkpoint.pt", config=longer)
        logs = logs_of(second)
        assert {found["phase"] for _, _, found in logs} == {2.0}
        learned = [found for kind, _, found in logs if kind == "train"]
        assert learned[0]["approx_kl"] == pytest.approx(0, abs=1e-6)
