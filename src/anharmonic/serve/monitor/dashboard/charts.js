// Charts of one kind: a curve over numbers or times, with a band or a line, and marks.
import { short } from "/assets/elements.js";

const SVG = "http://www.w3.org/2000/svg";
const LEFT = 52, RIGHT = 10, TOP = 10, BOTTOM = 24;
const MINUTE = 60, HOUR = 3600, DAY = 86400;
const STEPS = [1, 2, 5, 10, 15, 30, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE,
  HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 30 * DAY, 90 * DAY, 365 * DAY];

export function element(name, attributes, parent) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (parent) parent.append(made);
  return made;
}

function niceStep(span, count) {
  const rough = span / count, power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 5].find((step) => step * power >= rough) ?? 10);
}

function multiples(low, high, step) {
  const found = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + step * 1e-9; tick += step) found.push(tick);
  return found;
}

function ticks(low, high, count) {
  return high > low ? multiples(low, high, niceStep(high - low, count)) : [low];
}

function timeTicks(low, high, count) {
  const step = STEPS.find((each) => (high - low) / each <= count) ?? 365 * DAY * Math.ceil((high - low) / count / (365 * DAY));
  let day = "";
  return multiples(low, high, step).map((tick) => {
    const iso = new Date(tick * 1000).toISOString(), [date, rest] = [iso.slice(0, -14), iso.slice(-13)];
    const time = rest.slice(0, step < MINUTE ? 8 : 5);
    // The day is said once, where it begins to hold.
    const text = step >= DAY ? date : date === day ? time : `${date.slice(-5)} ${time}`;
    day = date;
    return { x: tick, text };
  });
}

export class Chart {
  constructor(host, reading, describe) {
    Object.assign(this, { host, reading, describe, rows: [], place: null, line: null, marks: [] });
    new ResizeObserver(() => this.draw()).observe(host);
    host.addEventListener("keydown", (event) => this.key(event));
    host.addEventListener("pointermove", (event) => this.point(event));
    host.addEventListener("pointerleave", () => this.look(null));
    host.addEventListener("blur", () => this.look(null));
  }

  // rows: {x, y, low?, high?, known?}; line: a level or null; marks: places on the axis;
  // time: whether that is in seconds; zero: whether the chart must reach down to 0; span: the
  // ends of the axis, where another chart has the same one.
  show(rows, { line = null, marks = [], time = false, zero = false, span = null, waiting = "Waiting for points …" } = {}) {
    Object.assign(this, { rows: rows.filter((row) => row.y !== null && row.y !== undefined), line, marks, time, zero, span, waiting });
    if (this.place !== null) this.place = this.rows.length ? Math.min(this.place, this.rows.length - 1) : null;
    this.draw();
  }

  key(event) {
    const last = this.rows.length - 1;
    const moves = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
    if (event.key === "Escape") return this.look(null);
    if (!(event.key in moves) || last < 0) return;
    event.preventDefault();
    this.look(Math.max(0, Math.min(last, (this.place ?? last + 1) + moves[event.key])));
  }

  point(event) {
    if (!this.rows.length || !this.across) return;
    const at = event.clientX - this.host.getBoundingClientRect().left;
    let best = 0;
    this.rows.forEach((row, place) => {
      if (Math.abs(this.across(row.x) - at) < Math.abs(this.across(this.rows[best].x) - at)) best = place;
    });
    this.look(best);
  }

  look(place) {
    this.place = place;
    this.reading.textContent = place === null ? "" : this.describe(this.rows[place]);
    this.draw();
  }

