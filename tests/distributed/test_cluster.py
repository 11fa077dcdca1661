"""Ray begins and ends with a run; without it, it is said how to install it."""

import subprocess
import sys
from types import SimpleNamespace

import psutil
import pytest
from gymnasium.spaces import Box, Discrete

from yieldrl.algorithms import ppo
from yieldrl.distributed import cluster
from yieldrl.distributed.workers import RemoteEnvs
from yieldrl.envs.classic_control import CartPoleVectorEnv

PROGRAM = """
import os, signal, sys
from yieldrl.algorithms import ppo
config = ppo.Config(collection="ray", num_envs=2, num_steps=8, total_steps=64,
                    eval_every=0, rollout_workers=1)
trainer = ppo.Trainer(config)
for log in trainer():
    if log["sample_step"] >= 16:
        break
print("RAY", trainer.collector.segments.pool.cluster.ray.nodes()[0]["NodeID"])
for log in trainer():
    os.kill(os.getpid(), signal.SIGINT)
"""


@pytest.mark.slow
def test_nothing_is_left_of_ray_after_break_and_interrupt():
    """Nobody closes the trainer."""
    pytest.importorskip("ray", reason="this test needs Ray")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True
    )
    assert done.returncode == 1, done
    assert "KeyboardInterrupt" in done.stderr
    node = done.stdout.split("RAY")[1].strip()
    named = [p for p in psutil.process_iter(["cmdline"]) if p.info["cmdline"]]
    assert not [p for p in named if node in " ".join(p.info["cmdline"])]


def test_without_ray_it_is_said_how_to_install_it(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(cluster, "importlib", type("", (), {"import_module": missing}))
    with pytest.raises(ImportError, match=r"pip install 'yieldrl\[ray\]'"):
        ppo.Trainer(ppo.Config(collection="ray"))


def test_the_room_is_imported_without_ray():
    program = "import sys; import yieldrl.distributed; sys.exit('ray' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_environments_that_were_made_here_are_closed_with_the_workers():
    """An expert steps them; a trainer may be closed before it has cloned that."""
    ended = []
    ray = SimpleNamespace(close=lambda: ended.append("workers"))
    pool = SimpleNamespace(envs_here=lambda: CartPoleVectorEnv(2), cluster=ray)
    remote = RemoteEnvs(2, Box(-1, 1, (4,)), Discrete(2), pool=pool)
    here = remote.here()
    assert not here.closed
    remote.close()
    assert here.closed
    assert ended == ["workers"]
