"""The worlds of hidden parameters, as `worlds.yaml` lists them."""

from pathlib import Path
from typing import Any, NamedTuple

from yieldrl.foundations.files import read_file

# sides of `HiddenParameters`: parameters as in training, and others
RANGES = ("training", "held_out")


class World(NamedTuple):
    """A world, and the fields of `ppo.Config` that all sides of a claim share."""

    env_id: str
    settings: dict[str, Any]


_FILE = read_file(Path(__file__).with_suffix(".yaml"))
COMMON: dict[str, Any] = _FILE["common"]
WORLDS = {name: World(**fields) for name, fields in _FILE["worlds"].items()}