  scales(width, height) {
    const xs = this.span ?? this.rows.map((row) => row.x);
    // The wide bands of buckets with few points, such as those of late events, do not set the scale.
    const counts = this.rows.map((row) => row.scored ?? 1).sort((left, right) => left - right);
    const enough = 0.25 * counts[Math.floor(counts.length / 2)];
    const ys = this.rows.flatMap((row) => ((row.scored ?? 1) < enough ? [row.y] : [row.y, row.high ?? row.y, row.low ?? row.y]));
    const low = Math.min(...xs), span = Math.max(...xs) - low || 1;
    let bottom = Math.min(...ys), top = Math.max(...ys, this.line === null ? -Infinity : this.line * 1.08);
    // Values far from zero are shown from near; all others from zero.
    const near = !this.zero && bottom > 0 && bottom > 0.5 * top;
    const room = (top - bottom) * 0.12 || Math.abs(top) * 0.1 || 1;
    bottom = near ? bottom - room : this.zero ? 0 : Math.min(0, bottom - (bottom < 0 ? room : 0));
    top = near ? top + room : top > 0 ? top * 1.06 : top < 0 ? 0 : 1;
    if (!(top > bottom)) top = bottom + 1;
    this.across = (x) => LEFT + ((x - low) / span) * (width - LEFT - RIGHT);
    this.up = (y) => height - BOTTOM - ((Math.min(Math.max(y, bottom), top) - bottom) / (top - bottom)) * (height - TOP - BOTTOM);
    return { low, high: low + span, bottom, top };
  }

  draw() {
    const { clientWidth: width, clientHeight: height } = this.host;
    if (!width) return;
    const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
    if (this.rows.length > 1) this.fill(svg, width, height);
    else element("text", { x: width / 2, y: height / 2, "text-anchor": "middle" }, svg).textContent = this.waiting ?? "";
    this.host.replaceChildren(svg);
  }

  fill(svg, width, height) {
    const { low, high, bottom, top } = this.scales(width, height);
    for (const y of ticks(bottom, top, height < 140 ? 2 : 4)) {
      element("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: this.up(y), y2: this.up(y) }, svg);
      element("text", { x: LEFT - 8, y: this.up(y) + 4, "text-anchor": "end" }, svg).textContent = short(Number(y.toPrecision(10)));
    }
    const count = Math.max(2, Math.floor((width - LEFT) / (this.time ? 85 : 90)));
    const places = this.time ? timeTicks(low, high, count) : ticks(low, high, count).map((x) => ({ x, text: short(x) }));
    for (const { x, text } of places) {
      const at = this.across(x), anchor = at > width - 45 ? "end" : at < LEFT + 30 ? "start" : "middle";
      element("text", { x: at, y: height - 6, "text-anchor": anchor }, svg).textContent = text;
    }
    this.bands(svg);
    if (this.line !== null) element("line", { class: "line", x1: LEFT, x2: width - RIGHT, y1: this.up(this.line), y2: this.up(this.line) }, svg);
    for (const mark of this.marks.filter((each) => each >= low && each <= high)) {
      element("line", { class: "mark", x1: this.across(mark), x2: this.across(mark), y1: TOP, y2: height - BOTTOM }, svg);
    }
    element("polyline", { class: "curve", points: this.rows.map((row) => `${this.across(row.x)},${this.up(row.y)}`).join(" ") }, svg);
    if (this.place === null || !this.rows[this.place]) return;
    const { x, y } = this.rows[this.place];
    element("line", { class: "cursor", x1: this.across(x), x2: this.across(x), y1: TOP, y2: height - BOTTOM }, svg);
    element("circle", { class: "dot", cx: this.across(x), cy: this.up(y), r: 4 }, svg);
  }

  // The band, in stretches: hatched where what it is about is not known.
  bands(svg) {
    const banded = this.rows.filter((row) => row.high !== undefined && row.high !== null && row.low !== null);
    if (banded.length < 2) return;
    if (banded.some((row) => row.known === false)) hatching(svg);
    const sure = (left) => banded[left].known !== false && banded[left + 1].known !== false;
    for (let begin = 0; begin < banded.length - 1;) {
      const known = sure(begin);
      let end = begin + 1;
      while (end + 1 < banded.length && sure(end) === known) end += 1;
      const part = banded.slice(begin, end + 1);
      const edge = (name) => part.map((row) => `${this.across(row.x)},${this.up(row[name])}`);
      const points = [...edge("high"), ...edge("low").reverse()].join(" ");
      element("polygon", { class: known ? "band" : "band unknown", points }, svg);
      begin = end;
    }
  }
}

function hatching(svg) {
  const definitions = element("defs", {}, svg);
  const pattern = element("pattern", { id: "hatch", width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, definitions);
  element("line", { class: "hatch", x1: 0, x2: 0, y1: 0, y2: 7 }, pattern);
}
