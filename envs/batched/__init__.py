"""N environments as one set of tensors, stepped by tensor operations on a device."""

from yieldrl.envs.batched.vector_env import TorchVectorEnv

__all__ = ["TorchVectorEnv"]
