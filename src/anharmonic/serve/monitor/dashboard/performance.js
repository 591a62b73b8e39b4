// How well the model does: an estimate with its band for each metric, hatched where it is not known.
import { Chart } from "/assets/charts.js";
import { clock, made, short } from "/assets/elements.js";

const SECONDS = 10;
const estimate = ([value, low, high]) => (value === null ? "not known" : `${short(value)} (${short(low)} to ${short(high)})`);

function panel(name) {
  const figure = made("figure"), title = made("figcaption"), host = made("div", undefined, "chart metric");
  host.tabIndex = 0;
  host.setAttribute("role", "img");
  host.setAttribute("aria-label", `${name} over time; arrow keys read values`);
  const reading = made("p", undefined, "reading");
  reading.setAttribute("aria-live", "polite");
  figure.append(title, host, reading);
  const chart = new Chart(host, reading, (row) =>
    `Rows ${short(row.first)} to ${short(row.last)}${row.start === null ? "" : ` (from ${clock(row.start)})`}: ${name} ${estimate([row.y, row.low, row.high])}, ${short(row.labelled)} labels${row.known ? "" : `; not known: ${row.reason}`}.`);
  return { figure, title, chart };
}

// Labels raise an alarm of their own.
export function showFall(alarms) {
  const chip = document.getElementById("performance-alarm");
  if (!chip) return;
  const fall = alarms.find((alarm) => alarm.stands && alarm.watched === "performance");
  const words = fall ? `alarm, since about event ${short(fall.since)}` : "";
  if (chip.textContent !== words) chip.textContent = words;
  chip.hidden = !fall;
  chip.closest("section").classList.toggle("alarmed", Boolean(fall));
}

export function followPerformance(host) {
  if (!host) return;
  const panels = new Map(), about = document.getElementById("performance-about");
  const draw = ({ performance, curve }) => {
    if (!performance) return;
    about.textContent = `${performance.known ? "" : `Not known now: ${performance.reason}. `}Now is rows ${short(performance.first)} to ${short(performance.last)}, with ${short(performance.labelled)} labels.`;
    about.classList.toggle("unknown", !performance.known);
    for (const [name, now] of Object.entries(performance.metrics)) {
      if (!panels.has(name)) {
        panels.set(name, panel(name));
        host.append(panels.get(name).figure);
      }
      const { title, chart } = panels.get(name);
      title.replaceChildren(made("strong", name), ` ${estimate(now)}`);
      const time = curve.length > 0 && curve.every((row) => row.start !== null) && document.getElementById("page").dataset.axis !== "number";
      chart.show(curve.filter((row) => name in row.metrics).map((row) => {
        const [y, low, high] = row.metrics[name];
        return { ...row, x: time ? row.start : row.last, y, low, high };
      }), { time, waiting: "Too few windows yet." });
    }
    host.querySelector(".empty")?.remove();
  };
  const load = async () => {
    if (document.hidden) return;
    try {
      const answer = await fetch("/v1/performance");
      if (answer.ok) draw(await answer.json());
    } catch {
      return; // The stream says that the service is away.
    }
  };
  load();
  setInterval(load, SECONDS * 1000);
}
