"""Run the policy of a JSON file with NumPy alone; you may copy this file."""

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

FORMAT, VERSION = "yieldrl-policy", 1


class JsonPolicy:
    """Chooses the same actions as the exported agent, without PyTorch.

    `policy` is what `describe` returned, or the content of a file; ValueError if it is
    none, or of an unknown version. The attribute `policy` holds NumPy arrays.
    """

    def __init__(self, policy: Mapping[str, Any]) -> None:
        header = policy.get("format"), policy.get("version")
        if header != (FORMAT, VERSION):
            raise ValueError(
                f"format {header[0]!r}, version {header[1]!r}: this reads {FORMAT!r},"
                f" version {VERSION}; write it again with `yieldrl export`"
            )
        self.policy = _with_arrays(policy)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Load the policy of a file."""
        return cls(json.loads(Path(path).read_text("utf-8-sig")))

    def predict(self, obs: Any) -> np.ndarray:
        """Actions `[B, ...]` for observations `[B, ...]`, a mapping if a Dict."""
        raw, output = self.raw(obs), self.policy["output"]
        if output["type"] == "argmax":
            parts = np.split(raw, np.cumsum(output["counts"])[:-1], axis=1)
            chosen = [part.argmax(1) for part in parts]
            action = np.stack(chosen, 1) + np.array(output["starts"], np.int64)
        else:
            low, high = (np.array(output[k], np.float64) for k in ("low", "high"))
            action = np.fmax(np.fmin(raw, high), low)  # NaN, of null, is no bound
        dtype = output.get("dtype", action.dtype)
        return action.reshape(len(raw), *output["shape"]).astype(dtype)

    def raw(self, obs: Any) -> np.ndarray:
        """Output of the last layer, `[B, K]`: logits, values of actions, or actions."""
        features = [
            apply(one["layers"], _entry(obs, one["path"]))
            for one in self.policy["inputs"]
        ]
        return apply(self.policy["layers"], np.concatenate(features, 1))


def apply(layers: Sequence[Mapping[str, Any]], x: np.ndarray) -> np.ndarray:
    """Apply layers one after another: `[B, inputs]` to `[B, outputs]`."""
    for layer in layers:
        x = LAYERS[layer["type"]](x, layer)
    return x


def _conv2d(x: np.ndarray, layer: Mapping[str, Any]) -> np.ndarray:
    image, kernel = x.reshape(len(x), *layer["shape"]), layer["weight"].shape[2:]
    windows = np.lib.stride_tricks.sliding_window_view(image, kernel, axis=(2, 3))
    windows = windows[:, :, :: layer["stride"], :: layer["stride"]]
    sums = np.einsum("bchwij,ocij->bohw", windows, layer["weight"])
    return (sums + layer["bias"][:, None, None]).reshape(len(x), -1)


def _one_hot(x: np.ndarray, layer: Mapping[str, Any]) -> np.ndarray:
    choices = x.astype(np.int64) - layer["starts"]
    codes = [np.eye(n)[choices[:, i]] for i, n in enumerate(layer["counts"])]
    return np.concatenate(codes, 1)


def _channels_first(x: np.ndarray, layer: Mapping[str, Any]) -> np.ndarray:
    return x.reshape(-1, *layer["shape"]).transpose(0, 3, 1, 2).reshape(len(x), -1)


def _dueling(x: np.ndarray, layer: Mapping[str, Any]) -> np.ndarray:
    value = apply(layer["state_value"], x)[:, None]
    advantage = apply(layer["advantage"], x)
    advantage = advantage.reshape(-1, layer["actions"], layer["per_action"])
    return (value + advantage - advantage.mean(1, keepdims=True)).reshape(len(x), -1)


def _expectation(x: np.ndarray, layer: Mapping[str, Any]) -> np.ndarray:
    logits = x.reshape(len(x), layer["actions"], -1)
    weight = np.exp(logits - logits.max(2, keepdims=True))
    return weight / weight.sum(2, keepdims=True) @ layer["atoms"]


def _table(x: np.ndarray, layer: Mapping[str, Any]) -> np.ndarray:
    return layer["values"][((x.astype(np.int64) - layer["starts"]) @ layer["strides"])]


LAYERS = {
    "affine": lambda x, of: of["scale"] * x + of["offset"],
    "channels_first": _channels_first,
    "conv2d": _conv2d,
    "dueling": _dueling,
    "expectation": _expectation,
    "linear": lambda x, of: x @ of["weight"].T + of["bias"],
    "normalize": lambda x, of: np.clip(
        (x - of["mean"]) / of["std"], -of["limit"], of["limit"]
    ),
    "one_hot": _one_hot,
    "relu": lambda x, of: np.maximum(x, 0),
    "table": _table,
    "tanh": lambda x, of: np.tanh(x),
}
"""Layer type -> its function, from `[B, inputs]` to `[B, outputs]`."""


def _entry(obs: Any, path: Sequence[str]) -> np.ndarray:
    for name in path:
        obs = obs[name]
    return np.asarray(obs).astype(np.float64).reshape(len(obs), -1)


def _with_arrays(value: Any) -> Any:
    if isinstance(value, Mapping):
        if "float32" in value:
            array = np.frombuffer(base64.b64decode(value["float32"]), "<f4")
            return array.reshape(value["shape"])
        return {name: _with_arrays(child) for name, child in value.items()}
    return [_with_arrays(v) for v in value] if isinstance(value, list) else value
