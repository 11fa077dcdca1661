// What can be chosen about a demo: who plays, how fast, and the world's own sliders.

import { choice, slider } from "./panel.js"

export const HAND = "hand"
export const YOURS =
  "The arrow keys are yours while the picture has the focus: click on it."

const STAGES = { untrained: "Untrained", halfway: "Half way", trained: "Trained" }
const SPEEDS = [["0.25", "quarter"], ["0.5", "half"], ["1", "normal"], ["3", "triple"]]
const SHARE = { min: 0, max: 1, step: 0.05, value: 0 }

/** The choice of who plays: a file of policies/, or your own hand. */
export const players = (files, onchange) => {
  const stage = (file) => file.slice(file.lastIndexOf("-") + 1)
  const options = files.map((file) => [file, STAGES[stage(file)] ?? file])
  return choice("Who plays", [...options, [HAND, "You"]], files.at(-1) ?? HAND, onchange)
}

export const speeds = (onchange) =>
  choice("Speed", SPEEDS, "1", (value) => onchange(Number(value)))

/** How many of a policy's actions are random. */
export const randomness = (onchange) =>
  slider("Random actions", SHARE, (value) => `${Math.round(100 * value)} %`, onchange)

/** A slider for everything that a world lets one change. */
export const sliders = (world, onchange) =>
  world.sliders.map((one) =>
    slider(one.label, one, short, (value) => onchange(one.name, value)))

const short = (value) => String(Number(value.toFixed(2)))

/** A file of policies/. */
export const fetched = async (name) => {
  const answer = await fetch(new URL(`policies/${name}.json`, import.meta.url))
  if (!answer.ok) throw new Error(`${answer.status}`)
  return answer.json()
}

/** What a policy's file says of where it comes from and how well it plays. */
export const described = ({ algorithm, sample_step, learn_step, notes }) => {
  const { episode_return: mean, episodes } = notes
  const played = mean === undefined ? "" : `: mean return ${mean} of ${episodes} episodes`
  const count = (steps) => steps.toLocaleString("en")
  const learned = learn_step === undefined ? "" : `, ${count(learn_step)} of the gradient`
  return `${algorithm} after ${count(sample_step)} steps${learned}${played}.`
}
