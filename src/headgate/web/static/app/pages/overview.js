// The job at a glance: what stands out, its graph, and one vertex up close.

import { html } from "../../vendor/preact.js";
import { ago, bytes, duration, rate, whole } from "../format.js";
import { JobGraph } from "../graph.js";
import { useGet } from "../live.js";
import { Figure, Table, TimeBar, Waiting, lazy } from "../ui.js";

const Vertex = lazy(() => import("../vertex.js"), "Vertex");

const COLUMNS = [
  { key: "name", title: "Operators", cell: (row) => row.name, value: (row) => row.name },
  { key: "parallelism", title: "Subtasks", num: true, cell: (row) => row.parallelism, value: (row) => row.parallelism },
  { key: "busy", title: "Time", cell: (row) => html`<${TimeBar} busy=${row.busy.avg} backPressured=${row.backPressured.avg} idle=${row.idle.avg} />`, value: (row) => row.busy.max },
  { key: "in", title: "In", num: true, cell: (row) => rate(row.in), value: (row) => row.in },
  { key: "out", title: "Out", num: true, cell: (row) => rate(row.out), value: (row) => row.out },
  { key: "recordsIn", title: "Records", num: true, cell: (row) => whole(row.recordsIn), value: (row) => row.recordsIn },
  { key: "lag", title: "Watermark behind", num: true, cell: (row) => duration(row.watermarkLag), value: (row) => row.watermarkLag },
  { key: "late", title: "Late", num: true, cell: (row) => whole(row.late), value: (row) => row.late },
  { key: "state", title: "State", num: true, cell: (row) => bytes(row.stateBytes), value: (row) => row.stateBytes },
];

export function Overview({ id, rest, overview }) {
  const shape = overview === null ? null : `${overview.attempt} ${overview.vertices.map((each) => each.parallelism)}`;
  const plan = useGet(`/jobs/${id}/plan`, 0, shape);
  if (overview === null) return html`<${Waiting} what="the first figures" />`;
  const chosen = rest[0] ?? null;
  const choose = (vertex) => {
    location.hash = chosen === vertex ? `#/jobs/${id}/overview` : `#/jobs/${id}/overview/${vertex}`;
  };
  const vertex = overview.vertices.find((each) => each.id === chosen);
  const { latest } = overview.checkpoints;
  return html`
    <${Findings} id=${id} found=${overview.findings} />
    <div class="panel figures">
      <${Figure} title="Read by sources">${rate(total(overview, plan.data))}<//>
      <${Figure} title="Slots">${overview.slots}<//>
      <${Figure} title="Attempt" note=${overview.restarts ? `${overview.restarts} restarts` : "no restart"}>${overview.attempt}<//>
      <${Figure} title="Newest checkpoint" note=${latest ? `took ${duration(latest.duration)}, ${bytes(latest.size)}` : null}>
        ${latest ? `${latest.id}, ${ago(overview.now - latest.age, overview.now)}` : "none yet"}<//>
      <${Figure} title="State">${bytes(latest?.stateBytes)}<//>
      <${Figure} title="Checkpoints failed">${overview.checkpoints.failed}<//>
    </div>
    ${plan.data ? html`<${JobGraph} nodes=${plan.data.plan.nodes} vertices=${overview.vertices} chosen=${chosen} choose=${choose} />` : html`<${Waiting} error=${plan.error} what="the job graph" />`}
    <p class="quiet legend"><span class="swatch busy"></span> busy <span class="swatch held"></span> back-pressured <span class="swatch free"></span> idle.
      A chain of operators is one box. Choose a box to see its subtasks.</p>
    ${vertex && html`<${Vertex} key=${vertex.id} id=${id} vertex=${vertex} uids=${plan.data?.plan.nodes.find((node) => node.id === vertex.id)?.uids} close=${() => choose(vertex.id)} />`}
    <${Table} caption="Operators" columns=${COLUMNS} rows=${overview.vertices} rowKey=${(row) => row.id} onRow=${(row) => choose(row.id)} selected=${chosen} />`;
}

/** What all sources together read in a second. */
function total(overview, plan) {
  if (!plan) return null;
  const sources = new Set(plan.plan.nodes.filter((node) => !node.inputs?.length).map((node) => node.id));
  return overview.vertices.filter((each) => sources.has(each.id)).reduce((sum, each) => sum + each.in, 0);
}

const Findings = ({ id, found }) =>
  html`<section aria-label="What stands out">${found.length === 0
    ? html`<p class="good"><span aria-hidden="true">✓</span> Nothing stands out.</p>`
    : html`<ul class="findings">${found.map((each) => html`<li key=${each.text} class="notice ${each.severity}">
        <a href="#/jobs/${id}/${each.page}"><span aria-hidden="true">${each.severity === "bad" ? "✕" : "!"}</span> ${each.text}</a></li>`)}</ul>`}</section>`;
