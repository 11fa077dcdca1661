"""Nothing is imported until it is used."""

import subprocess
import sys

HEAVY = ["IPython", "imageio", "imageio_ffmpeg", "matplotlib", "tensorboard", "torch"]
HEAVY += ["tqdm", "wandb", "gymnasium", "numpy"]


def test_the_room_imports_nothing_heavy() -> None:
    made = "loggers.csv(), loggers.wandb(), loggers.video(), loggers.live_plot()"
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
