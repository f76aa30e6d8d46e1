/**
 * What jobs print and what people typed, made safe to show: lines, colours, escapes, search; and the log's view.
 */

import { h, replace } from "./dom.js";
import { bytes, count } from "./format.js";
import { button } from "./ui.js";

const MOST_LINES = 10_000;
const LONGEST_LINE = 4_000;
const MOST_HITS = 5_000;
const BLOCK = 250; // lines; a block out of sight is not laid out

// --- text that could deceive ---

// Controls, bidi marks and overrides, what is invisible, lone surrogates: shown by number, never obeyed.
const HIDDEN = new RegExp(
  "([\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u115f\\u1160\\u180e\\u200b\\u200e\\u200f" +
    "\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\ufff9-\\ufffb\\u{e0000}-\\u{e007f}\\p{Surrogate}])",
  "gu",
);

function escaped(char) {
  const code = char.codePointAt(0);
  if (code < 256) return "\\x" + code.toString(16).padStart(2, "0");
  return "\\u" + (code > 0xffff ? `{${code.toString(16)}}` : code.toString(16).padStart(4, "0"));
}

/** Text with everything visible; line ends stay. */
export function plain(text) {
  return String(text ?? "").replace(HIDDEN, escaped);
}

/** The same on one line, cut to a length. */
export function oneLine(text, most = 300) {
  const line = plain(String(text ?? "").slice(0, most + 1)).replace(/\s*\n\s*/g, " ⏎ ").replaceAll("\t", " ");
  return line.length > most ? line.slice(0, most) + "…" : line;
}

/** A word as a POSIX shell reads it. */
export function quote(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${String(word).replaceAll("'", `'"'"'`)}'`;
}

/** [{text, escape}]: as it is, or standing for something hidden. */
export function parts(text) {
  const bits = text.split(HIDDEN).map((bit, i) => (i % 2 ? { text: escaped(bit), escape: true } : { text: bit, escape: false }));
  return bits.filter((one) => one.text);
}

// --- colours ---

const FLAGS = { 1: "heavy", 2: "dim", 4: "line", 7: "turned", 22: "heavy dim", 24: "line", 27: "turned" };

/** The style after an SGR sequence: {fore, back, bold, …}. Nothing hides text: conceal is not obeyed. */
export function styled(style, parameters) {
  let next = { ...style };
  const codes = parameters.split(/[;:]/).map(Number);
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i];
    const side = { 3: "fore", 9: "fore", 4: "back", 10: "back" }[Math.floor(code / 10)];
    if (code === 0) next = {};
    else if (FLAGS[code]) for (const name of FLAGS[code].split(" ")) next[name] = code < 10;
    else if (side && code % 10 < 8) next[side] = code % 10;
    else if (side) {
      // 38;5;N and 38;2;R;G;B: of these only the sixteen plain colours are kept. 39: the usual one.
      const plain = code % 10 === 8 && codes[i + 1] === 5 && codes[i + 2] < 16;
      next[side] = plain ? codes[i + 2] % 8 : undefined;
      if (code % 10 === 8) i += codes[i + 1] === 5 ? 2 : codes[i + 1] === 2 ? 4 : 1;
    }
  }
  return next;
}

export function classes({ fore, back, ...flags }) {
  const names = Object.keys(flags).filter((name) => flags[name]);
  if (fore !== undefined) names.push(`f${fore}`);
  if (back !== undefined && back !== fore) names.push(`b${back}`);
  return names.map((name) => `sgr-${name}`).join(" ");
}

// --- lines ---

