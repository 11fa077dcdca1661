"""A world model on the layers of a vision-language-action model."""

from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor, nn
from torch.nn import functional

from yieldrl.core.logs import Logs
from yieldrl.imagination.diagnostics import followed
from yieldrl.imagination.outcomes import outcome_head
from yieldrl.imagination.rollout import Prediction, WorldModel
from yieldrl.networks import MLP
from yieldrl.vla.actions import ActionLayout
from yieldrl.vla.backends.decoder import Trunk
from yieldrl.vla.decoding import Prompt
from yieldrl.vla.heads import AttentionPool
from yieldrl.vla.observations import PROMPT
from yieldrl.vla.parameter_groups import inner_model

MAX_STEPS = 64
"""Number of an episode's steps with embeddings of their own."""


class ActionToken(nn.Module):
    """A chunk of actions as one token, `[B, W]`, from its numbers or its choices."""

    def __init__(self, model: Any, width: int) -> None:
        super().__init__()
        self.layout: ActionLayout = model.layout
        self.head = [model.head]  # a list, so that it is no submodule
        self.options = max(self.layout.counts or (1,))
        size = self.layout.tokens * self.options
        self.mlp = MLP([size, width, width], "relu")

    def forward(self, action: Tensor) -> Tensor:
        chunks = self.layout.inside(action)
        if self.layout.counts is None:
            tokens = self.head[0].statistics.normalize(chunks)
        else:
            tokens = functional.one_hot(chunks.long(), self.options)
        return self.mlp(tokens.flatten(1).float())


class TrunkWorld(WorldModel):
    """Predicts the next embeddings of what a policy sees, not pixels.

    A state is one of `VLAPolicy.latents`, and `step [B]`, how many steps of its
    episode came before. A copy of the policy's trunk reads it, and the chunk of actions
    as one token behind it, with attention in all directions; embeddings of images and
    proprioception change by a head's output at their positions. Reward and end are read
    off the hidden states by attention pooling, with an embedding of the step.

    The policy's embeddings must not change from the first `fit_to` on, as is the case
    where it learns from latents alone.

    Args:
        policy: A `VLAPolicy` around a model with a backbone and one action head.
        outcome: See `outcome_head`.

    Raises:
        TypeError: If the policy's model has no backbone.
    """

    change_std: Tensor
    fitted: Tensor

    def __init__(self, policy: Any, outcome: str = "three_classes") -> None:
        super().__init__(policy.observation_space, policy.action_space)
        model: Any = inner_model(policy)
        if not hasattr(policy, "latents") or not hasattr(model, "backbone"):
            raise TypeError(
                f"{type(model).__qualname__} has no backbone for a model of the world"
                " to stand on: take backend='tiny', or a model of OpenVLA's"
            )
        self.latents, self.backbone = policy.latents, [model.backbone]
        self.trunk, width = Trunk(model.backbone), model.backbone.width
        self.action_token = ActionToken(model, width)
        self.change = nn.Linear(width, width)
        nn.init.zeros_(self.change.weight)  # predict no change at first
        nn.init.zeros_(self.change.bias)
        self.outcome = outcome_head(outcome)
        self.step = nn.Embedding(MAX_STEPS + 1, width)
        nn.init.zeros_(self.step.weight)
        self.pool = AttentionPool(width, self.outcome.outputs)
        self.register_buffer("change_std", torch.ones((), dtype=torch.float32))
        self.register_buffer("fitted", torch.tensor(False))

    def sync(self) -> None:
        """Take the weights of the policy's trunk."""
        self.trunk.sync(self.backbone[0])

    @torch.no_grad()
    def begin(self, obs: Any) -> TensorDict:
        """Latents of observations `[B, ...]`, at the first step of their episodes."""
        state = self.latents(obs)
        if "step" in set(state.keys()):
            return state
        return state.copy().set("step", torch.zeros_like(state["mask"][:, 0]).long())

    def predict(
        self, obs: Any, action: Tensor, generator: torch.Generator | None = None
    ) -> Prediction:
        """Predict the step after chunks of actions `[B, ...]`: always the mean."""
        before, size = obs[PROMPT], obs["mask"].shape[1]
        prompt = Prompt(before, obs["mask"]).followed_by(
            self.action_token(action)[:, None]
        )
        hidden = self.trunk.hidden(*prompt, bidirectional_from=0)
        change = self.change(hidden[:, :size]) * self.change_std
        after = before + change.where(obs["changing"].unsqueeze(-1), 0.0)
        pooled = self.pool.pooled(hidden, prompt.mask)
        raw = self.pool.mlp(pooled + self.step(obs["step"].clamp(max=MAX_STEPS)))
        state = obs.copy().update({PROMPT: after, "step": obs["step"] + 1})
        return Prediction(state, raw, torch.zeros_like(raw[:, 0]))

    @torch.no_grad()
    def fit_to(self, data: TensorDict) -> None:
        """Weight the outcomes by their rarity in transitions `[B]`.

        The first call also measures the scale of changes of embeddings.
        """
        self.outcome.fit_to(data["reward"], data["terminated"])
        goes_on = ~data["terminated"]
        change = squared_change(data["next_obs"], data["obs"])
        mean = (change * goes_on).sum() / goes_on.sum()
        kept = self.fitted | ~goes_on.any()
        std = torch.where(kept, self.change_std, mean.sqrt().clamp(min=1e-6))
        self.change_std.copy_(std)
        self.fitted |= goes_on.any()

    def loss(self, data: TensorDict) -> tuple[Tensor, Logs]:
        """The mean loss of transitions `[B]` between states, and metrics.

        `model/change_loss` is the squared error of steps that do not end, as a share of
        that of a model that predicts no change; an end has no next state.
        """
        predicted = self.predict(data["obs"], data["action"])
        error = squared_change(predicted.next_obs, data["next_obs"])
        error = error / self.change_std.square() * ~data["terminated"]
        outcome = data["reward"], data["terminated"]
        wrong = self.outcome.loss(predicted.outcome, *outcome).mean()
        loss = error.mean() + wrong
        logs = {"loss": loss, "change_loss": error.mean(), "outcome_loss": wrong}
        return loss, {f"model/{k}": v.detach() for k, v in logs.items()}

    def parameter_groups(self) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
        """Trained parameters: those of the trunk, and all that was added."""
        inside = {id(p) for p in self.trunk.parameters()}
        trained = [p for p in self.parameters() if p.requires_grad]
        trunk = [p for p in trained if id(p) in inside]
        return trunk, [p for p in trained if id(p) not in inside]


def squared_change(state: TensorDict, other: TensorDict) -> Tensor:
    """The mean squared difference of the embeddings that may change, of states `[B]`:
    `[B]`."""
    changing = state["changing"]
    square = (state[PROMPT] - other[PROMPT]).square().mean(-1)
    return square.where(changing, 0.0).sum(1) / changing.sum(1)


@torch.no_grad()
def change_errors(world: TrunkWorld, real: TensorDict) -> Tensor:
    """Errors of states after 1, 2, ... T steps of real actions, `[T]`.

    The model goes on from its own predictions. It is the squared error as a share of
    that of a model that predicts no change. NaN where all episodes have ended.

    Args:
        world: The model.
        real: Consecutive steps `[T, B]` between states; from an end on, none counts.
    """
    start, errors = real["obs"][0], []
    for state, row, goes_on in followed(world, real):
        here = goes_on & ~row["terminated"]  # after an end there is no state
        wrong, still = (
            squared_change(x, row["next_obs"]).where(here, 0.0).sum()
            for x in (state, start)
        )
        errors.append(wrong / still)
    return torch.stack(errors)
