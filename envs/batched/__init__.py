"""N environments as one set of tensors, stepped by tensor operations on a device."""

from yieldrl.envs.batched.vector_env import Parameter, TorchVectorEnv, Transition

__all__ = ["Parameter", "TorchVectorEnv", "Transition"]
