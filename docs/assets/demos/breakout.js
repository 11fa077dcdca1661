// MinAtar's Breakout as envs/minatar/breakout.py computes it.

export const title = "Breakout"
export const actions = ["stay", "left", "right"]
export const keys = { ArrowLeft: 1, ArrowRight: 2 }
export const limit = Infinity
export const fps = 10
export const size = [320, 320]
export const sliders = [
  {
    name: "sticky", label: "Sticky actions", min: 0, max: 0.5, step: 0.05, value: 0.1,
  },
]

const SIZE = 10, TOP = 1, ROWS = 3
const BRICKS = ROWS * SIZE
const WHOLE = 2 ** BRICKS - 1 // a bit per brick
const STAY = 0, LEFT = 1, RIGHT = 2

/** A whole wall, and a ball that falls inwards from the left or the right. */
export const reset = (rng) => {
  const left = rng() < 0.5
  const x = left ? 0 : SIZE - 1
  const ball = { x, y: 3, lastX: x, lastY: 3, dx: left ? 1 : -1, dy: 1 }
  return { ...ball, paddle: 4, wall: WHOLE, struck: false, action: STAY }
}

export const step = (state, meant, rng, { sticky = 0.1 } = {}) => {
  const action = rng() < sticky ? state.action : meant
  let { x, y, dx, dy, wall } = state
  const toRight = Number(action === RIGHT) - Number(action === LEFT)
  const paddle = Math.min(Math.max(state.paddle + toRight, 0), SIZE - 1)

  let newX = x + dx, newY = y + dy
  if (newX < 0 || newX >= SIZE) dx = -dx
  newX = Math.min(Math.max(newX, 0), SIZE - 1)
  const atCeiling = newY < 0

  const inWall = newY >= TOP && newY < TOP + ROWS
  const bit = inWall ? 1 << ((newY - TOP) * SIZE + newX) : 0
  const atBrick = (wall & bit) !== 0
  const broken = atBrick && !state.struck // just after one, it flies through bricks
  if (broken) wall ^= bit

  const atBottom = newY === SIZE - 1
  if (atBottom && wall === 0) wall = WHOLE
  const met = atBottom && x === paddle
  const atEdge = atBottom && newX === paddle && !met
  const terminated = atBottom && !met && !atEdge

  const bounced = broken || met || atEdge
  if (bounced || atCeiling) dy = -dy
  if (atEdge) dx = -dx
  newY = Math.max(bounced ? y : newY, 0)
  const ball = { x: newX, y: newY, lastX: x, lastY: y, dx, dy }
  const next = { ...ball, paddle, wall, struck: atBrick, action }
  return { state: next, reward: Number(broken), terminated }
}

/** The board, `[10, 10, 4]` flat: paddle, ball, trail, bricks. */
export const observe = ({ x, y, lastX, lastY, paddle, wall }) => {
  const board = new Array(SIZE * SIZE * 4).fill(0)
  const put = (row, column, channel) => {
    board[(row * SIZE + column) * 4 + channel] = 1
  }
  put(SIZE - 1, paddle, 0)
  put(y, x, 1)
  put(lastY, lastX, 2)
  for (let i = 0; i < BRICKS; i++)
    if ((wall >> i) & 1) put(TOP + Math.floor(i / SIZE), i % SIZE, 3)
  return board
}

export const idle = () => STAY

const count = (bits) => bits.toString(2).replaceAll("0", "").length

export const describe = ({ x, y, dx, paddle, wall }) =>
  `ball in row ${y + 1}, column ${x + 1}, flying ${dx < 0 ? "left" : "right"};`
  + ` paddle in column ${paddle + 1}; ${count(wall)} bricks`

export const draw = (pen, state, colors) => {
  const cell = size[0] / SIZE
  const fill = (row, column, color) => {
    pen.fillStyle = color
    pen.fillRect(column * cell + 1, row * cell + 1, cell - 2, cell - 2)
  }
  for (let i = 0; i < BRICKS; i++)
    if ((state.wall >> i) & 1) fill(TOP + Math.floor(i / SIZE), i % SIZE, colors.water)
  fill(state.lastY, state.lastX, colors.line)
  fill(state.y, state.x, colors.accent)
  fill(SIZE - 1, state.paddle, colors.ink)
}
