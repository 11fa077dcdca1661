"""Processes that stay from test to test: to start one takes three seconds of a core."""

import asyncio
import inspect

import ray

KEPT = {"EvalActor", "ReplayBufferActor", "RolloutWorkerActor", "StatsActor"}
KEPT |= {"ImaginationRolloutActor"}
KEPT_ASYNC = {"InferenceActor"}


@ray.remote(num_cpus=0)
class Process:
    """Holds an actor's object, one after the other."""

    def hold(self, kind, *args):
        self.held = kind(*args)

    def call(self, method, *args):
        return getattr(self.held, method)(*args)

    def drop(self):
        self.held = None


@ray.remote(num_cpus=0)
class AsyncProcess:
    """Likewise, of an actor whose methods may wait for each other."""

    held = None

    async def hold(self, kind, *args):
        self.held = kind(*args)

    async def call(self, method, *args):
        while self.held is None:  # another process may ask before it is made
            await asyncio.sleep(0.01)
        found = getattr(self.held, method)(*args)
        return await found if inspect.isawaitable(found) else found

    async def drop(self):
        self.held = None


class Kept:
    """What a handle is to an actor, to an object in such a process."""

    def __init__(self, process):
        self.process = process

    def __getattr__(self, name):
        if name.startswith("_") or name == "process":
            raise AttributeError(name)
        return Method(self.process, name)


class Method:
    """A method of such an object: `remote` calls it."""

    def __init__(self, process, name):
        self.process, self.name = process, name

    def remote(self, *args):
        return self.process.call.remote(self.name, *args)


class Processes:
    """Those that are free, and those that are in use."""

    def __init__(self):
        self.free = {Process: [], AsyncProcess: []}
        self.used = []

    def keeps(self, kind):
        """Whether its actors are such objects."""
        return kind.__name__ in KEPT | KEPT_ASYNC

    def actor(self, kind, *args):
        """A `Kept` with an object of its own."""
        how = AsyncProcess if kind.__name__ in KEPT_ASYNC else Process
        process = self.free[how].pop() if self.free[how] else how.remote()
        self.used.append((how, process))
        process.hold.remote(kind, *args)
        return Kept(process)

    def end_all(self):
        """Let all objects go; the processes are free."""
        ray.get([process.drop.remote() for _, process in self.used], timeout=60)
        for how, process in self.used:
            self.free[how].append(process)
        self.used.clear()
