"""Trials of policies that are told what to do: judged, drawn, and tried small."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch

from yieldrl.algorithms import vla_ppo
from yieldrl.benchmarks import plot, results, style
from yieldrl.benchmarks.claims.vla import (
    actions,
    adapters,
    chunks,
    elsewhere,
    goto,
    imports,
    learning,
    phases,
    seeing,
)
from yieldrl.benchmarks.claims.vla.obedience import Misled, obedience
from yieldrl.benchmarks.claims.vla.policies import POLICIES, make_trainer
from yieldrl.benchmarks.registry import CLAIMS
from yieldrl.foundations.text import decode

SMALL: dict[str, Any] = {
    "model_config": {"width": 16, "heads": 2, "layers": 1, "vision_width": 8},
    "num_envs": 8,
    "num_steps": 8,
    "num_epochs": 1,
    "num_minibatches": 2,
    "demonstration_steps": 64,
    "clone_steps": 2,
    "total_steps": 192,
    "eval_every": 64,
    "eval_episodes": 4,
    "device": "cpu",
}


def run_of(
    side: str, seed: int, cloned: dict[str, float], improved: dict[str, float]
) -> dict[str, Any]:
    curve = [(20_000, 0.6, 0.6), (60_000, 0.9, 0.8)]
    times = {"clone_seconds": 10.0, "ppo_seconds": 20.0, "seconds": 20.0}
    sizes = {"parameters": 1000, "trained": 100 if side == "lora" else 1000}
    sizes |= {"kept_mebibytes": 1, "peak_mebibytes": 400}
    named = {"side": side, "seed": seed, "curve": curve}
    return {**named, **times, **sizes, "cloned": cloned, "improved": improved}


def told(seen: float, misled: float) -> dict[str, float]:
    return {"seen": seen, "unseen": seen / 2, "misled": misled}


def obedient(gain: float = 0.1, misled: float = 0.35) -> list[dict[str, Any]]:
    return [
        run_of(side, seed, told(0.8, 0.3), told(0.8 + gain, misled))
        for side in POLICIES
        for seed in (1, 2)
    ]


def arms(gain: float) -> list[dict[str, Any]]:
    scores = [{"success": 0.5 + x, "return": -6 + x} for x in (0, gain)]
    return [run_of("vla", seed, *scores) for seed in (1, 2)]


def sides_of(sides: Any, gain: float = 0.1) -> list[dict[str, Any]]:
    scores = [{"success": 0.5 + x, "looks": 3} for x in (0.0, gain)]
    return [run_of(side, seed, *scores) for side in sides for seed in (1, 2)]


def waited(sync: float, success: float = 0.8) -> list[dict[str, Any]]:
    side = {"success": 0.8, "policy_lag": 0.0}
    return [
        {
            "seed": seed,
            "sync": {**side, "seconds": sync},
            "async": {**side, "seconds": 10.0, "success": success},
        }
        for seed in (1, 2)
    ]


def critics(gain: float = 0.2, sides: Any = seeing.SIDES) -> list[dict[str, Any]]:
    curve = [(0, 0.5, 0.4, 1.0, 0, 0, 0), (99, 0.7, 0.6, 0.9, 0.1, 0.5, 3.0)]
    ends = dict(zip(seeing.NAMES, curve[1], strict=True))
    side = {"begin": ends, "halfway": ends, "end": ends, "curve": curve}
    side |= {"improved": {"success": 0.5 + gain}}
    both = dict.fromkeys(sides, side)
    return [{"seed": n, "cloned": {"success": 0.5}, **both} for n in (1, 2)]


def started(loaded: list[str]) -> list[dict[str, Any]]:
    side = {"seconds": 1.0, "mebibytes": 200.0, "loaded": []}
    return [
        {"pair": n, "without": side, "installed": {**side, "loaded": loaded}}
        for n in range(1, 4)
    ]


def profiled() -> list[dict[str, Any]]:
    spent = dict.fromkeys(phases.PHASES, 0.5)
    return [{"policy": p, "seed": 1, "parameters": 9, **spent} for p in POLICIES]


RUNS = {
    "goto": obedient(),
    "policies": profiled(),
    "reacher": arms(0.2),
    "chunks": sides_of(chunks.SIDES),
    "adapters": sides_of(adapters.SIDES),
    "seeing": critics(),
    "actions": critics(sides=actions.SIDES),
    "elsewhere": waited(19.0),
    "imports": started([]),
}


@pytest.mark.parametrize("name", CLAIMS["vla"])
def test_a_claim_is_a_table_and_a_figure(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim, runs = CLAIMS["vla"][name], RUNS[name]
    assert all(verdict.holds for verdict in claim.judge(runs))
    assert results.table(*claim.table(runs)).count("\n") >= 3
    monkeypatch.setitem(style.STYLE, "svg.fonttype", "none")
    result = {"kind": "vla", "trial": name, "runs": runs}
    path = tmp_path / f"vla-{name}.svg"
    svg = plot.draw(plot.draw_claim, result, path).read_text()
    assert len(re.findall(r"<text[^>]*>([^<]*)</text>", svg)) > 8


def judged(name: str, runs: Any) -> Any:
    return CLAIMS["vla"][name].judge(runs)


def test_what_is_demanded_can_fail() -> None:
    held = [
        verdict.holds for verdict in judged("goto", obedient(gain=-0.2, misled=0.6))
    ]
    assert held == [False, False, False]
    assert not any(verdict.holds for verdict in judged("reacher", arms(-0.1)))
    assert [v.holds for v in judged("elsewhere", waited(17.0, 0.7))] == [
        False,
        False,
    ]
    assert not judged("imports", started(["peft"]))[-1].holds
    assert not any(v.holds for v in judged("chunks", sides_of(chunks.SIDES, -0.1)))
    found = judged("adapters", sides_of(adapters.SIDES, -0.1))
    assert [v.holds for v in found] == [True, False]


def test_misled_policies_are_told_of_any_object_whichever_is_meant() -> None:
    envs = Misled(4096, view="pixels", height=5, width=5)
    obs, _ = envs.reset(seed=0)
    state = envs.unfold(envs.state)
    means = [(state["named"] == k).float().mean().item() for k in range(3)]
    assert means == pytest.approx([1 / 3] * 3, abs=0.03)
    alike = (state["named"] == state["goal"]).float().mean().item()
    assert alike == pytest.approx(1 / 3, abs=0.03)
    kinds = state["kinds"].gather(0, state["named"].unsqueeze(0)).squeeze(0)
    colors = ["red", "green", "blue", "yellow"]
    heard = [colors.index(text.split()[-2]) for text in decode(obs["language"])]
    assert heard == (kinds // 3).tolist()


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_is_cloned_improved_and_looked_at(
    policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("yieldrl.benchmarks.claims.vla.obedience.EPISODES", 8)
    monkeypatch.setattr("yieldrl.benchmarks.claims.vla.obedience.SIDE_BY_SIDE", 4)
    monkeypatch.setattr(goto, "GOTO", SMALL | {"env_kwargs": {"goals": "seen"}})
    run = goto.train(policy, 1)
    for when in ("cloned", "improved"):
        assert set(run[when]) == {"seen", "unseen", "misled"}
        assert all(0 <= rate <= 1 for rate in run[when].values())
    assert [step for step, *_ in run["curve"]] == [64, 128, 192]
    assert run["trained"] == run["parameters"]


def test_an_expert_is_obedient_and_not_when_it_is_told_wrong() -> None:
    """A policy that goes where the sentence says: 1 where it is true, 1/3 else."""

    class Obedient:
        def predict(self, obs: Any) -> torch.Tensor:
            return self.envs.expert()

    config = vla_ppo.Config(**SMALL | {"demonstration_steps": 0})
    with make_trainer("vla", config) as trainer:
        trainer.agent = agent = Obedient()

        def known(envs: Any) -> Any:
            agent.envs = envs
            if isinstance(envs, Misled):
                rewarded, envs.expert = envs.expert, None

                def named() -> torch.Tensor:
                    state, goal = envs.state, envs.unfold(envs.state)["goal"]
                    told = envs.unfold(state)["named"]
                    envs.state = {**envs.unfold(state), "goal": told}
                    action = rewarded()
                    envs.state = {**envs.unfold(envs.state), "goal": goal}
                    envs.state = state
                    return action

                envs.expert = named
            return envs

        trainer.wrap_envs = known
        rates = obedience(trainer)
    assert min(rates["seen"], rates["unseen"]) > 0.99  # where no way is barred
    assert rates["misled"] == pytest.approx(1 / 3, abs=0.07)


IMPROVE = {"total_steps": 128, "demonstration_steps": 0}


def clone_of(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a trial begins from: a small clone in a file."""
    monkeypatch.setattr(learning, "CLONE", SMALL)
    monkeypatch.setattr(learning, "EPISODES", 4)
    clone = learning.clone(str(folder / "clone.pt"), 2)
    assert set(clone["cloned"]) == {"success", "looks"}
    return clone


