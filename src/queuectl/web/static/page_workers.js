/**
 * The workers: where they are, what they do, ending them.
 */

import { get, send } from "./api.js";
import { h, replace, update } from "./dom.js";
import { age, bytes, count, some } from "./format.js";
import { follow } from "./live.js";
import { ask, badge, busy, button, empty, failureIn, heading, loading, moment, muted, table } from "./ui.js";

const LATE_S = 20; // a worker that was not heard of for so long may be in trouble

export default { title: "Workers", open };

function open({ main }) {
  const sum = muted();
  const place = h("div", null, loading());
  replace(main, heading("Workers", sum), place);

  async function load() {
    const { workers } = await get("/workers");
    const slots = workers.reduce((n, one) => n + one.concurrency, 0);
    const running = workers.reduce((n, one) => n + one.running, 0);
    replace(sum, workers.length ? `${some(workers.length, "worker")}, ${count(running)} of ${some(slots, "slot")} busy` : "");
    update(place, workers.length
      ? table(columns(end), workers, { key: (one) => one.id, label: "Workers" })
      : empty("No worker is running", "Jobs wait until there is one. Start it on any machine that reaches the store:", "queuectl worker start"));
  }

  async function end(node, one, action) {
    const now = action === "stop";
    const jobs = one.running ? some(one.running, "job") : null;
    const sure = await ask({
      title: now ? `Stop ${one.id} now?` : `Drain ${one.id}?`,
      text: now
        ? `${jobs ? `Its ${jobs} end now and are given back: they start anew elsewhere.` : "It runs no job."} The worker ends.`
        : `It takes no more jobs${jobs ? `, lets its ${jobs} end` : ""}, and ends.`,
      action: now ? "Stop it now" : "Drain it",
      danger: now,
    });
    if (!sure) return;
    await busy(node, send("POST", `/workers/${encodeURIComponent(one.id)}/${action}`), now ? "It was told to stop." : "It was told to end after its jobs.");
    following.again();
  }

  const following = follow(load, failureIn(place, () => following.again()), { every: 5000 });
  return () => following.stop();
}

function queuesOf(one) {
  if (!one.queues) return muted("all");
  if (!one.queues.length) return muted("its own job"); // a `queuectl run` without a worker
  return one.queues.map((name) => [h("span", { class: "chip" }, name), " "]);
}

function columns(end) {
  const silent = (one) => (Date.now() - Date.parse(one.last_heartbeat)) / 1000;
  return [
    { title: "Worker", head: true, cell: (one) => h("span", { class: "mono" }, one.id) },
    { title: "State", cell: (one) => (silent(one) > LATE_S ? badge("late", `silent for ${age(silent(one))}`) : badge(one.state)) },
    { title: "Host", cell: (one) => one.host },
    { title: "Process", numeric: true, cell: (one) => String(one.pid) },
    { title: "Slots", numeric: true, cell: (one) => `${one.running} / ${one.concurrency}` },
    { title: "Queues", cell: queuesOf },
    { title: "Memory", numeric: true, cell: (one) => bytes(one.memory_kb === null ? null : one.memory_kb * 1024) },
    { title: "Heartbeat", cell: (one) => moment(one.last_heartbeat) },
    { title: "Started", cell: (one) => moment(one.started_at) },
    { title: "Actions", hide: true, class: "act", cell: (one) => h(
      "div",
      { class: "buttons" },
      one.state === "stopping" ? null : button("Drain…", (event) => end(event.currentTarget, one, "drain"), { key: "drain", label: `Drain ${one.id}` }),
      button("Stop…", (event) => end(event.currentTarget, one, "stop"), { key: "stop", kind: "danger", label: `Stop ${one.id} now` }),
    ) },
  ];
}
