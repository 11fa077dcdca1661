"""Rows that were made apart, alike in their entries and in the size of their states."""

from tensordict import TensorDict

from yieldrl.vla.latents import padded


def alike_in_entries(parts: list[TensorDict]) -> list[TensorDict]:
    """Rows `[E, T]` between states, with the entries that all have, and as long
    prompts."""
    names = set.intersection(*(set(part.keys()) for part in parts))
    found = [part.select(*names) for part in parts]
    if "prompt" in set(found[0].get("obs").keys()):
        size = max(part["obs", "mask"].shape[-1] for part in found)
        for part in found:
            state = padded(part["obs"].reshape(-1), size)
            part["obs"] = state.view(part.batch_size)
    return found
