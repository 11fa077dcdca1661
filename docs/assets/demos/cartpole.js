// CartPole as envs/classic_control.py computes it, which is as Gymnasium's CartPole-v1 does.

export const title = "CartPole"
export const actions = ["push left", "push right"]
export const keys = { ArrowLeft: 0, ArrowRight: 1 }
export const limit = 500
export const fps = 50
export const size = [600, 320]
export const sliders = [
  { name: "length", label: "Half the pole, m", min: 0.1, max: 1, step: 0.05, value: 0.5 },
]

const GRAVITY = 9.8, CART = 1.0, POLE = 0.1, FORCE = 10.0, TAU = 0.02
const X_LIMIT = 2.4
const THETA_LIMIT = (12 * 2 * Math.PI) / 360

/** Position, velocity, angle and angular velocity: uniform, near zero. */
export const reset = (rng) => Array.from({ length: 4 }, () => -0.05 + 0.1 * rng())

export const step = (state, action, rng, { length = 0.5 } = {}) => {
  let [x, xDot, theta, thetaDot] = state
  const sin = Math.sin(theta), cos = Math.cos(theta)
  const force = action ? FORCE : -FORCE
  const total = POLE + CART
  const poleLength = POLE * length
  const temp = (force + poleLength * (thetaDot * thetaDot) * sin) / total
  const thetaAcc = (GRAVITY * sin - cos * temp)
    / (length * (4 / 3 - (POLE * (cos * cos)) / total))
  const xAcc = temp - (poleLength * thetaAcc * cos) / total
  x += TAU * xDot
  xDot += TAU * xAcc
  theta += TAU * thetaDot
  thetaDot += TAU * thetaAcc
  const terminated = Math.abs(x) > X_LIMIT || Math.abs(theta) > THETA_LIMIT
  return { state: [x, xDot, theta, thetaDot], reward: 1, terminated }
}

export const observe = (state) => state

/** Nobody can do nothing here: without a key, pushes to both sides cancel out. */
export const idle = (state, elapsed) => elapsed % 2

export const describe = ([x, , theta]) => {
  const side = (number) => (number < 0 ? "left" : "right")
  const degrees = Math.abs((theta * 180) / Math.PI).toFixed(1)
  return `cart ${Math.abs(x).toFixed(2)} m ${side(x)} of the middle,`
    + ` pole leans ${degrees} degrees to the ${side(theta)}`
}

export const draw = (pen, [x, , theta], colors, { length = 0.5 } = {}) => {
  const [width, height] = size
  const scale = width / (2 * X_LIMIT)
  const ground = height - 50
  pen.strokeStyle = colors.line
  pen.lineWidth = 2
  pen.beginPath()
  pen.moveTo(0, ground)
  pen.lineTo(width, ground)
  pen.stroke()
  pen.save()
  pen.translate(width / 2 + x * scale, ground)
  for (const color of [colors.paper, colors.ink]) { // which may be translucent
    pen.fillStyle = color
    pen.fillRect(-32, -18, 64, 36)
  }
  pen.translate(0, -10)
  pen.rotate(theta)
  pen.fillStyle = colors.accent
  pen.fillRect(-5, -2 * scale * length, 10, 2 * scale * length + 5)
  pen.fillStyle = colors.paper
  pen.beginPath()
  pen.arc(0, 0, 4, 0, 2 * Math.PI)
  pen.fill()
  pen.restore()
}
