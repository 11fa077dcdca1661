"""Right answers that are written in another way than the solutions all pass."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch.distributions import Categorical, Normal, TanhTransform
from torch.nn.functional import one_hot, smooth_l1_loss

from yieldrl.exercises import chapters, check


def play(env, policy, seed=None):
    obs, _ = env.reset(seed=seed)
    rewards, ended = [], False
    while not ended:
        obs, reward, terminated, truncated, _ = env.step(policy(obs))
        rewards.append(np.float32(reward))
        ended = any((terminated, truncated))
    return np.sum(rewards), len(rewards)


def epsilon_greedy(value, epsilon, rng):
    best = value == value.max()
    share = epsilon / len(value) + (1 - epsilon) * best / best.sum()
    return rng.choice(len(value), p=share)


def update(value, count, action, reward):
    total = value[action] * count[action] + reward
    count[action] = count[action] + 1
    value[action] = total / count[action]


def sweep(table, value, gamma):
    def worth(outcomes):
        return sum(p * r for p, _, r, _ in outcomes) + gamma * sum(
            p * value[after] for p, after, _, ended in outcomes if not ended
        )

    return np.array([max(map(worth, table[s].values())) for s in sorted(table)])


def q_learning_target(table, s, a, reward, after, terminated, truncated, gamma):
    future = table.double()[after].max(dim=1).values
    return torch.where(terminated, reward, reward + gamma * future)


def sarsa_target(table, s, a, reward, after, then, terminated, truncated, gamma):
    taken = table[after].gather(1, then[:, None])[:, 0]
    return reward + gamma * (1 - terminated.float()) * taken


def iqm(scores):
    pooled, cut = scores.ravel(), scores.size // 4
    return np.partition(pooled, (cut, -cut - 1))[cut : pooled.size - cut].mean()


def resample(scores, rng):
    return np.stack([rng.choice(row, size=len(row)) for row in scores])


def by_rank(scores, rng, resamples=2000):
    """Percentiles that are not interpolated."""
    ordered = sorted(iqm(resample(scores, rng)) for _ in range(resamples))
    return ordered[int(0.025 * resamples)], ordered[int(0.975 * resamples) - 1]


def weibull(scores, rng, resamples=2000):
    """Percentiles that are interpolated otherwise, as an array."""
    found = [iqm(resample(scores, rng)) for _ in range(resamples)]
    return np.quantile(found, [0.025, 0.975], method="weibull")


@torch.no_grad()
def td_target(online, target, reward, next_obs, terminated, truncated, gamma):
    best = target(next_obs).max(1)[0]
    return reward + (~terminated).double() * gamma * best


def element_loss(online, obs, action, goal, clip=math.inf):
    values = online(obs)
    q_value = (values * one_hot(action, values.shape[1])).sum(1)
    if clip == math.inf:
        return 0.5 * (q_value - goal) ** 2
    return clip * smooth_l1_loss(q_value, goal, beta=clip, reduction="none")


def next_action(online_q, target_q):
    return online_q.max(dim=-1).indices


def look_ahead(reward, terminated, truncated, gamma):
    going, total = torch.ones_like(terminated[:, 0]), torch.zeros_like(reward[:, 0])
    k = torch.zeros_like(going, dtype=torch.int64)
    for t in range(reward.shape[1]):
        total = total + going * gamma**t * reward[:, t]
        k = k + going.long()
        going = going & ~(terminated[:, t] | truncated[:, t])
    return total, gamma ** k.double(), k


def project(probability, returns, atoms):
    spacing = (atoms[-1] - atoms[0]) / (len(atoms) - 1)
    clipped = returns.clamp(float(atoms[0]), float(atoms[-1]))
    near = 1 - (clipped[:, :, None] - atoms).abs() / spacing
    return (probability[:, :, None] * near.clamp(min=0)).sum(1)


def returns_to_go(reward, ended, gamma):
    rows, later = [], torch.zeros(reward.shape[1], dtype=torch.float64)
    for r, over in zip(reward.flip(0), ended.flip(0), strict=True):
        later = torch.where(over, r, r + gamma * later)
        rows.insert(0, later)
    return torch.stack(rows)


def reinforce_loss(logits, action, returns, baseline):
    surprise = torch.nn.functional.cross_entropy(logits, action, reduction="none")
    return torch.mean(surprise * (returns - baseline.detach()))


@torch.no_grad()
def gae(reward, value, next_value, terminated, truncated, gamma, gae_lambda):
    """By the recursion of lambda-returns, in float64."""
    going = 1 - (terminated | truncated).double()
    later, rows = torch.zeros(reward.shape[1], dtype=torch.float64), []
    for t in range(len(reward) - 1, -1, -1):
        after = (1 - terminated[t].double()) * next_value[t]
        later = reward[t] + gamma * after + gamma * gae_lambda * going[t] * later
        later = later - value[t]
        rows.append(later)
    return torch.stack(rows[::-1])


def ppo_loss(deviation: Any) -> Any:
    def policy_loss(log_prob, old_log_prob, advantage, clip_coef):
        a = advantage.detach() - advantage.mean().detach()
        a = a / (deviation(a) + 1e-8)
        ratio = log_prob.exp() / old_log_prob.detach().exp()
        low, high = 1 - clip_coef, 1 + clip_coef
        return torch.max(-a * ratio, -a * ratio.clamp(low, high)).mean()

    return policy_loss


def by_sign(log_prob, old_log_prob, advantage, clip_coef):
    """The clip by the advantage's sign, float64, variance of a population."""
    a = advantage.detach().double()
    a = (a - a.mean()) / (a.var(correction=0).sqrt() + 1e-8)
    ratio = torch.exp(log_prob - old_log_prob.detach())
    up, down = ratio.clamp(max=1 + clip_coef), ratio.clamp(min=1 - clip_coef)
    return -(torch.where(a > 0, up, down) * a).sum() / len(a)


