"""What `examine` gave of PPO and of the six versions, seeds 1 to 3.

`python -m yieldrl.exercises.ch14_debugging.diagnostics` measures the first of them.
"""

from yieldrl.exercises.ch14_debugging.diagnostics import Readings

SEEN: dict[str, tuple[Readings, ...]] = {
    "none": (
        Readings(1.0009, 1.9983, 0.9993, 0.9987, 0.0638, 0.0094, 0),
        Readings(1.001, 1.9988, 0.9988, 0.9995, 0.052, 0.0236, 0),
        Readings(1.0009, 1.9991, 0.9981, 0.9997, 0.0708, 0.016, 0),
    ),
    "end": (
        Readings(4.915, 2.1365, 0.9991, 0.9995, 0.0638, 0.0093, 0),
        Readings(4.9192, 2.1528, 0.9988, 0.9976, 0.052, 0.0248, 0),
        Readings(4.9186, 2.1366, 0.9971, 0.9976, 0.0708, 0.016, 0),
    ),
    "ratio": (
        Readings(1.0009, 1.9983, 0.9997, 0.9978, 0.0666, 0, 0),
        Readings(1.001, 1.9988, 0.9993, 0.9997, 0.0765, 0, 0),
        Readings(1.0009, 1.9991, 0.9995, 0.9997, 0.0774, 0, 0),
    ),
    "gradient": (
        Readings(1.0009, 1.9984, 0.5, 1, 0, 0, 0),
        Readings(1.001, 1.9988, 0.5, 1, 0, 0, 0),
        Readings(1.0009, 1.9987, 0.5, 1, 0, 0, 0),
    ),
    "statistics": (
        Readings(1.0009, 1.9983, 0.9993, 0.9987, 0.0638, 0.0094, 0.1385),
        Readings(1.001, 1.9988, 0.9988, 0.9995, 0.052, 0.0236, 0.1084),
        Readings(1.0009, 1.9991, 0.9981, 0.9997, 0.0708, 0.016, 0.3111),
    ),
    "credit": (
        Readings(1.0009, 0.0073, 0.3434, 0.9999, 0.0638, 0.0094, 0),
        Readings(1.001, 0.0663, 0.3505, 0.9998, 0.052, 0.0236, 0),
        Readings(1.0009, 0.04, 0.5215, 0.9998, 0.0708, 0.016, 0),
    ),
    "entropy": (
        Readings(1.0009, 1.9983, 0.9992, 0.0051, 0.0639, 0.0097, 0),
        Readings(1.001, 1.9988, 0.9989, 0.0049, 0.0523, 0.0244, 0),
        Readings(1.0009, 1.9991, 0.998, 0.0066, 0.0705, 0.0164, 0),
    ),
}
"""Bug -> readings of three seeds, in the order of `Readings`."""
