/**
 * Numbers and times as people read them. Nothing here knows the page.
 */

export const NOTHING = "–";
const UNITS = [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]];

/** Roughly how long: 45s, 12m, 3h, 5d. */
export function age(seconds) {
  if (!isNumber(seconds)) return NOTHING;
  const size = Math.max(0, seconds);
  const [unit, one] = UNITS.find(([, one]) => size >= one) ?? ["s", 1];
  return `${Math.floor(size / one)}${unit}`;
}

/** How long, as exactly as matters: 240ms, 3.2s, 1m 5s, 2h 3m, 5d 4h. */
export function duration(seconds) {
  if (!isNumber(seconds)) return NOTHING;
  const size = Math.max(0, seconds);
  if (size === 0) return "0s";
  if (size < 0.9995) return size < 0.0095 ? `${Number((size * 1000).toFixed(1))}ms` : `${Math.round(size * 1000)}ms`;
  if (size < 9.95) return `${Number(size.toFixed(1))}s`;
  const whole = Math.round(size);
  const at = UNITS.findIndex(([, one]) => whole >= one);
  const [unit, one] = UNITS[at];
  const [smaller, part] = UNITS[at + 1] ?? [];
  const rest = part ? Math.floor((whole % one) / part) : 0;
  return `${Math.floor(whole / one)}${unit}${rest ? ` ${rest}${smaller}` : ""}`;
}

/** 512 B, 1.5 KB, 20 MB (of 1024). */
export function bytes(n) {
  if (!isNumber(n)) return NOTHING;
  let size = Math.max(0, n);
  for (const unit of ["B", "KB", "MB", "GB"]) {
    if (size < 1023.5) return `${digits(size)} ${unit}`;
    size /= 1024;
  }
  return `${digits(size)} TB`;
}

/** 1,234,567 */
export function count(n) {
  if (!isNumber(n)) return NOTHING;
  return n.toLocaleString("en-US", { maximumFractionDigits: Math.abs(n) < 10 ? 2 : Math.abs(n) < 100 ? 1 : 0 });
}

/** For little room: 950, 1.2k, 35k, 4.1M. */
export function short(n) {
  if (!isNumber(n)) return NOTHING;
  for (const [unit, one] of [["G", 1e9], ["M", 1e6], ["k", 1e3]]) {
    if (Math.abs(n) >= one) return `${digits(n / one)}${unit}`;
  }
  return count(n);
}

/** 3m ago, in 5m, just now; the date if it is more than a month away. `now`: ms, or a Date. */
export function when(iso, now = Date.now()) {
  const at = time(iso);
  if (at === null) return NOTHING;
  const seconds = (Number(now) - at) / 1000;
  if (Math.abs(seconds) > 30 * 86400) return day(at);
  if (Math.abs(seconds) < 1) return "just now";
  return seconds > 0 ? `${age(seconds)} ago` : `in ${age(-seconds)}`;
}

/** In full, in this browser's time zone: 2026-01-31 14:05:09. */
export function stamp(iso) {
  const at = time(iso);
  return at === null ? NOTHING : `${day(at)} ${clock(at, true)}`;
}

/** 14:05, or 14:05:09. `at`: ms. */
export function clock(at, exact = false) {
  const date = new Date(at);
  const parts = [date.getHours(), date.getMinutes(), ...(exact ? [date.getSeconds()] : [])];
  return parts.map(two).join(":");
}

/** 2026-01-31. `at`: ms. */
export function day(at) {
  const date = new Date(at);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** some(1, "job") is "1 job", some(2, "job") is "2 jobs". */
export function some(n, noun) {
  return `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
}

function time(iso) {
  const at = iso === null || iso === undefined ? NaN : Date.parse(iso);
  return Number.isNaN(at) ? null : at;
}

function digits(size) {
  return String(Number(size.toFixed(size < 9.95 && !Number.isInteger(size) ? 1 : 0)));
}

function two(n) {
  return String(n).padStart(2, "0");
}

function isNumber(n) {
  return typeof n === "number" && Number.isFinite(n);
}
