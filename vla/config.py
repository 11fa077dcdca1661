"""Config of vision-language-action models: which one, and how to train it."""

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from yieldrl.core import LogStd, Plain
from yieldrl.core.checked import Checked

OBSERVATIONS = ("rgb", "depth", "proprio", "language")
"""Observations that a vision-language-action model can read."""

NEEDS = {
    "transformers": ("model_path",),
    "class": ("model_class",),
}
"""The fields that a backend cannot do without."""


@dataclass(frozen=True, kw_only=True)
class VLAConfig(Checked):
    """A vision-language-action model, its action head and what of it is trained.

    It stands alone, or before the config of an algorithm, whose fields then follow:
    `class Config(VLAConfig, ppo.Config)`. ValueError if a value has the wrong type or
    range, or excludes another.
    """

    backend: Literal["auto", "tiny", "transformers", "class"] = "auto"
    """Where the model comes from: `tiny` makes a small one with random weights,
    `transformers` loads an OpenVLA or a PI0 from `model_path`, a folder or a hub id,
    and `class` takes your own `model_class`; `auto` takes `class` with a `model_class`,
    else `transformers` with a `model_path`, else `tiny`."""

    model_path: str | None = None
    """Folder, file or hub id of the weights. By default weights are random."""

    model_class: str | None = None
    """A class of your own that follows `VLAModelInterface`: `package.module:Class`."""

    model_config: Plain = field(default_factory=dict)
    """Further arguments of the model: keyword arguments of `model_class`, or sizes of
    the tiny model."""

    instruction: str = ""
    """The instruction, in words, where observations hold no sentence."""

    observation_keys: dict[str, str] = field(default_factory=dict)
    """Which of the environment's observations are `rgb`, `depth`, `proprio` and
    `language`, where they have other names: `{"rgb": "pixels"}`. Dots lead into nested
    ones, and name several cameras: `{"rgb.wrist": "images.hand"}`."""

    chunk_length: Annotated[int, Field(ge=1, le=1_024)] = 1
    """Actions decided from one observation (L). More need fewer passes, react later."""

    execute_steps: int | None = None
    """Actions of a chunk that are executed before the next is decided. Fewer than the
    chunk has react sooner and need more passes; by default all."""

    action_head: Literal["bins", "gaussian"] = "bins"
    """How actions are chosen: `bins` are the last entries of the model's vocabulary, a
    token for each number; `gaussian` reads means off the hidden states. Choices are
    always tokens."""

    action_bins: Annotated[int, Field(ge=2, le=2**16)] = 256
    """Bins of each number of an action. More are more precise and harder to learn; an
    action is off by at most 1 / bins of half its range. Choices have a bin each."""

    decoding: Literal["auto", "parallel", "autoregressive"] = "auto"
    """`parallel` makes all tokens of a chunk in one pass, each unaware of what the
    others become; `autoregressive` one after the other, each knowing those before it,
    with a pass for each when acting. `auto` takes what the weights of `model_path` were
    trained with, which of OpenVLA is `autoregressive`, and `parallel` elsewhere."""

    temperature: Annotated[float, Field(gt=0, le=100)] = 1.0
    """Temperature that divides logits of bins and choices, to act and to learn. Higher
    explores more; the most likely action stays."""

    centre_crop: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Share of an image's area that is seen, its centre. Weights that were trained on
    random crops, as OpenVLA's, want 0.9; less sees less of the margin."""

    log_std_init: LogStd = -1.0
    """Logarithm of a Gaussian head's standard deviation at the start, in units of half
    an action's range. Higher explores more at first. Bins do not use it."""

    lora_rank: Annotated[int, Field(ge=0, le=2**16)] = 0
    """Rank of low-rank adapters, which are then trained instead of the language model's
    weights; 0 trains the weights. Higher can change the model more and takes more
    memory."""

    lora_alpha: Annotated[float, Field(gt=0, le=2**17)] | None = None
    """Scale of the adapters, divided by their rank. Higher makes them count for more;
    by default twice the rank."""

    lora_targets: tuple[str, ...] = ("q_proj", "k_proj", "v_proj", "o_proj")
    """Names of the linear layers that get adapters. More layers can change more."""

    freeze_vision: bool = False
    """Leave the vision encoder as it is. That saves memory and time, and keeps what it
    has learned; images unlike those need it to learn."""

    dtype: Literal["float32", "bfloat16"] = "float32"
    """Numbers of the pretrained network. `bfloat16` halves its memory and rounds more;
    log-probabilities and values are float32 in any case."""

    gradient_checkpointing: bool = False
    """Compute hidden states anew for gradients instead of keeping them: less memory, a
    third more time."""

    log_prob_per: Literal["token", "chunk"] = "token"
    """Whether the policy returns log-probabilities and entropies of every token,
    `[B, L, D]`, or their sums over the chunk, `[B]`."""

    value_per: ClassVar[Any] = "chunk"  # or "action": one value for each of these

    def __post_init__(self) -> None:
        self._check_range("execute_steps", low=1, high=self.chunk_length)
        if self.model_class is not None:
            parts = self.model_class.replace(":", ".").split(".")
            if len(parts) < 2 or not all(part.isidentifier() for part in parts):
                raise self.error("model_class", "write it as 'package.module:Class'")
        for name in NEEDS.get(self.kind, ()):
            if getattr(self, name) is None:
                raise self.error(name, f"backend={self.backend!r} needs one")
        self._check_observation_keys()
        if self.action_head == "gaussian" and self.decoding == "autoregressive":
            raise self.error(
                "decoding",
                "a gaussian head makes no tokens that could follow each other: choose"
                " 'parallel', or action_head='bins'",
            )
        getattr(super(), "__post_init__", lambda: None)()  # an algorithm's config

    def _check_observation_keys(self) -> None:
        for name in self.observation_keys:
            kind, *cameras = name.split(".")
            nests = kind in ("rgb", "depth") or not cameras
            if kind not in OBSERVATIONS or not nests:
                raise self.error(
                    "observation_keys",
                    f"{name!r} is nothing that a model reads: map"
                    f" {', '.join(OBSERVATIONS)}, or a camera such as 'rgb.wrist'",
                )

    def policy_options(self) -> dict[str, Any]:
        """Arguments of `VLAPolicy` besides the model."""
        names = "observation_keys", "instruction", "log_prob_per", "chunk_length"
        return {name: getattr(self, name) for name in (*names, "centre_crop")}

    @property
    def alpha(self) -> float:
        """The adapters' scale before it is divided by their rank."""
        return 2.0 * self.lora_rank if self.lora_alpha is None else self.lora_alpha

    @property
    def kind(self) -> str:
        """The backend, with `auto` resolved."""
        if self.backend != "auto":
            return self.backend
        if self.model_class is not None:
            return "class"
        return "tiny" if self.model_path is None else "transformers"


def vla_config_of(config: Any, values: Mapping[str, Any]) -> VLAConfig:
    """A `VLAConfig` from a config and from fields by name, which take precedence.

    With an algorithm's config without these fields, `log_prob_per` is `chunk` by
    default: such an algorithm does not handle tokens.
    """
    VLAConfig.refuse_names(values)
    if isinstance(config, VLAConfig):
        return type(config).from_dict(config.to_dict() | dict(values))
    return VLAConfig.from_dict({"log_prob_per": "chunk", **values})
