"""Your turn: six versions of PPO, each with one silent bug. Look at their readings:

    python -m yieldrl.exercises.ch14_debugging.diagnostics

Write `diagnose`. Then open the folders, `broken_01` to `broken_06`, and mend them here.

    yieldrl check ch14

and, when all holds, see what your own rules say of all of them, broken and mended:

    python -m yieldrl.exercises.ch14_debugging.exercise
"""

from yieldrl.exercises.ch14_debugging import (
    broken_01,
    broken_02,
    broken_03,
    broken_04,
    broken_05,
    broken_06,
)
from yieldrl.exercises.ch14_debugging.diagnostics import (
    FOLDERS,
    Readings,
    examine,
    trainer_of,
    with_part,
)


def diagnose(seen: Readings) -> str:
    """What six small experiments point to.

    Args:
        seen: What they gave; `Readings` says what each should be.

    Returns:
        A key of `BUGS` in `diagnostics.py`: `none`, `end`, `ratio`, `gradient`,
        `statistics`, `credit` or `entropy`.
    """
    # The gap. A rule for each bug: if this reading is not what it should be, it is that
    # one. Their order counts, as one bug may spoil several readings: begin with what
    # the others need.
    raise NotImplementedError("diagnose: an actor that stands still is `gradient`")


# A class of each folder, as it is now: override what is wrong in it, so that what its
# author wanted stays, and the bug goes. Leave the folders themselves as they are.


class Mended01(broken_01.Algorithm):
    """Advantages in a loop that can be read."""


class Mended02(broken_02.Algorithm):
    """PPO that asks the policy for `log_prob`."""


class Mended03(broken_03.Algorithm):
    """PPO whose actor has twice the width of its critic."""


class Mended04(broken_04.Model):
    """PPO's actor and critic, which see standardized observations."""


class Mended05(broken_05.Algorithm):
    """PPO with the rows of Sutton & Barto."""


class Mended06(broken_06.Algorithm):
    """PPO with its three terms side by side."""


if __name__ == "__main__":
    parts = Mended01, Mended02, Mended03, Mended04, Mended05, Mended06
    for folder, part in zip(FOLDERS, parts, strict=True):
        broken, mended = trainer_of(folder), with_part(folder, part)
        print(f"{folder}: {diagnose(examine(broken))}", end="")
        print(f", mended: {diagnose(examine(mended))}")
