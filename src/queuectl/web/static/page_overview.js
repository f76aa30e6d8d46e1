/**
 * All at one glance: the numbers of this moment, and the last hours and days.
 */

import { get } from "./api.js";
import { bars, lines } from "./charts.js";
import { h, replace, update } from "./dom.js";
import { age, count, duration, some } from "./format.js";
import { follow, live } from "./live.js";
import { button, empty, failure, heading, newId } from "./ui.js";

const RANGES = { "1h": "1 h", "24h": "24 h", "7d": "7 d", "30d": "30 d" };
const DEPTHS = ["processing", "pending", "failed", "scheduled", "blocked", "dead"];
const DEPTH_NAMES = { processing: "running", pending: "waiting", failed: "to retry" };
const EVERY_MS = { "1h": 10_000, "24h": 60_000, "7d": 300_000, "30d": 300_000 };

export default { title: "Overview", open };

function open({ main, query, setQuery }) {
  let range = Object.hasOwn(RANGES, query.get("range") ?? "") ? query.get("range") : "1h";
  let queue = query.get("queue") || null;
  let charts = null;
  let fetched = 0;
  const tiles = h("div", { class: "tiles" });
  const notes = h("div");
  const graphs = h("div", { class: "grid" });
  const choice = h("div", { class: "switch", role: "group", "aria-label": "Time shown" });
  const id = newId("queue");
  const names = h("select", { id, "on:change": () => choose(range, names.value || null) });
  const label = h("label", { class: "unseen", for: id }, "Queue");
  replace(main, heading("Overview", label, names, choice), tiles, notes, graphs);
  replace(names, h("option", { value: queue ?? "" }, queue ?? "All queues"));
  showChoice();

  function choose(newRange, newQueue) {
    [range, queue] = [newRange, newQueue];
    setQuery({ range: range === "1h" ? null : range, queue });
    showChoice();
    fetched = 0;
    showStats();
    loadHistory();
  }

  function showChoice() {
    update(choice, Object.entries(RANGES).map(([name, text]) =>
      button(text, () => choose(name, queue), { "aria-pressed": String(name === range) })));
  }

  // The stream's numbers are of all queues; those of one are asked for.
  async function showStats() {
    const asked = queue;
    const stats = asked === null ? live.stats ?? (await get("/stats")) : await get("/stats", { queue: asked });
    if (asked !== queue) return;
    update(tiles, tilesOf(stats, queue));
    update(notes, hintOf(stats));
  }

  async function loadHistory() {
    if (Date.now() - fetched < EVERY_MS[range]) return;
    fetched = Date.now();
    const asked = [range, queue];
    try {
      const past = await get("/history", { range, queue });
      if (asked[0] !== range || asked[1] !== queue) return;
      const wanted = chartsOf(past);
      if (charts) charts.forEach((chart, i) => chart.update(wanted[i].options));
      else {
        charts = wanted.map(({ draw, options }) => draw(options));
        replace(graphs, charts.map((chart) => h("div", { class: "panel" }, chart)));
      }
    } catch (error) {
      if (!charts && error.status !== 401) replace(graphs, failure(error, () => ((fetched = 0), loadHistory())));
    }
  }

  async function loadNames() {
    const found = (await get("/queues")).queues.map((one) => one.name);
    if (queue && !found.includes(queue)) found.push(queue);
    if (document.activeElement !== names) {
      update(names, ["", ...found].map((name) => h("option", { value: name, key: name, selected: name === (queue ?? "") }, name || "All queues")));
      names.value = queue ?? "";
    }
  }

  const failed = (error) => {
    if (error.status !== 401 && !tiles.children.length) update(notes, failure(error));
  };
  const following = follow(async () => {
    await Promise.all([showStats(), loadNames()]);
    await loadHistory();
  }, failed);
  const off = live.on("stats", () => queue === null && showStats());
  const timer = setInterval(() => live.state === "open" && loadHistory(), 5000);
  return () => {
    following.stop();
    off();
    clearInterval(timer);
  };
}

