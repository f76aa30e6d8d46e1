/** Texts that are seen and whose contrast with what is behind them is less than 4.5 (WCAG 1.4.3). */
function pale() {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const over = (layer, below) => below.map((c, i) => (layer[i] * layer[3] + c * (255 - layer[3])) / 255);
  const light = (colour) => {
    const [r, g, b] = colour.map((c) => ((c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (node) => {
    const layers = [];
    for (let at = node; at; at = at.parentElement) layers.push(rgba(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
  };
  const leftOut = ".unseen, .skip, [aria-disabled=true], :disabled, noscript, svg, option, title";
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const bad = new Set();
  while (walker.nextNode()) {
    const { parentElement: node, data } = walker.currentNode;
    if (!data.trim() || node.closest(leftOut) || !node.checkVisibility({ opacityProperty: true })) continue;
    const back = behind(node);
    const fore = over(rgba(getComputedStyle(node).color), back);
    const [more, less] = [light(fore), light(back)].sort((a, b) => b - a);
    const contrast = (more + 0.05) / (less + 0.05);
    if (contrast < 4.5) bad.add(`${contrast.toFixed(2)} ${node.localName}.${node.className}: ${data.slice(0, 40)}`);
  }
  return [...bad];
}

/** Controls without names, headings out of order, ids twice, references to nothing. */
function faults() {
  const all = (selector) => [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility());
  const named = (id) => document.getElementById(id)?.textContent ?? "";
  const name = (node) => {
    const by = (node.getAttribute("aria-labelledby") ?? "").split(" ").map(named).join("");
    const labels = [...(node.labels ?? [])].map((label) => label.textContent).join("");
    const inside = /^(a|button|summary|code)$/.test(node.localName) ? node.textContent : "";
    return (node.getAttribute("aria-label") || by || labels || inside).trim();
  };
  const bad = [];
  const controls = "button, a[href], input, select, textarea, summary, [tabindex='0'], [role=img], dialog, nav";
  for (const node of all(controls)) if (!name(node)) bad.push(`no name: ${node.outerHTML.slice(0, 120)}`);
  for (const one of ["h1", "main"]) if (all(one).length !== 1) bad.push(`${all(one).length} of ${one}`);
  const levels = all("main h1, main h2, main h3").map((one) => Number(one.localName[1]));
  if (levels.some((level, i) => level > (levels[i - 1] ?? 0) + 1)) bad.push(`headings skip a level: ${levels}`);
  const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
  if (new Set(ids).size !== ids.length) bad.push(`twice: ${ids.filter((id, i) => ids.indexOf(id) !== i)}`);
  for (const node of document.querySelectorAll("[aria-describedby], [aria-controls], label[for]")) {
    const id = node.getAttribute("aria-describedby") ?? node.getAttribute("aria-controls") ?? node.htmlFor;
    if (!document.getElementById(id)) bad.push(`points nowhere: ${node.outerHTML.slice(0, 120)}`);
  }
  if (!document.documentElement.lang) bad.push("no language");
  return bad;
}
