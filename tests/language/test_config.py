"""What a config says of a language model."""

import pytest
from gymnasium.spaces import Dict
from pydantic.dataclasses import dataclass

from yieldrl.algorithms import behavior_cloning
from yieldrl.core import Utf8Text
from yieldrl.language import Characters, LanguageConfig, Transformer, policy_for


def made(config=None, **options):
    return policy_for(Dict(prompt=Utf8Text(6)), Utf8Text(4), config, **options)


@dataclass(frozen=True, kw_only=True)
class Both(LanguageConfig, behavior_cloning.Config):
    """Of an algorithm that knows about language models."""


def test_options_come_before_the_config_and_its_sizes_before_the_defaults():
    config = Both(d_model=24, num_layers=3, num_heads=2, temperature=0.5)
    policy = made(config, temperature=0.25, top_k=3)
    assert isinstance(policy.model, Transformer)
    assert isinstance(policy.tokenizer, Characters)
    assert (policy.temperature, policy.top_k) == (0.25, 3)
    assert (len(policy.model.blocks), policy.model.blocks[0].num_heads) == (3, 2)
    assert policy.model.head.weight.shape == (98, 24)
    assert policy.model.places.weight.shape == (10, 24)
    assert made(behavior_cloning.Config()).model.head.weight.shape == (98, 128)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"d_modal": 3}, r"no field 'd_modal': .*d_model"),
        ({"num_heads": 5}, "num_heads = 5"),
        ({"lora_rank": 4}, "lora_rank = 4"),
        ({"template": "no"}, "template = 'no'"),
    ],
)
def test_what_does_not_fit_is_refused(options, said):
    with pytest.raises(ValueError, match=said):
        made(**options)
