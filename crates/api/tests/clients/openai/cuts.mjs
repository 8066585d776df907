// Cuts the connection at every boundary of the data of a reply with 40 parts, and counts what the
// official client reports. Reads {baseUrl, key, package, agents: {scripted}} from stdin.

import { createServer, request } from 'node:http'
import { text } from 'node:stream/consumers'

const order = JSON.parse(await text(process.stdin))
const { OpenAI } = await import(order.package)
const PARTS = 40
/** The first chunk, one for each part, the end of the text and `[DONE]`. */
const BLOCKS = PARTS + 3
const rounds = order.rounds ?? 5

/** How many blocks the next response has, and whether it ends with a reset. */
let next = { blocks: Infinity, reset: false }

const relay = createServer((near, answer) => {
  const { blocks, reset } = next
  const options = { method: near.method, headers: near.headers }
  const far = request(order.baseUrl + near.url, options, (response) => {
    answer.writeHead(response.statusCode, response.headers)
    answer.flushHeaders()
    let unsent = ''
    let sent = 0
    const end = () => (reset ? answer.socket?.resetAndDestroy() : answer.socket?.end())
    if (blocks === 0) return end()
    response.setEncoding('utf8')
    response.on('data', (data) => {
      unsent += data
      for (let at; (at = unsent.indexOf('\n\n')) >= 0 && sent < blocks; sent += 1) {
        answer.write(unsent.slice(0, at + 2))
        unsent = unsent.slice(at + 2)
        if (sent + 1 === blocks) setTimeout(end, 5)
      }
    })
    response.on('end', () => sent < blocks && answer.end())
    response.on('error', () => {})
  })
  far.on('error', () => {})
  near.pipe(far)
})
await new Promise((listening) => relay.listen(0, '127.0.0.1', listening))

const client = new OpenAI({
  baseURL: `http://127.0.0.1:${relay.address().port}/v1`,
  apiKey: order.key,
})

const rest = async (path) => {
  const response = await fetch(order.baseUrl + path, { headers: { 'X-API-Key': order.key } })
  return (await response.json()).data
}

const whole = Array.from({ length: PARTS }, (_, index) => `word${index + 1}`).join(' ')
const script = JSON.stringify({ words: PARTS, pauseMs: 2 })

const receive = async (key) => {
  const received = { text: '', finished: false, error: false }
  try {
    const stream = await client.chat.completions.create({
      model: order.agents.scripted,
      messages: [{ role: 'user', content: script }],
      metadata: { conversation_key: key },
      stream: true,
    })
    for await (const { choices } of stream) {
      received.text += choices[0]?.delta.content ?? ''
      received.finished ||= choices[0]?.finish_reason === 'stop'
    }
  } catch {
    received.error = true
  }
  return received
}

const counts = { runs: 0, errors: 0, whole: 0, halfAsWhole: 0, notOneTurn: 0, storedOtherText: 0 }
for (let round = 0; round < rounds; round += 1) {
  for (let blocks = 0; blocks <= BLOCKS; blocks += 1) {
    next = { blocks, reset: round % 2 === 0 }
    const key = `cut-${crypto.randomUUID()}`
    const received = await receive(key)
    counts.runs += 1
    if (received.error) counts.errors += 1
    else if (received.finished && received.text === whole) counts.whole += 1
    else counts.halfAsWhole += 1
    const path = `/api/conversations?agentId=${order.agents.scripted}&key=${key}`
    const [{ id }] = await rest(path)
    let messages
    do messages = await rest(`/api/conversations/${id}/messages`)
    while (messages.at(-1).role !== 'agent')
    if (messages.length !== 2) counts.notOneTurn += 1
    if (messages.at(-1).content !== whole) counts.storedOtherText += 1
  }
}
console.log(JSON.stringify(counts))
process.exit(0)
