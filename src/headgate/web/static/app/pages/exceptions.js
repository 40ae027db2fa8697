// What went wrong: the attempts of the job on a line of time, and each failure with its key, record and traceback.

import { html } from "../../vendor/preact.js";
import { clock, duration, moment } from "../format.js";
import { useGet } from "../live.js";
import { Waiting } from "../ui.js";

const ENDS = { failure: "failed", rescale: "made room for another parallelism", end: "ended" };

export function Exceptions({ id, overview }) {
  const version = overview && `${overview.attempt} ${overview.failures}`;
  const attempts = useGet(`/jobs/${id}/attempts`, 3000, version);
  const failures = useGet(`/jobs/${id}/exceptions?maxExceptions=50`, 3000, version);
  if (attempts.data === null || failures.data === null) return html`<${Waiting} error=${attempts.error ?? failures.error} what="the attempts" />`;
  const { entries, truncated } = failures.data.exceptionHistory;
  return html`
    <section class="panel" aria-label="Attempts"><h2>Attempts</h2>
      <${Timeline} runs=${attempts.data.attempts} now=${overview?.now ?? Date.now()} />
      <ol class="attempts">${attempts.data.attempts.slice(0, 20).map((run, place) => html`<${Run} key=${run.attempt} run=${run} before=${attempts.data.attempts[place + 1]} vertices=${attempts.data.vertices} />`)}</ol></section>
    <section class="panel" aria-label="Failures"><h2>Failures</h2>
      ${entries.length === 0 && html`<p class="good"><span aria-hidden="true">✓</span> The job has not failed since this driver started to run it.</p>`}
      ${entries.map((entry, place) => html`<${Failure} key=${`${entry.timestamp} ${entry.attempt}`} entry=${entry} open=${place === 0} />`)}
      ${truncated && html`<p class="quiet">Only the newest ${entries.length} are shown.</p>`}</section>`;
}

function Run({ run, before, vertices }) {
  const from = run.restored === null ? "from the beginning" : `from ${run.savepoint ? "savepoint" : "checkpoint"} ${run.restored}`;
  const restored = run.restored === null || run.began === null ? "" : `restored in ${duration(run.began - run.deployed)}, `;
  return html`<li value=${run.attempt}>${clock(run.deployed)}, ${from}, parallelism ${widths(run, before, vertices)}: ${restored}${course(run)}${run.error ? html`: <span class="bad">${run.error}</span>` : ""}</li>`;
}

function course(run) {
  if (run.ended === null) return run.began === null ? "starts" : "runs";
  return `${run.began === null ? "did not begin" : `ran ${duration(run.ended - run.began)}`}, ${ENDS[run.end]}`;
}

/** The parallelism of an attempt, or what has changed of it since the attempt before. */
function widths(run, before, vertices) {
  const changed = vertices.map((name, place) => ({ name, from: before?.parallelism[place], to: run.parallelism[place] })).filter((each) => before && each.from !== each.to);
  if (changed.length === 0) return [...new Set(run.parallelism)].join(", ");
  const told = changed.slice(0, 3).map((each) => `of ${each.name} ${each.from} → ${each.to}`).join(", ");
  return changed.length > 3 ? `${told} and of ${changed.length - 3} more` : told;
}

/** The attempts of the last while, each as wide as it ran; gaps are restarts. */
function Timeline({ runs, now }) {
  const shown = runs.slice(0, 30).reverse();
  if (shown.length === 0) return null;
  const first = shown[0].deployed;
  const span = Math.max(1, now - first);
  const part = (ms) => `${(100 * ms) / span}%`;
  return html`<div class="timeline" role="img" aria-label="${shown.length} attempts since ${clock(first)}">
    ${shown.map((run) => html`<span key=${run.attempt} class=${run.end ?? "runs"} title="attempt ${run.attempt}: ${run.error ?? ENDS[run.end] ?? "runs"}"
      style=${{ left: part(run.deployed - first), width: part((run.ended ?? now) - run.deployed) }}>${run.attempt}</span>`)}</div>
    <p class="quiet between"><span>${clock(first)}</span><span>now</span></p>`;
}

function Failure({ entry, open }) {
  const where = [entry.taskName && `operator ${entry.taskName}`, entry.subtask !== null && `subtask ${entry.subtask}`, entry.endpoint, `attempt ${entry.attempt}`].filter(Boolean).join(", ");
  return html`<details class="failure" open=${open}><summary><strong class="bad">${entry.error}</strong> <span class="quiet">${moment(entry.timestamp)}</span></summary>
    <p class="quiet">${where}; ${entry["restart-delay"] === null ? "this failure ended the job" : `the job started again after ${duration(entry["restart-delay"])}`}</p>
    <dl>${entry.key !== null && html`<dt>Key</dt><dd><code>${entry.key}</code></dd>`}
      ${entry.record !== null && html`<dt>Record</dt><dd><code>${entry.record}</code></dd>`}</dl>
    <pre>${entry.traceback || entry.stacktrace}</pre></details>`;
}
