// Runs a program of this folder with the newer Node.js of this folder, if it has one for this
// machine: `node newer_node.mjs client.mjs`.

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

const folder = import.meta.dirname
const own = join(folder, `node_modules/node-${process.platform}-${process.arch}/bin/node`)
const node = existsSync(own) ? own : process.execPath
const { status } = spawnSync(node, [join(folder, process.argv[2])], { stdio: 'inherit' })
process.exit(status ?? 1)
