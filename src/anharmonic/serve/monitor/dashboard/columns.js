// Columns by how much they have drifted: what changed in words, and shares per bin then and now.
import { element } from "/assets/charts.js";
import { made, short } from "/assets/elements.js";

const SECONDS = 10, FIRST = 12;
const WIDTH = 300, HEIGHT = 96, BOTTOM = 18;
const percent = (share) => `${short(100 * share)}%`;

function histogram({ name, labels, reference, recent }) {
  const svg = element("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "histogram", role: "img" });
  const bins = labels.map((label, index) => `${label}: ${percent(recent[index] ?? 0)} now, ${percent(reference[index] ?? 0)} in the reference`);
  svg.setAttribute("aria-label", `${name}. ${bins.join("; ")}`);
  const top = Math.max(1e-9, ...reference, ...recent), step = WIDTH / Math.max(1, labels.length);
  const tall = (share) => ((HEIGHT - BOTTOM - 4) * (share ?? 0)) / top;
  labels.forEach((label, index) => {
    const x = index * step, then = tall(reference[index]), now = tall(recent[index]);
    const bar = element("g", {}, svg);
    element("rect", { class: "then", x: x + step * 0.06, width: step * 0.88, y: HEIGHT - BOTTOM - then, height: then }, bar);
    element("rect", { class: "now", x: x + step * 0.24, width: step * 0.52, y: HEIGHT - BOTTOM - now, height: now }, bar);
    element("title", {}, bar).textContent = bins[index];
  });
  element("line", { class: "axis", x1: 0, x2: WIDTH, y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM }, svg);
  const few = labels.length <= 6, room = Math.floor((few ? step : WIDTH / 2) / 6.5);
  labels.forEach((label, index) => {
    const last = index === labels.length - 1;
    if (!few && index && !last) return;
    const anchor = few ? "middle" : last ? "end" : "start";
    const x = few ? (index + 0.5) * step : last ? WIDTH : 0;
    const text = label.length > room ? `${label.slice(0, Math.max(1, room - 1))}…` : label;
    element("text", { x, y: HEIGHT - 4, "text-anchor": anchor }, svg).textContent = text;
  });
  return svg;
}

function card(column, remembered) {
  const article = made("article"), title = made("h3"), name = made("span", column.name, "name");
  name.title = column.name;
  title.append(name, made("span", `log evidence ${short(column.evidence)}`, "quiet"));
  article.append(title, made("p", column.change || (remembered ? "no change seen" : "no rows in memory yet"), "change"));
  // All columns together have no histogram.
  if (column.labels.length) article.append(histogram(column));
  return article;
}

export function followColumns(host) {
  if (!host) return;
  let all = false, columns = [];
  const more = document.getElementById("more-columns");
  const draw = () => {
    const shown = all ? columns : columns.slice(0, FIRST);
    // After a start or a reset there is evidence and nothing to compare.
    const remembered = columns.some((column) => column.recent.length);
    host.replaceChildren(...(shown.length ? shown.map((column) => card(column, remembered)) : [made("p", "Nothing yet.", "empty")]));
    more.hidden = columns.length <= FIRST;
    more.textContent = all ? "Show the first only" : `Show all ${columns.length}`;
    more.setAttribute("aria-expanded", String(all));
  };
  more.addEventListener("click", () => { all = !all; draw(); });
  const load = async () => {
    if (document.hidden) return;
    try {
      const answer = await fetch("/v1/columns");
      if (!answer.ok) return;
      ({ columns } = await answer.json());
      draw();
    } catch {
      return; // The stream says that the service is away.
    }
  };
  load();
  setInterval(load, SECONDS * 1000);
}
