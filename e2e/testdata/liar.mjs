// A server that breaks its word: each of its tools declares {"n": number} and
// sends something else, save for "right".
import { createInterface } from 'node:readline'

const results = {
  right: { content: [], structuredContent: { n: 1 } },
  wrong: { content: [], structuredContent: { n: 'one' } },
  lacks: { content: [{ type: 'text', text: '{"n":1}' }] },
  shapeless: { content: [{ type: 'text' }], structuredContent: { n: 1 } },
}
const outputSchema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
const answer = {
  initialize: () => ({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'liar', version: '1' } }),
  'tools/list': () => ({ tools: Object.keys(results).map((name) => ({ name, inputSchema: { type: 'object' }, outputSchema })) }),
  'tools/call': ({ name }) => results[name],
}
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) continue
  const reply = answer[method] ? { result: answer[method](params) } : { error: { code: -32601, message: 'no such method' } }
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...reply }) + '\n')
}
