"""One Ray for all tests of the room: to start it takes seconds."""

import os

import pytest
import ray


@pytest.fixture(scope="session", autouse=True)
def one_ray():
    """Trainers join it, and leave it running."""
    os.environ["RAY_AUTH_MODE"] = "disabled"
    os.environ["RAY_memory_monitor_refresh_ms"] = "0"  # noqa: SIM112
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112 (15 starves where others work)
    ray.init(
        num_cpus=4,  # as many processes are started at once
        include_dashboard=False,
        log_to_driver=False,
        object_store_memory=100 * 2**20,
    )
    yield
    ray.shutdown()
