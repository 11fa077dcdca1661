// What can be chosen about a demo: who plays, how fast, and the world's own sliders.

import { choice, slider } from "./panel.js"

export const HAND = "hand"

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
    slider(one.label, one, String, (value) => onchange(one.name, value)))

/** What a policy's file says of where it comes from and how well it plays. */
export const described = ({ algorithm, sample_step: steps, notes }) => {
  const { episode_return: mean, episodes } = notes
  const played = mean === undefined ? "" : `: mean return ${mean} of ${episodes} episodes`
  return `${algorithm} after ${steps.toLocaleString("en")} steps of training${played}.`
}
