"""A learning rate that follows how far the policy moves.

Rudin et al. 2022, "Learning to Walk in Minutes", arXiv:2109.11978, and its rsl_rl.
"""

from typing import Any

LOWEST_RATE, HIGHEST_RATE = 1e-5, 1e-2


def follow_kl(algorithm: Any, approx_kl: float, desired_kl: float) -> None:
    """Lower the learning rate after too far a move, raise it after too short a one.

    Differs from rsl_rl: `approx_kl` is estimated from the actions that were taken, so
    that any distribution will do.
    """
    rate = algorithm.learning_rate
    if approx_kl > 2 * desired_kl:
        algorithm.learning_rate = max(LOWEST_RATE, rate / 1.5)
    elif approx_kl < desired_kl / 2:
        algorithm.learning_rate = min(HIGHEST_RATE, rate * 1.5)


def check_desired_kl(config: Any) -> None:
    """Refuse a learning rate that cannot follow `config.desired_kl`, if that is set."""
    if config.desired_kl is None:
        return
    if config.anneal_learning_rate:
        both = "the learning rate cannot follow it and fall linearly as well"
        raise config.error("desired_kl", f"{both}: set anneal_learning_rate=False")
    if not LOWEST_RATE <= config.learning_rate <= HIGHEST_RATE:
        remedy = f"desired_kl keeps it from {LOWEST_RATE} to {HIGHEST_RATE}"
        raise config.error("learning_rate", f"{remedy}: begin there")
    if config.num_epochs * config.num_minibatches == 1:
        still = "the policy has not moved before the first gradient step of a rollout"
        raise config.error(
            "desired_kl", f"{still}: choose more num_epochs or num_minibatches"
        )
