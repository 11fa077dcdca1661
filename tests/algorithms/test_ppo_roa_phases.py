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
from yieldrl.networks.encoder import Encoder

from .test_ppo_roa import ONLY, SMALL, logs_of

# Of batch norm and dropout trainers warn: they are here to be switched.
pytestmark = pytest.mark.filterwarnings("ignore:.*compute something else in train mode")

LEARNS = ("ppo", "adapt", "imitate", "average")


def trainer_of(model_class: Any = None, **options: Any) -> ppo_roa.Trainer:
    config = ppo_roa.Config(**{**SMALL, "phase_steps": (32, 32, 32), **options})
    return ppo_roa.Trainer(config, model=model_class)


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
        trainer.update(rollout)
        after = states_of(trainer.model)
        for name in MODULES:
            learns = getattr(PHASES[phase], name).training in LEARNS
            assert same(before[name], after[name]) != learns, name
        # The encoder of both actors is the teacher's, the critic's its own.
        learned = PHASES[phase].trained("ppo")
        assert same(before["encoder"], after["encoder"]) != ("actor" in learned)
        moved = not same(before["critic_encoder"], after["critic_encoder"])
        assert moved == ("critic" in learned)

    @pytest.mark.parametrize("name", ["encoder", "critic"])
    def test_what_a_user_freezes_stays_while_the_others_learn(self, name: str) -> None:
        trainer = trainer_of(Model, phase_steps=ONLY["train"])
        trainer.model.get_submodule(name).requires_grad_(False)
        before = states_of(trainer.model)
        logs_of(trainer)
        after = states_of(trainer.model)
        assert same(before[name], after[name])
        others = {*before} - {name}
        assert not any(same(before[other], after[other]) for other in others)


class TestAverage:
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


def begun_since(trainer: ppo_roa.Trainer) -> bool:
    """Whether all of the rollout was acted by policies of the phase of now."""
    versions = trainer.buffer.rollout()["policy_version"]
    return int(versions.min()) >= trainer.algorithm.phase_since


class TestAsynchronous:
    @pytest.mark.parametrize("lag", [0, 3])
    def test_nothing_is_learned_from_that_another_phase_began(self, lag: int) -> None:
        """Always as far ahead as may be: a phase ends with `lag` rollouts waiting."""
        steps = {"total_steps": 192, "phase_steps": (64, 64, 64)}
        trainer = trainer_of(collection="async", max_policy_lag=lag, **steps)
        ring: Any = trainer.buffer
        paced = Paced(trainer, 8)
        phases, firsts = [], {}
        for log in trainer():
            if log["log_type"] == "train":
                phase = log["logs"]["phase"]
                if ring.passes is not None and ring.passes.position == 1:
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

    def test_what_waits_is_still_dropped_after_loading(self, tmp_path: Any) -> None:
        trainer = trainer_of(collection="async", phase_steps=(32, 0, 64))
        Paced(trainer, 16)
        for log in trainer():
            if log["log_type"] == "train" and trainer.buffer.passes is None:
                break
        trainer.save(tmp_path / "checkpoint.pt")
        again = ppo_roa.Trainer.load(tmp_path / "checkpoint.pt")
        ring: Any = again.buffer
        assert again.algorithm.phase == "finetune"
        assert ring.waiting > 0
        logs = next(log["logs"] for log in again() if log["log_type"] == "train")
        assert begun_since(again)
        assert float(logs["approx_kl"]) == pytest.approx(0, abs=1e-6)


class TestSynchronous:
    def test_what_another_phase_collected_is_dropped(self) -> None:
        rows = 3
        trainer = trainer_of(phase_steps=ONLY["train"])
        for _ in trainer():
            if len(trainer.buffer) == rows:
                break
        trainer.algorithm.enter("finetune")
        log = next(iter(trainer()))
        assert (log["log_type"], log["sample_step"]) == ("collect", 4 * rows + 4)
        assert len(trainer.buffer) == 1
        assert not trainer.buffer.continues
        logs = [logs for kind, _, logs in logs_of(trainer) if kind == "train"]
        assert {found["phase"] for found in logs} == {2.0}
        assert logs[0]["approx_kl"] == pytest.approx(0, abs=1e-6)

    def test_a_rollout_of_another_phase_is_refused(self) -> None:
        trainer = trainer_of()
        rollout = trainer.collector.collect(8)
        trainer.algorithm.enter("finetune")
        with pytest.raises(RuntimeError, match=r"in the phase 'train', .* 'finetune'"):
            trainer.update(rollout)
        logs = trainer.update(trainer.collector.collect(8))
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
