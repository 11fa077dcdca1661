"""Read and write demonstrations as Minari data sets, a shared format."""

import json
import re
import tempfile
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.envs.registration import EnvSpec
from tensordict import TensorDict

from yieldrl.buffers.demonstrations import Demonstrations
from yieldrl.buffers.robot_episodes import DataSet
from yieldrl.core import spaces, text
from yieldrl.core.named_code import UntrustedError

_META = "metadata.json"


def write_dataset(
    folder: str | Path,
    demonstrations: Demonstrations,
    *,
    env_spec: EnvSpec | None = None,
) -> Path:
    """Write demonstrations as a Minari data set, atomically.

    An episode that is unfinished at the end is written as truncated. `load_dataset` of
    Minari finds folders below Minari's own by their name, which needs a version, such
    as `cartpole/expert-v0`. ImportError without Minari.

    Args:
        folder: The new folder, which is returned; FileExistsError if it is there.
        demonstrations: The demonstrations.
        env_spec: Spec of their environment, if it is enough to make it.
    """
    minari = _minari()
    from minari.data_collector import EpisodeBuffer
    from minari.dataset.minari_storage import MinariStorage

    folder = Path(folder).absolute()  # Minari misreads relative paths
    if folder.exists():
        raise FileExistsError(f"{folder} is there already: give another folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".new-") as new:
        place = Path(new, folder.name)
        place.mkdir()
        both = demonstrations.observation_space, demonstrations.action_space
        parts = place / "data", *both, env_spec if _is_json(env_spec) else None
        storage = MinariStorage.new(*parts, jpeg_encoding=False)  # lossless
        for number, episode in enumerate(demonstrations.episodes()):
            parts = _to_minari(episode, demonstrations.action_space)
            storage.update_episodes([EpisodeBuffer(id=number, **parts)])
        identity = re.sub(r"[^-\w]", "-", folder.name)
        identity += "" if re.search(r"-v\d+$", identity) else "-v0"
        names = {"dataset_id": identity, "algorithm_name": "expert"}
        storage.update_metadata({**names, "minari_version": minari.__version__})
        return place.rename(folder)


def open_dataset(
    source: str | Path,
    observation_space: gym.Space[Any] | None = None,
    action_space: gym.Space[Any] | None = None,
) -> DataSet:
    """The episodes of a Minari data set.

    Args:
        source: A folder, or the id of a data set that Minari holds on this machine;
            FileNotFoundError if there is none.
        observation_space: Space of one observation, as the data set's; or ValueError.
        action_space: Space of one action, also equal; by default the data set's.
    """
    data = _open(source)
    recorded = {"observation": data.observation_space, "action": data.action_space}
    wanted = {"observation": observation_space, "action": action_space}
    both: dict[str, Any] = {}
    for name, space in recorded.items():
        both[name] = space if wanted[name] is None else wanted[name]
        if not spaces.have_same_leaves(space, both[name]):
            raise ValueError(
                f"{source}: the {name}s of the data set are of {space}, those of the"
                f" environment of {wanted[name]}: take the environment that it was made"
                " in, with the same wrappers"
            )
    episodes = (_from_minari(episode, both["observation"]) for episode in data)
    return DataSet(both["observation"], both["action"], int(data.total_steps), episodes)


def is_folder(folder: Path) -> bool:
    """Whether a folder is a Minari data set."""
    return any((place / _META).is_file() for place in (folder / "data", folder))


def _from_minari(episode: Any, observed: gym.Space[Any]) -> TensorDict:
    """A Minari `EpisodeData` as transitions `[K]`, the last of which ends it."""
    cpu, count = torch.device("cpu"), len(episode.actions)
    seen = spaces.to_tensor(
        text.encoded(observed, episode.observations), cpu, exact=True
    )
    if (length := spaces.batch_size(seen)) != count + 1:
        raise ValueError(
            f"it has {count} actions and {length} observations, and needs {count + 1}:"
            " one before each action, and one after the last"
        )
    obs = TensorDict({"obs": seen}, [count + 1])["obs"]
    steps = {
        "obs": obs[:-1],
        "next_obs": obs[1:],
        "action": spaces.to_tensor(np.asarray(episode.actions), cpu),
        "reward": torch.as_tensor(episode.rewards).float(),
        "terminated": torch.as_tensor(episode.terminations).bool(),
        "truncated": torch.as_tensor(episode.truncations).bool(),
    }
    return _cut_at_the_end(TensorDict(steps, [count]))


def _to_minari(episode: TensorDict, acted: gym.Space[Any]) -> dict[str, Any]:
    """Arguments of Minari's `EpisodeBuffer` for transitions `[K]`, K + 1 `obs`."""
    episode = _cut_at_the_end(episode.cpu())
    return {
        "observations": torch.cat([episode["obs"], episode["next_obs"][-1:]]).numpy(),
        "actions": episode["action"].numpy().astype(acted.dtype),
        "rewards": episode["reward"].numpy(),
        "terminations": episode["terminated"].numpy(),
        "truncations": episode["truncated"].numpy(),
    }


def _cut_at_the_end(episode: TensorDict) -> TensorDict:
    """Transitions `[K]`, the last one truncated if it is not terminated."""
    truncated = episode["truncated"].clone()
    truncated[-1] |= ~episode["terminated"][-1]
    return episode.copy().set("truncated", truncated)


def _minari() -> Any:
    try:
        import h5py  # noqa: F401
        import minari
    except ImportError as reason:
        raise ImportError(
            f"data sets of demonstrations take a package that is missing ({reason}):"
            " pip install 'yieldrl[minari]'"
        ) from None
    return minari


def _open(source: str | Path) -> Any:
    minari = _minari()
    from minari.storage.datasets_root_dir import get_dataset_path

    folder, held = Path(source), Path(get_dataset_path(str(source)))
    for place in (folder / "data", folder, held / "data"):
        if not (place / _META).is_file():
            continue
        metadata = json.loads((place / _META).read_text())
        names = "observation_space", "action_space"
        if missing := [name for name in names if name not in metadata]:
            # Minari would make the environment to ask it, and that is any function.
            raise UntrustedError(
                f"{place / _META} has no {' and no '.join(missing)}, so Minari would"
                " run the code that it names to find out: write the data set with its"
                " spaces"
            )
        return minari.MinariDataset(place)
    raise FileNotFoundError(
        f"{str(source)!r} is neither a folder with a Minari data set nor the id of one"
        f" on this machine ({held}), and no data set of LIBERO or LeRobot: write one"
        " with save_demonstrations, or fetch one with `minari download` or"
        " `hf download --repo-type dataset OWNER/NAME --local-dir FOLDER`"
    )


def _is_json(spec: EnvSpec | None) -> bool:
    """Whether a spec can be saved as JSON and loaded again."""
    try:
        return spec is not None and bool(EnvSpec.from_json(spec.to_json()))
    except Exception:  # its arguments may be of any type
        return False
