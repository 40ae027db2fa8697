// What changes while the page is open: the job's events, and answers that are asked for again and again.

import { useEffect, useState } from "../vendor/preact.js";
import { get, session } from "./api.js";

/**
 * Follow a job by server-sent events while the page is visible: a browser has few connections for all tabs of a driver.
 * Returns { overview, ended, lost }: the newest overview (null before the first),
 * how the job ended (null while it goes on), and whether the connection is lost at the moment; `gone` if for good.
 */
export function useJob(id) {
  const [found, set] = useState({ overview: null, ended: null, lost: false });
  useEffect(() => {
    set({ overview: null, ended: null, lost: false });
    let source = null;
    const change = (part) => set((before) => ({ ...before, ...part }));
    const follow = () => {
      source?.close();
      if (document.visibilityState !== "visible") return;
      source = new EventSource(`/jobs/${encodeURIComponent(id)}/live`);
      source.addEventListener("overview", (event) => change({ overview: JSON.parse(event.data), lost: false }));
      source.addEventListener("ended", (event) => {
        document.removeEventListener("visibilitychange", follow);
        source.close();
        change({ ended: JSON.parse(event.data), lost: false });
      });
      source.onerror = () => {
        const gone = source.readyState === EventSource.CLOSED;
        if (gone) session().catch(() => {}); // an event source does not say why it was refused
        change({ lost: true, gone });
      };
    };
    follow();
    document.addEventListener("visibilitychange", follow);
    return () => {
      document.removeEventListener("visibilitychange", follow);
      source?.close();
    };
  }, [id]);
  return found;
}

/**
 * Return { data, error, reload } of a path, asked for again every `everyMs` while the page is visible; `null` as path
 * asks for nothing. The data of the last answer stays while the next is under way, and when one fails. Another `version`
 * asks again at once.
 */
export function useGet(path, everyMs = 0, version = null) {
  const [found, set] = useState({ path: null, data: null, error: null });
  const [turn, again] = useState(0);
  useEffect(() => {
    if (path === null) return undefined;
    let over = false;
    let timer = null;
    const load = async () => {
      if (document.visibilityState === "visible") {
        try {
          const data = await get(path);
          if (!over) set({ path, data, error: null });
        } catch (error) {
          if (!over) set((before) => ({ path, data: before.path === path ? before.data : null, error }));
        }
      }
      if (!over && everyMs > 0) timer = setTimeout(load, everyMs);
    };
    load();
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [path, everyMs, turn, version]);
  const fresh = found.path === path ? found : { data: null, error: null };
  return { data: fresh.data, error: fresh.error, reload: () => again((before) => before + 1) };
}
