"""What the config refuses, and that it mixes with an algorithm's."""

from __future__ import annotations

import pytest
from pydantic.dataclasses import dataclass

from yieldrl.algorithms import ppo
from yieldrl.vla.config import VLAConfig, vla_config_of


@dataclass(frozen=True, kw_only=True)
class Both(VLAConfig, ppo.Config):
    """Of an algorithm that trains such a model."""


WRONG = [
    ({"chunk_length": 4, "execute_steps": 5}, "execute_steps = 5.* at most 4"),
    ({"action_head": "gaussian", "decoding": "autoregressive"}, "decoding"),
    ({"backend": "lerobot"}, "model_path = None"),
    ({"model_class": "Alone"}, "model_class = 'Alone'"),
    ({"model_class": "a:B", "backend": "tiny"}, "model_class = 'a:B'"),
    ({"observation_keys": {"proprio.hand": "x"}}, "'proprio.hand' is nothing"),
]


@pytest.mark.parametrize(("fields", "message"), WRONG)
def test_values_that_do_not_fit_are_refused(fields, message) -> None:
    with pytest.raises(ValueError, match=message):
        Both.from_dict(fields)


def test_beside_an_algorithms_config_both_check() -> None:
    with pytest.raises(ValueError, match="num_steps = 0"):
        Both.from_dict({"num_steps": 0})
    config = Both(chunk_length=8, num_envs=2)
    assert (config.chunk_length, config.batch_size) == (8, 256)
    assert Both.from_dict(config.to_dict()) == config


def test_what_auto_stands_for() -> None:
    assert VLAConfig().kind == "tiny"
    assert VLAConfig(model_path="a").kind == "transformers"
    assert VLAConfig(model_path="a", model_class="b.C").kind == "class"
    assert VLAConfig(model_path="a", backend="lerobot").kind == "lerobot"


class TestOfBlocks:
    def test_fields_by_name_come_first(self) -> None:
        config = Both(chunk_length=4, num_steps=16)
        merged = vla_config_of(config, {"action_bins": 32})
        assert isinstance(merged, Both)
        assert (merged.chunk_length, merged.action_bins) == (4, 32)

    def test_an_algorithm_that_knows_no_tokens_is_told_of_chunks(self) -> None:
        assert vla_config_of(ppo.Config(), {}).log_prob_per == "chunk"
        said = {"log_prob_per": "token", "lora_targets": ["q_proj"]}
        assert vla_config_of(ppo.Config(), said).log_prob_per == "token"
        assert vla_config_of(ppo.Config(), said).lora_targets == ("q_proj",)

    def test_a_name_that_is_no_field_is_refused_with_the_nearest(self) -> None:
        with pytest.raises(ValueError, match="did you mean 'model_path'"):
            vla_config_of(ppo.Config(), {"model_pth": "x"})
