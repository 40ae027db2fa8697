// One vertex up close: how its figures went, its subtasks, and what its functions count.

import { html, useState } from "../vendor/preact.js";
import { Chart } from "./chart.js";
import { bytes, count, duration, eventTime, percent, rate, whole } from "./format.js";
import { useGet } from "./live.js";
import { STATES, stateKey, statesOf } from "./pages/state.js";
import { Notice, Table, TimeBar, Waiting } from "./ui.js";

const SORTS = [["subtask", "number"], ["busy", "busy"], ["backPressured", "back-pressured"], ["in", "records in"], ["watermarkLag", "watermark behind"], ["stateBytes", "state"]];

const SUBTASKS = [
  { key: "subtask", title: "Subtask", num: true, cell: (row) => row.subtask },
  { key: "slot", title: "Slot", num: true, cell: (row) => row.slot },
  { key: "time", title: "Time", cell: (row) => html`<${TimeBar} busy=${row.busy} backPressured=${row.backPressured} idle=${row.idle} />` },
  { key: "busy", title: "Busy", num: true, cell: (row) => percent(row.busy) },
  { key: "in", title: "In", num: true, cell: (row) => rate(row.in) },
  { key: "out", title: "Out", num: true, cell: (row) => rate(row.out) },
  { key: "recordsIn", title: "Records", num: true, cell: (row) => whole(row.recordsIn) },
  { key: "watermark", title: "Watermark", num: true, cell: (row) => eventTime(row.watermark) },
  { key: "lag", title: "Behind", num: true, cell: (row) => duration(row.watermarkLag) },
  { key: "state", title: "State", num: true, cell: (row) => bytes(row.stateBytes) },
];

const METRICS = [
  { key: "operator", title: "Operator", cell: (row) => row.operator, value: (row) => row.operator },
  { key: "name", title: "Metric", cell: (row) => row.name, value: (row) => row.name },
  { key: "kind", title: "Kind", cell: (row) => row.kind },
  { key: "sum", title: "Sum", num: true, cell: (row) => count(row.sum), value: (row) => row.sum },
  { key: "min", title: "Least", num: true, cell: (row) => count(row.min), value: (row) => row.min },
  { key: "max", title: "Most", num: true, cell: (row) => count(row.max), value: (row) => row.max },
];

export function Vertex({ id, vertex, uids, close }) {
  const [by, setBy] = useState("subtask");
  const base = `/jobs/${id}/vertices/${vertex.id}`;
  const history = useGet(`${base}/history`, 3000);
  const subtasks = useGet(`${base}/subtasks?sort=${by}`, 2000);
  const metrics = useGet(`${base}/user-metrics`, 2000);
  return html`<section class="panel" aria-label="Vertex ${vertex.name}">
    <div class="heading"><h2>${vertex.name}</h2><button onClick=${close} aria-label="Close ${vertex.name}">✕</button></div>
    ${subtasks.data?.skew && html`<${Skew} found=${subtasks.data.skew} />`}
    ${history.data ? html`<${Curves} data=${history.data} />` : html`<${Waiting} error=${history.error} what="the curves" />`}
    <div class="heading"><span></span><label class="quiet">greatest first by <select value=${by} onChange=${(event) => setBy(event.target.value)}>
      ${SORTS.map(([key, title]) => html`<option key=${key} value=${key}>${title}</option>`)}</select></label></div>
    ${subtasks.data
      ? html`<${Table} caption="Subtasks" columns=${SUBTASKS} rows=${subtasks.data.subtasks} rowKey=${(row) => row.subtask} />
          ${subtasks.data.total > subtasks.data.subtasks.length && html`<p class="quiet">The first ${subtasks.data.subtasks.length} of ${subtasks.data.total} subtasks are shown.</p>`}`
      : html`<${Waiting} error=${subtasks.error} what="the subtasks" />`}
    ${metrics.data?.metrics.length > 0 && html`<${Table} caption="What its functions count" columns=${METRICS} rows=${metrics.data.metrics} rowKey=${(row) => `${row.operator} ${row.name}`} />`}
    ${uids && vertex.stateBytes > 0 && html`<${States} id=${id} uids=${uids} />`}
  </section>`;
}

/** The states of the newest checkpoint, read once: that is work for the driver. */
function States({ id, uids }) {
  const { data, error } = useGet(`/jobs/${id}/state?${new URLSearchParams(uids.map((uid) => ["uid", uid]))}`);
  if (data === null) return html`<p class="quiet">${error ? error.message : "Reading the newest checkpoint …"}</p>`;
  return html`<${Table} caption="States in ${data.snapshot.kind} ${data.snapshot.id}" columns=${STATES} rows=${statesOf(data.operators)} rowKey=${stateKey} order="-bytes"
      empty="Its operators have no state." />
    ${data.operators.map((each) => each.trouble && html`<p class="quiet">${each.trouble}</p>`)}`;
}

const Skew = ({ found }) =>
  found.share > 1.5 * found.even
    ? html`<${Notice} kind="warn">Skewed: subtask ${found.subtask} gets ${percent(found.share)} of the records; ${percent(found.even)} would be even.<//>`
    : html`<p class="quiet">Even: no subtask gets more than ${percent(found.share)} of the records; ${percent(found.even)} would be even.</p>`;

function Curves({ data }) {
  const series = (label, values, color, format) => ({ label, values, color, format });
  return html`<div class="columns">
    <${Chart} title="Records per second" x=${data.at} series=${[series("in", data.in, "--accent", rate), series("out", data.out, "--quiet", rate)]} />
    <${Chart} title="Time of the busiest subtask" x=${data.at} series=${[series("busy", data.busy, "--busy", percent), series("back-pressured", data.backPressured, "--held", percent)]} />
    ${data.watermark.some((value) => value != null) && html`<${Chart} title="Watermark behind the clock" x=${data.at} series=${[series("behind", data.watermarkLag, "--accent", duration)]} />`}
    ${data.stateBytes.some((value) => value != null) && html`<${Chart} title="State in the newest checkpoint" x=${data.at} series=${[series("state", data.stateBytes, "--accent", bytes)]} />`}
  </div>`;
}