def test_adapters_go_on_from_the_clone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapters, "CLONE", SMALL)
    monkeypatch.setattr(adapters, "PPO", IMPROVE)
    path = clone_of(tmp_path, monkeypatch)["path"]
    full, lora = (adapters.improve(path, side, 1) for side in adapters.SIDES)
    assert full["trained"] == full["parameters"]
    assert lora["trained"] < lora["parameters"] > full["parameters"]
    assert lora["kept_mebibytes"] < full["kept_mebibytes"]


def test_both_kinds_of_ratio_go_on_from_one_clone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(chunks, "CLONE", SMALL)
    monkeypatch.setattr(chunks, "PPO", IMPROVE)
    monkeypatch.setattr(learning, "EPISODES", 4)
    runs = [run for length in (1, 4) for run in chunks.train(length, 1)["runs"]]
    assert [run["side"] for run in runs] == ["1", "4, chunk", "4, token"]
    assert runs[1]["cloned"] == runs[2]["cloned"]
    assert [step for step, *_ in runs[1]["curve"]] == [64, 128]


def test_with_and_without_a_critic_go_on_from_one_clone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clone = {"total_steps": 128, "demonstration_steps": 64, "clone_steps": 2}
    tried = {"total_steps": 256, "eval_every": 128, "eval_episodes": 4}
    monkeypatch.setattr(seeing, "CLONE", {**clone, "eval_every": 0})
    monkeypatch.setattr(seeing, "BOTH", {**seeing.BOTH, **tried})
    monkeypatch.setattr(seeing, "WORLD", {**seeing.WORLD, "num_envs": 16})
    monkeypatch.setattr(seeing, "STARTS", 8)
    monkeypatch.setattr(learning, "EPISODES", 4)
    run = seeing.train(1)
    assert run["ppo"]["end"]["informative"] == 0 < run["grpo"]["end"]["informative"]
    for side in seeing.SIDES:
        steps = [row[0] for row in run[side]["curve"]]
        assert steps == [0, 128, 256]
        kl = [row[seeing.NAMES.index("kl")] for row in run[side]["curve"]]
        assert kl[0] == pytest.approx(0, abs=1e-4), "it is the clone"
        assert kl[2] != kl[0]
        assert 0 < run[side]["begin"]["seconds"] < run[side]["end"]["seconds"]
    assert not any(v.holds for v in judged("seeing", critics(0.0))[:1])


