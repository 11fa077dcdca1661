"""Interfaces of vision-language-action models and of their backbones."""

from typing import Any, NamedTuple, Protocol, runtime_checkable

from torch import Tensor, nn


class VLAOutput(NamedTuple):
    """Actions, log-probabilities, entropies, values; all but `action` are float32.

    Attributes:
        action: Chunks `[B, L, D]` of `L` actions of `D` numbers, in the environment's
            units (float32), or of choices (int64).
        log_prob: Logarithm of every token's probability (density), `[B, L, D]`.
        entropy: Of every token's distribution, in nats, `[B, L, D]`; or of a whole
            chunk, `[B]`.
        value: Of the state, `[B]`; or the expected return from each of the chunk's
            actions on, `[B, L]`, whose first entry is the state's value.
    """

    action: Tensor
    log_prob: Tensor
    entropy: Tensor
    value: Tensor


@runtime_checkable
class VLAModelInterface(Protocol):
    """A model from images, numbers and a sentence to actions; an `nn.Module`.

    Observations are a TensorDict of batch size `[B]` with some of these keys:

    | key | what | shape, dtype |
    |---|---|---|
    | `rgb` | an image, or a nested TensorDict of cameras | `[B, H, W, 3]` uint8 |
    | `depth` | distances, or a nested TensorDict of cameras | `[B, H, W, 1]` float32 |
    | `proprio` | proprioception: joints, gripper ... | `[B, P]` float32 |
    | `language` | the instruction in UTF-8, zeros after it | `[B, S]` uint8 |

    Colours of floats come as float32 up to 1. `language` is always there, and
    `yieldrl.core.text.decode` makes strings of it. Actions are in the environment's
    units; choices are whole numbers from zero. They are `[B, D]` where one is decided
    at a time, and chunks `[B, L, D]` where several are.

    For adapters (`lora_rank`) a model says what of it is pretrained: all in its
    attribute `backbone`; or all but what `untrained` names, a tuple of names of modules
    and parameters. For `freeze_vision` it, or its `backbone`, has a method
    `vision_parameters()`.

    One that says all in one pass has two more methods, which return a `VLAOutput`:
    `act(observations, deterministic, generator)`, and
    `evaluate(observations, actions)` of chunks `[B, L, D]`.
    """

    def forward(self, observations: Any) -> Tensor:
        """Act: actions `[B, D]`, or chunks `[B, L, D]`.

        It may take `deterministic=False`, for the most likely action, and
        `generator=None` to draw from. One without `deterministic` acts in evaluation as
        it does in training.
        """
        ...

    def get_value(self, observations: Any) -> Tensor:
        """The state's value, `[B, 1]`."""
        ...

    def evaluate_actions(
        self, observations: Any, actions: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Log-probability and entropy, `[B]` or of every token `[B, L, D]`."""
        ...


class Backbone(Protocol):
    """A vision-language model without action and value heads; an `nn.Module`.

    Axes: `B` batch, `S` positions of the prompt, `W` width, `V` vocabulary.

    It may have `vision_parameters()`, of the vision encoders without projectors; and
    for models of the world `embed_parts(observations)`: what `embed` returns, and a
    `[B, S]` bool, True at positions of images and proprioception, which change from
    step to step. One that keeps keys and values for autoregressive decoding has
    `new_cache()`, which returns something to keep them in, or None; `hidden` then takes
    it as `cache=` with the embeddings of new positions alone, `[B, k, W]`, and the
    `mask` of all, and returns the new ones' hidden states.

    Attributes:
        width: `W`, of embeddings and of hidden states.
        vocab_size: Entries of the vocabulary, the last of which become actions.
            Logits may have more, which pad them to a round number.
    """

    width: int
    vocab_size: int

    def embed(self, observations: Any) -> tuple[Tensor, Tensor]:
        """The prompt of observations with `proprio` normalised, `[B, S, W]`; and its
        mask `[B, S]`, False at padding of shorter instructions, on whichever side."""
        ...

    def hidden(
        self, embeddings: Tensor, mask: Tensor, bidirectional_from: int | None
    ) -> Tensor:
        """The language model's last hidden states (normalised), `[B, S, W]`.

        No position attends to those that `mask` (`[B, S]` bool) hides, and positions
        are numbered `mask.cumsum(1) - 1`, so that padding changes nothing. Attention is
        causal; but from position `bidirectional_from` on every position attends to all.
        Outputs at hidden positions are finite.
        """
        ...

    def logits(self, hidden: Tensor) -> Tensor:
        """Logits over the vocabulary, `[..., V]`, from hidden states `[..., W]`."""
        ...

    def token_embeddings(self, ids: Tensor) -> Tensor:
        """Embeddings `[..., W]` of entries of the vocabulary, int64 `[...]`."""
        ...


def check_model(model: Any) -> None:
    """Refuse a model, or a class, that does not follow `VLAModelInterface`."""
    kind = model if isinstance(model, type) else type(model)
    name = kind.__qualname__
    if not issubclass(kind, nn.Module):
        raise TypeError(f"{name} is no torch.nn.Module: derive it from that")
    methods = "get_value", "evaluate_actions"
    lacking = [m for m in methods if not callable(getattr(model, m, None))]
    if kind.forward is nn.Module.forward:  # not overridden
        lacking.append("forward")
    if lacking:
        raise TypeError(
            f"{name} lacks {', '.join(lacking)}: a model has what"
            " yieldrl.vla.VLAModelInterface describes"
        )
