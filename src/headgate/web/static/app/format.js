// Numbers, sizes and times as people read them. What is not known is a dash.

const NONE = "–";
const DATE_MAX = 8.64e15; // the last moment that a Date knows
const STEPS = ["", "k", "M", "G", "T"];

function scaled(value, base, digits) {
  let step = 0;
  while (Math.abs(value) >= base && step < STEPS.length - 1) {
    value /= base;
    step += 1;
  }
  return [step === 0 ? String(Math.round(value * 10) / 10) : value.toFixed(Math.abs(value) < 10 ? digits : 0), STEPS[step]];
}

export const count = (value) => (value == null ? NONE : scaled(value, 1000, 1).join(""));
export const whole = (value) => (value == null ? NONE : Math.round(value).toLocaleString("en"));
export const rate = (value) => (value == null ? NONE : `${count(value)}/s`);
export const percent = (share) => (share == null ? NONE : `${Math.round(share * 100)} %`);

export function bytes(value) {
  if (value == null) return NONE;
  const [number, step] = scaled(value, 1024, 1);
  return `${number} ${step}B`;
}

export function duration(ms) {
  if (ms == null || ms < 0) return NONE;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = ms / 1000;
  if (s < 60) return `${s.toFixed(s < 10 ? 1 : 0)} s`;
  const m = Math.floor(s / 60);
  if (m < 60) return `${m} min ${Math.floor(s % 60)} s`;
  const h = Math.floor(m / 60);
  return h < 48 ? `${h} h ${m % 60} min` : `${Math.floor(h / 24)} d ${h % 24} h`;
}

export const clock = (ms) => (ms == null || ms < 0 ? NONE : new Date(ms).toLocaleTimeString("en-GB"));
export const moment = (ms) => (ms == null || ms < 0 ? NONE : new Date(ms).toLocaleString("sv-SE"));
/** Event time; its last moment is what a source tells that has read all there is. */
export function eventTime(ms) {
  if (ms == null || ms < -DATE_MAX) return "none";
  return ms > DATE_MAX ? "the end" : new Date(ms).toISOString().slice(0, 19).replace("T", " ");
}
export const ago = (ms, now) => (ms == null || ms < 0 ? NONE : `${duration(Math.max(0, now - ms))} ago`);