function tilesOf(stats, queue) {
  const { jobs } = stats;
  const among = queue ? `&queue=${encodeURIComponent(queue)}` : "";
  const dead = `#/dead${among.replace("&", "?")}`;
  const later = [jobs.scheduled && `${count(jobs.scheduled)} scheduled`, jobs.failed && `${count(jobs.failed)} to retry`, jobs.blocked && `${count(jobs.blocked)} blocked`];
  const full = stats.slots > 0 && jobs.processing >= stats.slots;
  return [
    tile("Waiting", count(jobs.pending), later.filter(Boolean).slice(0, 2).join(", ") || "none for later", { href: `#/jobs?state=pending${among}` }),
    tile("Running", [count(jobs.processing), h("small", null, ` / ${some(stats.slots, "slot")}`)], full ? "all slots are taken" : `${count(stats.throughput_per_minute)} a minute`, { href: `#/jobs?state=processing${among}` }),
    tile("Oldest waiting", stats.oldest_waiting_seconds === null ? "–" : duration(stats.oldest_waiting_seconds), endOf(stats), { href: `#/jobs?state=pending&sort=created&reverse=true${among}` }),
    tile("Failed, last hour", count(stats.failed_last_hour), `${count(stats.completed_last_hour)} completed`, { kind: stats.failed_last_hour ? "warn" : "", href: dead }),
    tile("Dead", count(jobs.dead), jobs.dead ? "need a look" : "none", { kind: jobs.dead ? "bad" : "", href: dead }),
    tile("Workers", count(stats.workers), stats.workers ? "alive" : "nothing is run", { kind: stats.workers ? "" : "warn", href: "#/workers" }),
  ];
}

function endOf({ jobs, eta, eta_seconds: end }) {
  if (end === null) return jobs.pending ? "no end in sight" : "nothing waits";
  const left = eta.not_served + eta.paused;
  return `done in about ${age(end)}` + (left ? `, without ${some(left, "job")}` : "");
}

function tile(name, figure, note, { kind = "", href }) {
  return h(
    "a",
    { class: `tile ${kind}`.trim(), href, key: name },
    h("span", { class: "name" }, name),
    h("span", { class: "figure" }, figure),
    h("span", { class: "note" }, note),
  );
}

/** What to do next, if anything. */
function hintOf(stats) {
  if (stats.total === 0) {
    return empty("There are no jobs yet", "Any command can be one. Type this where the queue is:", "queuectl enqueue -- echo hello");
  }
  if (stats.workers === 0 && stats.jobs.pending > 0) {
    return empty(`${some(stats.jobs.pending, "job")} wait, and no worker is running`, "Start one:", "queuectl worker start");
  }
  const paused = stats.paused_queues;
  if (paused.length) {
    return h("p", null, paused.length === 1 ? "A queue is paused: " : "Queues are paused: ", h("a", { href: "#/queues" }, paused.join(", ")));
  }
  return null;
}

function chartsOf(past) {
  const minutes = past.step_seconds / 60;
  const rate = (values) => values.map((n) => (n === null ? null : Math.round((n / minutes) * 100) / 100));
  const { times } = past;
  const step = past.step_seconds;
  const spans = (what) => [
    { name: "p50", values: past[what].p50, kind: "p50" },
    { name: "p95", values: past[what].p95, kind: "p95", dashed: true },
  ];
  return [
    { draw: bars, options: { title: "Ended per minute", times, step, none: "No job ended in this time.", series: [
      { name: "done", values: rate(past.completed), kind: "completed" },
      { name: "failed", values: rate(past.failed), kind: "failed" },
      { name: "dead", values: rate(past.dead), kind: "dead" },
    ] } },
    { draw: lines, options: { title: "Jobs by state", times, step, stack: true, none: "Not measured yet: a running worker does it.", series:
      DEPTHS.map((state) => ({ name: DEPTH_NAMES[state] ?? state, values: past.depth[state] ?? times.map(() => null), kind: state, off: state === "dead" })),
    } },
    { draw: lines, options: { title: "Wait until start", times, step, unit: "seconds", none: "No job started in this time.", series: spans("wait") } },
    { draw: lines, options: { title: "Run time", times, step, unit: "seconds", none: "No job ended in this time.", series: spans("run") } },
  ];
}