def test_values_of_actions_begin_as_those_of_chunks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clone = {"total_steps": 128, "demonstration_steps": 64, "clone_steps": 2}
    tried = {"total_steps": 384, "eval_every": 128, "eval_episodes": 4}
    tried |= {"critic_warmup_steps": 16}  # the first of three rollouts
    world = {**actions.WORLD, "num_envs": 32}
    monkeypatch.setattr(actions, "CLONE", {**clone, "eval_every": 0})
    monkeypatch.setattr(actions, "BOTH", {**actions.BOTH, **tried})
    monkeypatch.setattr(actions, "WORLD", world)
    monkeypatch.setattr(seeing, "STARTS", 8)
    monkeypatch.setattr(learning, "EPISODES", 4)
    run = actions.train(1)
    for side in actions.SIDES:
        kl = [row[seeing.NAMES.index("kl")] for row in run[side]["curve"]]
        assert kl[:2] == pytest.approx([0, 0], abs=1e-4), "it is the clone"
        assert kl[-1] != kl[0]
    assert run["chunk"]["end"] != run["action"]["end"]
    assert actions.better([run]) == [
        run["action"]["improved"]["success"] - run["chunk"]["improved"]["success"]
    ]
    few = critics(0.05, actions.SIDES)
    assert not any(v.holds for v in judged("actions", few))


def test_both_sides_go_on_from_one_clone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(elsewhere, "CLONE", SMALL)
    monkeypatch.setattr(elsewhere, "LOOK_SECONDS", 0.001)
    monkeypatch.setattr(elsewhere, "PPO", {**IMPROVE, "eval_every": 0})
    run = elsewhere.pair(**clone_of(tmp_path, monkeypatch))
    assert run["sync"]["policy_lag"] == 0
    assert run["async"]["policy_lag"] > 0
    assert all(run[side]["seconds"] > 0.016 for side in elsewhere.SIDES)


def test_starting_without_the_extra_finds_nothing_of_it() -> None:
    found = imports.start("without")
    assert found["loaded"] == []
    assert found["mebibytes"] > 50


def test_all_of_a_round_is_spent_on_something(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(phases, "GOTO", {**SMALL, "eval_every": 0})
    monkeypatch.setattr(phases, "ROUNDS", 1)
    small = {key: SMALL[key] for key in SMALL if key != "demonstration_steps"}
    monkeypatch.setattr(phases, "GOTO", small)
    run = phases.profile("vla", 1)
    assert min(run[phase] for phase in phases.PHASES) > 0
    assert run["learn"] > run["world"]
