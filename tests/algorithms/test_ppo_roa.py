"""PPO-ROA: who does what in which phase, what is learned from what, and who plays."""

from __future__ import annotations

import dataclasses
import functools
from collections import defaultdict
from typing import Any

import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete
from torch.nn.functional import mse_loss

import yieldrl
from yieldrl.algorithms import ppo_roa
from yieldrl.algorithms.ppo_roa.phases import MODULES, PHASES
from yieldrl.runtime.gradient_step import GradientStep, trained_parameters

SMALL: dict[str, Any] = {"num_envs": 4, "num_steps": 8, "num_epochs": 2}
SMALL |= {"num_minibatches": 2, "total_steps": 96, "hidden_sizes": (8,)}
SMALL |= {"latent_size": 3, "window": 3, "gru_size": 5, "eval_every": 0}
SMALL |= {"eval_episodes": 4, "device": "cpu", "threads": 1}
ONLY = {"train": (96, 0, 0), "adapt": (0, 96, 0), "finetune": (0, 0, 96)}


# The document's tables of modules: in inference or train mode, or not at all.
DOCUMENT = {
    "train": {
        "encoder_priv": ("forward", "learns"),
        "actor": ("forward", "learns"),
        "actor_adapt": ("unused", "learns"),
        "adapt_module": ("forward", "learns"),
        "adapt_ema": ("unused", "average"),
        "critic": ("unused", "learns"),
    },
    "finetune": {
        "encoder_priv": ("unused", "forward"),
        "actor": ("unused", "unused"),
        "actor_adapt": ("forward", "learns"),
        "adapt_module": ("unused", "learns"),
        "adapt_ema": ("forward", "average"),
        "critic": ("unused", "learns"),
    },
}


def trainer_of(**options: Any) -> ppo_roa.Trainer:
    return ppo_roa.Trainer(ppo_roa.Config(**{**SMALL, **options}))


def parameters_of(model: ppo_roa.Model, module: str) -> list[torch.Tensor]:
    return [p.detach().clone() for p in model.parameters_of(module)]


def same(a: list[torch.Tensor], b: list[torch.Tensor]) -> bool:
    return all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


def logs_of(trainer: ppo_roa.Trainer) -> list[Any]:
    return [
        (log["log_type"], log["sample_step"], {k: float(v) for k, v in logs.items()})
        for log in trainer()
        for logs in [log["logs"]]
    ]


class TestTable:
    @pytest.mark.parametrize("phase", DOCUMENT)
    def test_it_is_the_documents(self, phase: str) -> None:
        learns = {"ppo": "learns", "adapt": "learns", "imitate": "learns"}
        for module, cell in DOCUMENT[phase].items():
            use = getattr(PHASES[phase], module)
            assert (use.rollout, learns.get(use.training, use.training)) == cell

    @pytest.mark.parametrize("phase", PHASES)
    def test_every_cell_says_what_happens(self, phase: str) -> None:
        trainer = trainer_of(phase_steps=ONLY[phase])
        model, calls = trainer.model, defaultdict[tuple[str, str], int](int)

        def note(module: str) -> None:
            graph = torch.is_grad_enabled() and not torch.is_inference_mode_enabled()
            calls[module, "graph" if graph else "forward"] += 1

        for name in MODULES:
            hook = functools.partial(lambda name, *_: note(name), name)
            getattr(model, name).register_forward_hook(hook)
        before = {name: parameters_of(model, name) for name in MODULES}
        for _ in range(8):
            trainer.collector.step()
        uses = {name: getattr(PHASES[phase], name) for name in MODULES}
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

    @pytest.mark.parametrize("phase", PHASES)
    def test_gradients_reach_those_who_learn_by_a_loss(self, phase: str) -> None:
        trainer = trainer_of(
            phase_steps=ONLY[phase], regularizer_ramp=(0.0, 0.0), clip_coef=10.0
        )
        algorithm, model = trainer.algorithm, trainer.model
        rollout = trainer.collector.collect(8)
        algorithm.prepare(rollout)
        seen = {}
        for kinds, loss in (
            (("ppo",), algorithm.loss),
            (("adapt", "imitate"), algorithm.adaptation_loss),
        ):
            if not any(algorithm.learns(kind) for kind in kinds):
                continue
            optimizer = algorithm.optimizer
            if not model.teacher_acts:
                optimizer = algorithm.student_optimizer
            if kinds != ("ppo",):
                optimizer = algorithm.adaptation_optimizer
            model.zero_grad()
            step = GradientStep(loss, optimizer)
            walked = algorithm.pieces(rollout).transpose(0, 1)
            step.gradients(walked, trained_parameters(optimizer))
            for name in MODULES:
                grads = [p.grad for p in model.parameters_of(name)]
                reached = any(g is not None and bool(g.any()) for g in grads)
                wanted = getattr(PHASES[phase], name).training in kinds
                assert reached == wanted, (phase, kinds, name)
            seen[kinds] = True
        assert seen


