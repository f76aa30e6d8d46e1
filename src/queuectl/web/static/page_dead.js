/**
 * Dead letters by the cause of their death: what went wrong most is on top, and is mended at once.
 */

import { get } from "./api.js";
import { h, replace, update } from "./dom.js";
import { count, some } from "./format.js";
import { follow } from "./live.js";
import { oneLine, plain } from "./log.js";
import { actOnMany, capital, jobLink, verbButton } from "./page_jobs.js";
import { empty, failure, field, heading, loading, moment } from "./ui.js";

class Dead {
  constructor(context) {
    this.context = context;
    this.queue = context.query.get("queue") ?? "";
    this.list = h("div", { class: "causes" }, loading());
    this.sum = h("p", { class: "muted", role: "status" });
    const filter = field({ name: "queue", label: "Queue", value: this.queue, placeholder: "all", "on:change": (event) => this.set(event.target.value.trim()) });
    replace(context.main, heading("Dead letters"), h("div", { class: "toolbar" }, filter.node, this.sum), this.list);
    this.following = follow(
      () => this.load(),
      (error) => update(this.list, failure(error, () => this.following.again())),
    );
  }

  set(queue) {
    this.queue = queue;
    this.context.setQuery({ queue });
    this.following.again();
  }

  async load() {
    const { queue } = this;
    const { groups, total } = await get("/dead-letters/groups", { queue });
    if (queue !== this.queue) return;
    const most = groups.length < 200 ? "" : "; the most frequent are shown";
    replace(this.sum, groups.length ? `${some(total, "dead job")}, ${some(groups.length, "cause")}${most}` : "");
    update(this.list, groups.length ? groups.map((one) => this.group(one)) : empty("No dead letters", "Jobs that have failed for good come here."));
  }

  group(one) {
    const queue = this.queue ? `&queue=${encodeURIComponent(this.queue)}` : "";
    const act = (verb) => verbButton(verb, (_, node) => this.act(verb, one, node), `${capital(verb)} the jobs with ${plain(one.title)}`);
    return h(
      "section",
      { class: "panel cause", key: one.cause },
      h(
        "div",
        { class: "head" },
        h("h2", null, h("span", { class: "n" }, count(one.count)), " ", plain(one.title)),
        h("div", { class: "buttons" }, h("a", { class: "button", href: `#/jobs?state=dead&cause=${encodeURIComponent(one.cause)}${queue}` }, "Show jobs"), this.context.session.may && [act("retry"), act("delete")]),
      ),
      one.error && one.error !== one.title && h("pre", { class: "wrap small" }, h("bdi", null, plain(one.error.slice(0, 600)))),
      h(
        "p",
        { class: "under muted" },
        h("span", null, "first ", moment(one.first_at)),
        h("span", null, "last ", moment(one.last_at)),
        one.example && h("span", null, "like ", jobLink(one.example)),
        h("span", null, "in ", one.queues.slice(0, 8).map((name) => [h("bdi", { class: "chip" }, oneLine(name, 64)), " "]), one.queues.length > 8 && `and ${one.queues.length - 8} more`),
      ),
    );
  }

  async act(verb, one, node) {
    const filter = { state: ["dead"], cause: one.cause, ...(this.queue && { queue: this.queue }) };
    const about = `All dead jobs with: ${oneLine(one.title, 80)}${one.error ? `, ${oneLine(one.error, 120)}` : ""}.`;
    if ((await actOnMany(verb, { filter }, node, { about })) !== null) this.following.again();
  }
}

export default {
  title: "Dead letters",
  open(context) {
    const page = new Dead(context);
    return () => page.following.stop();
  },
};
