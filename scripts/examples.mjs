import { spawn } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './bootstrap.mjs'

// Every example, all at the same time: most of what they do is wait. What each prints comes as one piece.

const names = readdirSync(join(root, 'examples')).filter((name) => existsSync(join(root, 'examples', name, 'main.ts')))

/** Answers whether it did all that it says. */
function play(name) {
  return new Promise((resolve) => {
    const example = spawn(process.execPath, ['scripts/start.mjs', name], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let text = ''
    for (const stream of [example.stdout, example.stderr]) stream.on('data', (chunk) => (text += chunk))
    example.on('close', (code) => {
      console.log(`-- ${name}: ${code === 0 ? 'ok' : `ended with ${code}`}\n${text}`)
      resolve(code === 0)
    })
  })
}

const results = await Promise.all(names.map(play))
process.exitCode = results.every(Boolean) ? 0 : 1
