// Uses the service with the official client. Reads {baseUrl, key, package, agents: {rules, scripted}}
// from stdin, and prints what each case received. `agents.scripted` replies to scripts.

import { createServer, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { photo } from '../photo.mjs'

const order = JSON.parse(await text(process.stdin))
const { OpenAI } = await import(order.package)
const url = new URL(order.baseUrl)

const client = (options = {}) =>
  new OpenAI({ baseURL: `${order.baseUrl}/v1`, apiKey: order.key, ...options })

/** A client that counts its requests. */
const counting = (options = {}) => {
  const counted = { requests: 0, retries: [] }
  const send = options.fetch ?? fetch
  counted.client = client({
    ...options,
    fetch: async (url, init) => {
      counted.requests += 1
      counted.retries.push(new Headers(init.headers).get('x-stainless-retry-count'))
      return send(url, init)
    },
  })
  return counted
}

const rest = async (method, path) => {
  const response = await fetch(order.baseUrl + path, { method, headers: { 'X-API-Key': order.key } })
  return response.json()
}

const messagesOf = async (key) => {
  const found = await rest('GET', `/api/conversations?agentId=${order.agents.scripted}&key=${key}`)
  const conversation = found.data[0].id
  return (await rest('GET', `/api/conversations/${conversation}/messages`)).data
}

const ask = (script, more = {}) => ({
  model: order.agents.scripted,
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: typeof script === 'string' ? script : JSON.stringify(script) },
  ],
  ...more,
})

const stored = (key) => ({ metadata: { conversation_key: key } })
const newKey = (name) => `${name}-${crypto.randomUUID()}`

const failure = async (promise) => {
  try {
    await promise
    return { name: 'none' }
  } catch (error) {
    const { status, code, param, type } = error
    const requestId = typeof error.requestID === 'string'
    return { name: error.constructor.name, message: error.message, status, code, param, type, requestId }
  }
}

const collect = async (stream, onText = () => {}) => {
  const received = { text: '', roles: [], ends: [], usage: null, ids: new Set(), error: null }
  try {
    for await (const chunk of stream) {
      received.ids.add(chunk.id)
      if (chunk.usage) received.usage = chunk.usage
      for (const { delta, finish_reason } of chunk.choices) {
        if (delta.role) received.roles.push(delta.role)
        if (finish_reason) received.ends.push(finish_reason)
        received.text += delta.content ?? ''
        if (delta.content) await onText(received.text)
      }
    }
  } catch (error) {
    received.error = { name: error.constructor.name, code: error.code, message: error.message }
  }
  return { ...received, ids: received.ids.size }
}

/** A relay that breaks its first connection after some bytes of the response. */
const breakingRelay = async (bytes) => {
  const relay = createServer((near) => {
    const far = connect(Number(url.port), url.hostname)
    let left = relay.broken ? Infinity : bytes
    relay.broken = true
    near.pipe(far)
    far.on('data', (data) => {
      near.write(data.subarray(0, Math.max(left, 0)))
      left -= data.length
      if (left <= 0) near.resetAndDestroy()
    })
    far.on('end', () => near.end())
    for (const socket of [near, far]) socket.on('error', () => far.destroy())
  })
  await new Promise((listening) => relay.listen(0, '127.0.0.1', listening))
  return relay
}

