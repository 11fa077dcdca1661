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
from yieldrl.experiments import tuning_jobs

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


class FakeRay:
    """Says what is asked of it; it runs after `init` until it is shut down."""

    def __init__(self, fails=0):
        self.options, self.killed, self.runs = {}, [], False
        self.fails, self.kinds = fails, []

    def init(self, **options):
        self.fails -= 1
        if self.fails >= 0:
            raise Exception("The current node timed out during startup.")
        self.options, self.runs = options, True

    def remote(self, kind):
        self.kinds.append(kind)
        return SimpleNamespace(options=lambda **_: SimpleNamespace(remote=kind))

    def is_initialized(self):
        return self.runs

    def cluster_resources(self):
        return {"CPU": 8.0}

    def kill(self, actor):
        self.killed.append(actor)

    def shutdown(self):
        self.runs = False


@pytest.fixture
def ray(monkeypatch, request):
    """A `FakeRay`, which fails to start as often as the parameter says."""
    ray = FakeRay(getattr(request, "param", 0))
    here = SimpleNamespace(import_module=lambda name: ray)
    monkeypatch.setattr(cluster, "importlib", here)
    return ray


@pytest.mark.parametrize("address", ["ray://far:10001", ""])
def test_a_cluster_is_joined_by_its_address_or_started(address, ray):
    """What has ended already is not asked to end.

    One of this machine that others have started is not joined unasked.
    """
    made = cluster.Cluster(address, {"learners": 2})
    assert ray.options["address"] == (address or "local")
    assert ("num_cpus" in ray.options) == (not address)
    made.actors.append("learner")
    if address:
        ray.runs = False  # somebody else has ended it
    made.close()
    assert ray.killed == ([] if address else ["learner"])
    assert not ray.runs


@pytest.mark.parametrize("ray", [1, 2], indirect=True)
def test_where_ray_does_not_start_it_is_tried_once_more_and_said(ray, caplog):
    if ray.fails == 1:
        cluster.Cluster("", {})
        assert ray.runs
    else:
        with pytest.raises(RuntimeError, match="did not start on this machine, twice"):
            cluster.Cluster("", {})
    [said] = [record.getMessage() for record in caplog.records]
    assert said.startswith("Ray did not start, and is tried once more: The current")


@pytest.mark.parametrize("address", ["auto", "127.0.0.1:1", "127.0.0.1:port"])
def test_where_no_ray_can_be_joined_the_address_is_said(address, ray):
    """At once: Ray itself would wait for minutes where nobody listens."""

    def refused(address, **_):
        assert address == "auto"
        raise ConnectionError("Could not find any running Ray instance")

    ray.init = refused
    with pytest.raises(ConnectionError, match=f"ray_address = '{address}': no Ray"):
        cluster.Cluster(address, {})


def test_a_class_of_actors_is_sent_to_ray_once(ray):
    made = cluster.Cluster("", {})
    for number in range(3):
        assert made.actor(complex, "eval_actors", number) == number
        assert made.actor(int, "eval_actors", number) == number
    assert ray.kinds == [complex, int]


def test_jobs_of_a_search_are_its_tasks(one_ray):
    with tuning_jobs.workers(2, "") as executor:
        tasks = iter([("a", 2, 3), ("b", 2, 4), ("c", 2, 5)])
        found = dict(tuning_jobs.spread(lambda x, y: x**y, tasks, executor, 2))
    assert found == {"a": 8, "b": 16, "c": 32}
    assert one_ray.is_initialized()  # which somebody else has started


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
