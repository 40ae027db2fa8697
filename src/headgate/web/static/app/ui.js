// The parts that all pages are made of. States are told by text and shape, not by colour alone.

import { html, useEffect, useMemo, useRef, useState } from "../vendor/preact.js";

const SIGNS = {
  RUNNING: "▶", FINISHED: "✓", COMPLETED: "✓", FAILED: "✕", FAILING: "✕", CANCELED: "■", CANCELLED: "■", CANCELLING: "■",
  RESTARTING: "↻", CREATED: "…", IN_PROGRESS: "…", SUSPENDED: "‖", LOST: "?",
};
const TONES = {
  RUNNING: "good", FINISHED: "good", COMPLETED: "good", FAILED: "bad", FAILING: "bad", RESTARTING: "warn",
  CANCELLING: "warn", LOST: "warn",
};

/** The state of a job, a checkpoint or a subtask. */
export const Badge = ({ state }) =>
  html`<span class="badge ${TONES[state] ?? "calm"}"><span aria-hidden="true">${SIGNS[state] ?? "•"}</span> ${state}</span>`;

/** A sentence in a box: kind is "info", "warn" or "bad". */
export const Notice = ({ kind = "info", children }) =>
  html`<div class="notice ${kind}" role=${kind === "bad" ? "alert" : "status"}>${children}</div>`;

/** What stands where nothing is known yet, and what went wrong with finding out. */
export const Waiting = ({ error, what = "the driver" }) =>
  error ? html`<${Notice} kind="bad">${error.message}<//>` : html`<p class="quiet">Waiting for ${what} …</p>`;

/** A component that is fetched when it is first shown: `load()` imports its module, `name` is what it is called there. */
export function lazy(load, name) {
  let Found = null;
  return function Fetched(props) {
    const [error, setError] = useState(null);
    const [, done] = useState(false);
    useEffect(() => {
      if (Found === null) load().then((module) => ((Found = module[name]), done(true)), setError);
    }, []);
    return Found === null ? html`<${Waiting} error=${error} what="this page" />` : html`<${Found} ...${props} />`;
  };
}

/** Shares of time as one bar: busy, back-pressured, idle; each from 0 to 1. */
export function TimeBar({ busy, backPressured, idle }) {
  if (busy == null) return html`<span class="quiet">–</span>`;
  const text = `busy ${pc(busy)}, back-pressured ${pc(backPressured)}, idle ${pc(idle)}`;
  return html`<span class="timebar" role="img" aria-label=${text} title=${text}>
    <span class="busy" style=${{ width: pc(busy) }}></span>
    <span class="held" style=${{ width: pc(backPressured) }}></span>
  </span>`;
}
const pc = (share) => `${Math.round((share ?? 0) * 100)}%`;

/**
 * A table. Columns: { key, title, cell(row), value(row) to sort by, num: right-aligned }. With `onRow` a row is a button.
 * `order` is the column sorted by at first, "-" before it for descending. At most `max` rows are drawn.
 */
export function Table({ caption, columns, rows, rowKey, onRow, selected, order = null, max = 500, empty = "Nothing yet." }) {
  const [by, setBy] = useState(order);
  const sorted = useMemo(() => sort(rows, columns, by), [rows, columns, by]);
  const turn = (key) => setBy(by === `-${key}` ? key : `-${key}`);
  const direction = (key) => (by === key ? "ascending" : by === `-${key}` ? "descending" : "none");
  return html`<div class="scroll"><table>
    ${caption && html`<caption>${caption}</caption>`}
    <thead><tr>${columns.map((column) => html`<th scope="col" class=${column.num ? "num" : ""} aria-sort=${direction(column.key)}>
      ${column.value
        ? html`<button class="head" onClick=${() => turn(column.key)}>${column.title}<span aria-hidden="true">${{ ascending: " ▲", descending: " ▼", none: "" }[direction(column.key)]}</span></button>`
        : column.title}</th>`)}</tr></thead>
    <tbody>
      ${sorted.slice(0, max).map((row) => html`<tr key=${rowKey(row)}
          class="${onRow ? "link" : ""} ${selected !== undefined && selected === rowKey(row) ? "selected" : ""}"
          tabindex=${onRow ? 0 : null} aria-selected=${selected === undefined ? null : String(selected === rowKey(row))}
          onClick=${onRow && (() => onRow(row))}
          onKeyDown=${onRow && ((event) => (event.key === "Enter" || event.key === " ") && (event.preventDefault(), onRow(row)))}>
        ${columns.map((column) => html`<td class=${column.num ? "num" : ""}>${column.cell(row)}</td>`)}</tr>`)}
      ${rows.length === 0 && html`<tr><td class="quiet" colspan=${columns.length}>${empty}</td></tr>`}
    </tbody>
  </table>${rows.length > max && html`<p class="quiet">The first ${max} of ${rows.length} rows are shown.</p>`}</div>`;
}

function sort(rows, columns, by) {
  if (by === null) return rows;
  const down = by.startsWith("-");
  const column = columns.find((each) => each.key === (down ? by.slice(1) : by));
  if (!column?.value) return rows;
  const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b) : a - b);
  const known = rows.filter((row) => column.value(row) != null);
  known.sort((a, b) => compare(column.value(a), column.value(b)) * (down ? -1 : 1));
  return [...known, ...rows.filter((row) => column.value(row) == null)];
}

/** A question before an order. `run()` returns a promise; what it throws is shown, and the dialog stays. */
export function Dialog({ title, confirm, danger = false, run, close, children }) {
  const ref = useRef(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  useEffect(() => ref.current.showModal(), []);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await run();
      close();
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  return html`<dialog ref=${ref} onCancel=${close} onClose=${close} aria-label=${title}><form onSubmit=${submit}>
    <h2>${title}</h2>${children}
    ${error && html`<${Notice} kind="bad">${error.message}<//>`}
    <p class="buttons"><button type="button" onClick=${close}>Back</button>
    <button type="submit" class=${danger ? "danger" : "primary"} disabled=${busy}>${busy ? "Working …" : confirm}</button></p>
  </form></dialog>`;
}

/** A figure with its name above it. */
export const Figure = ({ title, children, note }) =>
  html`<div class="figure"><span class="quiet">${title}</span><strong>${children}</strong>${note && html`<span class="quiet">${note}</span>`}</div>`;