const cases = {
  async create() {
    const completion = await client().chat.completions.create({
      model: order.agents.rules,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }],
      temperature: 0.2,
    })
    const { id, object, created, model, choices } = completion
    return { id, object, age: Math.floor(Date.now() / 1000) - created, model, choices }
  },

  async photo() {
    const image = { type: 'image_url', image_url: { url: photo.url, detail: 'auto' } }
    const note = { type: 'file', file: { filename: 'note.txt', file_data: 'data:text/plain;base64,SGVsbG8=' } }
    const message = { role: 'user', content: [{ type: 'text', text: 'See' }, image, note] }
    const key = newKey('photo')
    const texts = []
    for (const more of [{}, stored(key)]) {
      const completion = await client().chat.completions.create({ model: order.agents.scripted, messages: [message], ...more })
      texts.push(completion.choices[0].message.content)
    }
    const files = (await messagesOf(key))[0].files.map(({ name, mediaType, bytes }) => ({ name, mediaType, bytes }))
    image.image_url.url = 'data:image/png;base64,PGI+'
    const request = { model: order.agents.scripted, messages: [message] }
    return { texts, files, error: await failure(client().chat.completions.create(request)) }
  },

  async stream() {
    const usage = { inputTokens: 7, outputTokens: 3 }
    const request = ask({ words: 3, pauseMs: 20, usage, finishReason: 'length' }, { stream: true })
    request.stream_options = { include_usage: true }
    return collect(await client().chat.completions.create(request))
  },

  async streamHelper() {
    const stream = client().chat.completions.stream(ask({ words: 3, pauseMs: 20 }))
    const completion = await stream.finalChatCompletion()
    return { choices: completion.choices, object: completion.object }
  },

  async models() {
    const listed = []
    for await (const model of client().models.list()) listed.push(model)
    const byId = await client().models.retrieve(order.agents.rules)
    const byName = await client().models.retrieve(byId.name)
    return { listed: listed.map(({ id, object }) => ({ id, object })), byId, byName }
  },

  async errors() {
    const create = (request, options) => failure(client(options).chat.completions.create(request))
    return {
      unknownModel: await create(ask('hello', { model: 'nobody' })),
      tools: await create(ask('hello', { tools: [{ type: 'function', function: { name: 'f' } }], tool_choice: 'any' })),
      credential: await create(ask('hello'), { apiKey: 'sk-unknown' }),
      unknownId: await failure(client().models.retrieve('nobody')),
    }
  },

  async retriesWhatCanSucceed() {
    const counted = counting()
    const error = await failure(counted.client.chat.completions.create(ask({ fail: 'unavailable' })))
    const refused = counting()
    await failure(refused.client.chat.completions.create(ask({ fail: 'refused' })))
    return { error, requests: counted.requests, refusedRequests: refused.requests }
  },

  async cancelledTurnIsFinal() {
    const key = newKey('cancelled')
    const counted = counting()
    const sent = failure(counted.client.chat.completions.create(ask({ hang: true }, stored(key))))
    let messages
    do {
      await sleep(50)
      messages = await messagesOf(key).catch(() => [])
    } while (messages.length === 0)
    await rest('POST', `/api/turns/${messages[0].turnId}/cancel`)
    return { error: await sent, requests: counted.requests }
  },

  async lostResponseIsNotSentTwice() {
    const key = newKey('lost')
    const ids = []
    const lossy = async (url, init) => {
      const response = await fetch(url, init)
      ids.push((await response.clone().json()).id)
      if (ids.length === 1) throw new TypeError('the response is lost')
      return response
    }
    const counted = counting({ fetch: lossy })
    const request = ask('one two three', stored(key))
    const completion = await counted.client.chat.completions.create(request)
    const once = (await messagesOf(key)).length
    // The same text again is another message.
    await client().chat.completions.create(request)
    const twice = (await messagesOf(key)).length
    const isSame = ids.length === 2 && ids.every((id) => id === completion.id)
    return { isSame, retries: counted.retries, once, twice }
  },

  async failsInTheMiddle() {
    const script = { words: 6, pauseMs: 20, failAfter: 3, fail: 'invalid_reply' }
    return collect(await client().chat.completions.create(ask(script, { stream: true })))
  },

  async isCutInTheMiddle() {
    const relay = await breakingRelay(2_000)
    const baseURL = `http://127.0.0.1:${relay.address().port}/v1`
    const script = { words: 40, pauseMs: 5 }
    const stream = await client({ baseURL }).chat.completions.create(ask(script, { stream: true }))
    const received = await collect(stream)
    relay.close()
    return { ends: received.ends, hasText: received.text.length > 0, error: received.error?.name }
  },

  async isAborted() {
    const key = newKey('aborted')
    const script = { words: 10, pauseMs: 50 }
    const abort = async (more) => {
      const stream = await client().chat.completions.create(ask(script, { stream: true, ...more }))
      const received = await collect(stream, () => stream.controller.abort())
      return { text: received.text, ends: received.ends, error: received.error }
    }
    const ephemeral = await abort({})
    const kept = await abort(stored(key))
    let reply
    do {
      await sleep(100)
      reply = (await messagesOf(key)).find((message) => message.role === 'agent')
    } while (!reply)
    return { ephemeral, kept, reply: reply.content }
  },
}

const results = {}
for (const [name, run] of Object.entries(cases)) {
  if (order.only && order.only !== name) continue
  results[name] = await run()
}
console.log(JSON.stringify(results))
process.exit(0)
