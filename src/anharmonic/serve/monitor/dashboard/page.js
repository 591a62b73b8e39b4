// Keeps the page as the service sees things: one stream, everything drawn anew from each message.
import { Chart, short } from "/assets/charts.js";

const find = (id) => document.getElementById(id);
const clock = (seconds) => `${new Date(seconds * 1000).toISOString().slice(0, 19).replace("T", " ")} UTC`;

function made(name, text, kind) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (kind) element.className = kind;
  return element;
}

const reading = find("reading");
// What is charted and listed: what alarmed, else the first thing watched.
let shown = { watched: "gamma", smallest: false, title: "Gamma" };
const end = () => (shown.smallest ? "smallest" : "largest");
const gamma = new Chart(find("gamma-chart"), reading, (row) =>
  `Up to event ${short(row.x)} (${clock(row.time)}): mean ${shown.watched} ${short(row.y)} of ${short(row.points)} points, ${end()} ${short(row[end()])}.`);
const evidence = new Chart(find("evidence-chart"), reading, (row) =>
  `Event ${short(row.x)} (${clock(row.time)}): log evidence ${short(row.y)}.`);

function tiles(status) {
  const texts = {
    "tile-seen": short(status.seen), "tile-scored": `${short(status.scored)} scored`,
    "tile-rate": short(status.points_per_second), "tile-lag": `${short(status.lag_seconds * 1000)} ms`,
    "tile-waiting": `${short(status.waiting)} waiting`, "tile-evidence": short(status.log_evidence),
    "tile-queries": short(status.queries), "tile-skipped": `${short(status.skipped)} points skipped`,
  };
  for (const [id, text] of Object.entries(texts)) find(id).textContent = text;
  const verdict = find("verdict"), words = status.alarm ? "Alarm" : "No alarm";
  if (verdict.textContent !== words) verdict.textContent = words;
  verdict.className = `verdict ${status.alarm ? "alarm" : "calm"}`;
  document.title = `${status.alarm ? "ALARM · " : ""}${status.model} · anharmonic`;
  const troubles = [];
  if (!status.model_answers) troubles.push("The model does not answer.");
  if (!status.store_answers) troubles.push("The store does not answer.");
  say(troubles.join(" "));
}

function say(text) {
  find("connection").textContent = text;
  find("connection").hidden = !text;
}

function table(host, columns, rows, empty) {
  if (!rows.length) return host.replaceChildren(made("p", empty, "empty"));
  const whole = made("table", undefined, "stacked"), head = made("thead"), body = made("tbody"), titles = made("tr");
  for (const { name, number } of columns) titles.append(made("th", name, number ? "number" : ""));
  head.append(titles);
  for (const row of rows) {
    const line = made("tr");
    for (const { name, value, number } of columns) {
      const cell = made("td", value(row), number ? "number" : "");
      cell.dataset.label = name;
      line.append(cell);
    }
    body.append(line);
  }
  whole.append(head, body);
  host.replaceChildren(whole);
}

const SHOWN = 12;
function card(row) {
  const article = made("article"), title = made("h3"), link = made("a", row.id), list = made("dl");
  link.href = `/v1/points/${encodeURIComponent(row.id)}`;
  title.append(link, made("span", short(row.value), "number"));
  const values = Object.entries(row.point);
  for (const [name, value] of values.slice(0, SHOWN)) {
    const pair = made("div");
    pair.append(made("dt", name), made("dd", short(value)));
    list.append(pair);
  }
  article.append(title, list);
  if (values.length > SHOWN) article.append(made("p", `and ${values.length - SHOWN} more`, "note"));
  return article;
}

const numeric = (name, key) => ({ name, number: true, value: (row) => short(row[key]) });
const ALARMS = [
  { name: "when", value: (row) => clock(row.time) },
  { name: "what", value: (row) => `${row.watched} ${row.change}` },
  { name: "segment", value: (row) => row.segment ?? "all" },
  numeric("began near event", "since"), numeric("raised at event", "sequence"), numeric("log evidence", "log_evidence"),
];
const segmentColumns = () => [
  { name: "segment", value: (row) => row.name },
  numeric("points", "points"), numeric(`mean ${shown.watched}`, "mean"), numeric(end(), end()), numeric("log evidence", "log_evidence"),
];

function band(row, reference) {
  if (!reference) return {};
  const width = 1.96 * reference.deviation / Math.sqrt(row.points);
  return { low: Math.max(0, reference.mean - width), high: reference.mean + width };
}

function worstNote({ worst_since: since }) {
  return since ? `Since event ${short(since)}, where the change seems to begin.` : "Of the latest points.";
}

function titles() {
  find("gamma-title").textContent = `${shown.title} over time`;
  find("gamma-chart").setAttribute("aria-label", `${shown.title} over time; arrow keys read values`);
  find("worst-title").textContent = `Points with the ${end()} ${shown.watched}`;
}

function show(snapshot) {
  tiles(snapshot.status);
  if (!snapshot.history) return;
  shown = snapshot.shown;
  titles();
  const { history, reference, alarms, worst, segments, status } = snapshot;
  const marks = alarms.map((each) => each.sequence);
  gamma.show(history.map((row) => ({ ...row, x: row.sequence, y: row.mean, ...band(row, reference) })), { marks });
  evidence.show(history.map((row) => ({ ...row, x: row.sequence, y: row.evidence })), { line: status.threshold, marks });
  table(find("alarms"), ALARMS, alarms, "None so far.");
  table(find("segments"), segmentColumns(), segments, "No points yet.");
  find("worst-note").textContent = worstNote(snapshot);
  // A link that has the focus would lose it: leave the cards until it moves on.
  if (!find("worst").contains(document.activeElement)) {
    find("worst").replaceChildren(...(worst.length ? worst.map(card) : [made("p", "No points yet.", "empty")]));
  }
}

const stream = new EventSource("/v1/stream");
stream.onmessage = (message) => show(JSON.parse(message.data));
stream.onerror = () => say("The service does not answer; trying again.");
