"""Nothing is imported until it is used."""

import subprocess
import sys

import pytest

from yieldrl.loggers import arguments

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


def test_a_missing_package_names_the_extra(tmp_path, monkeypatch) -> None:
    (tmp_path / "no_such_package").mkdir()  # a mere folder is no package
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match=r"pip install 'yieldrl\[wandb\]'"):
        arguments.package("no_such_package", extra="wandb")
