// Runs a program of this folder with the newer Node.js of this folder, if it has one for this
// machine: `node newer_node.mjs client.mjs`. The program gets the other arguments.

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

const folder = import.meta.dirname
const own = join(folder, `node_modules/node-${process.platform}-${process.arch}/bin/node`)
const node = existsSync(own) ? own : process.execPath
const all = process.argv.slice(2)
const program = all.find((argument) => argument.endsWith('.mjs'))
const others = all.filter((argument) => argument !== program)
const { status } = spawnSync(node, [join(folder, program), ...others], { stdio: 'inherit' })
process.exit(status ?? 1)
