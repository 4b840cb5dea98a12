// A client on the official SDK, driven by the tests.
//
//	node client.mjs URL | COMMAND [ARGUMENT...]
//
// It lists the tools, which makes the SDK hold every later result against the
// tool's outputSchema, and prints {tools, schemas}. Then each line of stdin is
// the params of a tools/call; it prints {result}, or {error} for a reply that
// the SDK refuses. What the SDK cannot even read ends the program.
import { createInterface } from 'node:readline'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

const [target, ...args] = process.argv.slice(2)
const say = (value) => process.stdout.write(JSON.stringify(value) + '\n')

const client = new Client({ name: 'strict', version: '1' })
client.onerror = (err) => {
  say({ error: `unreadable: ${err.message}` })
  process.exitCode = 1
  client.close()
}
await client.connect(
  /^https?:/.test(target)
    ? new StreamableHTTPClientTransport(new URL(target))
    : new StdioClientTransport({ command: target, args, env: process.env, stderr: 'inherit' }),
)
const { tools, nextCursor } = await client.listTools()
if (nextCursor) throw new Error('a second page: the SDK forgets the schemas of the first')
say({ tools: tools.map((t) => t.name), schemas: tools.filter((t) => t.outputSchema).map((t) => t.name) })

for await (const line of createInterface({ input: process.stdin })) {
  try {
    say({ result: await client.callTool(JSON.parse(line)) })
  } catch (err) {
    say({ error: err.message })
  }
}
client.onerror = undefined
await client.close()
