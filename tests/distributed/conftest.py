"""One Ray for the tests that ask for it, and processes in it: both take long."""

import asyncio
import gc
import inspect
import os
import warnings
from types import SimpleNamespace

import pytest
import torch

from yieldrl.distributed.cluster import Cluster


@pytest.fixture(scope="session")
def one_ray():
    """Trainers join it, and leave it running. A busy machine may need a second try."""
    ray = pytest.importorskip("ray", reason="this test needs Ray")
    os.environ["RAY_AUTH_MODE"] = "disabled"
    os.environ["RAY_memory_monitor_refresh_ms"] = "0"  # noqa: SIM112
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112 (15 starves where others work)
    # "local": not one that somebody started on this machine.
    options = {"address": "local", "include_dashboard": False, "log_to_driver": False}
    options |= {"num_cpus": 4, "object_store_memory": 100 * 2**20}
    options["address"] = "local"
    try:
        ray.init(**options)
    except Exception:
        ray.shutdown()
        with warnings.catch_warnings(action="ignore", category=ResourceWarning):
            gc.collect()  # processes of the first try, which end by themselves
        ray.init(**options)
    yield ray
    ray.shutdown()


@pytest.fixture(scope="session")
def processes(one_ray):
    import kept

    one_ray.cloudpickle.register_pickle_by_value(kept)  # a worker could not import it
    return kept.Processes()


@pytest.fixture
def on_ray(request, one_ray, monkeypatch):
    """Actors of most roles are objects in processes that stay.

    Not those of the roles that a mark `own_processes` names: where they die, or fail to
    begin; nor where a test has a cluster that keeps them from test to test itself.
    """
    if "places" in request.fixturenames:
        yield
        return
    mark = request.node.get_closest_marker("own_processes")
    own = mark.args if mark else ()
    processes = request.getfixturevalue("processes")
    actor = Cluster.actor

    def made(self, kind, role=None, *args):
        if processes.keeps(kind) and kind.__name__ not in own:
            return processes.actor(kind, *args)
        return actor(self, kind, role, *args)

    monkeypatch.setattr(Cluster, "actor", made)
    yield
    processes.end_all()


class Here:
    """What a handle is to an actor, to an object in this process.

    What it is asked is done at once; answers go through Ray's store, as others do.
    """

    def __init__(self, ray, held):
        self._ray, self._held = ray, held

    def __getattr__(self, name):
        return SimpleNamespace(remote=lambda *args: self._answer(name, args))

    def _answer(self, name, args):
        reference = self._ray.ObjectRef
        args = [self._ray.get(x) if isinstance(x, reference) else x for x in args]
        found = getattr(self._held, name)(*args)
        if inspect.isawaitable(found):
            found = asyncio.run(found)
        return self._ray.put(found)


@pytest.fixture
def in_this_process(one_ray, monkeypatch):
    """Actors are objects here, where an error in them would have its traceback."""
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.setenv(name, "0")  # restored afterwards: a learner sets them
        monkeypatch.delenv(name)
    threads = torch.get_num_threads()

    def made(self, kind, role=None, *args):
        return Here(one_ray, kind(*args))

    monkeypatch.setattr(Cluster, "actor", made)
    yield
    torch.set_num_threads(threads)
