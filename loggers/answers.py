"""The latest answer of a language model, shown during training."""

from typing import Any

LONGEST = 200
"""Maximal number of characters shown of an answer."""

EPISODES, ANSWERS = 20, 512
"""Episodes to play at the end of training; `ANSWERS` where actions are text."""

SEED = 1_000_000
"""Their seed: the same for all runs, so that they compare."""


def latest_answer(trainer: Any) -> str | None:
    """The newest answer in a trainer's buffer: `'17+25=' -> '42', reward 1`.

    None if actions are not text, or if nothing has been collected. A question that only
    learners have is left out: `'...' -> '42'`.
    """
    buffer: Any = getattr(trainer, "buffer", None)
    if not writes(trainer) or not hasattr(buffer, "rollout") or len(buffer) == 0:
        return None
    from yieldrl.core.text import decode

    rollout = buffer.rollout()
    entries = set(rollout.keys())
    if "log_prob" not in entries:  # actions of an expert
        return None
    row = rollout[-1, trainer.agent.learn_step % rollout.shape[1]].unsqueeze(0)
    [prompt] = decode(row["obs", "prompt"]) if "obs" in entries else ["..."]
    [answer] = decode(trainer.agent.border.actions.to_env(row["action"]))
    shown = answer if len(answer) <= LONGEST else f"{answer[:LONGEST]}..."
    return f"{prompt!r} -> {shown!r}, reward {float(row['reward']):g}"


def episodes_at_end(trainer: Any) -> int:
    """Number of episodes to play at the end of training."""
    return ANSWERS if writes(trainer) else EPISODES


def writes(trainer: Any) -> bool:
    """Whether the actions of a trainer's environments are text."""
    from yieldrl.core import Utf8Text

    space = getattr(getattr(trainer, "envs", None), "single_action_space", None)
    return isinstance(space, Utf8Text)
