// <rl-demo world="cartpole" policies="cartpole-untrained cartpole-trained" autoplay>
//
// A world of this folder, on a canvas: policies play it, or you do. `policies` are files
// of policies/, of which the last plays first; without any it is all yours. `autoplay`
// begins when it comes into view, but not for readers who asked for less motion.

import { Game } from "./game.js"
import { load } from "./network.js"
import { button, canvas, colors, element, paint, stage, watch } from "./panel.js"
import { HAND, YOURS, described, fetched, players } from "./settings.js"
import { randomness, sliders, speeds } from "./settings.js"

const PAUSE = 900 // milliseconds between two episodes

const reduced = matchMedia("(prefers-reduced-motion: reduce)")

class Demo extends HTMLElement {
  async connectedCallback() {
    if (this.game) return
    this.world = await import(`./${this.getAttribute("world")}.js`)
    this.game = new Game(this.world)
    this.held = this.tapped = null // actions of keys and buttons: down, and just pressed
    this.playing = false
    this.speed = 1
    const policies = this.getAttribute("policies") ?? ""
    this.files = policies.split(/\s+/).filter(Boolean)
    this.build()
    await this.choosePlayer(this.files.at(-1) ?? HAND)
    this.waits = this.hasAttribute("autoplay") && !reduced.matches
    this.unwatch = watch(this.canvas, () => this.draw(), (inView) => this.seen(inView))
  }

  disconnectedCallback() {
    if (this.playing) this.pause()
    this.unwatch?.()
  }

  build() {
    const { game, world } = this
    const row = (...parts) => element("div", { className: "row" }, ...parts)
    this.canvas = canvas(world.size)
    this.canvas.setAttribute("aria-label", world.title) // until there is more to say
    this.stage = stage(world, this.canvas)
    this.score = element("p", { className: "score" })
    this.note = element("p", { className: "note" })
    this.said = element("p", { className: "said", attributes: { role: "status" } })
    this.play = button("Play", () => (this.playing ? this.pause() : this.start()))
    this.hands = row(...this.handles())
    this.random = randomness((share) => (game.epsilon = share))
    const change = (name, value) => {
      game.parameters[name] = value
      this.draw()
    }
    const step = button("Step", () => this.once())
    const anew = button("New episode", () => this.renew())
    const who = players(this.files, (value) => this.choosePlayer(value))
    const fast = speeds((speed) => (this.speed = speed))
    const settings = row(who, fast, this.random, ...sliders(world, change))
    const buttons = row(this.play, step, anew)
    const shown = [this.stage, this.score, buttons, this.hands, settings, this.note]
    this.replaceChildren(...shown, this.said)
    this.stage.onkeydown = (event) => this.keyDown(event)
    this.stage.onkeyup = (event) => this.release(world.keys[event.key])
    this.stage.onblur = () => this.release(this.held)
  }

  /** A button for every action of your own hand. */
  handles() {
    const { actions, keys } = this.world
    const values = Object.values(keys)
    return actions.map((text, i) => {
      const action = values.some(Array.isArray) ? values[i] : i
      const made = button(text, () => this.tap(action))
      made.onpointerdown = () => (this.held = this.playing ? action : null)
      made.onpointerup = made.onpointerleave = () => this.release(action)
      return made
    })
  }

  /** Begin anew with a policy, or with your own hand. */
  async choosePlayer(value) {
    const { game, world } = this
    this.chosen = value
    game.policy = null
    this.note.textContent = YOURS
    if (value !== HAND)
      try {
        const file = await fetched(value)
        if (this.chosen !== value) return // another was chosen meanwhile
        game.policy = load(file)
        this.note.textContent = described(file)
      } catch (reason) {
        this.note.textContent = `The policy cannot be loaded (${reason.message}).`
      }
    const yours = game.policy === null
    this.random.hidden = yours
    this.hands.hidden = !yours
    this.play.hidden = yours && Boolean(world.turns) // it waits for you anyway
    if (yours && this.playing) this.pause() // until you are ready
    this.renew(`${world.title}: ${yours ? "your hand" : "a policy"} plays.`)
  }

  start() {
    this.playing = true
    this.play.textContent = "Pause"
    if (this.game.policy === null) this.stage.focus()
    this.last = performance.now()
    this.due = 0
    this.frame = requestAnimationFrame((now) => this.tick(now))
  }

  pause() {
    this.playing = false
    cancelAnimationFrame(this.frame)
    this.play.textContent = "Play"
    this.draw()
    this.tell()
  }

  tick(now) {
    const wait = 1000 / (this.world.fps * this.speed)
    this.due = Math.min(this.due + now - this.last, PAUSE + 10 * wait)
    this.last = now
    let changed = false
    while (this.due >= (this.game.over ? PAUSE : wait)) {
      this.due -= this.game.over ? PAUSE : wait
      this.advance(this.held ?? this.tapped ?? this.game.choose())
      this.tapped = null // a tap shorter than a step counts for one
      changed = true
    }
    if (changed) this.draw()
    if (this.playing) this.frame = requestAnimationFrame((next) => this.tick(next))
  }

  advance(action) {
    this.game.step(action)
    if (this.game.over) this.say(`The episode is over. ${this.game.scoreText}.`)
  }

  /** One step by the policy, or with an action of yours. */
  once(action = null) {
    if (this.playing) this.pause()
    const chosen = action ?? this.game.choose()
    if (chosen === null && !this.game.over) return this.say("Choose an action first.")
    this.advance(chosen)
    this.draw()
    return this.game.over || this.tell()
  }

  renew(text = "A new episode.") {
    this.game.begin()
    this.due = 0
    this.draw()
    this.say(text)
  }

  keyDown(event) {
    const action = this.world.keys[event.key]
    const yours = action !== undefined && this.game.policy === null
    if (event.key === " " && !this.play.hidden) this.play.click()
    else if (!yours) return
    else if (this.playing) this.held = this.tapped = action
    else this.once(action)
    event.preventDefault() // or the page would scroll
  }

  /** A button of your hand was clicked, by whatever means. */
  tap(action) {
    if (this.playing) this.tapped = action
    else this.once(action)
  }

  release(action) {
    if (this.held === action) this.held = null
  }

  say(text) {
    this.said.textContent = text
  }

  /** Say what is to be seen, for those who do not see it. */
  tell() {
    this.say(`${this.game.scoreText}: ${this.world.describe(this.game.state)}.`)
  }

  draw() {
    const { game, world } = this
    const { state, parameters, wants } = game
    const now = colors(this)
    paint(this.canvas, world.size, (pen) =>
      world.draw(pen, state, now, parameters, wants))
    const before = world.caption ? `${world.caption(state)}. ` : ""
    this.score.textContent = `${before}${game.scoreText}${game.over ? ", the end" : ""}`
    const still = this.playing ? "being played" : world.describe(state)
    this.canvas.setAttribute("aria-label", `${world.title}: ${still}`)
  }

  /** Come into view, or go out of it, where nothing moves. */
  seen(inView) {
    if (inView && this.waits && !this.playing) this.start()
    else if (!inView && this.playing) this.pause()
    if (inView) this.waits = false
  }
}

customElements.define("rl-demo", Demo)
