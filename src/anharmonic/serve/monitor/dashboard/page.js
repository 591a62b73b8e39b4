// Keeps the page as the service sees things: one stream, everything drawn anew from each message.
import { acknowledge, reset } from "/assets/actions.js";
import { Channels } from "/assets/channels.js";
import { followColumns } from "/assets/columns.js";
import { clock, find, link, linked, made, short, table } from "/assets/elements.js";
import { followPerformance, showFall } from "/assets/performance.js";

const { axis, model } = find("page").dataset;
const live = !model;
const channels = new Channels(find("channels"));
// What points are listed by: what alarmed, else the first thing watched.
let shown = { watched: "gamma", smallest: false, title: "Gamma" };
const end = () => (shown.smallest ? "smallest" : "largest");

function tiles(status) {
  const texts = {
    "tile-seen": short(status.live ? status.seen : status.events), "tile-scored": `${short(status.scored)} scored`,
    "tile-rate": short(status.points_per_second), "tile-lag": `${short(status.lag_seconds * 1000)} ms`,
    "tile-waiting": `${short(status.waiting)} waiting`, "tile-evidence": short(status.log_evidence),
    "tile-queries": short(status.queries), "tile-skipped": `${short(status.skipped)} points skipped`,
  };
  for (const [id, text] of Object.entries(texts)) if (find(id)) find(id).textContent = text;
  const verdict = find("verdict"), words = status.alarm ? "Alarm" : "No alarm";
  if (verdict.textContent !== words) verdict.textContent = words;
  verdict.className = `verdict ${status.alarm ? "alarm" : "calm"}`;
  document.title = `${status.alarm ? "ALARM · " : ""}${status.model} · anharmonic`;
  if (find("reset")) find("reset").disabled = !status.alarm;
  const troubles = [];
  if (status.model_answers === false) troubles.push("The model does not answer.");
  if (status.store_answers === false) troubles.push("The store does not answer.");
  say(troubles.join(" "));
}

function say(text) {
  find("connection").textContent = text;
  find("connection").hidden = !text;
}

const SHOWN = 12;
function card(row) {
  const article = made("article"), title = made("h3"), list = made("dl");
  title.append(link(row.id, linked(`/points/${encodeURIComponent(row.id)}`, model)), made("span", short(row.value), "number"));
  const values = Object.entries(row.point);
  for (const [name, value] of values.slice(0, SHOWN)) {
    const text = short(value), pair = made("div");
    // Both on one line, or neither can be read.
    pair.classList.toggle("wide", name.length + text.length > 18);
    pair.append(made("dt", name), made("dd", text));
    list.append(pair);
  }
  article.append(title, list);
  if (values.length > SHOWN) article.append(made("p", `and ${values.length - SHOWN} more`, "note"));
  return article;
}

function handled(alarm) {
  if (alarm.acknowledged !== null) return `${alarm.stands ? "" : "cleared, "}seen by ${alarm.acknowledged_by}`;
  if (!alarm.stands) return "cleared";
  if (!live) return "stands";
  const button = made("button", "Acknowledge", "small");
  button.type = "button";
  button.addEventListener("click", () => acknowledge(alarm, () => { button.replaceWith("seen"); }));
  return button;
}

const numeric = (name, key) => ({ name, number: true, value: (row) => short(row[key]) });
const ALARMS = [
  { name: "when", value: (row) => clock(row.time) },
  { name: "what", value: (row) => link(`${row.watched} ${row.change}`, linked(`/alarms/${encodeURIComponent(row.id)}`, model)) },
  { name: "segment", value: (row) => row.segment ?? "all" },
  numeric("began near event", "since"), numeric("raised at event", "sequence"), numeric("log evidence", "log_evidence"),
  { name: "state", value: handled },
];
const segmentColumns = () => [
  { name: "segment", value: (row) => row.name },
  numeric("points", "points"), numeric(`mean ${shown.watched}`, "mean"), numeric(end(), end()), numeric("log evidence", "log_evidence"),
];

function worstNote({ worst_since: since }) {
  return since ? `Since event ${short(since)}, where the change seems to begin.` : "Of the latest points.";
}

// What has the focus would lose it: leave that part until it moves on.
function redraw(host, draw) {
  if (!host.contains(document.activeElement)) draw();
}

function show(snapshot) {
  tiles(snapshot.status);
  if (!snapshot.channels) return;
  shown = snapshot.shown;
  const { alarms, worst, segments, outside } = snapshot;
  channels.show(snapshot);
  find("outside").hidden = !outside;
  find("outside").textContent = outside ? `${short(outside)} points have times far from all others and are not charted.` : "";
  find("worst-title").textContent = `Points with the ${end()} ${shown.watched}`;
  find("worst-note").textContent = worstNote(snapshot);
  showFall(alarms);
  redraw(find("alarms"), () => table(find("alarms"), ALARMS, alarms, "None so far."));
  redraw(find("segments"), () => table(find("segments"), segmentColumns(), segments, "No points yet."));
  redraw(find("worst"), () =>
    find("worst").replaceChildren(...(worst.length ? worst.map(card) : [made("p", "No points yet.", "empty")])));
}

if (find("reset")) {
  find("reset").hidden = false;
  find("reset").addEventListener("click", () => reset(() => say("")));
}
followPerformance(find("performance"));
followColumns(find("columns"));

const asked = new URLSearchParams({ axis });
if (model) asked.set("model", model);
const stream = new EventSource(`/v1/stream?${asked}`);
stream.onmessage = (message) => show(JSON.parse(message.data));
stream.onerror = () => say("The service does not answer; trying again.");
