"""A reward model, learned from a judge's preferences between pairs of answers."""

import copy
from collections.abc import Generator
from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from yieldrl.abstractions import Logs
from yieldrl.language.policy import TokenPolicy


class RewardModel(nn.Module):
    """A score of an answer to a prompt, by a copy of the model that wrote it.

    In place of the head that names the next token there is one with a single number,
    read after the answer's last token. Christiano et al. 2017, arXiv:1706.03741;
    Ouyang et al. 2022, arXiv:2203.02155, section 3.4.

    Scores are determined only up to a constant. Of a model with adapters, these and
    the head are trained.

    Args:
        policy: A policy of `policy_for`, with the small transformer or with a model of
            Hugging Face by `model_path`; it stays as it is.

    TypeError if its model's head cannot be replaced.
    """

    def __init__(self, policy: TokenPolicy) -> None:
        super().__init__()
        if not hasattr(policy.model, "replace_head"):
            raise TypeError(
                f"the policy's model is {type(policy.model).__name__}, whose head is"
                " unknown: give RewardModel a policy of policy_for, or the model a"
                " method replace_head, as Transformer has it"
            )
        self.tokenizer = copy.deepcopy(policy.tokenizer)
        self.model = copy.deepcopy(policy.model)
        if not any(p.requires_grad for p in self.model.parameters()):
            self.model.requires_grad_(True)  # the original may be frozen as a whole
        nn.init.zeros_(self.model.replace_head(1).weight)

    def forward(self, obs: Any, action: Tensor) -> Tensor:
        """Scores `[B]` of answers, tokens `[B, L]`, to `obs["prompt"]`."""
        prompt, shown = self.tokenizer.prompt(obs["prompt"])
        tokens = torch.cat([prompt, action], dim=1)
        shown = torch.cat([shown, torch.ones_like(action, dtype=torch.bool)], dim=1)
        return self.model(tokens, shown, last=1)[:, 0, 0]

    def judge(self, obs: Any, action: Tensor) -> Tensor:
        """Scores `[B]` of answers in bytes `[B, L]`, for `JudgedReward`."""
        with torch.no_grad():
            return self(obs, self.tokenizer.to_tokens(action))

    def loss(self, pairs: TensorDict) -> tuple[Tensor, Logs]:
        """`-log P(first > second)` of pairs `[B, 2, ...]`, and metrics.

        `P = sigmoid(r(first) - r(second))` (Bradley & Terry 1952), where an answer of
        several steps has the sum of their scores.
        """
        valid = pairs["valid"]
        score = torch.zeros(valid.shape, device=valid.device)
        steps = pairs[valid]
        score = score.index_put((valid,), self(steps["obs"], steps["action"])).sum(2)
        margin = score[:, 0] - score[:, 1]
        logs = {"accuracy": (margin > 0).float().mean(), "margin": margin.mean()}
        loss = -logsigmoid(margin).mean()
        return loss, {name: x.detach() for name, x in {"loss": loss, **logs}.items()}

    def fit(
        self,
        pairs: TensorDict,
        *,
        num_epochs: int = 10,
        batch_size: int = 64,
        learning_rate: float = 1e-4,
        seed: int = 0,
    ) -> Generator[Logs]:
        """Learn from pairs `[P, 2, T]`, the better one first; logs of every step.

        Args:
            pairs: Of `EpisodeGroups.pairs`.
            num_epochs: Passes over the pairs. More may overfit.
            batch_size: Pairs of each gradient step.
            learning_rate: Of Adam.
            seed: Of the order of the pairs.

        Raises:
            ValueError: If there are no pairs.
        """
        if len(pairs) == 0:
            raise ValueError(
                "there are no pairs to learn from: all answers were judged alike, so"
                " collect more, or by a policy that is neither always right nor wrong"
            )
        optimizer = torch.optim.Adam(self.parameters(), lr=learning_rate)
        generator = torch.Generator().manual_seed(seed)
        for _ in range(num_epochs):
            for part in torch.randperm(len(pairs), generator=generator).split(
                batch_size
            ):
                loss, logs = self.loss(pairs[part.to(pairs["valid"].device)])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                yield logs
