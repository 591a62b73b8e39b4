// One card for each thing watched: its scores with the reference's band, its evidence with the line.
import { Chart } from "/assets/charts.js";
import { clock, made, short } from "/assets/elements.js";

const AXIS = { number: "by event number", time: "by event time", received: "by arrival" };

// Where means of as many reference points would lie (95%).
export function band(scored, reference, least) {
  if (!reference || !scored) return {};
  const width = 1.96 * reference.deviation / Math.sqrt(scored);
  return { low: Math.max(least, reference.mean - width), high: reference.mean + width };
}

// Where an event is on the axis: at the first step that has it.
export function place(steps, sequence) {
  return steps.find((step) => step.sequence >= sequence)?.x ?? Infinity;
}

function chart(kind, label) {
  const host = made("div", undefined, `chart ${kind}`);
  host.tabIndex = 0;
  host.setAttribute("role", "img");
  host.setAttribute("aria-label", label);
  return host;
}

export class Card {
  constructor(section, watched) {
    this.section = section;
    this.watched = watched;
    this.reading = section.querySelector(".reading");
    const end = () => (this.channel.small_end ? "smallest" : "largest");
    this.scores = new Chart(section.querySelector(".scores"), this.reading, (row) =>
      `Up to event ${short(row.sequence)} (${clock(row.time)}): mean ${watched} ${short(row.y)} of ${short(row.points)} points, ${end()} ${short(row[end()])}.`);
    this.evidence = new Chart(section.querySelector(".evidence"), this.reading, (row) =>
      `Event ${short(row.sequence)} (${clock(row.time)}): log evidence ${short(row.y)}.`);
  }

  show(channel, { buckets, steps, axis, marks, threshold }) {
    this.channel = channel;
    const { section } = this, time = axis !== "number";
    const chip = section.querySelector(".chip");
    const words = channel.alarmed ? `alarm, since about event ${short(channel.since)}` : "";
    if (chip.textContent !== words) chip.textContent = words;
    chip.hidden = !channel.alarmed;
    section.classList.toggle("alarmed", channel.alarmed);
    section.querySelector(".now").textContent = `log evidence ${short(channel.log_evidence)}, alarm at ${short(threshold)}`;
    section.querySelector(".along").textContent = AXIS[axis];
    const scored = channel.means.some((value) => value !== null);
    this.scores.host.hidden = !scored && steps.length > 1;
    const own = marks.filter((mark) => mark.watched === channel.watched).map((mark) => place(steps, mark.sequence));
    const xs = [...buckets, ...steps].map((row) => row.x);
    const span = xs.length ? [Math.min(...xs), Math.max(...xs)] : null;
    // What is never negative has no band below zero.
    const least = channel.smallest.some((value) => value < 0) || channel.reference?.mean < 0 ? -Infinity : 0;
    this.scores.show(
      buckets.map((bucket, index) => ({
        ...bucket, y: channel.means[index], largest: channel.largest[index], smallest: channel.smallest[index],
        ...band(bucket.scored, channel.reference, least),
      })),
      { marks: own, time, span },
    );
    this.evidence.show(steps.map((step, index) => ({ ...step, y: channel.evidence[index] })), { line: threshold, marks: own, time, span, zero: true });
  }
}

function made_section(channel, number) {
  const section = made("section", undefined, "channel"), head = made("div", undefined, "channel-head");
  section.dataset.watched = channel.watched;
  const title = made("h2", channel.title), chip = made("span", "", "chip"), note = made("p", undefined, "note");
  title.id = `channel-${number}`;
  section.setAttribute("aria-labelledby", title.id);
  chip.hidden = true;
  head.append(title, chip);
  note.append(made("span", "", "now"), " · ", made("span", "", "along"));
  const reading = made("p", undefined, "reading");
  reading.setAttribute("aria-live", "polite");
  section.append(head, note,
    chart("scores", `${channel.title} over time; arrow keys read values`),
    chart("evidence", `Log evidence of ${channel.watched} over time; arrow keys read values`), reading);
  return section;
}

export class Channels {
  constructor(host) {
    this.host = host;
    this.cards = new Map();
    for (const section of host.querySelectorAll(".channel")) this.cards.set(section.dataset.watched, new Card(section, section.dataset.watched));
  }

  show(snapshot) {
    const { channels, buckets, steps, axis, alarms, status, quiet_channels: quiet } = snapshot;
    const names = new Set(channels.map((channel) => channel.watched));
    for (const [name, card] of this.cards) {
      if (names.has(name)) continue;
      card.section.remove();
      this.cards.delete(name);
    }
    channels.forEach((channel, index) => {
      if (!this.cards.has(channel.watched)) {
        const section = made_section(channel, `${Date.now()}-${index}`);
        this.host.append(section);
        this.cards.set(channel.watched, new Card(section, channel.watched));
      }
      const { section } = this.cards.get(channel.watched);
      // Moved only where the order has changed: what has the focus would lose it.
      if (this.host.children[index] !== section) this.host.insertBefore(section, this.host.children[index] ?? null);
    });
    this.host.classList.toggle("several", channels.length > 1);
    const marks = alarms.map(({ sequence, watched }) => ({ sequence, watched }));
    for (const channel of channels) {
      this.cards.get(channel.watched).show(channel, { buckets, steps, axis, marks, threshold: status.threshold });
    }
    const more = document.getElementById("more-channels");
    more.hidden = !quiet;
    more.textContent = quiet ? `And ${short(quiet)} more, with less evidence.` : "";
  }
}
