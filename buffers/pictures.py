"""Decode images of data sets from tables and videos."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from yieldrl.core import spaces

MISSING = (
    "data sets of demonstrations take a package that is missing ({}): pip install"
    " 'yieldrl[demonstrations]'"
)


def channels_last(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of an image as `[H, W, C]`."""
    return shape if spaces.channels_last(shape) else (*shape[1:], shape[0])


def decoded(files: Sequence[Mapping[str, Any]]) -> np.ndarray:
    """Decode K files, each the `bytes` of a PNG or JPEG: `[K, H, W, C]` uint8."""
    from PIL import Image

    return np.stack([np.asarray(Image.open(io.BytesIO(f["bytes"]))) for f in files])


def of_video(path: Path, start: float, count: int, fps: float) -> np.ndarray:
    """Decode K consecutive frames of a video, `[K, H, W, 3]` uint8.

    Args:
        path: The video; FileNotFoundError if it is missing.
        start: Time of the first frame in seconds.
        count: `K`; ValueError if a frame is not in the video.
        fps: Frames per second.
    """
    try:
        import av
    except ImportError as reason:
        raise ImportError(MISSING.format(reason)) from None
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} is not there: the data set was not fetched whole"
        )
    found: dict[int, np.ndarray] = {}
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        assert stream.time_base is not None
        container.seek(round(start / stream.time_base), stream=stream)  # or earlier
        for frame in container.decode(stream):
            place = round((frame.time - start) * fps)
            if place >= 0:
                found[place] = frame.to_ndarray(format="rgb24")
            if place >= count - 1:
                break
    if missing := [place for place in range(count) if place not in found]:
        raise ValueError(
            f"{path} has no picture {start + missing[0] / fps:.3f} s after its"
            f" beginning, and {len(missing)} of {count} in a row are missing: it is not"
            f" the video that the tables describe, or not of {fps:g} per second"
        )
    return np.stack([found[place] for place in range(count)])
