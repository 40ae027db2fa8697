// How checkpoints and savepoints went: figures, curves, a log that is read in pages, and one of them up close.

import { html, useEffect, useRef, useState } from "../../vendor/preact.js";
import { Chart } from "../chart.js";
import { bytes, clock, duration, moment, whole } from "../format.js";
import { Gantt } from "../gantt.js";
import { useGet } from "../live.js";
import { Badge, Figure, Notice, Table, Waiting } from "../ui.js";

const ROWS = 25;
const KINDS = { CHECKPOINT: "checkpoint", UNALIGNED_CHECKPOINT: "unaligned checkpoint", SAVEPOINT: "savepoint", SYNC_SAVEPOINT: "savepoint that stops the job" };
const kind = (name, format) => `${KINDS[name]}${format ? `, ${format.toLowerCase()}` : ""}`;

const LOG = [
  { key: "id", title: "Id", num: true, cell: (row) => row.id },
  { key: "kind", title: "Kind", cell: (row) => kind(row.kind, row.format) },
  { key: "status", title: "Status", cell: (row) => html`<${Badge} state=${row.status} />` },
  { key: "trigger", title: "Triggered", cell: (row) => moment(row.trigger) },
  { key: "duration", title: "Took", num: true, cell: (row) => duration(row.duration) },
  { key: "checkpointed", title: "Written", num: true, cell: (row) => bytes(row.checkpointed) },
  { key: "state", title: "Full size", num: true, cell: (row) => bytes(row.state) },
  { key: "failure", title: "Why it failed", cell: (row) => html`<span class="bad">${row.failure}</span>` },
];

const VERTICES = [
  { key: "name", title: "Operators", cell: (row) => row.name, value: (row) => row.name },
  { key: "answers", title: "Answered", num: true, cell: (row) => `${row.num_acknowledged_subtasks} of ${row.num_subtasks}` },
  { key: "took", title: "Took", num: true, cell: (row) => duration(row.end_to_end_duration), value: (row) => row.end_to_end_duration },
  { key: "written", title: "Written", num: true, cell: (row) => bytes(row.checkpointed_size), value: (row) => row.checkpointed_size },
  { key: "full", title: "Full size", num: true, cell: (row) => bytes(row.state_size), value: (row) => row.state_size },
  { key: "processed", title: "In flight, processed", num: true, cell: (row) => bytes(row.processed_data), value: (row) => row.processed_data },
  { key: "persisted", title: "In flight, kept", num: true, cell: (row) => bytes(row.persisted_data), value: (row) => row.persisted_data },
];

export function Checkpoints({ id, rest, overview }) {
  const base = `/jobs/${id}/checkpoints`;
  const ended = overview && `${overview.checkpoints.completed} ${overview.checkpoints.failed}`;
  const config = useGet(`${base}/config`);
  const curve = useGet(`${base}/curve`, 10_000);
  if (overview === null) return html`<${Waiting} what="the first figures" />`;
  const chosen = rest[0] ?? null;
  const choose = (number) => {
    location.hash = chosen === String(number) ? `#/jobs/${id}/checkpoints` : `#/jobs/${id}/checkpoints/${number}`;
  };
  return html`
    <${Figures} found=${overview.checkpoints} now=${overview.now} config=${config} />
    ${curve.data?.at.length > 1 && html`<${Curves} data=${curve.data} />`}
    ${chosen !== null && html`<${Checkpoint} key=${chosen} base=${base} number=${chosen} version=${ended} close=${() => choose(chosen)} />`}
    <${Log} base=${base} version=${`${ended} ${overview.checkpoints.inProgress}`} chosen=${chosen} choose=${choose} />`;
}

