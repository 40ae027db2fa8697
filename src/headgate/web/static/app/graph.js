// The job graph: each vertex a box with where its time goes, each edge with what passes it.

import { Graph, layout } from "../vendor/dagre.js";
import { html, useMemo } from "../vendor/preact.js";
import { bytes, duration, percent, rate } from "./format.js";

const WIDTH = 190;
const HEIGHT = 86;

/** The state of a vertex in a word: what its busiest or most held back subtask does most of its time. */
export function pressure(vertex) {
  const { busy, backPressured } = vertex;
  if (busy.max == null) return { key: "unknown", text: "no figures yet" };
  if (backPressured.max >= 0.5 && backPressured.max >= busy.max) return { key: "held", text: `back-pressured ${percent(backPressured.max)}` };
  if (busy.max >= 0.9) return { key: "hot", text: `busy ${percent(busy.max)}` };
  return { key: "calm", text: `busy ${percent(busy.max)}` };
}

function placed(nodes) {
  const graph = new Graph();
  graph.setGraph({ rankdir: "LR", nodesep: 22, ranksep: 96, marginx: 8, marginy: 14 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of nodes) graph.setNode(node.id, { width: WIDTH, height: HEIGHT });
  for (const node of nodes) for (const input of node.inputs ?? []) graph.setEdge(input.id, node.id);
  layout(graph);
  return graph;
}

/** `nodes` is the plan as /jobs/:id/plan has it, `vertices` the newest overview, `choose(id)` is called with a vertex. */
export function JobGraph({ nodes, vertices, chosen, choose }) {
  const shape = JSON.stringify(nodes.map((node) => [node.id, (node.inputs ?? []).map((input) => input.id)]));
  const graph = useMemo(() => placed(nodes), [shape]);
  const byId = Object.fromEntries(vertices.map((vertex) => [vertex.id, vertex]));
  const readers = (id) => nodes.filter((node) => (node.inputs ?? []).some((input) => input.id === id)).length;
  const { width, height } = graph.graph();
  return html`<div class="scroll graph"><svg viewBox="0 0 ${width} ${height}" width=${width} height=${height} role="group" aria-label="Job graph">
    ${nodes.flatMap((node) => (node.inputs ?? []).map((input) => html`<${Edge} key=${`${input.id}-${node.id}`} points=${graph.edge(input.id, node.id).points}
      strategy=${input.ship_strategy} passed=${passed(byId[input.id], byId[node.id], readers(input.id), node.inputs.length)} />`))}
    ${nodes.map((node) => html`<${Node} key=${node.id} at=${graph.node(node.id)} vertex=${byId[node.id]} chosen=${chosen === node.id} choose=${choose} />`)}
  </svg></div>`;
}

/** What passes an edge, where the figures of its ends tell it: a vertex with one reader, or with one input. */
function passed(from, to, readers, inputs) {
  if (!from || !to) return null;
  if (readers === 1) return { records: from.out, bytes: from.bytesOut };
  return inputs === 1 ? { records: to.in, bytes: to.bytesIn } : null;
}

function Edge({ points, strategy, passed }) {
  const path = `M${points.map((point) => `${point.x},${point.y}`).join("L")}`;
  const end = points.at(-1);
  const middle = points[Math.floor(points.length / 2)];
  return html`<g class="edge"><path d=${path} /><path class="tip" d="M${end.x},${end.y}l-7,-4v8z" />
    <text x=${middle.x} y=${middle.y - 6} text-anchor="middle">${passed ? rate(passed.records) : strategy.toLowerCase()}</text>
    <text class="quiet" x=${middle.x} y=${middle.y + 14} text-anchor="middle">${passed?.bytes ? `${bytes(passed.bytes)}/s` : passed ? strategy.toLowerCase() : ""}</text></g>`;
}

function Node({ at, vertex, chosen, choose }) {
  if (!vertex) return null;
  const state = pressure(vertex);
  const left = at.x - WIDTH / 2;
  const top = at.y - HEIGHT / 2;
  const bar = WIDTH - 24;
  const pick = () => choose(vertex.id);
  const lag = vertex.watermarkLag == null ? "" : ` · ${duration(vertex.watermarkLag)} behind`;
  return html`<g class="node ${state.key} ${chosen ? "chosen" : ""}" role="button" tabindex="0" aria-pressed=${String(chosen)}
      aria-label="${vertex.name}, ${vertex.parallelism} subtasks, ${state.text}" onClick=${pick}
      onKeyDown=${(event) => (event.key === "Enter" || event.key === " ") && (event.preventDefault(), pick())}>
    <title>${vertex.name}</title>
    <rect x=${left} y=${top} width=${WIDTH} height=${HEIGHT} rx="8" /><rect class="edge-mark" x=${left} y=${top} width="5" height=${HEIGHT} rx="2.5" />
    <${Line} class="name" x=${left + 14} y=${top + 6} width=${bar}>${vertex.name}<//>
    <${Line} class="quiet" x=${left + 14} y=${top + 24} width=${bar}>${vertex.parallelism} subtask${vertex.parallelism === 1 ? "" : "s"} · ${state.text}<//>
    <rect class="bar" x=${left + 14} y=${top + 46} width=${bar} height="8" rx="2" />
    <rect class="bar busy" x=${left + 14} y=${top + 46} width=${bar * (vertex.busy.avg ?? 0)} height="8" rx="2" />
    <rect class="bar held" x=${left + 14 + bar * (vertex.busy.avg ?? 0)} y=${top + 46} width=${bar * (vertex.backPressured.avg ?? 0)} height="8" />
    <${Line} class="quiet" x=${left + 14} y=${top + 60} width=${bar}>${rate(vertex.in)} in${lag}<//></g>`;
}

/** A line of text that is cut short where it would leave its box. */
const Line = ({ children, class: kind, ...place }) =>
  html`<foreignObject height="20" ...${place}><div class="line ${kind}">${children}</div></foreignObject>`;
