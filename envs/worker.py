"""A process that steps one environment of a `ProcessVectorEnv`."""

import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import cloudpickle
import gymnasium as gym
from gymnasium.vector.utils import write_to_shared_memory

from yieldrl.envs.pipes import UNSENT_ERRORS, sendable_error
from yieldrl.envs.single_answers import (
    Place,
    check_observation,
    first_answer,
    step_answer,
)
from yieldrl.foundations import derive_seed, seed_everything


def work(
    index: int,
    env_fn: Callable[[], gym.Env],
    pipe: Any,
    parent_pipe: Any,
    shared_memory: Any,
    error_queue: Any,
    autoreset_mode: Any,
    semaphore: Any,
) -> None:
    """Answer the commands of an `AsyncVectorEnv` in SAME_STEP mode until it closes; the
    first answer says why the environment could not be made, or None."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # handled by the trainer
    parent_pipe.close()
    threading.Thread(target=_end_with_the_trainer, daemon=True).start()
    try:
        env = env_fn()
    except BaseException as error:
        told = "".join(traceback.format_exception(error)).rstrip()
        pipe.send((f"{type(error).__name__}: {error}", told))
        return
    pipe.send(None)
    commands = Commands(env, index, shared_memory)
    try:
        command = None
        while command != "close":
            try:
                command, data = pipe.recv()
            except EOFError:
                break  # the trainer is gone
            _send(pipe, (commands.answer(command, data), True))
    except (BrokenPipeError, ConnectionResetError):
        pass  # the trainer is gone
    except Exception as error:
        kind, text = sendable_error(error)
        if f"environment {index}" not in text:
            text += f" (in environment {index}, at step {commands.steps})"
        error_queue.put((index, kind, text, traceback.format_exc()))
        pipe.send((None, False))
    finally:
        env.close()


class Commands:
    """The commands of an `AsyncVectorEnv` to one environment, by name.

    Observations are checked before they are written, because shared memory would
    silently broadcast wrong shapes and cast invalid values.
    """

    def __init__(self, env: gym.Env, index: int, shared_memory: Any) -> None:
        self.env, self.index, self.shared_memory = env, index, shared_memory
        self.steps = 0  # of the current episode

    def answer(self, command: str, data: Any) -> Any:
        known = {
            "reset": self.reset,
            "reset-noop": lambda _: (None, {}),
            "step": self.step,
            "close": lambda _: None,
            "_call": self.call,
            "_setattr": lambda pair: self.env.set_wrapper_attr(*pair),
            "_check_spaces": self.same_spaces,
        }
        return known[command](data)

    def reset(self, data: dict[str, Any]) -> tuple[None, dict[str, Any]]:
        """Begin an episode; a seed seeds the global generators of the process, too."""
        if data.get("seed") is not None:
            seed_everything(derive_seed(int(data["seed"]), "worker"))
        obs, info = self._begin(**data)
        self._write(obs)
        return None, info

    def step(self, action: Any) -> tuple[Any, ...]:
        self.steps += 1
        answer = step_answer(self.env.step(action), self._place())
        obs, reward, terminated, truncated, info = answer
        self._check(obs)
        if terminated or truncated:
            # Copies, because the reset may write into the same arrays.
            last, said = deepcopy(obs), deepcopy(info)
            obs, info = self._begin()
            info = {"final_info": said, "final_obs": last, **info}
        self._write(obs)
        return None, reward, terminated, truncated, info

    def call(self, data: tuple[str, Any, Any]) -> Any:
        name, args, kwargs = data
        value = self.env.get_wrapper_attr(name)
        return value(*args, **kwargs) if callable(value) else value

    def same_spaces(self, data: tuple[Any, Any, Any]) -> tuple[bool, bool]:
        _, observation_space, action_space = data
        same = observation_space == self.env.observation_space
        return same, action_space == self.env.action_space

    def _begin(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        self.steps = 0
        obs, info = first_answer(self.env.reset(**kwargs), self._place())
        self._check(obs)
        return obs, info

    def _place(self) -> Place:
        return Place(self.index, self.env, self.steps)

    def _check(self, obs: Any) -> None:
        check_observation(self.env.observation_space, obs, self._place())

    def _write(self, obs: Any) -> None:
        space = self.env.observation_space
        write_to_shared_memory(space, self.index, obs, self.shared_memory)


def _send(pipe: Any, answer: Any) -> None:
    try:
        pipe.send(answer)
    except UNSENT_ERRORS:  # for example of a class that the program defines
        pipe.send_bytes(cloudpickle.dumps(answer))


def _end_with_the_trainer() -> None:
    """End this process as soon as the process that started it has ended."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
