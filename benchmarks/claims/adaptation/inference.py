"""How well a student infers what is hidden, against the time it has had for it."""

import gymnasium
import torch
from torch import Tensor

from yieldrl.algorithms import ppo_roa

STEPS = 100  # of each episode
# steps 17 to 50, when the window of an MLP is full, and those after: a pendulum that is
# balanced by then no longer shows what it weighs, and a window forgets
SOON, LATE = slice(16, 50), slice(50, 100)

EPISODES = 512  # at a time, the first ones of as many environments
SEED = 30_000


def errors(agent: ppo_roa.Agent, env_id: str, side: str) -> dict[str, list[float]]:
    """Errors of what the student infers in step 1, 2, ... of an episode, `STEPS` each.

    Averages are over the episodes that still go on in a step; an error is 1 if the same
    is inferred in every episode (or none goes on), and 0 if all is known.

        latent      |z' - z|^2 / Var[z], of z' that is inferred and z that the encoder
                    makes of the true parameters; both are sums over its numbers
        parameters  |p' - p|^2 / Var[p], of p that is true and p' = A z' + b, fitted to
                    the first half of the episodes and judged on the second; means over
                    parameters
    """
    inferred, encoded, privileged, going = watch(agent, env_id, side)
    half = EPISODES // 2
    guessed = regressed(inferred, privileged, going, half)
    latent = (inferred - encoded).square().sum(-1) / encoded.var(0, correction=0).sum()
    spread = privileged[half:].var(0, correction=0)
    parameters = ((guessed - privileged[half:]).square() / spread).mean(-1)
    found = {
        "latent": average(latent, going),
        "parameters": average(parameters, going[:, half:]),
    }
    return {name: [round(x, 4) for x in row.tolist()] for name, row in found.items()}


def watch(
    agent: ppo_roa.Agent, env_id: str, side: str
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Let the student act in one episode of each of N environments.

    Returns what it infers, `[T, N, Z]`; the encoder's latents, `[N, Z]`; the
    parameters, `[N, P]`; and where the first episode still goes on, bool `[T, N]`.
    """
    student = agent.as_student()
    model, device = student.algorithm.model, student.device
    envs = gymnasium.make_vec(env_id, num_envs=EPISODES, side=side, device=device)
    obs, _ = envs.reset(seed=SEED)
    privileged = obs["privileged"]
    memory = torch.zeros(EPISODES, model.memory_size, device=device)
    first = torch.ones(EPISODES, dtype=torch.bool, device=device)
    alive, rows, going = first.clone(), [], []
    with torch.no_grad():
        encoded = model.encoded(obs)
        for _ in range(STEPS):
            seen = {"obs": obs, "memory": memory, "first": first}
            inferred, watched = model.infer(seen)
            rows.append(inferred)
            going.append(alive)
            action = model.predict({**seen, "latent": inferred})
            action = student.border.actions.to_env(action)
            memory = model.remember(watched, action)
            obs, _, terminated, truncated, _ = envs.step(action)
            first = terminated | truncated  # SAME_STEP: the next one has begun
            alive = alive & ~first
    return torch.stack(rows), encoded, privileged, torch.stack(going)


def regressed(inferred: Tensor, privileged: Tensor, going: Tensor, half: int) -> Tensor:
    """Parameters `[T, N - half, P]` read from latents `[T, N, Z]` by a linear map,
    which is fitted to the first `half` environments, where their episodes go on."""
    inputs = torch.cat((inferred, torch.ones_like(inferred[..., :1])), -1).double()
    targets = privileged.double().expand(len(inferred), *privileged.shape)
    fitted = going[:, :half]
    taken = inputs[:, :half][fitted], targets[:, :half][fitted]
    solution = torch.linalg.lstsq(*taken, driver="gelsd").solution
    return (inputs[:, half:] @ solution).float()


def average(values: Tensor, going: Tensor) -> Tensor:
    """Means `[T]` of values `[T, N]` over the episodes that go on; 1 if none does."""
    count, total = going.sum(-1), (values * going).sum(-1)
    return torch.where(count > 0, total / count.clamp(min=1), 1.0)
