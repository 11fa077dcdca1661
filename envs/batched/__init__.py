"""N environments as one set of tensors, stepped by tensor operations on a device.

`world` has the pure functions of a world and its step, `vector_env` the class around
them that users subclass: it owns resets, seeds, noise and compilation.
"""

from yieldrl.envs.batched.vector_env import TorchVectorEnv

__all__ = ["TorchVectorEnv"]
