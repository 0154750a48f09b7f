/**
 * Who may import whom. The folders of src/ are rooms, and data walks through them one way:
 * define -> start -> queue -> claim -> execute -> settle -> trace. CONTRIBUTING.md shows this table to people.
 */

/** room -> the rooms it may import, besides itself. `index.ts` and `testing` may import all; `cli` is all but `execute`. */
const rooms = {
  model: [],
  define: ['model'],
  db: ['model'],
  queue: ['model', 'db'],
  client: ['model', 'define', 'db', 'trace'],
  execute: ['model', 'define', 'trace'],
  worker: ['model', 'define', 'db', 'queue', 'execute', 'trace'],
  trace: ['model'],
  replay: ['model', 'define', 'execute'],
  cli: ['model', 'define', 'db', 'queue', 'client', 'worker', 'trace', 'replay', 'index'],
  adapters: ['model'],
  otel: ['trace'],
  testing: ['model', 'define', 'db', 'queue', 'client', 'execute', 'worker', 'trace', 'replay', 'index'],
}

/** What `import` of the package and of its parts leads to: a file each beside the rooms. */
const surfaces = ['index', 'adapters', 'otel', 'testing']

/** A package that only one room may import, so that what it is for can be read, and replaced, in one place. */
const owned = {
  pg: { room: 'db', why: 'only src/db talks to Postgres' },
  'graphile-worker': { room: 'queue', why: 'only src/queue knows which queue carries the tickets' },
  '@opentelemetry': { room: 'trace', why: 'only src/trace knows OpenTelemetry' },
  superjson: { room: 'model', why: 'the codec is one pure rule of src/model' },
  croner: { room: 'define', why: 'only src/define/schedule-instants.ts computes instants' },
  commander: { room: 'cli', why: 'only src/cli reads a command line' },
  picocolors: { room: 'cli', why: 'only src/cli prints' },
  jiti: { room: 'cli', why: 'only src/cli loads the code of a user from a path' },
}

/** What a user can reach: a package entry or a command. */
const entries = [...surfaces.map((name) => `^src/${name}\\.ts$`), '^src/cli/bin\\.ts$']

/** What development alone uses: the tables the docs are made from. */
const development = ['^src/define/(?:render-)?options\\.ts$']

/** `testing` is a room with a surface of its own beside it. */
const room = (name) =>
  name === 'testing' ? '^src/testing(?:\\.ts$|/)' : surfaces.includes(name) ? `^src/${name}\\.ts$` : `^src/${name}/`
const anyRoom = `^src/(?:${Object.keys(rooms).join('|')})/`

const roomRules = Object.entries(rooms).map(([name, allowed]) => ({
  name: `room-${name}`,
  comment: `src/${name} may import ${allowed.length > 0 ? allowed.join(', ') : 'nothing of ours'}.`,
  severity: 'error',
  from: { path: room(name) },
  to: { path: '^src/', pathNot: [name, ...allowed].map(room) },
}))

const ownedRules = Object.entries(owned).map(([name, { room: owner, why }]) => ({
  name: `only-${owner}-imports-${name.replace('@', '')}`,
  comment: `${why}.`,
  severity: 'error',
  from: { path: '^src/', pathNot: room(owner) },
  to: { path: [`(?:^|/)node_modules/(?:@types/)?${name}/`, `^${name}(?:$|/)`] },
}))

module.exports = {
  forbidden: [
    ...roomRules,
    ...ownedRules,
    {
      name: 'every-file-has-a-room',
      comment:
        'src/ holds rooms, index.ts, adapters.ts, otel.ts and testing.ts; a new room is added to the table above first.',
      severity: 'error',
      from: { path: '^src/', pathNot: [anyRoom, ...entries] },
      to: {},
    },
    {
      name: 'no-cycle',
      comment: 'Two files that need each other are one idea, or hide a third.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-orphan',
      comment: 'Nothing imports it and it imports nothing: delete it, or use it.',
      severity: 'error',
      from: { orphan: true, pathNot: entries },
      to: {},
    },
    {
      name: 'no-unreached',
      comment: 'Neither the public surface nor the command reaches it: delete it, or use it.',
      severity: 'error',
      from: { path: [...entries, ...development] },
      to: { path: '^src/', pathNot: [...entries, ...development], reachable: false },
    },
    {
      name: 'src-imports-src-only',
      comment: 'What is published may not lean on tests, benches, examples or scripts.',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(?:test|bench|examples|scripts|dist)/' },
    },
    {
      name: 'no-dev-dependency',
      comment: 'A user installs only `dependencies`. The embedded database is optional and asked for by name.',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only', 'npm-peer', 'npm-optional'] },
    },
    {
      name: 'no-unresolvable',
      comment: 'The import leads nowhere.',
      severity: 'error',
      from: { path: '^src/' },
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
    combinedDependencies: false,
  },
}
