/**
 * The arithmetic of graphs. Nothing here knows the page.
 */

const SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];
const STEPS = [60, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 2 * 86400, 5 * 86400, 7 * 86400];

/** An axis from 0 on which `most` has room: {most, ticks}, at round numbers. unit "seconds": of a clock. */
export function scale(most, unit = "") {
  const top = most > 0 ? most : 1;
  const step = (unit === "seconds" && SECONDS.find((one) => one >= 1 && one * 4 >= top && top > 2)) || round(top / 4);
  const whole = unit !== "seconds" && step < 1 && most <= 4 && Number.isInteger(most) ? 1 : step;
  const steps = Math.max(1, Math.ceil(top / whole - 1e-9));
  return { most: steps * whole, ticks: Array.from({ length: steps + 1 }, (_, i) => Number((i * whole).toPrecision(6))) };
}

// 1, 2 or 5 times a power of ten
function round(n) {
  const power = 10 ** Math.floor(Math.log10(n));
  return power * [1, 2, 5, 10].find((one) => one * power >= n * 0.9999);
}

/** Which of the times carry a mark: at round times of this time zone, at most `most` of them. */
export function timeTicks(times, most) {
  if (times.length < 2) return times.map((_, i) => i);
  const span = times.at(-1) - times[0];
  const step = STEPS.find((one) => span / one <= most) ?? 30 * 86400;
  const offset = new Date(times[0] * 1000).getTimezoneOffset() * 60;
  const number = (time) => Math.floor((time - offset) / step);
  return times.map((_, i) => i).filter((i) => i > 0 && number(times[i]) !== number(times[i - 1]));
}

/** Runs of known values: [[[index, value], …], …]. */
export function segments(values) {
  const found = [];
  let open = null;
  values.forEach((value, i) => {
    if (value === null || value === undefined) open = null;
    else if (open) open.push([i, value]);
    else found.push((open = [[i, value]]));
  });
  return found;
}

/** Each series with `bottoms` and `tops`: on top of those before it. Unknown stays unknown. */
export function stacked(series) {
  const sums = (series[0]?.values ?? []).map(() => 0);
  return series.map((one) => {
    const bottoms = [...sums];
    const tops = one.values.map((value, i) => (value === null ? null : (sums[i] += value)));
    return { ...one, bottoms, tops };
  });
}