const SEQUENCE = /(\x1b\[[0-?]*[ -/]*[@-~])/;
const BEGUN = /\x1b(\[[0-?]*[ -/]*)?$/; // its end has not come yet

/** One stream: its colours and its last line go on from piece to piece. */
class Stream {
  style = {};
  rest = "";
  line = null;
  returned = false; // the last character was a carriage return

  /** [{text, names}]: colours become names of classes; other sequences stay, to be shown. */
  runs(text) {
    text = this.rest + text;
    this.rest = BEGUN.exec(text.slice(-80))?.[0] ?? "";
    const found = [];
    for (const bit of text.slice(0, text.length - this.rest.length).split(SEQUENCE)) {
      const colour = /^\x1b\[([\d;:]*)m$/.exec(bit);
      if (colour) this.style = styled(this.style, colour[1]);
      else if (bit && !/^\x1b\[\d?K$/.test(bit)) found.push({ text: bit, names: classes(this.style) }); // K erases nothing here
    }
    return found;
  }
}

/** Output in pieces -> lines {number, stream, at, text, runs:[{text, classes}]}. */
export class Lines {
  constructor(most = MOST_LINES) {
    this.most = most;
    this.clear();
  }

  clear() {
    this.lines = [];
    this.count = 0; // of all that ever came
    this.dropped = 0;
    this.streams = { stdout: new Stream(), stderr: new Stream() };
  }

  /** The lines that are new or have grown, in their order. */
  add(pieces) {
    const touched = new Set();
    for (const piece of pieces) {
      if (piece.stream === "gap") {
        const line = this.begin("gap", piece.at);
        line.text = plain(piece.text.trim() || "some output is missing here");
        line.runs = [{ text: line.text, classes: "" }];
        touched.add(line);
      } else this.text(this.streams[piece.stream], piece, touched);
    }
    const over = this.lines.length - this.most;
    if (over > 0) {
      for (const line of this.lines.splice(0, over)) {
        line.gone = true;
        line.node?.remove();
      }
      this.dropped += over;
    }
    return [...touched].filter((line) => !line.gone).sort((a, b) => a.number - b.number);
  }

  begin(stream, at) {
    const line = { number: ++this.count, stream, at, text: "", runs: [] };
    this.lines.push(line);
    return line;
  }

  text(stream, piece, touched) {
    for (const run of stream.runs(piece.text)) {
      for (const bit of run.text.match(/\r\n|[\r\n]|[^\r\n]+/g) ?? []) {
        const end = bit[0] === "\r" || bit[0] === "\n";
        const second = stream.returned && bit === "\n"; // of a pair that came in two pieces
        stream.returned = bit === "\r";
        if (second) continue;
        if (end) {
          if (stream.line === null) touched.add(this.begin(piece.stream, piece.at)); // an empty one
          stream.line = null;
        } else this.put(stream, piece, bit, run.names, touched);
      }
    }
  }

  put(stream, piece, text, names, touched) {
    while (text) {
      if (!stream.line || stream.line.gone) stream.line = this.begin(piece.stream, piece.at);
      const { line } = stream;
      let part = text.slice(0, LONGEST_LINE - line.text.length);
      if (/[\ud800-\udbff]$/.test(part) && part.length < text.length) part = text.slice(0, part.length + 1);
      for (const one of parts(part)) {
        line.runs.push({ text: one.text, classes: one.escape ? `${names} esc`.trim() : names });
        line.text += one.text;
      }
      touched.add(line);
      text = text.slice(part.length);
      if (line.text.length >= LONGEST_LINE) stream.line = null; // goes on in the next
    }
  }
}

// --- search ---

/** Where a text is, in any case: [{line, start, end}]. */
export function search(lines, text) {
  const found = [];
  if (!text) return found;
  const pattern = new RegExp(text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&"), "giu");
  for (const line of lines) {
    for (const match of line.text.matchAll(pattern)) {
      found.push({ line, start: match.index, end: match.index + match[0].length });
      if (found.length >= MOST_HITS) return found;
    }
  }
  return found;
}

/** Runs cut at the hits of their line: [{text, classes, hit}]. */
export function cut(runs, hits) {
  const found = [];
  let at = 0;
  for (const { text, classes } of runs) {
    const end = at + text.length;
    let from = at;
    const take = (to, hit) => {
      if (to > from) found.push({ text: text.slice(from - at, to - at), classes, hit });
      from = Math.max(from, to);
    };
    for (const hit of hits) {
      if (hit.end <= from || hit.start >= end) continue;
      take(hit.start, null);
      take(Math.min(hit.end, end), hit);
    }
    take(end, null);
    at = end;
  }
  return found;
}

/** Milliseconds since the start: 1:23.4 */
export function clock(ms) {
  const seconds = (Math.floor(ms / 100) % 600) / 10;
  return `${Math.floor(ms / 60_000)}:${seconds.toFixed(1).padStart(4, "0")}`;
}

// --- the view ---

/** Shows output as it comes in; `add` takes what /output/pieces gives. */
export class LogView {
  constructor(attempts, download) {
    this.lines = new Lines();
    this.follows = true;
    this.lastTop = this.skipped = 0;
    this.box = h("div", { class: "log", hidden: true, tabindex: "0", role: "region", "aria-label": "Output", "on:scroll": () => this.scrolled() });
    this.note = h("p", { class: "muted" });
    this.found = h("span", { class: "muted", role: "status" });
    this.query = h("input", {
      type: "search",
      placeholder: "Search output",
      "aria-label": "Search output",
      "on:input": () => this.search(true),
      "on:keydown": (event) => event.key === "Enter" && this.step(event.shiftKey ? -1 : 1),
    });
    const toggle = (text, checked, action) =>
      h("label", { class: "check" }, h("input", { type: "checkbox", checked, "on:change": (event) => action(event.target.checked) }), text);
    this.follow = toggle("Follow", true, (on) => this.setFollow(on));
    this.node = h(
      "section",
      { class: "panel output" },
      h(
        "div",
        { class: "toolbar" },
        h("h2", null, "Output"),
        attempts,
        h(
          "div",
          { class: "log-search" },
          this.query,
          button("↑", () => this.step(-1), { kind: "quiet", label: "Previous match" }),
          button("↓", () => this.step(1), { kind: "quiet", label: "Next match" }),
          this.found,
        ),
        toggle("Wrap", true, (on) => this.box.classList.toggle("nowrap", !on)),
        this.follow,
        toggle("Times", false, (on) => this.box.classList.toggle("times", on)),
        download,
      ),
      this.note,
      this.box,
    );
    this.clear();
  }

  clear() {
    this.lines.clear();
    this.hits = [];
    this.marked = new Map(); // lines that are drawn with hits
    this.now = -1;
    this.box.replaceChildren();
  }

  /** `anew`: in place of what there is. */
  add(data, anew = false) {
    if (anew) this.clear();
    if (anew || data.skipped) this.skipped = data.skipped;
    const touched = this.lines.add(data.pieces);
    for (const line of touched) this.draw(line);
    while (this.box.firstChild && !this.box.firstChild.firstChild) this.box.firstChild.remove();
    this.tell(data);
    if (touched.length && this.query.value) this.soon ??= setTimeout(() => ((this.soon = null), this.search(false)), 400);
    if (this.follows) this.box.scrollTop = this.box.scrollHeight;
  }

  tell({ note, running }) {
    const said = [];
    if (this.skipped) said.push(`The first ${bytes(this.skipped)} are not shown here; the download has them.`);
    if (this.lines.dropped) said.push(`Only the last ${count(MOST_LINES)} lines are shown.`);
    if (note) said.push(plain(note));
    if (!this.lines.count) said.push(running ? "It has printed nothing yet." : "There is no output.");
    this.note.textContent = said.join(" ");
    this.box.hidden = !this.lines.count;
  }

  draw(line) {
    const hits = this.marked.get(line);
    const children = (hits ? cut(line.runs, hits) : line.runs).map((run) => {
      const inside = run.classes ? h("span", { class: run.classes }, run.text) : run.text;
      return run.hit ? h("mark", { class: run.hit === this.hits[this.now] ? "now" : null }, inside) : inside;
    });
    if (line.node) return void replace(line.node, children);
    const title = line.stream === "stderr" ? "stderr" : null;
    line.node = h("div", { class: "line", "dataset-stream": line.stream, "dataset-at": clock(line.at), title }, children);
    let block = this.box.lastChild;
    if (!block || block.childElementCount >= BLOCK) this.box.append((block = h("div", { class: "block" })));
    block.append(line.node);
  }

  search(jump) {
    const old = this.hits[this.now];
    this.hits = search(this.lines.lines, this.query.value);
    const same = old && !jump ? this.hits.findIndex((hit) => hit.line === old.line && hit.start === old.start) : -1;
    this.now = same < 0 && this.hits.length ? 0 : same;
    this.mark(jump);
  }

  step(by) {
    if (!this.hits.length) return;
    this.now = (this.now + by + this.hits.length) % this.hits.length;
    this.mark(true);
  }

  mark(jump) {
    const before = this.marked;
    this.marked = new Map();
    for (const hit of this.hits) {
      if (!this.marked.has(hit.line)) this.marked.set(hit.line, []);
      this.marked.get(hit.line).push(hit);
    }
    for (const line of new Set([...before.keys(), ...this.marked.keys()])) this.draw(line);
    const many = this.hits.length >= MOST_HITS ? `${MOST_HITS}+` : this.hits.length;
    this.found.textContent = !this.query.value ? "" : many ? `${this.now + 1} of ${many}` : "no match";
    if (!jump || !many) return;
    this.setFollow(false);
    this.box.querySelector("mark.now").scrollIntoView({ block: "nearest" });
  }

  // Who scrolls up wants to read: new lines must not carry it away.
  scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.box;
    if (scrollTop < this.lastTop - 2 && scrollHeight - scrollTop - clientHeight > 40) this.setFollow(false);
    this.lastTop = scrollTop;
  }

  setFollow(on) {
    this.follows = on;
    this.follow.firstChild.checked = on;
    if (on) this.box.scrollTop = this.box.scrollHeight;
  }
}