def smoothed_action(action, noise, noise_clip):
    limited = torch.minimum(
        torch.maximum(noise, -noise_clip + 0 * noise), noise * 0 + noise_clip
    )
    return torch.clip(action + limited, -1.0, 1.0)


def squashed_log_prob(normal, mean, log_std):
    density = Normal(mean, log_std.exp()).log_prob(normal).sum(-1)
    slope = TanhTransform().log_abs_det_jacobian(normal, normal.tanh())
    return density - slope.sum(-1)


def soft_target(reward, next_value, log_prob, terminated, truncated, gamma, alpha):
    with torch.no_grad():
        future = torch.minimum(next_value[0], next_value[1]) - alpha * log_prob
        return reward + gamma * torch.where(terminated, 0.0, future).double()


def walk(cell, x, memory, first):
    outputs = []
    for t in range(len(x)):
        memory = torch.where(first[t][:, None], torch.zeros_like(memory), memory)
        output, memory = cell(x[t], memory)
        outputs.append(output[None])
    return torch.cat(outputs), memory


def log_probs(logits, mask):
    masked = torch.where(mask, logits, -torch.inf)
    return masked - masked.logsumexp(-1, keepdim=True)


def entropy_of_finite(log_p):
    possible = log_p > -torch.inf
    finite = log_p.masked_fill(~possible, 0.0)
    return -(finite.exp() * finite * possible).sum(-1)


def predict(logits, mask):
    return log_probs(logits, mask).max(-1).indices


def step(world, state, elapsed, action, noise):
    from yieldrl.exercises.ch13_batched_worlds_and_throughput.exercise import Answer

    last, reward, terminated = world.dynamics(state, action)
    count = elapsed + 1
    truncated = ~(count < world.limit)
    new = terminated.logical_or(truncated)
    following = last.where(~new, world.initial_state(noise))
    seen, final = world.observe(following), world.observe(last)
    return Answer(following, count * ~new, seen, reward, terminated, truncated, final)


@torch.no_grad()
def vtrace(
    now,
    then,
    reward,
    value,
    after,
    terminated,
    truncated,
    gamma,
    lam,
    rho_bar=1.0,
    c_bar=1.0,
):
    ratio = now.exp() / then.exp()
    rho, c = (ratio.clamp_max(bar) for bar in (rho_bar, c_bar))
    alive, goes_on = 1.0 - terminated.float(), 1.0 - (terminated | truncated).float()
    delta = reward + gamma * alive * after - value
    target, rows = torch.zeros_like(value[0]), []
    for t in range(len(reward))[::-1]:
        passed = gamma * lam * goes_on[t] * target
        rows.append((rho[t] * (delta[t] + passed), value[t]))
        target = rho[t] * delta[t] + c[t] * passed
        rows[-1] = (rows[-1][0], value[t] + target)
    advantage, targets = zip(*rows[::-1], strict=True)
    return torch.stack(advantage), torch.stack(targets)


def chunk_sums(reward, terminated, truncated, gamma):
    over = (terminated | truncated).long().cumsum(0)
    running = torch.cat([torch.zeros_like(over[:1]), over[:-1]]) == 0
    k = running.long().sum(0)
    powers = gamma ** torch.arange(len(reward), dtype=torch.float64)[:, None]
    return (powers * reward * running).sum(0).float(), (gamma**k).float(), k


def munchausen() -> Any:
    from yieldrl.exercises.ch17_your_own_algorithm import exercise

    class Algorithm(exercise.Algorithm):
        @torch.no_grad()
        def td_target(self, data):
            alpha, tau = self.config.munchausen_coef, self.config.temperature
            q, next_q = (self.target_model.value(data[k]) for k in ("obs", "next_obs"))
            low = self.config.munchausen_clip
            scaled = q - tau * torch.logsumexp(q / tau, 1, keepdim=True)  # tau log pi
            bonus = alpha * torch.clip(scaled, low, 0).gather(
                1, data["action"][:, None]
            )
            soft = tau * torch.logsumexp(next_q / tau, 1)
            future = torch.where(data["terminated"], 0.0, data["discount"] * soft)
            return data["reward"] + bonus.squeeze(1) + future

    return Algorithm


def compared(returns, counted):
    kept = torch.where(counted, returns, 0.0).double()
    n = counted.sum(dim=1, keepdim=True).clamp_min(1)
    return torch.where(counted, returns - kept.sum(1, keepdim=True) / n, 0.0)


