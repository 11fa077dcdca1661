"""A latent world model for partial observability: a recurrent state-space model."""

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal, NamedTuple

import gymnasium
import torch
from gymnasium.spaces import Box
from pydantic import Field
from pydantic.dataclasses import dataclass
from tensordict import TensorDict
from torch import Tensor, nn
from torch.nn.functional import one_hot

from yieldrl import core
from yieldrl.buffers import transitions
from yieldrl.core import Coefficient, Count
from yieldrl.core.conversion import from_zero
from yieldrl.core.logs import Logs
from yieldrl.imagination.outcomes import outcome_head, recall_of_ends, symlog
from yieldrl.imagination.rollout import Prediction, WorldModel
from yieldrl.networks import MLP, Categorical, DictEncoder, NatureCNN, make_encoder
from yieldrl.networks.encoder import Encoder, Sentence

UNIFORM = 0.01
"""Share of a uniform distribution in every categorical, so that no KL is infinite."""

REPRESENTATION = 0.1
"""Weight of the KL that moves the posterior to the prior; the other way has 1."""


@dataclass(frozen=True, kw_only=True)
class LatentConfig(core.Config):
    """The sizes of `LatentModel`, and the batches it learns from."""

    memory_size: Count = 128
    """Numbers of the recurrent state. More remember more, take longer, and are stored
    with every transition in the buffer."""

    groups: Count = 8
    """Categorical choices of the discrete latent. More carry more of the observation,
    and are harder to predict."""

    classes: Annotated[int, Field(ge=2, le=1_000)] = 8
    """Classes of each choice of the latent."""

    free_nats: Coefficient = 4.0
    """KL in nats between posterior and prior of the latent that is not penalised. Fewer
    make the model more predictable, and blind for what is rare; the paper has 1."""

    sequence_length: Annotated[int, Field(ge=2, le=1_000)] = 16
    """Steps of a sequence from the buffer: so far the gradient flows back in time.
    Longer ones teach to remember longer, and take longer."""

    outcome: Literal["symlog", "three_classes"] = "symlog"
    """How reward and end are predicted: `symlog` as a distribution over bins for
    rewards of any size, beside the end; `three_classes` as one question, for rewards of
    1 that end an episode and no others."""


class Seen(NamedTuple):
    """Posterior states of observed sequences `[T, B]`."""

    state: Tensor  # [T, B, S]
    log_p: Tensor  # of the posterior [T, B, G, C]
    memory: Tensor  # before each step [T, B, M]
    after: Tensor  # after each, whether or not its episode ended [T, B, M]


