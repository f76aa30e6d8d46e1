/**
 * The settings of this store: what counts, where it comes from, changing it.
 */

import { get, send } from "./api.js";
import { h, replace, update } from "./dom.js";
import { follow } from "./live.js";
import { askFor, busy, button, failureIn, heading, loading, muted, table, toast } from "./ui.js";

export default { title: "Settings", open };

function open({ main }) {
  const place = h("div", null, loading());
  replace(
    main,
    heading("Settings"),
    h("p", { class: "muted" }, "What is changed here is for all who use this store. A variable of a machine's environment counts before it. Times are in seconds, sizes in bytes."),
    place,
  );

  async function load() {
    const rows = Object.entries(await get("/config")).map(([name, one]) => ({ name, ...one }));
    update(place, table(columns(act), rows, { key: (one) => one.name, label: "Settings" }));
  }

  const act = {
    async change(one) {
      const given = await askFor({
        title: one.name, action: "Save",
        fields: [{ name: "value", label: "Value", value: text(one.value), hint: "A number, a time like 30s or 5m, or a word." }],
        send: ({ value }) => send("PUT", path(one.name), { value }),
      });
      if (given) toast(`${one.name} is changed.`);
      following.again();
    },
    async unset(node, one) {
      node.nextElementSibling.focus(); // this button goes away
      await busy(node, send("DELETE", path(one.name)), `${one.name} has its default again.`);
      following.again();
    },
  };
  const following = follow(load, failureIn(place, () => following.again()));
  return () => following.stop();
}

function path(name) {
  return `/config/${encodeURIComponent(name)}`;
}

function text(value) {
  return value === null ? "" : String(value);
}

function columns(act) {
  const own = (one) => one.origin === "database";
  return [
    { title: "Setting", head: true, cell: (one) => h("span", { class: "mono" }, one.name) },
    { title: "Value", cell: (one) => (one.value === null ? muted("none") : h("code", null, text(one.value))) },
    { title: "From", cell: (one) => h("span", { class: own(one) ? "chip" : "muted" }, one.origin) },
    { title: "Actions", hide: true, class: "act", cell: (one) => h(
      "div",
      { class: "buttons" },
      own(one) && button("Unset", (event) => act.unset(event.currentTarget, one), { key: "unset", label: `Unset ${one.name}` }),
      button("Change…", () => act.change(one), { key: "change", label: `Change ${one.name}` }),
    ) },
  ];
}
