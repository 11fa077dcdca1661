// FrozenLake, 4 x 4, by the table of Gymnasium's FrozenLake-v1 that envs/tabular.py draws
// from.

export const title = "FrozenLake"
export const actions = ["left", "down", "right", "up"]
export const keys = { ArrowLeft: 0, ArrowDown: 1, ArrowRight: 2, ArrowUp: 3 }
export const limit = 100
export const fps = 3
export const turns = true
export const size = [320, 320]
export const sliders = [
  { name: "grip", label: "Grip", min: 0, max: 1, step: 0.01, value: 1 / 3 },
]

const SIDE = 4
const MAP = "SFFFFHFHFFFHHFFG"

export const reset = () => 0

/** The neighbour in a direction; the edge holds. */
const moved = (state, action) => {
  const [row, column] = [Math.floor(state / SIDE), state % SIDE]
  if (action === 0) return row * SIDE + Math.max(column - 1, 0)
  if (action === 1) return Math.min(row + 1, SIDE - 1) * SIDE + column
  if (action === 2) return row * SIDE + Math.min(column + 1, SIDE - 1)
  return Math.max(row - 1, 0) * SIDE + column
}

/**
 * One goes where one wants to with the chance `grip`, and slips to either side with half
 * of the rest each.
 */
export const step = (state, action, rng, { grip = 1 / 3 } = {}) => {
  const chance = rng()
  const slip = (1 - grip) / 2
  const turn = chance < slip ? 3 : chance < slip + grip ? 0 : 1
  const next = moved(state, (action + turn) % 4)
  const place = MAP[next]
  const terminated = place === "H" || place === "G"
  return { state: next, reward: Number(place === "G"), terminated }
}

export const observe = (state) => state

const NAMES = { S: "the start", F: "the ice", H: "a hole", G: "the goal" }

export const describe = (state) =>
  `row ${Math.floor(state / SIDE) + 1} of 4, column ${(state % SIDE) + 1} of 4,`
  + ` on ${NAMES[MAP[state]]}`

const ARROWS = ["←", "↓", "→", "↑"]

/** The lake; with a policy, an arrow in every cell says where that wants to go. */
export const draw = (pen, state, colors, parameters, wants) => {
  const cell = size[0] / SIDE
  pen.textAlign = "center"
  pen.textBaseline = "middle"
  for (let i = 0; i < MAP.length; i++) {
    const [x, y] = [(i % SIDE) * cell, Math.floor(i / SIDE) * cell]
    pen.fillStyle = colors.ice
    pen.fillRect(x + 1, y + 1, cell - 2, cell - 2)
    if (MAP[i] === "H") {
      pen.fillStyle = colors.water
      pen.beginPath()
      pen.arc(x + cell / 2, y + cell / 2, cell * 0.38, 0, 2 * Math.PI)
      pen.fill()
    } else if (MAP[i] === "G") {
      pen.fillStyle = colors.accent
      pen.fillRect(x + cell * 0.3, y + cell * 0.18, 4, cell * 0.64)
      pen.beginPath()
      pen.moveTo(x + cell * 0.3, y + cell * 0.18)
      pen.lineTo(x + cell * 0.75, y + cell * 0.34)
      pen.lineTo(x + cell * 0.3, y + cell * 0.5)
      pen.fill()
    } else if (wants) {
      pen.fillStyle = colors.muted
      pen.font = `${cell * 0.3}px sans-serif`
      pen.fillText(ARROWS[wants(i)], x + cell * 0.8, y + cell * 0.24)
    }
  }
  const [x, y] = [((state % SIDE) + 0.5) * cell, (Math.floor(state / SIDE) + 0.5) * cell]
  pen.fillStyle = colors.ink
  pen.beginPath()
  pen.arc(x, y - cell * 0.16, cell * 0.11, 0, 2 * Math.PI)
  pen.fill()
  pen.beginPath()
  pen.moveTo(x - cell * 0.17, y + cell * 0.28)
  pen.lineTo(x, y - cell * 0.1)
  pen.lineTo(x + cell * 0.17, y + cell * 0.28)
  pen.fill()
}
