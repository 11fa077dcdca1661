"""A language model as a policy: an observation is a prompt, an action the answer."""

from typing import Any, ClassVar

import gymnasium
import torch
from gymnasium.spaces import Dict
from torch import Tensor, nn
from torch.nn.functional import pad

from yieldrl.abstractions import Model, Policy
from yieldrl.core import Utf8Text
from yieldrl.core.seeding import is_traced
from yieldrl.functional import tempered
from yieldrl.networks import Categorical


class TokenPolicy(Policy):
    """Writes an answer to `obs["prompt"]`, one token after the other.

    Actions are tokens, int64 `[B, L]`, up to the one that ends the answer, which fills
    up the rest; `L` is the number of bytes that an answer may have. The agent gives the
    environment the bytes that they spell. There is no critic.

    Args:
        observation_space: A Dict with a `prompt`, a `Utf8Text`.
        action_space: A `Utf8Text`.
        model: A causal model of tokens with `forward` and `new_cache` of `Transformer`.
        tokenizer: One with `end`, `prompt`, `to_tokens` and `to_bytes` of `Characters`.
        temperature: Of the distribution that is drawn from.
        top_k: Draw from this number of the most likely tokens; None for all.
        tempered_learning: Whether log-probabilities are those of the distribution that
            is drawn from; otherwise the model's own.

    TypeError if the spaces are no text.
    """

    has_critic: ClassVar[bool] = False
    get_value = Model.value  # raises: there is no critic
    needed_obs = ("prompt",)

    def __init__(
        self,
        observation_space: gymnasium.Space[Any],
        action_space: gymnasium.Space[Any],
        model: nn.Module,
        tokenizer: Any,
        *,
        temperature: float = 1.0,
        top_k: int | None = None,
        tempered_learning: bool = True,
    ) -> None:
        super().__init__(observation_space, action_space)
        _, answer = text_spaces(observation_space, action_space)
        self.length = answer.max_bytes
        self.model: Any = model
        self.tokenizer = tokenizer
        self.temperature, self.top_k = temperature, top_k
        self.tempered_learning = tempered_learning

    def forward(
        self, obs: Any, deterministic: bool = False
    ) -> tuple[Tensor, Tensor, None]:
        """Act: tokens `[B, L]`, and `log_prob [B, L]`, without gradients."""
        tokens, log_prob = self.write(obs, greedy=deterministic)
        return tokens, self.told(log_prob), None

    def sample(
        self, obs: Any, generator: torch.Generator, *, record: bool = False
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Act while exploring: tokens `[B, L]`, and their `log_prob [B, L]`.

        It is kept, as computing it again would take half as long as acting.
        """
        tokens, log_prob = self.write(obs, generator)
        return tokens, {"log_prob": self.told(log_prob)}

    def told(self, log_prob: Tensor) -> Tensor:
        """What a learner is told of the tokens' log-probabilities `[B, L]`: all."""
        return log_prob

    def predict(self, obs: Any) -> Tensor:
        """Act deterministically: always the most likely token, `[B, L]`."""
        return self.write(obs, greedy=True)[0]

    def written(self, action: Tensor) -> Tensor:
        """Mask of chosen tokens in actions `[B, L]`, bool: up to and with the end."""
        ends = action == self.tokenizer.end
        return ends.cumsum(1) - ends.long() == 0

    def evaluate_actions(self, obs: Any, action: Tensor) -> tuple[Tensor, Tensor, None]:
        """Evaluate given answers, in one pass over prompt and answer.

        Returns:
            `log_prob [B, L]`, zero after the end, and the mean `entropy [B]` of the
            distributions that the written tokens were chosen from.
        """
        prompt, shown = self.tokenizer.prompt(obs["prompt"])
        written = self.written(action)
        longest = int(written.any(0).sum()) if not is_traced() else action.shape[1]
        answer, written = action[:, :longest], written[:, :longest]
        before = answer[:, :-1]  # inputs: each token is predicted from those before it
        tokens = torch.cat([prompt, before], dim=1)
        shown = torch.cat([shown, torch.ones_like(before, dtype=torch.bool)], dim=1)
        log_p = self.log_probs(self.model(tokens, shown, last=longest), answer)
        log_prob = log_p.gather(-1, answer.unsqueeze(-1)).squeeze(-1)
        log_prob = pad(log_prob.where(written, 0.0), (0, action.shape[1] - longest))
        entropy = Categorical(log_p).entropy().where(written, 0.0).sum(1)
        return self.told(log_prob), entropy / written.sum(1), None

    def log_probs(self, logits: Tensor, taken: Tensor) -> Tensor:
        """Log-probabilities `[..., V]` of all tokens, by `tempered_learning`."""
        if self.tempered_learning:
            logits = tempered(logits, self.temperature, self.top_k, taken)
        return logits.log_softmax(-1)

    @torch.no_grad()
    def write(
        self, obs: Any, generator: torch.Generator | None = None, greedy: bool = False
    ) -> tuple[Tensor, Tensor]:
        """Write answers token by token, with one pass over each new token.

        Returns:
            Tokens, int64 `[B, L]`, the end's from the end on; and their
            log-probabilities, float32 `[B, L]`, zero after the end.
        """
        new, shown = self.tokenizer.prompt(obs["prompt"])
        (batch, start), end = new.shape, self.tokenizer.end
        shown = torch.cat([shown, shown.new_ones(batch, self.length)], dim=1)
        tokens = new.new_full((batch, self.length), end)
        log_prob = torch.zeros(batch, self.length, device=new.device)
        ended = torch.zeros_like(tokens[:, 0], dtype=torch.bool)
        cache = self.model.new_cache(start + self.length)
        for place in range(self.length):
            logits = self.model(new, shown[:, : start + place], cache, last=1)[:, 0]
            token = self._choose(logits, generator, greedy).masked_fill(ended, end)
            log_p = self.log_probs(logits, token)
            tokens[:, place] = token
            log_prob[:, place] = log_p.gather(-1, token.unsqueeze(-1)).squeeze(-1)
            log_prob[:, place].masked_fill_(ended, 0.0)
            ended = ended | (token == end)
            looks = ended.is_cpu or place % 8 == 7  # a GPU is waited for
            if looks and not is_traced() and bool(ended.all()):
                break
            new = token.unsqueeze(1)
        return tokens, log_prob

    def _choose(
        self, logits: Tensor, generator: torch.Generator | None, greedy: bool
    ) -> Tensor:
        if greedy:
            return logits.argmax(-1)
        kept = tempered(logits, self.temperature, self.top_k)
        return Categorical(kept).sample(generator)


def text_spaces(
    observation_space: gymnasium.Space[Any], action_space: gymnasium.Space[Any]
) -> tuple[Utf8Text, Utf8Text]:
    """The spaces of a prompt and of an answer; TypeError if they are not text."""
    is_dict = isinstance(observation_space, Dict)
    prompt = observation_space.spaces.get("prompt") if is_dict else None
    if isinstance(prompt, Utf8Text) and isinstance(action_space, Utf8Text):
        return prompt, action_space
    raise TypeError(
        "a policy that writes reads Dict(prompt=Utf8Text(P)), and writes a Utf8Text(L)"
        f"; got {observation_space} and {action_space}: give the environment such"
        " spaces, of yieldrl.core.Utf8Text"
    )