class TestPhases:
    def test_one_run_goes_through_them(self) -> None:
        trainer = trainer_of(phase_steps=(32, 32, 32))
        logs = logs_of(trainer)
        acted = [
            (step, found["phase"]) for kind, step, found in logs if kind == "collect"
        ]
        assert [phase for step, phase in acted if step % 32 == 0] == [0, 1, 2]
        assert {phase for step, phase in acted if step <= 32} == {0}
        assert {phase for step, phase in acted if 32 < step <= 64} == {1}
        learned = {
            (step, found["phase"]) for kind, step, found in logs if kind == "train"
        }
        assert learned == {(32, 0.0), (64, 1.0), (96, 2.0)}
        steps = [1 for kind, *_ in logs if kind == "train"]
        assert len(steps) == 2 * ((2 + 2) + 2 + (2 + 2))  # minibatches times epochs

    def test_the_student_explores_as_much_as_the_teacher_did(self) -> None:
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

    def test_a_finished_run_that_goes_on_stays_where_it_is(self, tmp_path: Any) -> None:
        first = trainer_of()  # default shares
        logs_of(first)
        path = tmp_path / "checkpoint.pt"
        first.save(path)
        longer = dataclasses.replace(first.config, total_steps=960)
        assert longer.phase_at(96) == "train"
        second = ppo_roa.Trainer.load(path, config=longer)
        assert {found["phase"] for _, _, found in logs_of(second)} == {2.0}

    def test_statistics_stand_still_where_the_student_acts(self) -> None:
        trainer = trainer_of(phase_steps=(32, 0, 64), normalize_observation=True)
        counts = []
        for log in trainer():
            if log["log_type"] == "collect" and log["sample_step"] % 32 == 4:
                counts.append(float(trainer.model.normalizer.moments[0].count))
        assert counts == [0, 32, 32]

    def test_shares_of_the_steps_are_the_default(self) -> None:
        config = ppo_roa.Config(total_steps=1000)
        lengths = {"train": 600, "adapt": 100, "finetune": 300}
        assert config.phase_lengths() == lengths
        found = [config.phase_at(step) for step in (0, 599, 600, 699, 700, 10**6)]
        names = ["train", "train", "adapt", "adapt", "finetune", "finetune"]
        assert found == names
        alone = ppo_roa.Config(total_steps=96, phase_steps=(96, 0, 0))
        assert alone.phase_at(96) == "train"