class LatentModel(WorldModel):
    """A recurrent state-space model with discrete latents.

    Hafner et al. 2021, "Mastering Atari with Discrete World Models", arXiv:2010.02193;
    Hafner et al. 2023 (DreamerV3), arXiv:2301.04104, equations 1 to 5:

        h_t = GRU(h_{t-1}, z_{t-1}, a_{t-1})    the memory, zero where episodes begin
        z_t ~ q(z | h_t, x_t)                   what is seen, the posterior
        z_t ~ p(z | h_t)                        what is expected, the prior
        r_t, end_t  from  h_{t+1}
        x_t         from  h_t, z_t

    A state `[B, S]` is `h_t` beside `z_t`, `groups` one-hot choices of `classes` each.

    Differs from the papers: reward and end follow from a state and an action, not from
    the state after them, so no observation after the last is needed.

    Args:
        observation_space: Of one observation; sentences are a TypeError.
        action_space: A Box, Discrete or MultiDiscrete; TypeError if it is another.
        config: Has the sizes of `h` and `z`.
        hidden_sizes: Widths of the hidden layers of all parts.
    """

    low: Tensor
    high: Tensor

    def __init__(
        self,
        observation_space: gymnasium.Space[Any],
        action_space: gymnasium.Space[Any],
        config: LatentConfig,
        hidden_sizes: Sequence[int] = (128,),
    ) -> None:
        super().__init__(observation_space, action_space)
        self.memory_size = memory_size = config.memory_size
        self.groups, self.classes = config.groups, config.classes
        self.free_nats = config.free_nats
        code, hidden = config.groups * config.classes, [*hidden_sizes]
        self.size = memory_size + code
        self.encoder = make_encoder(observation_space)
        self.decoder = make_decoder(self.encoder, self.size, hidden)
        self.acted = make_encoder(from_zero(action_space))
        if isinstance(action_space, Box):  # actions are clipped there
            for name in ("low", "high"):
                bound = torch.tensor(getattr(action_space, name)).float()
                self.register_buffer(name, bound, persistent=False)
        self.core = nn.GRUCell(code + self.acted.size, memory_size)
        self.prior = MLP([memory_size, *hidden, code], "relu")
        seen = memory_size + self.encoder.size
        self.posterior = MLP([seen, *hidden, code], "relu")
        self.outcome = outcome_head(config.outcome)
        # It begins at 0: any other guess over bins that far apart is a large reward.
        sizes = [memory_size, *hidden, self.outcome.outputs]
        self.head = MLP(sizes, "relu", last_gain=0.0)

    def features(self, obs: Any) -> Tensor:
        """The embedding of observations `[B, ...]`, `[B, E]`."""
        return symlog(self.encoder(obs))

    def see(
        self, memory: Tensor, seen: Tensor, generator: torch.Generator | None = None
    ) -> tuple[Tensor, Tensor]:
        """Posterior states `[B, S]`, and log-probabilities `[B, G, C]` of `z`."""
        log_p = self._log_p(self.posterior(torch.cat([memory, seen], -1)))
        return self._state(memory, log_p, generator), log_p

    def remember(self, state: Tensor, action: Tensor) -> Tensor:
        """The memory `[B, M]` after actions `[B, ...]` in states `[B, S]`."""
        if isinstance(self.action_space, Box):
            action = action.clamp(self.low, self.high)
        memory, code = state.split([self.memory_size, self.size - self.memory_size], -1)
        return self.core(torch.cat([code, self.acted(action)], -1), memory)

    def predict(
        self, obs: Tensor, action: Tensor, generator: torch.Generator | None = None
    ) -> Prediction:
        memory = self.remember(obs, action)
        state = self._state(memory, self._log_p(self.prior(memory)), generator)
        return Prediction(state, self.head(memory), torch.zeros_like(state[:, 0]))

    def unroll(
        self, data: TensorDict, generator: torch.Generator | None = None
    ) -> Seen:
        """The posterior states of sequences `[T, B]`, from the `memory` before them on.

        They have `obs`, `action`, `memory [T, B, M]`, and bool `first`, where episodes
        begin and nothing is remembered.
        """
        seen = self.features(data["obs"].flatten(0, 1)).unflatten(0, data.batch_size)
        memory, goes_on, rows = data["memory"][0], ~data["first"].unsqueeze(-1), []
        for now, remembered, action in zip(seen, goes_on, data["action"], strict=True):
            before = memory * remembered
            state, log_p = self.see(before, now, generator)
            memory = self.remember(state, action)
            rows.append((state, log_p, before, memory))
        return Seen(*map(torch.stack, zip(*rows, strict=True)))

    def loss(
        self, data: TensorDict, generator: torch.Generator
    ) -> tuple[Tensor, Tensor, Logs]:
        """The model's loss on sequences `[T, B]`; equations 4 and 5.

        Steps that are not `valid`, of which there may be some, do not count.

        Returns:
            The loss, 0-dim; the states `[T, B, S]`, detached; and metrics.

        Raises:
            ValueError: If rewards are such as `outcome` cannot predict.
        """
        unrolled = self.unroll(data, generator)
        steps = transitions(
            data.copy().update(unrolled._asdict())
        )  # [T B], if all count
        seen = Seen(*(steps[name] for name in Seen._fields))
        picture = self.decoder.loss(seen.state, steps["obs"]).mean()
        raw, brought = self.head(seen.after), (steps["reward"], steps["terminated"])
        self.outcome.check(*brought)
        outcome = self.outcome.loss(raw, *brought).mean()
        prior = self._log_p(self.prior(seen.memory))
        kl = _kl(seen.log_p.detach(), prior)
        dynamics = kl.clamp(min=self.free_nats).mean()
        expected = _kl(seen.log_p, prior.detach())
        representation = expected.clamp(min=self.free_nats).mean()
        loss = picture + outcome + dynamics + REPRESENTATION * representation
        recall = recall_of_ends(self.outcome(raw.detach()).end, steps["terminated"])
        logs = {"picture_loss": picture, "outcome_loss": outcome, "kl": kl.mean()}
        logs |= {"recall_of_ends": recall.nan_to_num(nan=1.0)}  # 1 if no step ended
        logs = {name: metric.detach() for name, metric in logs.items()}
        return loss, unrolled.state.detach(), logs

    def _log_p(self, logits: Tensor) -> Tensor:
        p = logits.float().unflatten(-1, (self.groups, self.classes)).softmax(-1)
        return (p * (1 - UNIFORM) + UNIFORM / self.classes).log()

    def _state(
        self, memory: Tensor, log_p: Tensor, generator: torch.Generator | None
    ) -> Tensor:
        """The state with sampled or likeliest choices; straight-through gradients."""
        choice = Categorical(log_p)
        drawn = choice.mode() if generator is None else choice.sample(generator)
        code, p = one_hot(drawn, self.classes).float(), log_p.exp()
        return torch.cat([memory, (code + p - p.detach()).flatten(-2)], -1)


