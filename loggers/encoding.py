"""Encode frames as an MP4 file, with the ffmpeg of imageio-ffmpeg."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from yieldrl.loggers.write_errors import DiskFullError, make_folder, naming_failures

if TYPE_CHECKING:
    import numpy as np

_FULL = ("No space left on device", "File too large", "Disk quota exceeded")


@contextmanager
def mp4(path: Path, fps: float) -> Iterator[Callable[[np.ndarray], None]]:
    """Yield a function that takes frames `[H, W, 3]`, uint8, of one size, even sides.

    The file appears when it is complete. Raises the errors of `loggers.files`, or
    RuntimeError if the encoder fails for another reason.
    """
    make_folder(path.parent)
    temporary = path.with_name(f".{path.stem}.tmp.mp4")
    encoder: subprocess.Popen[bytes] | None = None

    def write(frame: np.ndarray) -> None:
        nonlocal encoder
        if encoder is None:
            encoder = _start(temporary, frame.shape, fps, said)
        assert encoder.stdin is not None
        try:
            encoder.stdin.write(frame.tobytes())
        except OSError:
            raise _failure(path, encoder, said) from None

    with tempfile.TemporaryFile() as said:
        try:
            yield write
            if encoder is not None:
                encoder.communicate()  # closes the pipe, and waits for the process
                if encoder.returncode != 0:
                    raise _failure(path, encoder, said)
                with naming_failures(path):
                    temporary.replace(path)
        finally:
            if encoder is not None:  # leave no process and no pipe behind
                encoder.kill()
                encoder.communicate()
            temporary.unlink(missing_ok=True)


def to_frame(pictures: Any) -> np.ndarray:
    """The first environment's frame, cropped to even sides, which H.264 requires."""
    import numpy as np

    if isinstance(pictures, tuple | list):
        pictures = pictures[0]
    if pictures is None:
        raise ValueError(
            "the environment drew no picture: it must support render_mode='rgb_array'"
        )
    picture = np.asarray(pictures)
    picture = picture[0] if picture.ndim == 4 else picture
    if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3:
        raise ValueError(
            f"the environment drew a picture of shape {picture.shape} and dtype"
            f" {picture.dtype}: a video needs (height, width, 3) and uint8"
        )
    height, width = (side // 2 * 2 for side in picture.shape[:2])
    return np.ascontiguousarray(picture[:height, :width])


def _start(
    path: Path, shape: tuple[int, ...], fps: float, said: IO[bytes]
) -> subprocess.Popen[bytes]:
    from imageio_ffmpeg import get_ffmpeg_exe

    size = f"{shape[1]}x{shape[0]}"
    frames = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", size, "-r", f"{fps}"]
    codec = ["-an", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "25"]
    # Own process group: Ctrl-C in a terminal must not reach the encoder, which has to
    # finish the file.
    on_windows = os.name == "nt"
    return subprocess.Popen(
        [get_ffmpeg_exe(), "-y", "-v", "error", *frames, "-i", "-", *codec, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=said,
        start_new_session=not on_windows,
        creationflags=0x0200 if on_windows else 0,  # CREATE_NEW_PROCESS_GROUP
    )


def _failure(
    path: Path, encoder: subprocess.Popen[bytes], said: IO[bytes]
) -> Exception:
    code = encoder.wait()
    said.seek(0)
    text = said.read().decode("utf-8", "replace").strip()
    full = [reason for reason in _FULL if reason in text]
    if full or code == -getattr(signal, "SIGXFSZ", 0):
        return DiskFullError(path, errno.ENOSPC, full[0] if full else "File too large")
    return RuntimeError(f"{path}: ffmpeg could not write this video: {text or code}")
