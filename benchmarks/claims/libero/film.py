"""Films the script: `python -m yieldrl.benchmarks.claims.libero.film`."""

from pathlib import Path
from typing import Any

from yieldrl.benchmarks.gallery import still
from yieldrl.loggers.encoding import mp4, to_frame

FOLDER = Path(__file__).parents[3] / "docs" / "assets" / "libero"


def shoot(path: Path, suite: str = "libero_spatial", task: int = 2) -> None:
    """An episode from the first of the fixed first states, and a still beside it."""
    import gymnasium

    kwargs = {"suite": suite, "task": task, "cameras": (), "render_mode": "rgb_array"}
    env: Any = gymnasium.make("yieldrl/LIBERO-v1", **kwargs)
    env.reset(seed=0)
    ended = False
    with mp4(path, env.metadata["render_fps"]) as write:
        write(to_frame(env.render()))
        while not ended:
            *_, terminated, truncated, _ = env.step(env.unwrapped.expert())
            ended = terminated or truncated
            write(to_frame(env.render()))
    env.close()
    still(path)


if __name__ == "__main__":
    shoot(FOLDER / "bowl.mp4")
