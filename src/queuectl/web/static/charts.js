/**
 * Graphs, read by pointer, by arrow keys, and as a table by who sees neither. Each has `update(options)`, which
 * draws it anew and leaves the focus, the reading and what is switched off as they are.
 */

import { h, replace, svg, update } from "./dom.js";
import { clock, count, day, duration, short } from "./format.js";
import { scale, segments, stacked, timeTicks } from "./scales.js";

const EDGE = { top: 8, right: 8, bottom: 20, left: 44 };

/**
 * Lines over time. {title, times: [epoch s], series: [{name, values, kind, off, dashed}], unit: "seconds" | "",
 * height, stack: areas on top of each other, none: what to say where nothing is known}. `kind`: a state, p50, p95.
 */
export function lines(options) {
  return chart(options, drawLines);
}

/** Columns over time, on top of each other; as `lines`. */
export function bars(options) {
  return chart({ ...options, stack: true, columns: true }, drawColumns);
}

/** A small line. `label` says in words what it shows. */
export function spark(values, label = "") {
  const most = Math.max(1, ...values);
  const x = (i) => (i / Math.max(1, values.length - 1)) * 100;
  const y = (value) => 23 - (value / most) * 21;
  const pieces = segments(values).map((piece) => piece.map(([i, value]) => [x(i), y(value)]));
  return svg(
    "svg",
    { class: "spark", viewBox: "0 0 100 24", preserveAspectRatio: "none", role: "img", "aria-label": label },
    pieces.map((piece) => svg("path", { d: path(piece) })),
  );
}

