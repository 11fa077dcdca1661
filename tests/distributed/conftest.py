"""One Ray for the tests that ask for it, and processes in it: both take long."""

import gc
import os
import warnings

import pytest

from yieldrl.distributed.cluster import Cluster


@pytest.fixture(scope="session")
def one_ray():
    """Trainers join it, and leave it running. A busy machine may need a second try."""
    ray = pytest.importorskip("ray", reason="this test needs Ray")
    os.environ["RAY_AUTH_MODE"] = "disabled"
    os.environ["RAY_memory_monitor_refresh_ms"] = "0"  # noqa: SIM112
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112 (15 starves where others work)
    options = {"include_dashboard": False, "log_to_driver": False}
    options |= {"num_cpus": 4, "object_store_memory": 100 * 2**20}
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
