"""A learning rate that follows how far the policy moves."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from gymnasium.spaces import Box, Discrete

from yieldrl.algorithms import ppo, ppo_lstm, vla_ppo

FOLLOWS: dict[str, Any] = {"anneal_learning_rate": False, "desired_kl": 0.01}
SMALL: dict[str, Any] = {
    **FOLLOWS,
    "num_envs": 2,
    "num_steps": 8,
    "num_epochs": 2,
    "num_minibatches": 2,
    "hidden_sizes": (8,),
    "total_steps": 64,
    "eval_every": 0,
    "device": "cpu",
}


def algorithm_of(**options: Any) -> ppo.Algorithm:
    config = ppo.Config(**{**SMALL, **options})
    return ppo.Algorithm(ppo.Model(Box(-1, 1, (3,)), Discrete(3), config), config)


class Steps:
    """Minibatches of which gradient steps say an `approx_kl` of one's choice."""

    exhausted = False

    def minibatch(self) -> None:
        return None

    def advance(self) -> None:
        pass

    def stop(self) -> None:
        self.exhausted = True


def learned(algorithm: ppo.Algorithm, approx_kl: Any) -> float:
    passes: Any = Steps()
    algorithm.learn_from(passes, lambda data: {"approx_kl": torch.tensor(approx_kl)})
    return algorithm.learning_rate


class TestRule:
    @pytest.mark.parametrize(
        ("approx_kl", "factor"),
        [
            (0.021, 1 / 1.5),
            (0.019, 1.0),
            (0.01, 1.0),
            (0.0051, 1.0),
            (0.0049, 1.5),
            (0.0, 1.5),
            (-1e-8, 1.5),  # zero, to rounding
            (float("inf"), 1 / 1.5),
            (float("nan"), 1.0),
        ],
    )
    def test_after_a_minibatch(self, approx_kl: float, factor: float) -> None:
        algorithm = algorithm_of(learning_rate=1e-3)
        assert learned(algorithm, approx_kl) == 1e-3 * factor

    def test_it_stays_within_bounds(self) -> None:
        algorithm = algorithm_of(learning_rate=6e-3)
        assert [learned(algorithm, 0.0) for _ in range(3)] == [6e-3 * 1.5, 1e-2, 1e-2]
        algorithm = algorithm_of(learning_rate=2e-5)
        rates = [learned(algorithm, 1.0) for _ in range(3)]
        assert rates == [2e-5 / 1.5, 1e-5, 1e-5]

    def test_without_it_the_rate_stays(self) -> None:
        algorithm = algorithm_of(desired_kl=None)
        assert learned(algorithm, 1.0) == learned(algorithm, 0.0) == 1e-3

    def test_groups_keep_their_ratio(self) -> None:
        config = vla_ppo.Config(
            **FOLLOWS, learning_rate=1e-3, value_learning_rate=3e-2, device="cpu"
        )
        model: Any = ppo.Model(Box(-1, 1, (3,)), Discrete(3), ppo.Config())
        parts = {"policy": [*model.actor.parameters()]}
        parts["value"] = [*model.critic.parameters()]
        model.parameter_groups = lambda: parts
        algorithm = vla_ppo.Algorithm(model, config)
        learned(algorithm, 1.0)
        rates = [group["lr"] for group in algorithm.optimizer.param_groups]
        assert rates == pytest.approx([1e-3 / 1.5, 3e-2 / 1.5])


class TestTraining:
    @pytest.mark.parametrize("module", [ppo, ppo_lstm])
    def test_every_step_takes_the_rate_that_the_last_one_left(
        self, module: Any
    ) -> None:
        config = module.Config(**{**SMALL, "desired_kl": 2e-4, "learning_rate": 5e-3})
        trainer, rate, directions = module.Trainer(config), 5e-3, set()
        for log in trainer():
            if log["log_type"] != "train":
                continue
            assert log["logs"]["learning_rate"] == rate
            kl = float(log["logs"]["approx_kl"])
            directions.add((kl > 4e-4) - (kl < 1e-4))
            if kl > 4e-4:
                rate = max(1e-5, rate / 1.5)
            elif kl < 1e-4:
                rate = min(1e-2, rate * 1.5)
        assert {-1, 1} <= directions

    def test_it_stands_beside_target_kl(self) -> None:
        algorithm = algorithm_of(target_kl=0.02)
        passes: Any = Steps()
        step: Any = lambda data: {"approx_kl": torch.tensor(0.04)}  # noqa: E731
        algorithm.learn_from(passes, step)
        assert passes.exhausted
        assert algorithm.learning_rate == 1e-3 / 1.5

    @pytest.mark.parametrize("learn_step", [1, 5, 8])
    def test_a_resumed_run_goes_on_as_if_nothing_had_been(
        self, learn_step: int, tmp_path: Any
    ) -> None:
        """To the last bit, in environments that restore their state."""
        config = ppo.Config(**SMALL, env_id="yieldrl/CartPole-v1")
        whole, first = ppo.Trainer(config), ppo.Trainer(config)
        logs = [log["logs"] for log in whole() if log["log_type"] == "train"]
        for log in first():
            if log["learn_step"] == learn_step:
                break
        resumed = ppo.Trainer.load(first.save(tmp_path / "run.pt"))
        assert resumed.algorithm.learning_rate == first.algorithm.learning_rate != 1e-3
        again = [log["logs"] for log in resumed() if log["log_type"] == "train"]
        for name in ("learning_rate", "loss", "approx_kl"):
            expected = [float(log[name]) for log in logs[learn_step:]]
            assert [float(log[name]) for log in again] == expected
        pairs = zip(whole.model.parameters(), resumed.model.parameters(), strict=True)
        assert all(torch.equal(one, other) for one, other in pairs)


class TestRefused:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (
                {"anneal_learning_rate": True},
                "desired_kl = .*rate=False",
            ),
            ({"desired_kl": 0.0}, "desired_kl = 0.0: .*above 0"),
            ({"learning_rate": 0.1}, r"learning_rate = 0\.1: .*1e-05 to 0\.01: begin"),
            ({"learning_rate": 1e-6}, "learning_rate = 1e-06: .*1e-05 to"),
            ({"num_epochs": 1, "num_minibatches": 1}, "desired_kl = .*more num_epochs"),
        ],
    )
    def test_by_the_config(self, options: Any, message: str) -> None:
        with pytest.raises(ValueError, match=rf"^Config\.{message}"):
            ppo.Config(**{**SMALL, **options})
