/**
 * The queues: how much waits and for how long; pausing them, emptying them, their limits.
 */

import { get, send } from "./api.js";
import { spark } from "./charts.js";
import { h, replace, update } from "./dom.js";
import { count, duration, some, when } from "./format.js";
import { follow } from "./live.js";
import { askFor, badge, busy, button, empty, failureIn, heading, loading, muted, table, toast } from "./ui.js";

const PAST_MS = 30_000;
const MOST_PASTS = 40; // queues whose past is fetched

export default { title: "Queues", open };

function open({ main }) {
  const pasts = new Map(); // by name: {at, ended}
  let queues = [];
  const place = h("div", null, loading());
  replace(main, heading("Queues"), place);

  async function load() {
    queues = (await get("/queues")).queues;
    show();
    await loadPasts();
  }

  async function loadPasts() {
    const old = (name) => Date.now() - (pasts.get(name)?.at ?? 0) > PAST_MS;
    for (const { name } of queues.slice(0, MOST_PASTS).filter((one) => old(one.name))) {
      pasts.set(name, { ended: pasts.get(name)?.ended ?? null, at: Date.now() });
      const past = await get("/history", { range: "1h", queue: name });
      pasts.get(name).ended = past.completed.map((n, i) => n + past.dead[i]);
    }
    show();
  }

  function show() {
    if (queues.length === 0) {
      update(place, empty("There are no queues yet", "A queue comes with its first job:", "queuectl enqueue --queue mail -- ./send.sh"));
      return;
    }
    update(place, table(columns((name) => pasts.get(name)?.ended, act), queues, { key: (one) => one.name, label: "Queues" }));
  }

  const act = {
    async do(node, name, action, words) {
      await busy(node, send("POST", path(name, action)), words);
      following.again();
    },
    async pause(name) {
      const given = await askFor({
        title: `Pause ${name}`, action: "Pause",
        text: "No more of its jobs are started. Those that run go on, and new ones are taken.",
        fields: [
          { name: "reason", label: "Reason (others see it)", placeholder: "mail server is down", maxlength: "500" },
          { name: "until", label: "Until", placeholder: "in 2h, or tomorrow 9am", hint: "Empty: until somebody resumes it." },
        ],
        send: ({ reason, until }) => send("POST", path(name, "pause"), { reason: reason || null, until: until || null }),
      });
      if (given) toast(`${name} is paused.`);
      following.again();
    },
    async limits(queue) {
      const number = (text) => (text === "" ? null : /^\d+$/.test(text) ? Number(text) : text);
      const given = await askFor({
        title: `Limits of ${queue.name}`, action: "Save",
        fields: [
          { name: "concurrency", label: "Jobs at once", value: queue.concurrency ?? "", inputmode: "numeric", hint: "On all machines together. Empty: no limit." },
          { name: "rate", label: "Starts", value: queue.rate ?? "", placeholder: "100/min", hint: "Like 5/s, 100/min, 1000/h. Empty: no limit." },
        ],
        send: ({ concurrency, rate }) => send("PATCH", path(queue.name), { concurrency: number(concurrency), rate: rate || null }),
      });
      if (given) toast(`The limits of ${queue.name} are changed.`);
      following.again();
    },
  };
  const following = follow(load, failureIn(place, () => following.again()), { every: 5000 });
  return () => following.stop();
}

function path(name, action = null) {
  return `/queues/${encodeURIComponent(name)}${action ? `/${action}` : ""}`;
}

function columns(ended, act) {
  const jobs = (state) => (one) => {
    const n = one.jobs[state];
    const href = `#/jobs?state=${state}&queue=${encodeURIComponent(one.name)}`;
    return n ? h("a", { href, "aria-label": `${count(n)} ${state} in ${one.name}` }, count(n)) : muted("0");
  };
  return [
    { title: "Queue", head: true, cell: (one) => h("a", { href: `#/overview?queue=${encodeURIComponent(one.name)}` }, one.name) },
    { title: "State", cell: stateOf },
    { title: "Waiting", numeric: true, cell: jobs("pending") },
    { title: "Running", numeric: true, cell: (one) => h("span", null, jobs("processing")(one), one.concurrency && muted(` / ${one.concurrency}`)) },
    { title: "Retrying", numeric: true, cell: jobs("failed") },
    { title: "Dead", numeric: true, cell: jobs("dead") },
    { title: "Oldest", numeric: true, cell: (one) => duration(one.oldest_waiting_seconds) },
    { title: "Last hour", cell: (one) => sparkOf(ended(one.name)) },
    { title: "Workers", numeric: true, cell: (one) => count(one.workers) },
    { title: "Limits", cell: limitsOf },
    { title: "Actions", hide: true, class: "act", cell: (one) => actionsOf(one, act) },
  ];
}

function stateOf(one) {
  if (one.paused) {
    const until = one.paused_until ? `ends ${when(one.paused_until)}` : null;
    return h("span", null, badge("paused"), h("span", { class: "muted small note-below" }, [until, one.pause_reason].filter(Boolean).join(": ")));
  }
  return one.draining ? badge("draining") : badge("active");
}

function sparkOf(ended) {
  if (!ended) return muted("–");
  const sum = ended.reduce((one, other) => one + other, 0);
  return spark(ended, `${some(sum, "job")} ended in the last hour`);
}

function limitsOf(one) {
  const words = [one.concurrency && `${one.concurrency} at once`, one.rate].filter(Boolean);
  return words.length ? words.map((one) => h("div", { style: { "white-space": "nowrap" } }, one)) : muted("none");
}

function actionsOf(one, act) {
  const resting = one.paused || one.draining;
  return h(
    "div",
    { class: "buttons" },
    resting
      ? button("Resume", (event) => act.do(event.currentTarget, one.name, "resume", `${one.name} goes on.`), { key: "toggle", label: `Resume ${one.name}` })
      : [
          button("Pause…", () => act.pause(one.name), { key: "toggle", label: `Pause ${one.name}` }),
          button("Drain", (event) => act.do(event.currentTarget, one.name, "drain", `${one.name} takes no new jobs.`), { key: "drain", label: `Drain ${one.name}: take no new jobs, do what is there` }),
        ],
    button("Limits…", () => act.limits(one), { key: "limits", label: `Limits of ${one.name}` }),
  );
}
