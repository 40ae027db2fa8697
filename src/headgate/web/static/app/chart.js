// Curves over time.

import uPlot from "../vendor/uplot.js";
import { html, useEffect, useRef } from "../vendor/preact.js";

const DASHES = [[], [6, 3], [2, 3]];

/**
 * A chart. `x` has times in ms, oldest first; series: { label, values, color: a CSS variable's name, format(value) }.
 * Curves differ by dashes as well as by colour; the legend shows the values under the pointer.
 */
export function Chart({ title, x, series, height = 130 }) {
  const place = useRef(null);
  const plot = useRef(null);
  const data = [x.map((ms) => ms / 1000), ...series.map((each) => each.values)];
  const shape = series.map((each) => each.label).join("|");
  useEffect(() => {
    // A canvas knows no CSS variables: an element says which colour one stands for.
    const resolve = (name) => {
      const probe = document.createElement("span");
      probe.style.color = `var(${name})`;
      place.current.append(probe);
      const found = getComputedStyle(probe).color;
      probe.remove();
      return found;
    };
    const draw = () => {
      plot.current?.destroy();
      const axis = { stroke: resolve("--quiet"), grid: { stroke: resolve("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui" };
      plot.current = new uPlot({
        width: place.current.clientWidth || 300, height, cursor: { y: false }, legend: { live: true },
        scales: { y: { range: (_, least, most) => [Math.min(0, least ?? 0), most > 0 ? most * 1.1 : 1] } },
        axes: [{ ...axis, values: (_, times) => times.map((s) => new Date(s * 1000).toLocaleTimeString("en-GB")), space: 80 },
               { ...axis, size: 74, values: (_, values) => values.map((value) => series[0].format(value)) }],
        series: [{ value: (_, s) => (s == null ? "–" : new Date(s * 1000).toLocaleTimeString("en-GB")) },
          ...series.map((each, place) => ({ label: each.label, stroke: resolve(each.color), width: 1.5, dash: DASHES[place % 3],
            points: { show: false }, spanGaps: false, value: (_, value) => each.format(value) }))],
      }, data, place.current);
    };
    draw();
    const box = place.current;
    const resized = new ResizeObserver(() => box.clientWidth > 0 && plot.current?.setSize({ width: box.clientWidth, height }));
    resized.observe(box);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", draw);
    return () => {
      resized.disconnect();
      scheme.removeEventListener("change", draw);
      plot.current?.destroy();
      plot.current = null;
    };
  }, [shape, height]);
  useEffect(() => plot.current?.setData(data), [x, ...series.map((each) => each.values)]);
  return html`<figure class="chart"><figcaption>${title}</figcaption><div ref=${place}></div></figure>`;
}
