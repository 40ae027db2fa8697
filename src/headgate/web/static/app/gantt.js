// Where the time of one checkpoint went: a bar for each subtask, on one axis that begins with the trigger.

import { html, useState } from "../vendor/preact.js";
import { bytes, duration } from "./format.js";

// A phase has a pattern of its own besides its colour; the patterns are drawn once, by <Patterns>.
const PHASES = [
  ["startDelay", "until the barrier came"],
  ["alignment", "alignment"],
  ["sync", "synchronous part"],
  ["walk", "taking the state between batches"],
  ["upload", "upload"],
  ["ack", "until the driver knew"],
];

/** `chart` is what /checkpoints/details/:checkpoint/chart answers. The pointer or the keys choose a row, told below. */
export function Gantt({ chart }) {
  const [chosen, choose] = useState(null);
  const taken = (row) => Object.values(row.phases ?? {}).reduce((sum, ms) => sum + ms, 0);
  const most = Math.max(1, ...chart.rows.map((row) => (row.phases ? taken(row) : chart.until)));
  const shown = chart.rows.find((row) => keyOf(row) === chosen) ?? chart.rows[0];
  const slow = chart.slowest;
  const isSlow = (row) => slow && row.subtask === slow.subtask && chart.vertices[row.vertex].id === slow.vertex;
  return html`<div class="gantt">
    <${Patterns} />
    <p class="quiet legend">${PHASES.map(([key, title]) => html`<span key=${key} class="phase"><svg width="16" height="10" aria-hidden="true"><${Bar} x="0" width="16" phase=${key} /></svg> ${title}</span>`)}</p>
    <div class="axis quiet" aria-hidden="true"><span></span><span>${[0, 0.25, 0.5, 0.75, 1].map((part) => html`<i key=${part}>${part ? duration(part * most) : "trigger"}</i>`)}</span><span></span></div>
    <ul aria-label="Subtasks, the slowest first">${chart.rows.map((row) => html`<li key=${keyOf(row)} tabindex="0" class=${isSlow(row) ? "slowest" : ""}
        aria-label=${told(chart, row)} title=${told(chart, row)} onFocus=${() => choose(keyOf(row))} onMouseEnter=${() => choose(keyOf(row))}>
      <span class="name">${isSlow(row) ? html`<span aria-hidden="true">▸ </span>` : ""}${chart.vertices[row.vertex].name} ${row.subtask}</span>
      <svg height="14" aria-hidden="true">${row.phases ? bars(row.phases, most) : html`<rect class="absent" x="0" y="1" width="${(100 * chart.until) / most}%" height="12" />`}</svg>
      <span class="num">${row.phases ? duration(row.duration) : "no answer"}</span></li>`)}</ul>
    ${chart.leftOut > 0 && html`<p class="quiet">${chart.leftOut} faster subtasks are left out; each vertex shows its slowest.</p>`}
    ${shown && html`<p class="quiet">${told(chart, shown)}</p>`}
  </div>`;
}

const keyOf = (row) => `${row.vertex}-${row.subtask}`;

function bars(phases, most) {
  let at = 0;
  return PHASES.filter(([key]) => phases[key] > 0).map(([key]) => {
    const x = at;
    at += phases[key];
    return html`<${Bar} key=${key} phase=${key} x="${(100 * x) / most}%" width="${(100 * phases[key]) / most}%" />`;
  });
}

const Bar = ({ phase, x, width }) => html`<rect class="ground ${phase}" x=${x} y="1" width=${width} height="12" /><rect x=${x} y="1" width=${width} height="12" fill="url(#phase-${phase})" />`;

function told(chart, row) {
  const who = `${chart.vertices[row.vertex].name}, subtask ${row.subtask}`;
  if (!row.phases) return `${who}: no answer in ${duration(chart.until)}`;
  const parts = PHASES.filter(([key]) => row.phases[key] > 0).map(([key, title]) => `${title} ${duration(row.phases[key])}`);
  const written = row.checkpointed ? `; ${bytes(row.checkpointed)} written of ${bytes(row.state)}` : "";
  return `${who}: ${duration(row.duration)}${parts.length ? ` (${parts.join(", ")})` : ""}${written}${row.unaligned ? "; unaligned" : ""}`;
}

const Patterns = () => html`<svg class="patterns" width="0" height="0" aria-hidden="true"><defs>
  <${Pattern} phase="startDelay"><path d="M-1,1l2,-2M0,6l6,-6M5,7l2,-2" /><//>
  <${Pattern} phase="alignment"><circle cx="3" cy="3" r="1.4" /><//>
  <${Pattern} phase="sync"><path d="M0,3h6M3,0v6" /><//>
  <${Pattern} phase="walk"><path d="M3,0v6" /><//>
  <${Pattern} phase="ack"><path d="M0,3h6" /><//>
</defs></svg>`;

const Pattern = ({ phase, children }) => html`<pattern id="phase-${phase}" class="lines ${phase}" width="6" height="6" patternUnits="userSpaceOnUse">${children}</pattern>`;
