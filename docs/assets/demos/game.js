// One episode after another in a world, by a policy or by hand. Knows no page.

import { act } from "./network.js"

export class Game {
  /**
   * A world's module, and where chance comes from. `parameters` are the values of the
   * world's sliders, `epsilon` is the share of a policy's actions that are random.
   */
  constructor(world, rng = Math.random) {
    this.world = world
    this.rng = rng
    this.parameters = {}
    for (const { name, value } of world.sliders) this.parameters[name] = value
    this.epsilon = 0
    this.policy = null
    this.begin()
  }

  begin() {
    this.state = this.world.reset(this.rng)
    this.elapsed = 0
    this.score = 0
    this.over = false
  }

  /** What the policy does now; without a policy what somebody does who does nothing. */
  choose() {
    const { world, rng } = this
    if (this.policy === null) return world.idle?.(this.state, this.elapsed) ?? null
    if (this.epsilon > 0 && rng() < this.epsilon) return this.random()
    return act(this.policy, this.world.observe(this.state))
  }

  random() {
    const { world, rng } = this
    return world.random?.(rng) ?? Math.floor(rng() * world.actions.length)
  }

  /** Play an action; after the end of an episode begin the next one instead. */
  step(action) {
    if (this.over) {
      this.begin()
      return
    }
    const { world, state, rng, parameters } = this
    const next = world.step(state, action, rng, parameters)
    this.state = next.state
    this.score += next.reward
    this.elapsed += 1
    this.over = next.terminated || this.elapsed >= world.limit
  }

  /** The policy's action in a state of the world, for worlds that draw all of them. */
  get wants() {
    if (this.policy === null) return undefined
    return (state) => act(this.policy, this.world.observe(state))
  }

  get scoreText() {
    const score = Number.isInteger(this.score) ? this.score : this.score.toFixed(1)
    const steps = this.elapsed === 1 ? "1 step" : `${this.elapsed} steps`
    return `Return ${score} after ${steps}`
  }
}
