// What the slots log and print: one slot at a time, followed while it is open.

import { html, useEffect, useRef, useState } from "../../vendor/preact.js";
import { get } from "../api.js";
import { clock } from "../format.js";
import { useGet } from "../live.js";
import { Notice, Waiting } from "../ui.js";

const SHOWN = 2000;
const LEVELS = ["all levels", "PRINTED", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"];

export function Logs({ id }) {
  const { data, error } = useGet(`/jobs/${id}/logs`, 3000);
  const [chosen, choose] = useState(null);
  const [level, setLevel] = useState(LEVELS[0]);
  const [text, setText] = useState("");
  const [follows, setFollows] = useState(true);
  if (data === null) return html`<${Waiting} error=${error} what="the logs" />`;
  if (data.slots.length === 0) {
    return html`<${Notice}>No slot has sent a line yet. Slots on Spark send what they log and print once they run, unless headgate.web.logs is false;
      the slots of a MiniCluster share the process of the program, and log where it logs.<//>`;
  }
  const slot = chosen ?? data.slots[0].slot;
  const fits = (line) => (level === LEVELS[0] || line.level === level) && line.text.includes(text);
  return html`<div class="actions">
      <label>Slot <select value=${slot} onChange=${(event) => choose(Number(event.target.value))}>
        ${data.slots.map((each) => html`<option key=${each.slot} value=${each.slot}>${each.slot} (${each.lines} lines)</option>`)}</select></label>
      <label>Level <select value=${level} onChange=${(event) => setLevel(event.target.value)}>${LEVELS.map((each) => html`<option key=${each}>${each}</option>`)}</select></label>
      <label>Containing <input type="search" placeholder="text" value=${text} onInput=${(event) => setText(event.target.value)} /></label>
      <label><input type="checkbox" checked=${follows} onChange=${(event) => setFollows(event.target.checked)} /> Follow</label></div>
    <${Lines} key=${slot} id=${id} slot=${slot} follows=${follows} fits=${fits} />
    <p class="quiet">The driver keeps the newest ${data.kept} lines of each slot. Spark keeps all of them in the logs of its executors.</p>`;
}

function Lines({ id, slot, follows, fits }) {
  const [lines, setLines] = useState([]);
  const [error, setError] = useState(null);
  const box = useRef(null);
  useEffect(() => {
    let over = false;
    let timer = null;
    let next = 0;
    const load = async () => {
      try {
        const found = await get(`/jobs/${id}/logs/${slot}?after=${next}`);
        next = found.next;
        if (!over && found.lines.length > 0) setLines((before) => [...before, ...found.lines].slice(-SHOWN));
        if (!over) setError(null);
      } catch (failure) {
        if (!over) setError(failure);
      }
      if (!over) timer = setTimeout(load, 1500);
    };
    load();
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [id, slot]);
  useEffect(() => {
    if (follows) box.current.scrollTop = box.current.scrollHeight;
  }, [lines, follows]);
  return html`${error && html`<${Notice} kind="warn">${error.message}<//>`}
    <pre class="log" ref=${box} tabindex="0" role="log" aria-label="Log of slot ${slot}">${lines.filter(fits).map((line) => html`<span key=${line.n} class=${line.level.toLowerCase()}>${clock(line.at)} ${line.level.padEnd(8)} ${line.text}${"\n"}</span>`)}</pre>`;
}
