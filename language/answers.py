"""Whole answers as actions, for algorithms that do not handle tokens."""

from typing import Any, ClassVar

import torch
from torch import Tensor

from yieldrl.language.policy import TokenPolicy
from yieldrl.language.reward_model import RewardModel


class AnswerPolicy(TokenPolicy):
    """A language-model policy with log-probabilities of whole answers, `[B]`.

    For REINFORCE: `reinforce.Trainer(config, model=AnswerPolicy(clone.model))`.

    Args:
        policy: The policy whose model is used; it is not copied.
    """

    log_std: ClassVar[None] = None  # the policy is not Gaussian

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

    def told(self, log_prob: Tensor) -> Tensor:
        """What a learner is told of the tokens' log-probabilities: their sum, `[B]`."""
        return log_prob.sum(1)

    def policy(self, obs: Any) -> "Answers":
        """The distribution over answers to prompts `[B, ...]`."""
        return Answers(self, obs)


class AnswerCritic(AnswerPolicy):
    """A language-model policy with a critic, which reads the prompt alone.

    For PPO: `ppo.Trainer(config, model=AnswerCritic(clone.model))`. The critic is a
    copy of the model with one number in place of a next token, at first zero.

    Raises:
        TypeError: If the model's head cannot be replaced, as for `RewardModel`.
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
        """`log_prob [B]`, `entropy [B]` and `value [B]` of given answers."""
        return *super().evaluate_actions(obs, action)[:2], self.get_value(obs)

    def get_value(self, obs: Any) -> Tensor:
        """The expected return of an answer to the prompt, `[B]`: the critic's output
        before the answer begins."""
        prompt = obs["prompt"]
        return self.critic(obs, prompt.new_zeros(len(prompt), 0, dtype=torch.int64))


class Answers:
    """A distribution over answers to prompts."""

    def __init__(self, model: AnswerPolicy, obs: Any) -> None:
        self.model, self.obs = model, obs
        self._entropy: Tensor | None = None

    def sample(self, generator: torch.Generator | None = None) -> Tensor:
        """Sampled answers, tokens `[B, L]`."""
        return self.model.write(self.obs, generator)[0]

    def mode(self) -> Tensor:
        """Answers by the most likely token at each place, `[B, L]`."""
        return self.model.predict(self.obs)

    def log_prob(self, action: Tensor) -> Tensor:
        """Log-probabilities `[B]` of answers `[B, L]`."""
        log_prob, self._entropy, _ = self.model.evaluate_actions(self.obs, action)
        return log_prob

    def entropy(self) -> Tensor:
        """The mean entropy `[B]` of the tokens' distributions, in the answers of the
        latest `log_prob`, or in new ones."""
        if self._entropy is None:
            self.log_prob(self.sample())
        assert self._entropy is not None
        return self._entropy
