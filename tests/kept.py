"""Processes that stay from test to test: to start one takes three seconds of a core."""

from typing import Any

import ray

KEPT = {"RolloutWorkerActor", "StatsActor"}


@ray.remote(num_cpus=0)
class Process:
    """Holds an actor's object, one after the other."""

    def hold(self, kind, *args):
        self.held = kind(*args)

    def call(self, method, *args):
        return getattr(self.held, method)(*args)

    def drop(self):
        self.held = None


class Kept:
    """What a handle is to an actor, to an object in such a process."""

    def __init__(self, process: Any) -> None:
        self.process = process

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "process":
            raise AttributeError(name)
        return Method(self.process, name)


class Method:
    """A method of such an object: `remote` calls it."""

    def __init__(self, process: Any, name: str) -> None:
        self.process, self.name = process, name

    def remote(self, *args):
        return self.process.call.remote(self.name, *args)


class Processes:
    """Those that are free, and those that are in use."""

    def __init__(self) -> None:
        self.free: list[Any] = []
        self.used: list[Any] = []

    def actor(self, kind, *args):
        """A `Kept` with an object of its own."""
        process = self.free.pop() if self.free else Process.remote()
        self.used.append(process)
        process.hold.remote(kind, *args)
        return Kept(process)

    def end_all(self):
        """Let all objects go; the processes are free."""
        ray.get([process.drop.remote() for process in self.used], timeout=60)
        self.free += self.used
        self.used.clear()
