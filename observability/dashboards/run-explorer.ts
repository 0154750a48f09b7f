import { PanelBuilder as TextPanel, TextMode } from '@grafana/grafana-foundation-sdk/text'
import { dashboard } from './dashboard.ts'
import type { Row } from './dashboard.ts'
import { explorerId, overviewId, toDashboard } from './links.ts'
import { traceTable } from './panels.ts'
import { isClaim, isFailed, isOfRun, isOfWorkflow, isStart, isStep, newest, span } from './traceql.ts'
import { run, slow, sources, workflow } from './variables.ts'

const guide = `
Put the id of a run into **Run**, above. Or find one below, among the claims of a workflow that failed or were slow: a
click on its run id fills it in.

- A run is worked at in **claims**, one for each attempt and one after each wait. Each claim is a trace of its own by
  default, linked to the claim before it and to whoever started the run. A click on a span's id opens its trace.
- Only what lies in the time shown is found, and only what your sampling kept. \`workflow show RUN\` reads the database
  instead: it knows every claim of the run, and names the trace of each.
- \`holdfast.replay.command\` of a claim is the command that replays the run against your code.
`

const claimOfRun = span(isOfRun, isClaim)

const oneRun: Row = {
  title: 'What happened to this run?',
  panels: [
    traceTable({
      title: 'Claims',
      question: 'When was the run worked at, by whom, and how did each claim end?',
      reading: ['Steps that an earlier claim kept are only counted, as `holdfast.steps.recalled`.'],
      width: 24,
      lines: 'spans',
      query: newest(
        claimOfRun,
        'holdfast.attempt.number',
        'holdfast.claim.outcome',
        'holdfast.queue.wait',
        'holdfast.steps.recalled',
        'holdfast.worker.id',
      ),
    }),
    traceTable({
      title: 'Steps',
      question: 'Which steps ran, in which claim, and how long did each take?',
      width: 12,
      lines: 'spans',
      query: newest(`${claimOfRun} >> ${span(isStep)}`, 'holdfast.step.name', 'holdfast.step.key', 'holdfast.step.try'),
    }),
    traceTable({
      title: 'What failed',
      question: 'Which claims, steps and spans of your own ended with an error?',
      reading: [
        'The exception is recorded on the innermost.',
        'The replay command of a claim runs it again at your desk.',
      ],
      width: 12,
      lines: 'spans',
      query: newest(
        `${span(isOfRun, isClaim, isFailed)} || (${claimOfRun} >> ${span(isFailed)})`,
        'error.type',
        'holdfast.step.name',
        'holdfast.replay.command',
      ),
    }),
    traceTable({
      title: 'Who started it',
      question: 'In which request or script was the run started?',
      reading: [
        'A batch is one start for many runs, and has no run id: open a claim, and follow its link to the starter.',
      ],
      width: 24,
      lines: 'traces',
      query: newest(span(isOfRun, isStart), 'holdfast.workflow.name'),
    }),
  ],
}

const manyRuns: Row = {
  title: 'Which runs are worth a look?',
  panels: [
    traceTable({
      title: 'Failed claims, newest first',
      question: 'Which claims of these workflows ended with an error?',
      reading: [
        'That is a retry, a failure for good or a lost lease: see the outcome.',
        'A click on the run id shows that run above.',
      ],
      width: 24,
      lines: 'spans',
      query: newest(
        span(isClaim, isOfWorkflow, isFailed),
        'holdfast.run.id',
        'holdfast.workflow.name',
        'holdfast.claim.outcome',
        'holdfast.attempt.number',
        'error.type',
      ),
    }),
    traceTable({
      title: 'Slow claims, newest first',
      question: 'Which claims of these workflows took longer than chosen above?',
      reading: ['Its trace shows in which step the time went.', 'A click on the run id shows that run above.'],
      width: 24,
      lines: 'spans',
      query: newest(
        span(isClaim, isOfWorkflow, 'duration > $slow'),
        'holdfast.run.id',
        'holdfast.workflow.name',
        'holdfast.claim.outcome',
        'holdfast.attempt.number',
      ),
    }),
  ],
}

/** From a run id to its traces, and from a workflow to the ids of its troubled runs. */
export const runExplorer = () =>
  dashboard({
    uid: explorerId,
    title: 'Holdfast: run explorer',
    description: 'What happened to one run, and which runs are worth a look.',
    from: 'now-24h',
    refresh: '',
    variables: [...sources(), workflow(), run(), slow()],
    links: [toDashboard('Overview', overviewId)],
    head: [new TextPanel().title('How to use this').span(24).height(6).mode(TextMode.Markdown).content(guide.trim())],
    rows: [oneRun, manyRuns],
  })
