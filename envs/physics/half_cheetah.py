"""HalfCheetah: a flat cat that is paid for running."""

from typing import Any

from yieldrl.envs.physics.legged import RunningVectorEnv

DEFAULTS = {
    "xml_file": "half_cheetah.xml",
    "frame_skip": 5,
    "reset_noise_scale": 0.1,
    "normal_velocities": True,
}


class HalfCheetahVectorEnv(RunningVectorEnv):
    """N half cheetahs, as gymnasium's HalfCheetah-v5.

    Observations `[N, 17]`: positions without the first, which is how far it has come,
    and velocities. Actions `[N, 6]` in [-1, 1]: torques. Episodes never terminate.
    Arguments are those of `RunningVectorEnv`, with gymnasium's defaults.
    """

    def __init__(self, num_envs: int = 1, **kwargs: Any) -> None:
        super().__init__(num_envs, **{**DEFAULTS, **kwargs})
