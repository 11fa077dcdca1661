"""Every side can run what it is asked, and their carts are Gymnasium's."""

from __future__ import annotations

import ast
import importlib
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch

from yieldrl.benchmarks import peers
from yieldrl.benchmarks.peers import rounds
from yieldrl.benchmarks.peers.sides import carts, ours
from yieldrl.benchmarks.peers.sides.contract import Task

SIDES = Path(rounds.__file__).parent / "sides"


def functions_of(side: str) -> set[str]:
    """Workloads that a side's file has, without running it."""
    tree = ast.parse((SIDES / f"{side}.py").read_text("utf-8"))
    keys = [
        key
        for node in ast.walk(tree)
        if isinstance(node, ast.Dict)
        for key in node.keys
    ]
    return {key.value for key in keys if isinstance(key, ast.Constant)}


@pytest.mark.parametrize("name", peers.WORKLOADS)
def test_every_side_can_run_what_it_is_asked(name: str) -> None:
    workload = peers.WORKLOADS[name]
    assert set(workload.peers) <= set(peers.PEERS)
    demands = workload.demands
    assert {demand.over for demand in demands} <= set(workload.peers)
    assert set(workload.part) <= set(workload.peers) - {of.over for of in demands}
    assert name in ours.SIDES
    for peer in workload.peers:
        assert name in functions_of(peer)


@pytest.mark.parametrize("name", peers.WORKLOADS)
def test_workloads_are_settings_of_their_algorithm(name: str) -> None:
    workload = peers.WORKLOADS[name]
    words = json.dumps(dict(workload.settings))
    task = Task(
        workload=name,
        settings=json.loads(words),
        steps=workload.steps,
        warm_up=workload.warm_up,
        planned=workload.planned,
        seed=1,
        threads=workload.threads,
        episodes=1,
    )
    algorithm = "ppo" if name == "short" else workload.title.split(",")[0].lower()
    module = importlib.import_module(f"yieldrl.algorithms.{algorithm}")
    config = module.Config.from_dict(ours.fields_of(task))
    assert config.total_steps == workload.planned
    assert (workload.planned >= 1_000_000) is not workload.cold
    for steps in (workload.steps, workload.quick_steps, *workload.part.values()):
        assert steps > workload.warm_up
    first = workload.settings.get("learning_starts", workload.period)
    assert workload.warm_up > first, "nothing is learned before"


@pytest.mark.parametrize("path", sorted(SIDES.glob("*.py")), ids=lambda path: path.name)
def test_no_peer_imports_yieldrl(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    names = [
        a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names
    ]
    names += [
        n.module or ""
        for n in ast.walk(tree)
        if isinstance(n, ast.ImportFrom) and n.level == 0
    ]
    assert not [name for name in names if name.split(".")[0] == "yieldrl"]


def test_yieldrl_has_settled_when_no_compiler_is_at_work_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ours, "WATCHED_SECONDS", 0.0)
    monkeypatch.setattr(ours, "QUIET_SECONDS", 0.3)
    code = "import sys; print('begun', flush=True); sys.stdin.read()"
    program, pipe = [sys.executable, "-S", "-c", code], subprocess.PIPE
    with (
        subprocess.Popen(program, stdin=pipe),  # which does other work
        subprocess.Popen([*program, ours.COMPILER], stdin=pipe, stdout=pipe) as child,
    ):
        assert child.stdout is not None
        assert child.stdout.readline() == b"begun\n", "before, it has no command line"
        assert ours.is_compiling()
        begin = time.perf_counter()
        settled = ours.Settled()
        assert child.stdin is not None
        child.stdin.close()  # it ends
        while not settled():
            time.sleep(0.01)
        assert time.perf_counter() - begin > 0.3
        assert not ours.is_compiling(), "it has ended, though nobody has asked it"
        assert child.wait() == 0


def test_carts_move_as_gymnasiums_do() -> None:
    env: Any = gymnasium.make("CartPole-v1").unwrapped
    env.reset(seed=1)
    rng = np.random.default_rng(1)
    for _ in range(40):
        before = torch.tensor(np.asarray(env.state), dtype=torch.float32)[None]
        action = int(rng.integers(2))
        obs, _, terminated, *_ = env.step(action)
        after = carts.moved(before, torch.tensor([action == 1]))
        assert after[0].tolist() == pytest.approx(obs.tolist(), abs=1e-6)
        assert carts.fallen(after).item() == terminated
        if terminated:
            env.reset()


def test_carts_begin_anew_after_a_fall_and_after_500_steps() -> None:
    batch = carts.Carts(3)
    batch.ages[1] = 499
    batch.state[2, 0] = 3.0
    terminated, truncated = batch.step(torch.tensor([True, True, True]))
    assert (terminated.tolist(), truncated.tolist()) == (
        [False, False, True],
        [False, True, False],
    )
    assert batch.ages.tolist() == [1, 0, 0]
    assert (batch.state[1:].abs() <= 0.05).all()
