"""Nothing is imported until it is used."""

import subprocess
import sys
from importlib.util import find_spec

HEAVY = ["IPython", "imageio", "imageio_ffmpeg", "matplotlib", "tensorboard", "torch"]
HEAVY += ["tqdm", "wandb", "gymnasium", "numpy"]


def test_the_room_imports_nothing_heavy():
    made = "loggers.csv(), loggers.wandb(), loggers.live_plot()"
    if find_spec("imageio_ffmpeg"):  # without it no video is promised
        made += ", loggers.video()"
    code = f"""
import sys
from yieldrl import loggers
{made}
print([name for name in {HEAVY} if name in sys.modules])
"""
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"
