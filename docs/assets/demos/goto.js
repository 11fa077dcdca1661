// GoTo as envs/grid_world/world.py computes it: go to the thing that the sentence names.

export const title = "GoTo"
export const actions = ["north", "east", "south", "west"]
export const keys = { ArrowUp: 0, ArrowRight: 1, ArrowDown: 2, ArrowLeft: 3 }
export const limit = 50
export const fps = 4
export const turns = true
export const size = [320, 320]
export const sliders = []

const SIDE = 6, OBJECTS = 3, CHANNELS = 8
const COLORS = {
  red: "rgb(210 70 60)",
  green: "rgb(80 160 80)",
  blue: "rgb(70 110 200)",
  yellow: "rgb(235 190 60)",
}
const SHAPES = ["square", "circle", "triangle"]
const KINDS = Object.keys(COLORS).flatMap((color) =>
  SHAPES.map((shape) => [color, shape]))
const TEMPLATES = ["go to the", "find the"]
const SENTENCES = TEMPLATES.flatMap((words) =>
  KINDS.map(([color, shape]) => `${words} ${color} ${shape}`))
const WORDS = ["<pad>", ...new Set(SENTENCES.flatMap((text) => text.split(" ")))]
const LONGEST = Math.max(...SENTENCES.map((text) => text.split(" ").length))

/** `count` of 0 ... `options` - 1 without repetition. */
const distinct = (rng, count, options) => {
  const drawn = []
  for (let i = 0; i < count; i++) {
    let number = Math.min(Math.floor(rng() * (options - i)), options - i - 1)
    for (const gone of [...drawn].sort((a, b) => a - b)) number += number >= gone
    drawn.push(number)
  }
  return drawn
}

export const reset = (rng) => {
  const [agent, ...objects] = distinct(rng, OBJECTS + 1, SIDE * SIDE)
  const kinds = distinct(rng, OBJECTS, KINDS.length)
  const [goal] = distinct(rng, 1, OBJECTS)
  const [template] = distinct(rng, 1, TEMPLATES.length)
  return { agent, objects, kinds, goal, template }
}

export const step = (state, action) => {
  const south = Number(action === 2) - Number(action === 0)
  const east = Number(action === 1) - Number(action === 3)
  const within = (number) => Math.min(Math.max(number, 0), SIDE - 1)
  const row = within(Math.floor(state.agent / SIDE) + south)
  const column = within((state.agent % SIDE) + east)
  const agent = row * SIDE + column
  const there = state.objects.indexOf(agent)
  const reward = Number(there === state.goal)
  return { state: { ...state, agent }, reward, terminated: there >= 0 }
}

export const sentence = ({ template, kinds, goal }) =>
  SENTENCES[template * KINDS.length + kinds[goal]]

/** The grid with a channel for the agent, four for colours, three for shapes; words. */
export const observe = (state) => {
  const image = new Array(SIDE * SIDE * CHANNELS).fill(0)
  image[state.agent * CHANNELS] = 1
  state.objects.forEach((cell, i) => {
    const kind = state.kinds[i]
    image[cell * CHANNELS + 1 + Math.floor(kind / SHAPES.length)] = 1
    image[cell * CHANNELS + 1 + 4 + (kind % SHAPES.length)] = 1
  })
  const tokens = sentence(state).split(" ").map((word) => WORDS.indexOf(word))
  const instruction = Array.from({ length: LONGEST }, (_, i) => tokens[i] ?? 0)
  return { image, instruction }
}

const place = (cell) => `row ${Math.floor(cell / SIDE) + 1}, column ${(cell % SIDE) + 1}`

export const describe = (state) => {
  const things = state.objects.map((cell, i) =>
    `${KINDS[state.kinds[i]].join(" ")} in ${place(cell)}`)
  return `“${sentence(state)}”; you are in ${place(state.agent)}; ${things.join("; ")}`
}

export const caption = (state) => `“${sentence(state)}”`

export const draw = (pen, state, colors) => {
  const cell = size[0] / SIDE
  const middle = (i) => [((i % SIDE) + 0.5) * cell, (Math.floor(i / SIDE) + 0.5) * cell]
  pen.fillStyle = colors.ice
  for (let i = 0; i < SIDE * SIDE; i++) {
    const [x, y] = middle(i)
    pen.fillRect(x - cell / 2 + 1, y - cell / 2 + 1, cell - 2, cell - 2)
  }
  state.objects.forEach((at, i) => {
    const [color, shape] = KINDS[state.kinds[i]]
    const [x, y] = middle(at)
    const r = cell * 0.3
    pen.fillStyle = COLORS[color]
    pen.beginPath()
    if (shape === "square") pen.rect(x - r, y - r, 2 * r, 2 * r)
    else if (shape === "circle") pen.arc(x, y, r, 0, 2 * Math.PI)
    else {
      pen.moveTo(x - r, y + r)
      pen.lineTo(x + r, y + r)
      pen.lineTo(x, y - r)
    }
    pen.fill()
  })
  const [x, y] = middle(state.agent)
  pen.strokeStyle = colors.ink
  pen.lineWidth = 4
  pen.beginPath()
  pen.arc(x, y, cell * 0.38, 0, 2 * Math.PI)
  pen.stroke()
}
