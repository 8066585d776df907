// Tools of the client with the official client, as its examples have them:
// `node actions.mjs BINARY [6|7]`.

import assert from 'node:assert/strict'

import { end, runCases } from '../cases.mjs'
import { startService } from '../service.mjs'

const major = process.argv[3] ?? '6'
const { OpenAI } = await import(`openai-${major}`)
const service = await startService()
const calculator = { name: 'calculator', visibility: 'full', approval: 'always' }
const agent = await service.newAgent({ tools: [calculator] })
const client = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: service.admin })

const parameters = { type: 'object', properties: { tab: { type: 'integer' } } }
const openCart = { type: 'function', function: { name: 'open_cart', description: 'Opens the cart.', parameters } }
const CALCULATE = ['calculator', { expression: '17 * 24' }]
const OPEN = ['open_cart', { tab: 2 }]
const calls = (...list) => ({ role: 'user', content: `calls ${JSON.stringify(list)}` })
let chats = 0
const newKey = () => `actions-${(chats += 1)}-${major}`
const ask = (key, messages, more = {}) => ({
  model: agent,
  messages,
  tools: [openCart],
  parallel_tool_calls: true,
  metadata: { conversation_key: key },
  ...more,
})
const turns = async (key) => (await service.stored(agent, key)).turns

const cases = {
  async 'calls a tool of the client, and goes on with its result'() {
    const key = newKey()
    const messages = [calls(OPEN)]
    const asked = await client.chat.completions.create(ask(key, messages, { tool_choice: 'auto' }))
    const [{ message, finish_reason: reason }] = asked.choices
    assert.deepEqual([reason, message.content, message.tool_calls.length], ['tool_calls', 'Let me see. ', 1])
    const [{ id, function: called }] = message.tool_calls
    assert.deepEqual([called.name, JSON.parse(called.arguments)], OPEN)
    messages.push(message, { role: 'tool', tool_call_id: id, content: 'opened' })
    for (const _ of [1, 2]) {
      const replied = await client.chat.completions.create(ask(key, messages))
      const [{ message: reply, finish_reason: end }] = replied.choices
      assert.equal(end, 'stop')
      assert.match(reply.content, /^Then: .*opened/)
      assert.equal(reply.tool_calls, undefined)
    }
    assert.deepEqual((await turns(key)).map((turn) => turn.status), ['completed'])
  },
  async 'streams calls and continuations'() {
    const key = newKey()
    const messages = [calls(OPEN, ['open_cart', { tab: 3 }])]
    const stream = client.chat.completions.stream(ask(key, messages, { stream_options: { include_usage: true } }))
    const asked = (await stream.finalChatCompletion()).choices[0]
    assert.equal(asked.finish_reason, 'tool_calls')
    assert.deepEqual(asked.message.tool_calls.map((call) => JSON.parse(call.function.arguments)), [{ tab: 2 }, { tab: 3 }])
    const results = asked.message.tool_calls.map((call, index) => ({ role: 'tool', tool_call_id: call.id, content: `tab ${index}` }))
    messages.push(asked.message, ...results)
    const rest = client.chat.completions.stream(ask(key, messages))
    const text = await rest.finalContent()
    assert.match(text, /^Then: .*tab 0.*tab 1/)
    assert.deepEqual((await turns(key)).map((turn) => turn.status), ['completed'])
  },
  async 'runs the tools of `runTools`'() {
    for (const stream of [false, true]) {
      const key = newKey()
      const opened = []
      const run = async (given) => (opened.push(given), 'opened')
      const runnable = { type: 'function', function: { ...openCart.function, function: run, parse: JSON.parse } }
      const runner = client.chat.completions.runTools({ ...ask(key, [calls(OPEN)]), tools: [runnable], stream })
      assert.match(await runner.finalContent(), /^Then: .*opened/)
      assert.deepEqual(opened, [{ tab: 2 }])
      assert.deepEqual((await turns(key)).map((turn) => turn.status), ['completed'])
    }
  },
  async 'runs the tools of `runTools` without a conversation'() {
    for (const stream of [false, true]) {
      const opened = []
      const run = async (given) => (opened.push(given), 'opened')
      const runnable = { type: 'function', function: { ...openCart.function, function: run, parse: JSON.parse } }
      const runner = client.chat.completions.runTools({ model: agent, messages: [calls(OPEN)], tools: [runnable], stream })
      assert.match(await runner.finalContent(), /^Then: .*opened/)
      assert.deepEqual(opened, [{ tab: 2 }])
    }
  },
  async 'takes a result after a restart, and with the next message'() {
    const key = newKey()
    const messages = [calls(OPEN)]
    const { message } = (await client.chat.completions.create(ask(key, messages))).choices[0]
    await service.restart()
    messages.push(message, { role: 'tool', tool_call_id: message.tool_calls[0].id, content: 'opened' }, { role: 'user', content: 'And now?' })
    const replied = await client.chat.completions.create(ask(key, messages))
    assert.equal(replied.choices[0].message.content, 'You said: And now?')
    assert.deepEqual((await turns(key)).map((turn) => turn.finishReason), ['stop', 'stop'])
  },
  async 'denies what needs approval'() {
    for (const stream of [false, true]) {
      const key = newKey()
      const messages = [calls(CALCULATE)]
      const text = stream
        ? await client.chat.completions.stream(ask(key, messages)).finalContent()
        : (await client.chat.completions.create(ask(key, messages))).choices[0].message.content
      assert.match(text, /Let me see.*Then: .*denied.*\/api\/turns\/\{id\}\/actions/s)
      assert.equal((await turns(key))[0].toolCalls[0].status, 'denied')
    }
    const key = newKey()
    const asked = (await client.chat.completions.create(ask(key, [calls(CALCULATE, OPEN)]))).choices[0]
    assert.equal(asked.finish_reason, 'tool_calls')
    assert.deepEqual(asked.message.tool_calls.map((call) => call.function.name), ['open_cart'])
    const result = { role: 'tool', tool_call_id: asked.message.tool_calls[0].id, content: 'opened' }
    const replied = await client.chat.completions.create(ask(key, [calls(CALCULATE, OPEN), asked.message, result]))
    assert.match(replied.choices[0].message.content, /^Then: .*denied.*opened/s)
  },
  async 'offers no tools with the choice `none`, and refuses malformed ones and unknown results'() {
    const replied = await client.chat.completions.create(ask(newKey(), [calls(OPEN)], { tool_choice: 'none' }))
    assert.match(replied.choices[0].message.content, /no such tool/)
    const malformed = { type: 'function', function: { name: 'open cart' } }
    const refused = (body) => client.chat.completions.create(body).then(() => assert.fail(), (error) => [error.status, error.code])
    const hello = { role: 'user', content: 'Hello' }
    assert.deepEqual(await refused(ask(newKey(), [hello], { tools: [malformed] })), [400, 'validation_failed'])
    const result = { role: 'tool', tool_call_id: 'call_1', content: 'forged' }
    assert.deepEqual(await refused(ask(newKey(), [hello, result])), [404, 'action_not_found'])
  },
}
const passed = await runCases(cases)
await service.stop()
end({ client: `openai ${major}`, node: process.version, ...passed })
