"""Whole answers as actions, for algorithms that know of no tokens."""

from typing import Any, ClassVar

import torch
from torch import Tensor

from yieldrl.language.policy import TokenPolicy
from yieldrl.language.reward_model import RewardModel


class AnswerPolicy(TokenPolicy):
    """A policy that writes, whose log-probabilities are those of answers, `[B]`.

    For REINFORCE: `reinforce.Trainer(config, model=AnswerPolicy(clone.model))`.

    Args:
        policy: Whose model this is; it is not copied.
    """

    log_std: ClassVar[None] = None  # it is no Gaussian

    def __init__(self, policy: TokenPolicy) -> None:
        super().__init__(
            policy.observation_space,
            policy.action_space,
            policy.model,
            policy.tokenizer,
            temperature=policy.temperature,
            top_k=policy.top_k,
            tempered_learning=policy.tempered_learning,
        )

    def forward(self, obs: Any, deterministic: bool = False) -> tuple[Tensor, Any, Any]:
        """Act: tokens `[B, L]`, and `log_prob [B]`, without gradients."""
        answer = self.write(obs, greedy=deterministic)
        return answer.tokens, answer.log_prob.sum(1), None

    def sample(
        self, obs: Any, generator: torch.Generator, *, record: bool = False
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Act while exploring: tokens `[B, L]`, and their `log_prob [B]`."""
        answer = self.write(obs, generator)
        return answer.tokens, {"log_prob": answer.log_prob.sum(1)}

    def evaluate_actions(self, obs: Any, action: Tensor) -> tuple[Tensor, Tensor, Any]:
        """Of given answers: `log_prob [B]`, and the mean `entropy [B]` of the
        distributions that their tokens were chosen from."""
        log_prob, entropy, _ = super().evaluate_actions(obs, action)
        return log_prob.sum(1), entropy, None

    def policy(self, obs: Any) -> "Answers":
        """The distribution over answers to prompts `[B, ...]`."""
        return Answers(self, obs)


class AnswerCritic(AnswerPolicy):
    """A policy that writes beside a critic, which reads the prompt alone.

    For PPO: `ppo.Trainer(config, model=AnswerCritic(clone.model))`. The critic is a
    copy of the model with one number in place of a next token, at first zero.

    Raises:
        TypeError: If nothing is known of the model's head, as of `RewardModel`.
    """

    has_critic = True

    def __init__(self, policy: TokenPolicy) -> None:
        super().__init__(policy)
        self.critic = RewardModel(policy)

    def forward(self, obs: Any, deterministic: bool = False) -> tuple[Tensor, Any, Any]:
        """Act: tokens `[B, L]`, `log_prob [B]`, and `value [B]` of the prompt."""
        action, log_prob, _ = super().forward(obs, deterministic)
        return action, log_prob, self.get_value(obs)

    def evaluate_actions(self, obs: Any, action: Tensor) -> tuple[Tensor, Tensor, Any]:
        """Of given answers: `log_prob [B]`, `entropy [B]` and `value [B]`."""
        return *super().evaluate_actions(obs, action)[:2], self.get_value(obs)

    def get_value(self, obs: Any) -> Tensor:
        """What an answer to the prompt will be worth, `[B]`: the critic's score of one
        that has not begun."""
        prompt = obs["prompt"]
        return self.critic(obs, prompt.new_zeros(len(prompt), 0, dtype=torch.int64))


class Answers:
    """The answers to prompts as a distribution."""

    def __init__(self, model: AnswerPolicy, obs: Any) -> None:
        self.model, self.obs = model, obs
        self._entropy: Tensor | None = None

    def sample(self, generator: torch.Generator | None = None) -> Tensor:
        """Answers at random, tokens `[B, L]`."""
        return self.model.write(self.obs, generator).tokens

    def mode(self) -> Tensor:
        """Always the most likely token, `[B, L]`."""
        return self.model.predict(self.obs)

    def log_prob(self, action: Tensor) -> Tensor:
        """Of answers `[B, L]`, `[B]`."""
        log_prob, self._entropy, _ = self.model.evaluate_actions(self.obs, action)
        return log_prob

    def entropy(self) -> Tensor:
        """Of the distributions that tokens are chosen from, their mean `[B]` over the
        answers whose `log_prob` was asked for last, or over new ones."""
        if self._entropy is None:
            self.log_prob(self.sample())
        assert self._entropy is not None
        return self._entropy
