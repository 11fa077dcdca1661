"""The mathematics of C51: learn the distribution of the return, not its mean alone."""

from typing import Annotated, Any, ClassVar

import torch
from gymnasium import Space
from pydantic import Field
from pydantic.dataclasses import dataclass
from tensordict import TensorDict
from torch import Tensor, nn

from yieldrl.abstractions import Logs
from yieldrl.algorithms import dqn
from yieldrl.functional import project


@dataclass(frozen=True, kw_only=True)
class Config(dqn.Config):
    """Categorical DQN; the defaults' atoms hold the returns of CartPole-v1."""

    # The loss is a cross entropy: there is no error to square or to clip.
    error_clip: ClassVar[None] = None

    num_atoms: Annotated[int, Field(ge=2, le=4096)] = 51
    """Returns that the predicted distribution may take, spread evenly from `v_min` to
    `v_max`. More describe it more finely and take longer."""

    v_min: float = 0.0
    """Lowest discounted return that the distribution can hold; lower ones count as this
    one. The paper has -10, for rewards clipped to [-1, 1]."""

    v_max: float = 100.0
    """Highest discounted return that the distribution can hold; higher ones count as
    this one. Rewards of at most r add up to at most r / (1 - gamma). The paper has 10;
    higher than needed leaves atoms unused and the rest further apart."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.v_min >= self.v_max:
            raise self.error("v_min", f"it must lie below v_max = {self.v_max}")


class Model(dqn.Model):
    """`Z(s, a)`: probabilities of `K` returns, the `atoms [K]`; `Q` is their mean."""

    config: Config
    atoms: Tensor

    def __init__(
        self, observation_space: Space[Any], action_space: Space[Any], config: Config
    ) -> None:
        super().__init__(observation_space, action_space, config)
        atoms = torch.linspace(config.v_min, config.v_max, config.num_atoms)
        self.register_buffer("atoms", atoms, persistent=False)

    def make_head(self, per_action: int = 1) -> nn.Module:
        return super().make_head(self.config.num_atoms)

    def logits(self, obs: Any, action: Tensor | None = None) -> Tensor:
        """Logits of all actions' atoms `[B, A, K]`; of given actions `[B]` `[B, K]`."""
        logits = self.head(self.encoder(obs)).unflatten(1, (self.num_actions, -1))
        logits = logits.to(self.atoms.dtype)  # matmuls may have lower precision
        return logits if action is None else of_action(logits, action)

    def action_values(self, obs: Any) -> Tensor:
        """`Q(s, a) = sum_i p_i(s, a) z_i`, `[B, A]`."""
        return self.logits(obs).softmax(-1) @ self.atoms


def of_action(values: Tensor, action: Tensor) -> Tensor:
    """Select the entries of the actions `[B]`: from `[B, A, K]` to `[B, K]`."""
    return torch.take_along_dim(values, action.view(-1, 1, 1), dim=1).squeeze(1)


class Algorithm(dqn.Algorithm):
    """DQN whose target and loss are distributions.

    Bellemare, Dabney & Munos 2017, "A Distributional Perspective on Reinforcement
    Learning", arXiv:1707.06887, algorithm 1.

    Differs from the paper: as `dqn.Algorithm` does.
    """

    model: Model
    target_model: Model

    @torch.no_grad()
    def td_target(self, data: TensorDict) -> Tensor:
        """The distribution of `r + gamma Z'(s', a')` on the atoms, `[B, K]`."""
        model = self.target_model
        probability = model.logits(data["next_obs"]).softmax(-1)  # [B, A, K]
        action = self.next_action(data, probability @ model.atoms)
        discount = data["discount"] * ~data["terminated"]
        returns = data["reward"].unsqueeze(1) + discount.unsqueeze(1) * model.atoms
        return project(of_action(probability, action), returns, model.atoms)

    def element_loss(self, data: TensorDict) -> tuple[Tensor, Logs]:
        """Cross entropy of every transition, `[B]`, and what to log of each.

        The divergence `kl` is what it is above the least that it can be, the target's
        own entropy: it is 0 where the prediction is right.
        """
        target = self.td_target(data)
        log_p = self.model.logits(data["obs"], data["action"]).log_softmax(-1)
        loss = -(target * log_p).sum(1)
        q_value = log_p.detach().exp() @ self.model.atoms
        td_error = target @ self.model.atoms - q_value
        kl = loss.detach() + torch.xlogy(target, target).sum(1)
        return loss, {"q_value": q_value, "td_error": td_error.abs(), "kl": kl}


class Trainer(dqn.Trainer):
    """DQN's schedule around distributions of returns."""

    config: Config
    config_class = Config
    model_class = Model
    algorithm_class = Algorithm
