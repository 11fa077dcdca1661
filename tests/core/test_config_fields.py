"""Values of configs: those that no machine or file holds are refused by their field."""

import dataclasses
import importlib
import math
import re
import typing
from typing import Annotated

import numpy as np
import pytest
import torch
from pydantic import Field
from pydantic.dataclasses import dataclass

from yieldrl.algorithms import dqn, ppo, q_learning
from yieldrl.cli import catalog
from yieldrl.core import Config, Count, Positive, Runtime, UnitInterval, Widths
from yieldrl.core.config import SyncOnly

CLASSES = {
    name: importlib.import_module(f"yieldrl.algorithms.{name}").Trainer.config_class
    for name in catalog.folders()
}


@dataclass(frozen=True, kw_only=True)
class Parent(Config):
    rate: Positive | None = None
    share: UnitInterval = 0.5
    sizes: tuple[Count, ...] = (1, 2)
    even: Annotated[int, Field(ge=0, le=10, multiple_of=2)] = 2
    widths: Widths = (4,)


@dataclass(frozen=True, kw_only=True)
class Child(Parent):
    share: float = 0.25  # a default of its own
    even: Annotated[int, Field(ge=-4, le=4)] = -1  # a range of its own
    most: int = 3

    def __post_init__(self):
        super().__post_init__()
        self._check_range("most", low=1, high=self.num_envs)


WRONG = [
    (Parent, {"share": math.nan}, "share = nan: .* finite"),
    (Parent, {"sizes": (1, 2, 0)}, r"sizes\.2 = 0: .* greater than or equal to 1"),
    (Parent, {"even": 3}, "even = 3: .* multiple of 2"),
    (Parent, {"widths": (0,)}, r"widths.0 = 0: .* greater than or equal to 1"),
    (Child, {"share": 2.0}, "share = 2.0: .* less than or equal to 1"),
    (Child, {"even": 5}, "even = 5: .* less than or equal to 4"),
    (Child, {"num_envs": 8, "most": 9}, "most = 9: choose .* at most 8"),
    (ppo.Config, {"num_envs": True}, "num_envs = True: it must be a number"),
    (ppo.Config, {"num_envs": 10**7}, "num_envs = 10+: .* equal to 1048576"),
    (ppo.Config, {"num_steps": 2**20, "num_envs": 2**20}, "choose at most 2047"),
    (dqn.Config, {"hidden_sizes": (8,) * 100}, "at most 64 items"),
    (ppo.Config, {"env_kwargs": {"a": object()}}, "env_kwargs = .*envs=lambda"),
    (ppo.Config, {"env_kwargs": {"a": math.nan}}, "env_kwargs = .*nothing that a file"),
    (ppo.Config, {"env_kwargs": {"a": {0: 1}}}, "env_kwargs = .*nothing that a file"),
    (ppo.Config, {"env_kwargs": {"a": torch.ones(1)}}, "env_kwargs = .*nothing that"),
]


def test_what_does_not_fit_is_refused_by_its_field():
    for config_class, values, message in WRONG:
        with pytest.raises(ValueError, match=message):
            config_class.from_dict(values)
        with pytest.raises(ValueError):  # noqa: PT011 (pydantic's own words)
            config_class(**values)


def test_every_number_has_a_largest_value():
    for name in ("ppo", "dqn", "dreamer", "vla_grpo", "behavior_cloning"):
        config_class = CLASSES[name]
        hints = typing.get_type_hints(config_class)
        for entry in dataclasses.fields(config_class):
            kinds = {hints[entry.name], *typing.get_args(hints[entry.name])}
            if kinds & {int, float} and hints[entry.name] != tuple[int, ...]:
                with pytest.raises(ValueError, match=rf"Config\.{entry.name} = 9+"):
                    config_class.from_dict({entry.name: 10**19 - 1})
    CLASSES["ppo"](num_envs=65_536, num_steps=64, threads=256, hidden_sizes=(4096,) * 3)
    CLASSES["rainbow"](batch_size=32_768, buffer_size=10**7, n_step=20, num_atoms=201)


def test_numbers_of_numpy_become_pythons_and_tuples_for_files_lists():
    given = {"size": (np.int64(3), 4), "rate": [np.float32(0.5)]}
    config = Parent(
        share=np.float64(0.25),
        num_envs=np.int64(2),  # type: ignore[arg-type]
        sizes=[8, 8],  # type: ignore[arg-type]
        env_kwargs=given,
    )
    assert config.sizes == (8, 8)
    assert (type(config.share), type(config.num_envs)) == (float, int)
    given["rate"].append(1)
    assert config.env_kwargs == {"size": [3, 4], "rate": [0.5]}


def test_a_class_of_the_standard_dataclass_would_check_nothing():
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Unchecked(ppo.Config):
        beta: float = 0.0

    with pytest.raises(TypeError, match="take the `dataclass` of pydantic"):
        Unchecked(beta=1.0)


UNUSED = {
    "a2c": "num_epochs num_minibatches clip_coef clip_value target_kl desired_kl",
    "behavior_cloning": "actor_obs critic_obs",
    "c51": "error_clip",
    "rainbow": "error_clip",
    "vla_ppo": "actor_obs critic_obs",
    "sac": "exploration_noise policy_noise noise_clip",
}


def test_what_means_nothing_to_a_variant_is_not_a_field_there():
    for name, fields in UNUSED.items():
        for field in fields.split():
            assert field not in CLASSES[name]().to_dict()
            with pytest.raises(ValueError, match=f"has no field '{field}'"):
                CLASSES[name].from_dict({field: None})


def test_what_cannot_be_compiled_says_why():
    for config_class in CLASSES.values():
        assert not config_class().compile
        config = config_class(compile=True)
        if config_class.uncompiled is None:
            assert Runtime(config, torch.device("cpu")).function("it", len) is not len
            continue
        with pytest.raises(ValueError, match=re.escape(config_class.uncompiled)):
            Runtime(config, torch.device("cpu"))


def test_processes_on_ray_need_collection_on_ray():
    for name in ("inference_actors", "learners", "eval_actors"):
        with pytest.raises(ValueError, match=rf"{name} = 2.*collection='ray'"):
            ppo.Config(**{name: 2})
        assert getattr(ppo.Config(collection="ray", **{name: 2}), name) == 2
    with pytest.raises(ValueError, match=r"replay_actor = True.*collection='ray'"):
        dqn.Config(replay_actor=True)


def test_who_takes_turns_has_none_of_these_fields():
    own = set(SyncOnly.__annotations__)
    assert own <= set(q_learning.Config().to_dict())
    for name in ("reinforce", "sarsa"):
        assert not own & set(CLASSES[name]().to_dict())
        assert CLASSES[name]().collection == "sync"
