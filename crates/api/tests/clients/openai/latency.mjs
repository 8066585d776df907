// Compares streamed completions with streamed chats of the service's own interface. Reads {baseUrl,
// key, agents: {rules}} from stdin, and prints the medians of several alternating rounds.

import { Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'

const order = JSON.parse(await text(process.stdin))
const CONNECTIONS = 32
const ROUNDS = 7
const ROUND_MS = order.roundMs ?? 2_000

const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
const messages = [{ role: 'user', content: 'hello' }]
const model = order.agents.rules

const ways = {
  own: { path: '/api/chat', body: { agentId: model, message: 'hello', stream: true, store: false } },
  openai: { path: '/v1/chat/completions', body: { model, messages, stream: true } },
}
const firstText = { own: 'event: reply.delta', openai: '"delta":{"content"' }

/** Sends one message, and returns the time until its first text in milliseconds. */
const send = (way) =>
  new Promise((received, failed) => {
    const body = JSON.stringify(ways[way].body)
    const began = performance.now()
    let first
    let all = ''
    const headers = {
      authorization: `Bearer ${order.key}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    }
    const url = order.baseUrl + ways[way].path
    const sent = request(url, { method: 'POST', agent, headers }, (response) => {
      response.setEncoding('utf8')
      response.on('data', (data) => {
        all += data
        if (first === undefined && all.includes(firstText[way])) first = performance.now() - began
      })
      response.on('end', () => (first === undefined ? failed(new Error(all)) : received(first)))
    })
    sent.on('error', failed)
    sent.end(body)
  })

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]

const round = async (way) => {
  const times = []
  const began = performance.now()
  const end = began + ROUND_MS
  const worker = async () => {
    while (performance.now() < end) times.push(await send(way))
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, worker))
  return { first: median(times), rate: (times.length * 1000) / (performance.now() - began) }
}

const alone = async (way) => {
  const times = []
  for (let sent = 0; sent < 300; sent += 1) times.push(await send(way))
  return median(times)
}

const rounds = { own: [], openai: [] }
for (let number = 0; number < ROUNDS; number += 1) {
  for (const way of Object.keys(ways)) rounds[way].push(await round(way))
}
const results = {}
for (const way of Object.keys(ways)) {
  results[way] = {
    firstTextMs: median(rounds[way].map((it) => it.first)),
    messagesPerSecond: median(rounds[way].map((it) => it.rate)),
    aloneFirstTextMs: await alone(way),
  }
}
results.throughput = results.openai.messagesPerSecond / results.own.messagesPerSecond
results.addedMsAlone = results.openai.aloneFirstTextMs - results.own.aloneFirstTextMs
console.log(JSON.stringify(results))
process.exit(0)
