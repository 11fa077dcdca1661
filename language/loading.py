"""Make the language-model policy that a config describes."""

import dataclasses
from typing import Any

import gymnasium

from yieldrl.core import Utf8Text
from yieldrl.language.characters import Characters
from yieldrl.language.config import LanguageConfig
from yieldrl.language.policy import TokenPolicy, text_spaces
from yieldrl.language.transformer import Transformer


def policy_for(
    observation_space: gymnasium.Space[Any],
    action_space: gymnasium.Space[Any],
    config: Any = None,
    **options: Any,
) -> TokenPolicy:
    """The policy that a config describes; a trainer takes it as `model=policy_for`.

    TypeError if the spaces are no text, ValueError if a field does not fit, and errors
    of `hugging_face.load` where there is a `model_path`.

    Args:
        observation_space: A Dict with a `prompt`, a `Utf8Text`.
        action_space: A `Utf8Text`.
        config: A `LanguageConfig`; with any other config its defaults hold.
        options: Fields of `LanguageConfig`, which take precedence.

    >>> import yieldrl.envs
    >>> envs = gymnasium.make_vec("yieldrl/Sums-v1", num_envs=2)
    >>> spaces = envs.single_observation_space, envs.single_action_space
    >>> policy = policy_for(*spaces, d_model=16, num_layers=1)
    >>> tokens, log_prob, _ = policy(envs.reset(seed=0)[0])
    >>> tokens.shape, log_prob.shape
    (torch.Size([2, 3]), torch.Size([2, 3]))
    """
    if isinstance(config, LanguageConfig):
        names = [entry.name for entry in dataclasses.fields(LanguageConfig)]
        options = {name: getattr(config, name) for name in names} | options
    settings = LanguageConfig.from_dict(options)
    prompt, answer = text_spaces(observation_space, action_space)
    if settings.model_path is not None:
        model, tokenizer = _pretrained(settings, settings.model_path)
    else:
        tokenizer = Characters()
        model = Transformer(
            tokenizer.vocab_size,
            prompt.max_bytes + answer.max_bytes,
            d_model=settings.d_model,
            num_layers=settings.num_layers,
            num_heads=settings.num_heads,
        )
    return TokenPolicy(
        observation_space,
        action_space,
        model,
        tokenizer,
        temperature=settings.temperature,
        top_k=settings.top_k,
        tempered_learning=settings.tempered_learning,
    )


def writer_or(otherwise: Any) -> Any:
    """A maker of policies: `policy_for` where actions are text, else `otherwise`."""

    def make(observation_space: Any, action_space: Any, config: Any) -> Any:
        make = policy_for if isinstance(action_space, Utf8Text) else otherwise
        return make(observation_space, action_space, config)

    return make


def _pretrained(config: LanguageConfig, path: str) -> tuple[Any, Any]:
    """A transformers model with its tokenizer, and adapters if the config has them."""
    from yieldrl.language.hugging_face import load
    from yieldrl.vla import VLAConfig, add_lora

    model, tokenizer = load(path, dtype=config.dtype, template=config.template)
    if config.lora_rank > 0:
        names = "lora_rank", "lora_alpha", "lora_targets"
        add_lora(model, VLAConfig(**{name: getattr(config, name) for name in names}))
    return model, tokenizer