function chart(first, draw) {
  let options = first;
  let at = null; // the step that is being read
  const off = new Set(first.series.filter((one) => one.off).map((one) => one.name));
  const legend = h("div", { class: "legend" });
  const drawing = svg("svg", { "aria-hidden": "true" });
  const reading = h("div", { class: "reading", hidden: true });
  const spoken = h("div", { class: "unseen", "aria-live": "polite" });
  const none = h("p", { class: "none", hidden: true });
  const plot = h(
    "div",
    {
      class: "plot", tabindex: "0", role: "group",
      "aria-label": `${first.title}: a graph; the arrow keys read it`,
      "on:pointermove": (event) => read(nearest(event)),
      "on:pointerdown": (event) => read(nearest(event)),
      "on:pointerleave": () => read(null),
      "on:blur": () => read(null),
      "on:keydown": onKey,
    },
    drawing, reading, none,
  );
  const numbers = h("div", { class: "unseen" });
  const figure = h(
    "figure",
    { class: "chart" },
    h("figcaption", null, h("h2", null, first.title), legend),
    plot, spoken, numbers,
  );
  figure.update = (next) => {
    options = { ...options, ...next };
    if (at !== null && at >= options.times.length) at = null;
    show();
  };
  let frame = null;
  const observer = new ResizeObserver(() => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => (figure.isConnected ? show() : observer.disconnect()));
  });
  observer.observe(plot);

  const seen = () => options.series.filter((one) => !off.has(one.name));
  const value = (n) => (options.unit === "seconds" ? duration(n) : count(n));

  function geometry() {
    const width = Math.max(160, plot.clientWidth || 480);
    const height = options.height ?? 170;
    const { times } = options;
    const step = options.step ?? (times[1] ?? 60) - (times[0] ?? 0);
    const inner = width - EDGE.left - EDGE.right;
    const span = times.length + (options.columns ? 0 : -1);
    const x = (i) => EDGE.left + ((i + (options.columns ? 0.5 : 0)) / Math.max(1, span)) * inner;
    const layers = options.stack ? stacked(seen()) : seen().map((one) => ({ ...one, tops: one.values }));
    const axis = scale(Math.max(0, ...layers.flatMap((one) => one.tops.map((n) => n ?? 0))), options.unit);
    const y = (n) => height - EDGE.bottom - (n / axis.most) * (height - EDGE.top - EDGE.bottom);
    return { width, height, inner, step, x, y, layers, axis };
  }

  function show() {
    const space = geometry();
    const { width, height, axis, x, y } = space;
    drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
    drawing.setAttribute("height", height);
    const long = options.times.length * space.step > 2 * 86400;
    const label = (n) => (options.unit === "seconds" ? duration(n) : short(n));
    replace(
      drawing,
      axis.ticks.map((n) => [
        svg("line", { x1: EDGE.left, x2: width - EDGE.right, y1: y(n), y2: y(n) }),
        svg("text", { x: EDGE.left - 6, y: y(n) + 4, "text-anchor": "end" }, label(n)),
      ]),
      timeTicks(options.times, Math.max(2, Math.floor(space.inner / 90))).map((i) => svg(
        "text",
        { x: x(i), y: height - 4, "text-anchor": i === 0 ? "start" : "middle" },
        long ? day(options.times[i] * 1000).slice(5) : clock(options.times[i] * 1000),
      )),
      draw(space),
      cursor(space),
    );
    none.hidden = seen().some((one) => one.values.some((n) => n !== null && (n > 0 || !options.columns)));
    replace(none, options.none ?? "Nothing in this time.");
    update(legend, options.series.map((one) => h("button", {
      type: "button", "data-state": one.kind, "aria-pressed": String(!off.has(one.name)), key: one.name,
      "on:click": () => (off.has(one.name) ? off.delete(one.name) : off.add(one.name), show()),
    }, one.name)));
    showReading(space);
    showNumbers();
  }

  function cursor({ x, y, height, layers }) {
    if (at === null) return null;
    return [
      svg("line", { class: "cursor", x1: x(at), x2: x(at), y1: EDGE.top, y2: height - EDGE.bottom }),
      options.columns ? null : layers.filter((one) => one.tops[at] !== null).map((one) =>
        svg("circle", { class: "dot", "data-state": one.kind, cx: x(at), cy: y(one.tops[at]), r: 3 })),
    ];
  }

  function time(i) {
    const ms = options.times[i] * 1000;
    return Date.now() - ms > 20 * 3_600_000 ? `${day(ms).slice(5)} ${clock(ms)}` : clock(ms);
  }

  function showReading({ x, width }) {
    reading.hidden = at === null;
    if (at === null) return;
    replace(reading, h("p", null, time(at)), seen().map((one) =>
      h("div", { "data-state": one.kind }, one.name, h("b", null, value(one.values[at])))));
    const right = x(at) > width / 2;
    reading.style.left = right ? "auto" : `${x(at) + 10}px`;
    reading.style.right = right ? `${width - x(at) + 10}px` : "auto";
  }

  // A table of some rows is of use to a listener; one of hundreds is not.
  function showNumbers() {
    const every = Math.max(1, Math.ceil(options.times.length / 12));
    const rows = options.times.map((_, i) => i).filter((i) => (options.times.length - 1 - i) % every === 0);
    replace(numbers, h(
      "table",
      null,
      h("caption", null, options.title),
      h("tr", null, h("th", { scope: "col" }, "Time"), options.series.map((one) => h("th", { scope: "col" }, one.name))),
      rows.map((i) => h("tr", null, h("th", { scope: "row" }, time(i)), options.series.map((one) => h("td", null, value(one.values[i]))))),
    ));
  }

  function nearest(event) {
    const box = plot.getBoundingClientRect();
    const share = (event.clientX - box.left - EDGE.left) / (box.width - EDGE.left - EDGE.right);
    const last = options.times.length - 1;
    const i = options.columns ? Math.floor(share * (last + 1)) : Math.round(share * last);
    return Math.min(last, Math.max(0, i));
  }

  function read(i) {
    if (i === at) return;
    at = i;
    show();
  }

  function onKey(event) {
    const last = options.times.length - 1;
    const next = {
      ArrowLeft: at === null ? last : Math.max(0, at - 1),
      ArrowRight: at === null ? 0 : Math.min(last, at + 1),
      Home: 0, End: last, Escape: null,
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    read(next);
    if (next === null) return;
    spoken.textContent = `${time(next)}: ${seen().map((one) => `${one.name} ${value(one.values[next])}`).join(", ")}`;
  }

  show();
  return figure;
}

function drawLines({ layers, x, y }) {
  const parts = [];
  for (const one of [...layers].reverse()) {
    for (const piece of segments(one.tops)) {
      const points = piece.map(([i, n]) => [x(i), y(n)]);
      if (one.bottoms) {
        const under = piece.map(([i]) => [x(i), y(one.bottoms[i])]).reverse();
        parts.push(svg("path", { class: "area", "data-state": one.kind, d: `${path(points)}${path(under, "L")}Z` }));
      }
      if (points.length === 1) parts.push(svg("circle", { class: "dot", "data-state": one.kind, cx: points[0][0], cy: points[0][1], r: 2 }));
      else parts.push(svg("path", { class: one.dashed ? "curve dashed" : "curve", "data-state": one.kind, d: path(points) }));
    }
  }
  return parts;
}

function drawColumns({ layers, x, y, inner }) {
  const steps = layers[0]?.tops.length ?? 1;
  const width = Math.max(1, (inner / steps) * 0.72);
  return layers.flatMap((one) => one.tops.map((top, i) => {
    const height = y(one.bottoms[i]) - y(top ?? 0);
    if (!(height > 0)) return null;
    return svg("rect", { class: "column", "data-state": one.kind, x: x(i) - width / 2, y: y(top), width, height });
  }));
}

function path(points, begin = "M") {
  return points.map(([x, y], i) => `${i ? "L" : begin}${Math.round(x * 10) / 10} ${Math.round(y * 10) / 10}`).join("");
}
