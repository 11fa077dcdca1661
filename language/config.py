"""Config of language models, and the policy that one describes."""

import dataclasses
from typing import Annotated, Any, Literal

import gymnasium
from pydantic import Field
from pydantic.dataclasses import dataclass

from yieldrl.core import Utf8Text
from yieldrl.core.checked import Checked
from yieldrl.language.characters import Characters
from yieldrl.language.policy import TokenPolicy, text_spaces
from yieldrl.language.transformer import Transformer


@dataclass(frozen=True, kw_only=True)
class LanguageConfig(Checked):
    """A small transformer of our own, or any causal model of Hugging Face.

    It stands alone, or before the config of an algorithm, whose fields then follow:
    `class Config(LanguageConfig, OnPolicyConfig)`.

    Raises:
        ValueError: If a value has the wrong type or range, or excludes another.
    """

    model_path: str | None = None
    """Folder or hub id of a causal language model. By default a small transformer with
    random weights reads and writes characters."""

    d_model: Annotated[int, Field(ge=1, le=2**16)] = 128
    """Width of the small transformer's hidden states. Wider can represent more, and
    takes more time."""

    num_layers: Annotated[int, Field(ge=1, le=1_024)] = 4
    """Layers of the small transformer. More can compute more in one pass, and take more
    time."""

    num_heads: Annotated[int, Field(ge=1, le=1_024)] = 4
    """Heads of each layer of the small transformer, which share its width."""

    template: str = "{}"
    """Text that a model of `model_path` reads, with the prompt in place of `{}`."""

    dtype: Literal["float32", "bfloat16"] = "float32"
    """Numbers of the model of `model_path`. `bfloat16` halves its memory and rounds
    more; log-probabilities are float32 in any case."""

    temperature: Annotated[float, Field(gt=0, le=1_000)] = 1.0
    """Temperature at which answers are drawn: logits are divided by it. Higher explores
    more, lower keeps to what is likely. The best answer, `predict`, has none."""

    top_k: Annotated[int, Field(ge=1, le=2**20)] | None = None
    """Draw each token from this number of the most likely ones; by default from all."""

    tempered_learning: bool = True
    """Learn by the log-probabilities of what answers are drawn from, with temperature
    and top-k, as policy gradients assume. Turn it off to learn by the model's own, at
    temperature 1: ratios are then not those of the policy that acts."""

    lora_rank: Annotated[int, Field(ge=0, le=2**16)] = 0
    """Rank of low-rank adapters, which are then trained instead of the weights of
    `model_path`; 0 trains the weights."""

    lora_alpha: Annotated[float, Field(gt=0, le=2**17)] | None = None
    """Scale of the adapters, divided by their rank. Higher makes them count for more;
    by default twice the rank."""

    lora_targets: tuple[str, ...] = ("q_proj", "k_proj", "v_proj", "o_proj")
    """Names of the linear layers that get adapters; of GPT-2 `c_attn`, say."""

    def __post_init__(self) -> None:
        if self.d_model % self.num_heads:
            raise self.error("num_heads", f"choose one that divides {self.d_model}")
        if self.model_path is None and self.lora_rank > 0:
            raise self.error("lora_rank", "adapters go on a pretrained model_path")
        if "{}" not in self.template:
            raise self.error("template", "write {} where the prompt belongs")
        getattr(super(), "__post_init__", lambda: None)()  # an algorithm's config


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
        names = "lora_rank", "lora_alpha", "lora_targets", "model_path"
        add_lora(model, VLAConfig(**{name: getattr(config, name) for name in names}))
    return model, tokenizer