def by_a_constant(values, mask, longest):
    return torch.where(mask, values / longest, 0.0).flatten(1).sum(1)


def implicit_reward(log_prob, reference, beta):
    return beta * log_prob.flatten(2).sum(-1) - beta * reference.flatten(2).sum(-1)


def preference_loss(reward):
    better, worse = reward.double().unbind(1)
    return torch.log1p(torch.exp(worse - better)).mean()


def imagined_returns(reward, end, next_value, gamma, gae_lambda):
    returns = torch.zeros_like(reward, dtype=torch.float64)
    later = next_value[-1]
    for t in range(len(reward) - 1, -1, -1):
        mixed = torch.lerp(next_value[t].double(), later.double(), gae_lambda)
        later = returns[t] = reward[t] + gamma * mixed * (1 - end[t])
    return returns


def k_step_errors(step, obs, action, next_obs, scale):
    states = [obs[0]]
    for a in action:
        states.append(step(states[-1], a))
    off = (torch.stack(states[1:]) - next_obs) / scale
    return torch.linalg.vector_norm(off, dim=(1, 2)) / off[0].numel() ** 0.5


def reinforce_by_distributions(logits, action, returns, baseline):
    log_prob = Categorical(logits=logits).log_prob(action)
    return (log_prob * (baseline.detach() - returns)).mean()


RIGHT: list[tuple[str, dict[str, Any]]] = [
    ("ch01", {"play": play}),
    ("ch02", {"epsilon_greedy": epsilon_greedy, "update": update}),
    ("ch03", {"sweep": sweep}),
    ("ch04", {"q_learning_target": q_learning_target, "sarsa_target": sarsa_target}),
    ("ch05", {"iqm": iqm, "resample": resample, "interval": by_rank}),
    ("ch05", {"iqm": iqm, "resample": resample, "interval": weibull}),
    ("ch06", {"td_target": td_target, "element_loss": element_loss}),
    (
        "ch07",
        {"next_action": next_action, "look_ahead": look_ahead, "project": project},
    ),
    ("ch08", {"returns_to_go": returns_to_go, "policy_loss": reinforce_loss}),
    (
        "ch08",
        {"returns_to_go": returns_to_go, "policy_loss": reinforce_by_distributions},
    ),
    ("ch09", {"gae": gae}),
    ("ch10", {"policy_loss": ppo_loss(lambda a: a.std(unbiased=False))}),
    ("ch10", {"policy_loss": ppo_loss(lambda a: a.square().mean().sqrt())}),
    ("ch10", {"policy_loss": ppo_loss(lambda a: a.std())}),
    ("ch10", {"policy_loss": by_sign}),
    (
        "ch11",
        {
            "smoothed_action": smoothed_action,
            "squashed_log_prob": squashed_log_prob,
            "td_target": soft_target,
        },
    ),
    (
        "ch12",
        {
            "walk": walk,
            "log_probs": log_probs,
            "entropy": entropy_of_finite,
            "predict": predict,
        },
    ),
    ("ch13", {"step": step}),
    ("ch15", {"vtrace": vtrace}),
    ("ch16", {"chunk_sums": chunk_sums}),
    ("ch17", {"Algorithm": munchausen()}),
    ("ch18", {"compared": compared, "by_a_constant": by_a_constant}),
    (
        "ch19",
        {"implicit_reward": implicit_reward, "preference_loss": preference_loss},
    ),
    (
        "ch20",
        {"imagined_returns": imagined_returns, "k_step_errors": k_step_errors},
    ),
]


@pytest.mark.parametrize(("chapter", "answer"), RIGHT, ids=[of for of, _ in RIGHT])
def test_an_equivalent_answer_is_right(chapter, answer, tmp_path, capsys):
    """Its gaps are filled by `answer`, and what else a solution has by the solution."""
    [folder] = [path for name, path in chapters().items() if name == chapter]
    assert check(chapter, file=folder / "solution.py", **answer), (
        capsys.readouterr().out
    )


def off(result):
    """Floating-point results that no known mistake gives."""
    if isinstance(result, tuple):
        return tuple(map(off, result))
    floats = isinstance(result, float | np.floating | np.ndarray) or torch.is_tensor(
        result
    )
    if torch.is_tensor(result) and not result.is_floating_point():
        return result
    return 1.037 * result + 0.0113 if floats else result


OFF = [
    (chapter, answer)
    for chapter, answer in RIGHT
    if chapter not in ("ch02", "ch13", "ch17")  # they change arguments, or are classes
]


@pytest.mark.parametrize(("chapter", "answer"), OFF, ids=[of for of, _ in OFF])
def test_of_an_unknown_mistake_numbers_are_said_and_no_cause(chapter, answer, capsys):
    def wrong(function):
        return lambda *given, **named: off(function(*given, **named))

    [folder] = [path for name, path in chapters().items() if name == chapter]
    answers = {name: wrong(function) for name, function in answer.items()}
    assert not check(chapter, file=folder / "solution.py", **answers)
    out = capsys.readouterr().out
    assert ", expected " in out
    assert "hint" not in out, out
