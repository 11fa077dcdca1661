"""What `evidence` measures: claims that a learning curve does not show.

A claim is a function of a seed, which runs in a process of its own and returns names
with numbers, or with points `[x, y]` that make a line of the figure; and a criterion
that says whether these numbers bear it out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import (
    cliff,
    clipping,
    debugging,
    masking,
    overestimation,
    prioritization,
    redundancy,
    signpost,
    stability,
    widths,
)

Measured = Mapping[str, Any]
"""Name -> a number, or a line as points `[x, y]`."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """Something that is said of an algorithm, and how it can turn out false."""

    statement: str
    """What is claimed, in a sentence."""

    measure: Callable[[int], dict[str, Any]]
    """From a seed to what was measured. Lines named "dqn, estimated" and "dqn, true"
    get one colour, the first of them drawn through and the others dashed."""

    criterion: str
    """What must hold on a seed, in words."""

    holds: Callable[[Measured], bool]
    """Whether that holds in what was measured."""

    share: float = 1.0
    """Share of the seeds on which it must hold."""

    x_label: str = "environment steps"
    """What lies along the figure's lines."""

    y_label: str = ""
    """What the lines show."""

    def needed(self, seeds: int) -> int:
        """On how many of so many seeds it must hold."""
        return round(self.share * seeds)

    def passed(self, runs: Sequence[Measured]) -> int:
        """On how many seeds it does."""
        return sum(bool(self.holds(run)) for run in runs)


CLAIMS = {
    "debugging-cartpole": Claim(
        statement=(
            "Of six bugs in PPO that raise no error four show in a reading on CartPole,"
            " and two in worlds whose answer is known."
        ),
        measure=debugging.on_cartpole,
        criterion=(
            "1 promises 20 more than is earned, 2 has an approx_kl of 0, 3 all the"
            " entropy there is, 4 loses 50 of the return by saving and loading, 5 has"
            " the readings of the right one and does not tell a step that pays from one"
            " that costs, 6 is decided where only being undecided pays; PPO is right in"
            " all of that"
        ),
        holds=lambda m: (
            m["promised too much, right"] < 20 < m["promised too much, broken_01"]
            and m["approx_kl, broken_02"] < 1e-6 < m["approx_kl, right"]
            and m["entropy at the end, right"] < 0.69
            and m["entropy at the end, broken_03"] > 0.69
            and m["lost by saving, right"] < 50 < m["lost by saving, broken_04"]
            and m["readings that differ, broken_05"] == 0
            and m["sides, broken_05"] < 0.5 < 1.9 < m["sides, right"]
            and m["undecided, broken_06"] < 0.5 < 0.9 < m["undecided, right"]
        ),
        y_label="reading",
    ),
    "dqn-clipping": Claim(
        statement="Where returns are long, clipped errors let DQN's values drift away.",
        measure=clipping.in_cartpole,
        criterion="clipped, values go further beyond the possible 100 than squared",
        holds=lambda m: (
            m["highest with clipped errors"]
            > max(100.0, m["highest with squared errors"])
        ),
        share=0.8,
        y_label="highest value of a remembered state",
    ),
    "dqn-stability": Claim(
        statement=(
            "Without its target network DQN's values pass what is possible, without"
            " replay they hardly tell a falling pole from an upright one."
        ),
        measure=stability.in_cartpole,
        criterion=(
            "upright, values pass the possible 100 if the target network alone is"
            " missing, and never with it; falling, where the truth is 1, they are"
            " higher if replay alone is missing than with both"
        ),
        holds=lambda m: (
            m["upright, both"] <= 100 < m["upright, no target network"]
            and m["upright, no replay"] <= 100
            and m["falling, both"] < m["falling, no replay"]
        ),
        share=0.8,
        y_label="value of the greedy action",
    ),
    "double_dqn-chance": Claim(
        statement="In a game of chance DQN believes in its luck, Double DQN less so.",
        measure=overestimation.in_chance,
        criterion="the mean value, which should be 0, is at most half of DQN's",
        holds=lambda m: m["bias of double_dqn"] <= m["bias of dqn"] / 2,
        share=0.8,
        y_label="value of the greedy action",
    ),
    "double_dqn-pendulum": Claim(
        statement="DQN overestimates what its policy earns, Double DQN does so less.",
        measure=overestimation.in_pendulum,
        criterion="DQN's values are above the true returns, and Double DQN's less far",
        holds=lambda m: m["bias of dqn"] > max(0.0, m["bias of double_dqn"]),
        share=0.8,
        y_label="discounted return",
    ),
    "dueling_dqn-actions": Claim(
        statement="Where most actions do nothing, a dueling network learns faster.",
        measure=redundancy.in_corridor,
        criterion="halfway through the updates its squared error is below DQN's",
        holds=lambda m: m["error of dueling_dqn"] < m["error of dqn"],
        share=0.8,
        x_label="updates",
        y_label="mean squared error of the values",
    ),
    "sarsa-online": Claim(
        statement="On the cliff SARSA earns more than Q-learning while it explores.",
        measure=cliff.online,
        criterion="its training episodes return more in the second half of the steps",
        holds=lambda m: m["return of sarsa"] > m["return of q_learning"],
        y_label="return of an episode with exploration",
    ),
    "ppo_lstm-signpost": Claim(
        statement=(
            "What an LSTM holds of the T-maze's signpost decides where it turns: with"
            " the memory of the other episode it turns the other way."
        ),
        measure=signpost.in_t_maze,
        criterion=(
            "it turns right with a probability of 0.95 or more with its own memory, and"
            " of 0.05 or less with the exchanged one"
        ),
        holds=lambda m: (
            m["right turns, exchanged"] <= 0.05 and m["right turns"] >= 0.95
        ),
        x_label="steps since the signpost",
        y_label="probability of turning north",
    ),
    "ppo_masked-possible": Claim(
        statement="Masks never let an impossible action through, in a million steps.",
        measure=masking.in_taxi,
        criterion="of a million actions none is impossible, sampled or predicted",
        holds=lambda m: (
            m["actions"] >= 1_000_000
            and m["impossible, sampled"] == m["impossible, predicted"] == 0
        ),
    ),
    "prioritized_dqn-cliffwalk": Claim(
        statement="From rare memories prioritized replay learns in fewer updates.",
        measure=prioritization.in_cliffwalk,
        criterion="its values are right after fewer updates than DQN's",
        holds=lambda m: m["updates of prioritized_dqn"] < m["updates of dqn"],
        share=0.9,
        x_label="updates",
        y_label="mean squared error of the values",
    ),
    "widths-cartpole": Claim(
        statement=(
            "As many transitions teach PPO less in wider rollouts, which are too short"
            " or leave fewer gradient steps."
        ),
        measure=widths.on_cartpole,
        criterion=(
            "over the second half, rollouts of 512 x 1 and of 1024 x 32 return less"
            " than half of what those of 4 x 128 do; to return 475, those of 1024 x 32"
            " take more than ten times as many transitions"
        ),
        holds=lambda m: (
            max(
                m["late, 512 x 1, 4 minibatches"],
                m["late, 1024 x 32, 4 minibatches"],
            )
            < m["late, 4 x 128, 4 minibatches"] / 2
            and m["transitions, 1024 x 32, 4 minibatches"]
            > 10 * m["transitions, 4 x 128, 4 minibatches"]
        ),
        share=0.8,
        y_label="return of ten episodes",
    ),
}
"""Claim -> how to test it. `benchmarks/results/CLAIM.json` keeps what came out."""
