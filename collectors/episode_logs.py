"""Means over episodes, as logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def mean_logs(episodes: float, returns: float, lengths: float) -> dict[str, float]:
    """The logs of episodes with such sums of returns and lengths, if there are any."""
    if episodes == 0:
        return {}
    return {
        "episode_return": returns / episodes,
        "episode_length": lengths / episodes,
        "episodes": episodes,
    }


def mean_episode(logs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The logs of several steps as one: the mean over all of their episodes.

    Other entries are those of the latest step that has them.

    >>> few = {"episode_return": 1.0, "episode_length": 1.0, "episodes": 1.0}
    >>> more = {"episode_return": 4.0, "episode_length": 5.0, "episodes": 3.0}
    >>> mean_episode([few, {}, more])
    {'episode_return': 3.25, 'episode_length': 4.0, 'episodes': 4.0}
    """
    whole = {name: value for log in logs for name, value in log.items()}
    ended = [log for log in logs if "episodes" in log]
    if ended:
        count = sum(log["episodes"] for log in ended)
        for name in ("episode_return", "episode_length"):
            whole[name] = sum(log["episodes"] * log[name] for log in ended) / count
        whole["episodes"] = count
    return whole
