"""The interface of a vision-language-action model, and what it answers."""

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

    For adapters (`lora_rank`) a model has what of it is pretrained in its attribute
    `backbone`, which may name modules of it that are new in a tuple `untrained`. For
    `freeze_vision` it, or its `backbone`, has a method `vision_parameters()`.

    The distribution of actions is a function of the observations alone: a flow policy
    that drew new noise at every call would learn around another mean than it acted by.

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
