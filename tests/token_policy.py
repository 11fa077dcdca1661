"""A small policy whose actions are chunks of tokens, as a VLA's are."""

import torch
from torch import nn

from yieldrl.abstractions import Policy


class Tokens(Policy):
    """Logits for each of `L` choices, from a vector; a critic; a frozen layer.

    Args:
        observation_space: Box `[F]`.
        action_space: MultiDiscrete `[L]`, of options that are alike, or Discrete.
        config: Ignored.
    """

    def __init__(self, observation_space, action_space, config=None):
        super().__init__(observation_space, action_space)
        nvec = getattr(action_space, "nvec", None)
        self.length = 1 if nvec is None else len(nvec)
        self.options = int(action_space.n if nvec is None else nvec[0])
        self.body = nn.Linear(observation_space.shape[0], 8).requires_grad_(False)
        self.actor = nn.Linear(8, self.length * self.options)
        self.adapter = nn.Linear(8, self.length * self.options, bias=False)
        self.critic = nn.Linear(8, 1)
        self.chunks = nvec is not None

    def parameter_groups(self):
        return {
            "policy": list(self.actor.parameters()),
            "value": list(self.critic.parameters()),
            "adapters": list(self.adapter.parameters()),
        }

    def _look(self, obs):
        features = self.body(obs).tanh()
        logits = self.actor(features) + self.adapter(features)
        logits = logits.view(-1, self.length, 1, self.options)
        return logits.log_softmax(-1), self.critic(features).squeeze(1)

    def _act(self, obs, generator, mode):
        log_probs, value = self._look(obs)
        noise = torch.empty_like(log_probs).exponential_(generator=generator)
        tokens = (log_probs if mode else log_probs - noise.log()).argmax(-1)
        log_prob = log_probs.gather(-1, tokens.unsqueeze(-1)).squeeze(-1)
        action = tokens.squeeze(2)
        return action if self.chunks else action.squeeze(1), log_prob, value

    def forward(self, obs, deterministic=False):
        return self._act(obs, None, deterministic)

    def sample(self, obs, generator, *, record=False):
        action, log_prob, value = self._act(obs, generator, False)
        return action, {"log_prob": log_prob, "value": value}

    def evaluate_actions(self, obs, action):
        log_probs, value = self._look(obs)
        tokens = action.view(len(action), self.length, 1, 1)
        entropy = -(log_probs.exp() * log_probs).sum(-1)
        return log_probs.gather(-1, tokens).squeeze(-1), entropy, value

    def get_value(self, obs):
        return self._look(obs)[1]
