/**
 * Makes nodes and brings them up to date. Text is always text: nothing here reads HTML.
 */

const SVG = "http://www.w3.org/2000/svg";
const PROPERTIES = new Set(["value", "checked", "selected", "indeterminate", "open"]);
const HARMLESS = /^(#|\/(?!\/)|\.\/|https?:|blob:)/;

/**
 * An element. `h("button", {class: "quiet", "on:click": fn, disabled: false}, "Save")`
 * Attributes: null, undefined and false leave it out, true sets it bare. `on:NAME` listens, `dataset-x` becomes
 * `data-x`, `style` takes an object, `key` tells `update` which element is which.
 * Children: nodes, text, numbers, lists of these; null and false are nothing.
 * A click on an element with aria-disabled="true" is not heard (it keeps the focus, other than a disabled one).
 */
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An element of a drawing; as `h`. */
export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** Throws away what is in the node and puts these there. */
export function replace(node, ...children) {
  node.replaceChildren(...nodes(children));
  return node;
}

/**
 * As `replace`, but keeps elements that are the same: the focus, the selection and what is being typed stay.
 * The nodes handed over may be used up: do not hold on to nodes inside of them.
 */
export function update(node, ...children) {
  matchChildren(node, nodes(children));
  return node;
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) set(node, name, value);
  node.append(...nodes(children));
  // A <select> has its options only now.
  if (attributes?.value !== undefined && node.localName === "select") node.value = attributes.value;
  return node;
}

function nodes(children) {
  return children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false && child !== true)
    .map((child) => (child instanceof Node ? child : document.createTextNode(String(child))));
}

function set(node, name, value) {
  if (name.startsWith("on:")) return void listen(node, name.slice(3), value);
  if (name === "key") return void (node.nodeKey = value);
  if (name === "style") {
    for (const [property, text] of Object.entries(value ?? {})) node.style.setProperty(property, text);
    return;
  }
  if (PROPERTIES.has(name)) return void (node[name] = value ?? "");
  if (name.startsWith("dataset-")) name = `data-${name.slice(8)}`;
  if (name === "href" && value && !HARMLESS.test(value)) return;
  if (value === null || value === undefined || value === false) node.removeAttribute(name);
  else node.setAttribute(name, value === true ? "" : value);
}

// One listener of ours for each kind of event, which looks up what to do: so `update` can exchange it.
function listen(node, event, action) {
  node.actions ??= {};
  if (!(event in node.actions)) {
    node.addEventListener(event, (happening) => {
      const idle = happening.type === "click" && node.getAttribute("aria-disabled") === "true";
      if (idle) happening.preventDefault();
      else node.actions[event]?.call(node, happening);
    });
  }
  node.actions[event] = action;
}

function matchChildren(node, wanted) {
  const keyed = new Map();
  const kept = new Set(wanted.map((child) => child.nodeKey));
  for (const child of [...node.childNodes]) {
    if (child.nodeKey === undefined) continue;
    if (kept.has(child.nodeKey)) keyed.set(child.nodeKey, child);
    else child.remove(); // first of all: moving the others would cost the focus
  }
  let here = node.firstChild;
  for (const child of wanted) {
    const known = child.nodeKey === undefined ? here : keyed.get(child.nodeKey);
    if (known && known === child) {
      if (known === here) here = here.nextSibling;
      else node.insertBefore(known, here);
    } else if (known && alike(known, child)) {
      if (known !== here) node.insertBefore(known, here);
      else here = here.nextSibling;
      match(known, child);
    } else node.insertBefore(child, here);
  }
  while (here) {
    const next = here.nextSibling;
    here.remove();
    here = next;
  }
}

function alike(one, other) {
  // What draws itself, as a chart does, is not taken apart.
  if (one.update || other.update) return false;
  return one.nodeType === other.nodeType && one.nodeName === other.nodeName && one.nodeKey === other.nodeKey;
}

function match(old, wanted) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== wanted.data) old.data = wanted.data;
    return;
  }
  // What is being done with this button is not over yet.
  const working = old.getAttribute("aria-busy") === "true" && old.localName === "button";
  for (const { name } of [...old.attributes]) {
    if (!wanted.hasAttribute(name) && !(working && name.startsWith("aria-"))) old.removeAttribute(name);
  }
  for (const { name, value } of wanted.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const event of Object.keys(old.actions ?? {})) old.actions[event] = wanted.actions?.[event];
  for (const [event, action] of Object.entries(wanted.actions ?? {})) listen(old, event, action);
  if (old !== document.activeElement) {
    for (const name of PROPERTIES) {
      if (name in old && name !== "open" && old[name] !== wanted[name] && old.localName !== "li") {
        old[name] = wanted[name];
      }
    }
  }
  if (old.localName !== "textarea") matchChildren(old, [...wanted.childNodes]);
}
