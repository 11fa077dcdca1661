"""What the type of a config's field says about its values is checked by the base."""

import math
from dataclasses import dataclass
from typing import Annotated

import pytest

from yieldrl.foundations import (
    Config,
    Constraint,
    Count,
    Positive,
    Range,
    UnitInterval,
    Widths,
)


class Even(Constraint):
    def remedy(self, value):
        return None if value % 2 == 0 else "choose an even number"


@dataclass(frozen=True, kw_only=True)
class Parent(Config):
    rate: Positive | None = None
    share: UnitInterval = 0.5
    pairs: tuple[UnitInterval, Count] = (0.5, 1)
    sizes: tuple[Count, ...] = (1, 2)
    even: Annotated[int, Range(0, 10), Even()] = 2
    widths: Widths = (4,)


@dataclass(frozen=True, kw_only=True)
class Child(Parent):
    share: float = 0.25  # a default of its own
    even: Annotated[int, Range(-4, 4)] = -1  # a range of its own


@dataclass(frozen=True, kw_only=True)
class ByHand(Child):
    most: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_range("most", low=1, high=self.num_envs)


WRONG = [
    ({"rate": 0.0}, r"rate = 0.0: choose a number above 0 and at most 1e\+18$"),
    ({"rate": True}, r"rate = True: wrong type: it must be float \| None$"),
    ({"share": 1.5}, r"share = 1.5: choose a number at least 0 and at most 1$"),
    ({"share": math.nan}, r"share = nan: choose a finite number$"),
    ({"pairs": (0.5, 0)}, r"pairs = \(0.5, 0\): choose a number at least 1"),
    ({"sizes": (1, 2, 0)}, r"sizes = \(1, 2, 0\): choose a number at least 1"),
    ({"even": 3}, r"even = 3: choose an even number$"),
    ({"even": 12}, r"even = 12: choose a number at least 0 and at most 10$"),
    ({"widths": (0,)}, r"widths = \(0,\): every width must be at least 1$"),
]


def test_a_type_says_which_values_a_field_takes():
    for values, message in WRONG:
        with pytest.raises(ValueError, match=f"^Parent.{message}"):
            Parent(**values)
    assert Parent(rate=None).rate is None


def test_a_default_of_its_own_keeps_the_range_of_the_parent():
    assert Child().share == 0.25
    with pytest.raises(ValueError, match=r"^Child.share = 2.0: choose a number"):
        Child(share=2.0)


def test_a_range_of_its_own_replaces_that_of_the_parent():
    assert Child(even=-3).even == -3
    with pytest.raises(ValueError, match=r"^Child.even = 5: .* at least -4 and at"):
        Child(even=5)


def test_a_config_may_check_a_range_that_depends_on_other_fields():
    assert ByHand(num_envs=8, most=8).most == 8
    with pytest.raises(ValueError, match=r"^ByHand.most = 9: choose .* at most 8$"):
        ByHand(num_envs=8, most=9)
