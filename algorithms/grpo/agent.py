"""The agent of GRPO: explores by sampling from its policy."""

from yieldrl.algorithms import ppo


class Agent(ppo.Agent):
    """Samples actions from the policy, which is the same for a whole rollout."""

    one_policy = True
