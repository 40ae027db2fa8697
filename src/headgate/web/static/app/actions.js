// Orders to the job: each asks first, and tells what has come of it.

import { html, useState } from "../vendor/preact.js";
import { order, outcome } from "./api.js";
import { Dialog } from "./ui.js";

const ORDERS = [
  { key: "checkpoint", title: "Checkpoint" },
  { key: "savepoint", title: "Savepoint" },
  { key: "rescale", title: "Rescale" },
  { key: "stop", title: "Stop", danger: true },
  { key: "cancel", title: "Cancel", danger: true },
];

/** The buttons of a job; none for a session that may only read. */
export function Actions({ id, overview, who }) {
  const [asked, ask] = useState(null);
  const [told, tell] = useState(null);
  if (who.rights !== "act") return html`<span class="quiet">read-only</span>`;
  const close = () => ask(null);
  const Asked = { checkpoint: Checkpoint, savepoint: Savepoint, stop: Stop, cancel: Cancel, rescale: Rescale }[asked];
  return html`
    ${told && html`<span class="told" role="status">${told} <button class="quiet" aria-label="Close the message" onClick=${() => tell(null)}>✕</button></span>`}
    <div class="actions" role="group" aria-label="Orders to the job">${ORDERS.map((each) => html`<button key=${each.key}
      class=${each.danger ? "danger" : ""} onClick=${() => ask(each.key)}>${each.title}</button>`)}</div>
    ${Asked && html`<${Asked} base=${`/jobs/${id}`} overview=${overview} close=${close} tell=${tell} />`}`;
}

function Checkpoint({ base, close, tell }) {
  const run = async () => {
    const { "request-id": trigger } = await order("POST", `${base}/checkpoints`);
    const done = await outcome(`${base}/checkpoints/${trigger}`);
    tell(`Checkpoint complete${done["external-path"] ? `: ${done["external-path"]}` : ""}`);
  };
  return html`<${Dialog} title="Take a checkpoint" confirm="Take it" run=${run} close=${close}>
    <p>The job goes on while it is taken.</p><//>`;
}

function Savepoint({ base, close, tell }) {
  const [form, setForm] = useState({ format: "CANONICAL", target: "" });
  const run = async () => {
    const body = { formatType: form.format, "target-directory": form.target || null };
    const { "request-id": trigger } = await order("POST", `${base}/savepoints`, body);
    tell(`Savepoint complete: ${(await outcome(`${base}/savepoints/${trigger}`)).location}`);
  };
  return html`<${Dialog} title="Take a savepoint" confirm="Take it" run=${run} close=${close}>
    <p>The job goes on while it is taken.</p><${Where} form=${form} setForm=${setForm} /><//>`;
}

function Stop({ base, close, tell }) {
  const [form, setForm] = useState({ format: "CANONICAL", target: "", drain: false });
  const run = async () => {
    const body = { formatType: form.format, targetDirectory: form.target || null, drain: form.drain };
    const { "request-id": trigger } = await order("POST", `${base}/stop`, body);
    tell(`Stopped with savepoint ${(await outcome(`${base}/savepoints/${trigger}`)).location}`);
  };
  return html`<${Dialog} title="Stop the job with a savepoint" confirm="Stop the job" danger run=${run} close=${close}>
    <p>Everything before the savepoint is committed, and nothing is emitted after it. A new job can start from it.</p>
    <${Where} form=${form} setForm=${setForm} />
    <label class="row"><input type="checkbox" checked=${form.drain} onChange=${(event) => setForm({ ...form, drain: event.target.checked })} />
      Drain: fire all timers and windows first. Then no job should start from the savepoint.</label><//>`;
}

function Cancel({ base, close, tell }) {
  const run = async () => {
    await order("PATCH", `${base}?mode=cancel`);
    tell("The job is being cancelled");
  };
  return html`<${Dialog} title="Cancel the job" confirm="Cancel the job" danger run=${run} close=${close}>
    <p>The job ends without finishing its input, and without a savepoint. To go on later, stop it with a savepoint instead.</p><//>`;
}

function Rescale({ base, overview, close, tell }) {
  const [counts, setCounts] = useState(Object.fromEntries(overview.vertices.map((each) => [each.id, each.parallelism])));
  const run = async () => {
    const changed = overview.vertices.filter((each) => Number(counts[each.id]) !== each.parallelism);
    if (changed.length === 0) throw new Error("Nothing has changed: give a vertex another parallelism.");
    const body = Object.fromEntries(changed.map((each) => [each.id, { parallelism: { upperBound: Number(counts[each.id]) } }]));
    const { "request-id": trigger } = await order("PUT", `${base}/resource-requirements`, body);
    await outcome(`${base}/rescaling/${trigger}`);
    tell(`Rescaled: ${changed.map((each) => `${each.name} to ${counts[each.id]}`).join(", ")}`);
  };
  return html`<${Dialog} title="Change the parallelism" confirm="Rescale" run=${run} close=${close}>
    <p>The job takes a checkpoint and goes on from it. If that fails, it goes on as it is now.</p>
    ${overview.vertices.map((each) => html`<label class="row" key=${each.id}><input type="number" min="1" required value=${counts[each.id]}
      onInput=${(event) => setCounts({ ...counts, [each.id]: event.target.value })} /> ${each.name}</label>`)}<//>`;
}

const Where = ({ form, setForm }) => html`
  <label>Folder <input type="text" placeholder="the configured one" value=${form.target} onInput=${(event) => setForm({ ...form, target: event.target.value })} /></label>
  <label>Format <select value=${form.format} onChange=${(event) => setForm({ ...form, format: event.target.value })}>
    <option value="CANONICAL">canonical: portable, readable as tables</option><option value="NATIVE">native: fast</option></select></label>`;
