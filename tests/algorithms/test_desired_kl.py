"""A learning rate that follows how far the policy moves."""

from __future__ import annotations

from typing import Any

import pytest

from yieldrl.algorithms import ppo, ppo_lstm

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
        config = ppo.Config(**{**SMALL, "target_kl": 1e-9, "learning_rate": 5e-3})
        trainer = ppo.Trainer(config)
        logs = [log["logs"] for log in trainer() if log["log_type"] == "train"]
        assert len(logs) == 2 * 4, "the second step of each of four rollouts ends it"
        assert len({log["learning_rate"] for log in logs}) > 1


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"anneal_learning_rate": True}, "desired_kl"),
        ({"learning_rate": 0.1}, "learning_rate"),
        ({"num_epochs": 1, "num_minibatches": 1}, "desired_kl"),
    ],
)
def test_what_does_not_fit_is_refused(options: Any, field: str) -> None:
    with pytest.raises(ValueError, match=rf"Config\.{field} = "):
        ppo.Config(**{**SMALL, **options})
