"""HalfCheetah: a planar robot that is rewarded for running."""

from yieldrl.envs.physics.legged import RunningVectorEnv


class HalfCheetahVectorEnv(RunningVectorEnv):
    """N half cheetahs, as gymnasium's HalfCheetah-v5.

    Observations `[N, 17]`: positions without the first (x), and
    velocities. Actions `[N, 6]` in [-1, 1]: torques. Episodes never terminate.
    """

    xml_file = "half_cheetah.xml"
    frame_skip = 5
    reset_noise_scale = 0.1
    normal_velocities = True
