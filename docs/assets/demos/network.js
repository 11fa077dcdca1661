// Plays a policy that `yieldrl export` wrote: tables, MLPs and small CNNs. The format is
// described in docs/reference/exports.md; exports/json_policy.py is the same in NumPy.

export const VERSION = 1

/** The policy in a parsed file, with its arrays unpacked. */
export const load = (file) => {
  if (file.format !== "yieldrl-policy" || file.version !== VERSION)
    throw new Error(`not a yieldrl-policy of version ${VERSION}: export it again`)
  return unpacked(file)
}

/** The action for one observation: a number, or an array if actions have a shape. */
export const act = (policy, observation) => {
  const { output } = policy
  const x = raw(policy, observation)
  const flat = output.type === "argmax" ? choices(x, output) : clipped(x, output)
  return output.shape.length === 0 ? flat[0] : flat
}

/** What the last layer says: logits, values of actions, or actions not yet clipped. */
export const raw = (policy, observation) => {
  const features = policy.inputs.flatMap(({ path, layers }) => {
    const entry = path.reduce((inner, name) => inner[name], observation)
    return apply(layers, Array.from([entry].flat(Infinity), Number))
  })
  return apply(policy.layers, features)
}

const apply = (layers, x) => layers.reduce((y, of) => LAYERS[of.type](y, of), x)

const LAYERS = {
  linear: (x, { weight, bias }) => bias.values.map((b, i) => b + dot(weight, i, x)),
  relu: (x) => x.map((number) => Math.max(number, 0)),
  tanh: (x) => x.map(Math.tanh),
  normalize: (x, { mean, std, limit }) =>
    x.map((number, i) => {
      const scaled = (number - mean.values[i]) / std.values[i]
      return Math.min(Math.max(scaled, -limit), limit)
    }),
  affine: (x, { scale, offset }) =>
    x.map((number, i) => at(scale, i) * number + at(offset, i)),
  one_hot: (x, { counts, starts }) =>
    counts.flatMap((count, i) =>
      Array.from({ length: count }, (_, j) => Number(x[i] - starts[i] === j))),
  channels_first: (x, { shape: [height, width, channels] }) =>
    Array.from({ length: x.length }, (_, i) => {
      const place = i % (height * width)
      return x[place * channels + Math.floor(i / (height * width))]
    }),
  conv2d: convolved,
  dueling: (x, of) => {
    const value = apply(of.state_value, x)
    const advantage = apply(of.advantage, x)
    const mean = value.map((_, j) =>
      advantage.reduce((sum, a, i) => sum + (i % of.per_action === j ? a : 0), 0)
      / of.actions)
    return advantage.map((a, i) => {
      const j = i % of.per_action
      return value[j] + a - mean[j]
    })
  },
  expectation: (x, { actions, atoms }) => {
    const size = atoms.values.length
    return Array.from({ length: actions }, (_, i) => {
      const logits = x.slice(i * size, (i + 1) * size)
      const top = Math.max(...logits)
      const weights = logits.map((logit) => Math.exp(logit - top))
      const total = weights.reduce((sum, weight) => sum + weight)
      return weights.reduce((sum, w, j) => sum + (w / total) * atoms.values[j], 0)
    })
  },
  table: (x, { values, starts, strides }) => {
    const row = x.reduce((sum, number, i) => sum + (number - starts[i]) * strides[i], 0)
    const [, actions] = values.shape
    return values.values.slice(row * actions, (row + 1) * actions)
  },
}

const at = ({ values }, i) => values[values.length === 1 ? 0 : i]

const dot = ({ values, shape: [, inputs] }, row, x) => {
  let sum = 0
  for (let i = 0; i < inputs; i++) sum += values[row * inputs + i] * x[i]
  return sum
}

function convolved(x, { shape: [channels, height, width], weight, bias, stride }) {
  const [outputs, , kernel] = weight.shape
  const rows = Math.floor((height - kernel) / stride) + 1
  const columns = Math.floor((width - kernel) / stride) + 1
  const result = []
  for (let o = 0; o < outputs; o++)
    for (let row = 0; row < rows; row++)
      for (let column = 0; column < columns; column++) {
        let sum = bias.values[o]
        for (let c = 0; c < channels; c++)
          for (let i = 0; i < kernel; i++) {
            const from = (c * height + row * stride + i) * width + column * stride
            const of = ((o * channels + c) * kernel + i) * kernel
            for (let j = 0; j < kernel; j++)
              sum += weight.values[of + j] * x[from + j]
          }
        result.push(sum)
      }
  return result
}

const choices = (x, { counts, starts }) => {
  let begin = 0
  return counts.map((count, i) => {
    const options = x.slice(begin, (begin += count))
    return options.indexOf(Math.max(...options)) + starts[i]
  })
}

const clipped = (x, { low, high }) => {
  const bound = (side, i, none) => (Array.isArray(side) ? side[i] : side) ?? none
  return x.map((number, i) =>
    Math.min(Math.max(number, bound(low, i, -Infinity)), bound(high, i, Infinity)))
}

const unpacked = (value) => {
  if (value === null || typeof value !== "object") return value
  if (Array.isArray(value)) return value.map(unpacked)
  if ("float32" in value) return { shape: value.shape, values: numbers(value.float32) }
  const entries = Object.entries(value).map(([name, child]) => [name, unpacked(child)])
  return Object.fromEntries(entries)
}

const numbers = (base64) => {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))
  const view = new DataView(bytes.buffer)
  return Array.from({ length: bytes.length / 4 }, (_, i) => view.getFloat32(4 * i, true))
}