function Figures({ found, config }) {
  const made = config.data;
  const { latest } = found;
  return html`<div class="panel figures">
      <${Figure} title="Completed">${whole(found.completed)}<//>
      <${Figure} title="Failed">${whole(found.failed)}<//>
      <${Figure} title="In progress">${whole(found.inProgress)}<//>
      <${Figure} title="Newest" note=${latest && `${duration(latest.age)} ago`}>${latest ? `checkpoint ${latest.id}` : "none yet"}<//>
      <${Figure} title="Duration">${duration(latest?.duration)}<//>
      <${Figure} title="Written" note=${latest && `of ${bytes(latest.stateBytes)} in full`}>${bytes(latest?.size)}<//>
      ${made && html`<${Figure} title="Every" note="given up after ${duration(made.timeout)}">${duration(made.interval)}<//>
      <${Figure} title="Mode" note=${made.unaligned_checkpoints ? "unaligned" : "aligned"}>${made.mode.replaceAll("_", " ")}<//>
      <${Figure} title="Storage" note=${made.state_backend === "HashMapStateBackend" ? "state in memory" : "state in RocksDB"}>${made.checkpoint_storage.startsWith("JobManager") ? "memory of the driver" : "files"}<//>`}
    </div>
    ${config.error && html`<${Notice}>${config.error.message}<//>`}`;
}

function Curves({ data }) {
  const series = (label, values, color, format) => ({ label, values, color, format });
  return html`<div class="columns">
    <div class="panel"><${Chart} title="How long checkpoints took" x=${data.at} series=${[series("average", data.duration, "--accent", duration), series("longest", data.durationMax, "--busy", duration)]} /></div>
    <div class="panel"><${Chart} title="How large they were" x=${data.at} series=${[series("full", data.state, "--accent", bytes), series("written", data.checkpointed, "--quiet", bytes)]} /></div>
  </div>`;
}

/** One checkpoint. It is asked for again while it is under way. */
function Checkpoint({ base, number, version, close }) {
  const ref = useRef(null);
  const [running, setRunning] = useState(true);
  const details = useGet(`${base}/details/${number}`, running ? 1000 : 0, running ? version : null);
  const chart = useGet(`${base}/details/${number}/chart`, running ? 1000 : 0, running ? version : null);
  const found = details.data;
  useEffect(() => ref.current.scrollIntoView({ block: "nearest" }), []);
  useEffect(() => setRunning(found === null || found.status === "IN_PROGRESS"), [found?.status]);
  return html`<section class="panel" ref=${ref} aria-label="Checkpoint ${number}">
    <div class="heading"><h2>${found?.is_savepoint ? "Savepoint" : "Checkpoint"} ${number} ${found && html`<${Badge} state=${found.status} />`}</h2>
      <button onClick=${close} aria-label="Close checkpoint ${number}">✕</button></div>
    ${found === null
      ? html`<${Waiting} error=${details.error} what="the checkpoint" />${details.error?.status === 404 && html`<p class="quiet">web.checkpoints.history sets for how many checkpoints the figures of all subtasks are kept.</p>`}`
      : html`<p class="quiet">${kind(found.checkpoint_type, found.savepointFormat)}, triggered ${moment(found.trigger_timestamp)}, ${found.num_acknowledged_subtasks} of ${found.num_subtasks} subtasks answered${found.end_to_end_duration >= 0 ? ` within ${duration(found.end_to_end_duration)}` : ""}. ${found.external_path && html`Stored in <code>${found.external_path}</code>`}</p>
          ${found.failure_message && html`<${Notice} kind="bad">It failed: ${found.failure_message}<//>`}
          ${chart.data ? html`<${Slowest} chart=${chart.data} found=${found} /><${Gantt} chart=${chart.data} />` : html`<${Waiting} error=${chart.error} what="the chart" />`}
          <h3>Size by operators</h3><${Table} columns=${VERTICES} rows=${Object.values(found.tasks)} rowKey=${(row) => row.name} />`}
  </section>`;
}

function Slowest({ chart, found }) {
  if (chart.slowest === null) return null;
  const slow = chart.slowest.phase === null ? found.status === "FAILED" : found.end_to_end_duration > 2000;
  return html`<${Notice} kind=${slow ? "warn" : "info"}><strong>What took longest:</strong> ${chart.slowest.text}<//>`;
}

/** The log, a page at a time; the first page follows the job. */
function Log({ base, version, chosen, choose }) {
  const [before, setBefore] = useState([]);
  const from = before.at(-1) ?? null;
  const { data, error } = useGet(`${base}/log?limit=${ROWS}${from === null ? "" : `&before=${from}`}`, 0, from === null ? version : null);
  if (data === null) return html`<${Waiting} error=${error} what="the history" />`;
  return html`
    ${data.restores.length > 0 && html`<section class="panel" aria-label="Restores"><h2>Restores</h2><ul class="restores">
      ${data.restores.map((each) => html`<li key=${each.at}>restored from ${each.savepoint ? "savepoint" : "checkpoint"} ${each.id} at ${clock(each.at)} <span class="quiet">${moment(each.at).slice(0, 10)}</span></li>`)}</ul></section>`}
    <section aria-label="History">
      <${Table} caption="History" columns=${LOG} rows=${data.checkpoints} rowKey=${(row) => String(row.id)} onRow=${(row) => choose(row.id)} selected=${chosen} empty="No checkpoint has been triggered yet." />
      <p class="buttons"><span class="quiet">${whole(data.total)} kept</span>
        <button disabled=${from === null} onClick=${() => setBefore(before.slice(0, -1))}>Newer</button>
        <button disabled=${data.next === null} onClick=${() => setBefore([...before, data.next])}>Older</button></p>
    </section>`;
}
