"""Tasks of the tables: Q-learning and SARSA."""

from __future__ import annotations

from .task import Published, Task

TASKS = {
    "q_learning-frozenlake": Task(
        algorithm="q_learning",
        tuned="frozenlake",
        threshold=0.65,
        published=Published(value=0.74, source="value iteration, 100 steps at most"),
    ),
    "q_learning-frozenlake8x8": Task(
        algorithm="q_learning",
        tuned="frozenlake8x8",
        threshold=0.75,
        published=Published(value=0.863, source="value iteration, 200 steps at most"),
    ),
    "q_learning-taxi": Task(
        algorithm="q_learning",
        tuned="taxi",
        threshold=7.4,
        published=Published(value=7.93, source="value iteration"),
    ),
    "q_learning-cliffwalking": Task(
        algorithm="q_learning",
        tuned="cliffwalking",
        threshold=-13.0,
        published=Published(value=-13.0, source="value iteration"),
    ),
    "sarsa-cliffwalking": Task(
        algorithm="sarsa",
        tuned="q_learning/cliffwalking",
        threshold=-17.0,
        published=Published(
            value=-17.0, source="the safe path of Sutton and Barto's example 6.6"
        ),
    ),
}