class TestLosses:
    def rollout(self, phase: str = "train", **options: Any) -> Any:
        options = {"phase_steps": ONLY[phase], **options}
        trainer = trainer_of(**options)
        return trainer, trainer.collector.collect(8)

    def test_the_regularizer_is_the_distance_from_what_was_inferred(self) -> None:
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
    def test_adaptation_and_imitation_are_squared_distances(
        self, adaptation: str
    ) -> None:
        trainer, rollout = self.rollout(adaptation=adaptation)
        model = trainer.model
        with torch.no_grad():  # so that means of actions are large
            model.actor_adapt.layers[-1].weight.mul_(100)
        algorithm = trainer.algorithm
        walked = algorithm.pieces(rollout).transpose(0, 1)
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

    def test_what_is_inferred_is_what_acting_inferred(self) -> None:
        """Across the ends of episodes and of rollouts, from the same weights."""
        options = {"phase_steps": (4096, 0, 0), "total_steps": 4096}
        for adaptation in ("mlp", "gru"):
            trainer = trainer_of(
                **options, adaptation=adaptation, env_kwargs={"max_episode_steps": 5}
            )
            for _ in range(2):
                rollout = trainer.collector.collect(8)
                trainer.agent.acted_since = None
                walked = trainer.algorithm.pieces(rollout).transpose(0, 1)
                inferred = trainer.model.infer_sequence(walked)
                torch.testing.assert_close(inferred, rollout["priv_pred"])
                assert rollout["truncated"].any()

    def test_a_kl_that_is_too_large_ends_the_passes_of_ppo_alone(self) -> None:
        trainer = trainer_of(target_kl=1e-9, total_steps=32, phase_steps=(32, 0, 0))
        kinds = [
            "adaptation_loss" in found
            for kind, _, found in logs_of(trainer)
            if kind == "train"
        ]
        assert kinds.count(True) == 4  # two epochs of two minibatches
        assert 1 <= kinds.count(False) < 4
        assert kinds == sorted(kinds)

    def test_only_rates_of_ppo_are_annealed(self) -> None:
        trainer = trainer_of()
        rates = [
            (found["learning_rate"], "adaptation_loss" in found)
            for kind, _, found in logs_of(trainer)
            if kind == "train"
        ]
        assert {rate for rate, adapts in rates if adapts} == {1e-3}
        assert len({rate for rate, adapts in rates if not adapts}) > 1

    def test_its_weight_rises_between_two_shares_of_the_first_phase(self) -> None:
        config = ppo_roa.Config(
            total_steps=1000,
            phase_steps=(500, 0, 500),
            regularizer_coef=0.2,
            regularizer_ramp=(0.2, 0.6),
        )
        weights = [config.regularizer_at(s) for s in (0, 100, 150, 200, 300, 900)]
        assert weights == pytest.approx([0, 0, 0.05, 0.1, 0.2, 0.2])


class TestStudent:
    def test_it_plays_without_what_is_privileged(self) -> None:
        trainer = trainer_of(phase_steps=(32, 32, 32))
        logs_of(trainer)
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

    def test_it_remembers_and_forgets_at_the_start_of_an_episode(self) -> None:
        agent = trainer_of().agent.as_student()
        obs = {"obs": torch.tensor([[1.0, 0.0, 0.3]])}
        agent.begin_episode()
        first = agent.predict(obs)
        second = agent.predict(obs)
        assert not torch.equal(first, second)
        agent.begin_episode()
        assert torch.equal(agent.predict(obs), first)

    def test_it_is_exported_and_acts_alike(self, tmp_path: Any) -> None:
        trainer = trainer_of(adaptation="gru", normalize_observation=True)
        path = tmp_path / "student.pt2"
        trainer.agent.export(path)
        student: Any = torch.export.load(path).module()
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
            ("num_minibatches", {"num_envs": 2, "num_minibatches": 3}),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, field: str, options: Any) -> None:
        with pytest.raises(ValueError, match=rf"Config\.{field} = "):
            ppo_roa.Config(**options)

    def test_student_and_teacher_read_other_entries(self) -> None:
        box = Box(-1, 1, (2,))
        both = Dict(obs=box, privileged=box)
        alike = {"actor_obs": ("obs", "privileged")}
        for field, space, options in (
            ("privileged_obs", box, {}),
            ("privileged_obs", Dict(obs=box), {}),
            ("privileged_obs", Dict(privileged=box), {}),
            ("actor_obs", both, alike),
        ):
            config = ppo_roa.Config(**SMALL, **options)
            with pytest.raises(ValueError, match=rf"Config\.{field} = "):
                ppo_roa.Model(space, Discrete(2), config)


@pytest.mark.parametrize("steps", [(0, 400, 0), (0, 0, 400)], ids=["adapt", "finetune"])
def test_the_contract_is_kept_where_the_student_acts(steps: Any) -> None:
    options = {"total_steps": 400, "phase_steps": steps, "adaptation": "gru"}
    config = ppo_roa.Config(**SMALL | options)
    looks = yieldrl.check_algorithm(ppo_roa.Trainer(config))
    assert looks["stored_log_prob"] > 0
