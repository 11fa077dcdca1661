"""What a policy that writes has written last."""

from typing import Any

LONGEST = 200
"""Most characters of an answer that are shown."""


def latest_answer(trainer: Any) -> str | None:
    """The newest answer in a trainer's buffer: `'17+25=' -> '42', reward 1`.

    None where actions are no text, and while nothing is collected.
    """
    buffer: Any = getattr(trainer, "buffer", None)
    if not writes(trainer) or not hasattr(buffer, "rollout") or len(buffer) == 0:
        return None
    from yieldrl.foundations.text import decode

    rollout = buffer.rollout()
    if "log_prob" not in set(rollout.keys()):  # an expert wrote it
        return None
    row = rollout[-1, trainer.agent.learn_step % rollout.shape[1]].unsqueeze(0)
    [prompt] = decode(row["obs", "prompt"])
    [answer] = decode(trainer.agent.border.actions.to_env(row["action"]))
    said = answer if len(answer) <= LONGEST else f"{answer[:LONGEST]}..."
    return f"{prompt!r} -> {said!r}, reward {float(row['reward']):g}"


def writes(trainer: Any) -> bool:
    """Whether the actions of a trainer's environments are text."""
    from yieldrl.foundations import Utf8Text

    space = getattr(getattr(trainer, "envs", None), "single_action_space", None)
    return isinstance(space, Utf8Text)


def refuse_video(trainer: Any) -> None:
    """ValueError where there is nothing to be seen, as everything is text."""
    if writes(trainer):
        raise ValueError(
            f"{trainer.config.env_id} is text and draws no pictures: leave the video"
            " out, the progress bar shows answers"
        )
