/**
 * Recurring jobs: when, in words; running one now, pausing, deleting.
 */

import { get, send } from "./api.js";
import { h, replace, update } from "./dom.js";
import { stamp, when } from "./format.js";
import { follow } from "./live.js";
import { ask, badge, busy, button, empty, failureIn, heading, loading, moment, muted, table, toast } from "./ui.js";

export default { title: "Schedules", open };

function open({ main, go }) {
  const place = h("div", null, loading());
  replace(main, heading("Schedules"), place);

  async function load() {
    const { schedules } = await get("/schedules");
    update(place, schedules.length
      ? table(columns(act), schedules, { key: (one) => one.name, label: "Schedules" })
      : empty("There are no schedules", "A schedule makes a job at its times. Type, for example:", 'queuectl schedule add nightly "0 3 * * *" -- ./backup.sh'));
  }

  async function act(node, name, action) {
    if (action === "delete") {
      const sure = await ask({ title: `Delete the schedule ${name}?`, text: "It makes no more jobs. The jobs that it made stay.", action: "Delete", danger: true });
      if (!sure) return;
      await busy(node, send("DELETE", path(name)), `${name} is deleted.`);
    } else if (action === "trigger") {
      const job = await busy(node, send("POST", path(name, "trigger")));
      if (job) {
        toast(`Job ${job.id} was made.`);
        go(`#/jobs/${encodeURIComponent(job.id)}`);
        return;
      }
    } else await busy(node, send("POST", path(name, action)), action === "pause" ? `${name} is paused.` : `${name} goes on.`);
    following.again();
  }

  const following = follow(load, failureIn(place, () => following.again()), { every: 10_000 });
  return () => following.stop();
}

function path(name, action = null) {
  return `/schedules/${encodeURIComponent(name)}${action ? `/${action}` : ""}`;
}

function columns(act) {
  return [
    { title: "Schedule", head: true, cell: (one) => one.name },
    { title: "State", cell: (one) => badge(one.paused ? "paused" : "active") },
    { title: "When", cell: (one) => h("div", null, one.in_words, h("div", { class: "muted small" }, h("code", null, one.schedule))) },
    { title: "Next", cell: nextOf },
    { title: "Last", cell: lastOf },
    { title: "Job", class: "wide", cell: jobOf },
    { title: "Actions", hide: true, class: "act", cell: (one) => {
      const does = (action) => (event) => act(event.currentTarget, one.name, action);
      return h(
        "div",
        { class: "buttons" },
        button("Run now", does("trigger"), { key: "trigger", label: `Run ${one.name} now` }),
        one.paused
          ? button("Resume", does("resume"), { key: "toggle", label: `Resume ${one.name}` })
          : button("Pause", does("pause"), { key: "toggle", label: `Pause ${one.name}` }),
        button("Delete…", does("delete"), { key: "delete", kind: "danger", label: `Delete ${one.name}` }),
      );
    } },
  ];
}

function nextOf(one) {
  if (one.paused) return muted("–");
  const [first, ...others] = one.next_times;
  if (!first) return muted("never again");
  return h(
    "div",
    null,
    moment(first),
    h("div", { class: "muted small" }, others.map((time, i) => [i ? ", " : "then ", h("time", { datetime: time, title: stamp(time) }, when(time))])),
  );
}

function lastOf(one) {
  if (!one.last_at) return muted("never");
  return one.last_job ? h("a", { href: `#/jobs/${encodeURIComponent(one.last_job)}` }, moment(one.last_at)) : moment(one.last_at);
}

function jobOf(one) {
  const { job } = one;
  const text = job.command ?? (job.argv ?? []).join(" ");
  return h("div", null, h("code", { class: "clip", title: text }, text), job.queue && h("span", { class: "chip" }, job.queue));
}