def _kl(log_p: Tensor, log_q: Tensor) -> Tensor:
    """`KL(p || q)` of all choices together, `[...]`, from `[..., G, C]`."""
    return (log_p.exp() * (log_p - log_q)).sum((-2, -1))


class Decoder(nn.Module):
    """The input of an encoder, from latents `[B, inputs]`.

    Images are `[B, C, H, W]` in [-1, 1], by the reverse of `NatureCNN`; of all else the
    features `[B, D]` are reconstructed, numbers and one-hot choices, `symlog`.
    """

    def __init__(self, encoder: Encoder, inputs: int, hidden_sizes: list[int]) -> None:
        super().__init__()
        self._read = (encoder,)  # a tuple, so that it is no submodule
        if isinstance(encoder, NatureCNN):
            self.layers = transposed(encoder, inputs)
        else:
            self.layers = MLP([inputs, *hidden_sizes, encoder.size], "relu")

    def forward(self, latent: Tensor) -> Tensor:
        return self.layers(latent)

    def target(self, obs: Any) -> Tensor:
        """The target of the reconstruction of observations `[B, ...]`."""
        (encoder,) = self._read
        if isinstance(encoder, NatureCNN):
            return encoder.pixels(obs)
        return symlog(encoder(obs))

    def loss(self, latent: Tensor, obs: Any) -> Tensor:
        """The squared error, summed over an observation's numbers, `[B]`."""
        return (self(latent) - self.target(obs)).square().flatten(1).sum(1)


class DictDecoder(nn.Module):
    """A decoder for each entry of a Dict."""

    def __init__(
        self, encoder: DictEncoder, inputs: int, hidden_sizes: list[int]
    ) -> None:
        super().__init__()
        self.names = encoder.names
        parts: Any = encoder.parts
        decoders = (make_decoder(part, inputs, hidden_sizes) for part in parts)
        self.parts = nn.ModuleList(decoders)

    def loss(self, latent: Tensor, obs: Any) -> Tensor:
        """The sum of the entries' losses, `[B]`."""
        parts: Any = zip(self.names, self.parts, strict=True)
        return torch.stack([part.loss(latent, obs[k]) for k, part in parts]).sum(0)


def make_decoder(
    encoder: Encoder, inputs: int, hidden_sizes: list[int]
) -> Decoder | DictDecoder:
    """The decoder for an observation encoder; TypeError for sentences."""
    if isinstance(encoder, Sentence):
        raise TypeError(
            "a world model reconstructs pictures, numbers and choices, not sentences:"
            " leave the text out with a wrapper"
        )
    if isinstance(encoder, DictEncoder):
        return DictDecoder(encoder, inputs, hidden_sizes)
    return Decoder(encoder, inputs, hidden_sizes)


def transposed(encoder: NatureCNN, inputs: int) -> nn.Sequential:
    """The convolutions of an encoder in reverse, from latents `[B, inputs]` on."""
    height, width = encoder.image_size
    layers: list[nn.Module] = []
    channels = 0
    for part in encoder.convolutions:
        if not isinstance(part, nn.Conv2d):
            continue
        kernel, stride = part.kernel_size[0], part.stride[0]
        rest = (height - kernel) % stride, (width - kernel) % stride
        height, width = (n // stride + 1 for n in (height - kernel, width - kernel))
        channels = part.out_channels
        shape = channels, part.in_channels, kernel, stride
        back = nn.ConvTranspose2d(*shape, output_padding=rest)
        layers = [back, *([nn.ReLU()] if layers else []), *layers]
    maps = channels, height, width
    start = [nn.Linear(inputs, math.prod(maps)), nn.ReLU()]
    return nn.Sequential(*start, nn.Unflatten(1, maps), *layers)
