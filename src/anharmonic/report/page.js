"use strict";
const bytesOf = (base64) => {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const letters = atob(base64);
  // A plain loop: a callback for each of two million letters takes a third of a second.
  const bytes = new Uint8Array(letters.length);
  for (let index = 0; index < bytes.length; index++) bytes[index] = letters.charCodeAt(index);
  return bytes;
};
(async (nonce) => {
  const unpacked = new Blob([bytesOf(document.getElementById("plotly").textContent)])
    .stream()
    .pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.nonce = nonce;
  script.textContent = await new Response(unpacked).text();
  document.head.append(script);

  const touch = matchMedia("(pointer: coarse)").matches;
  const config = {
    responsive: true,
    displaylogo: false,
    displayModeBar: touch ? false : "hover",
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
  };
  const source = document.getElementById("figures");
  const figures = JSON.parse(source.textContent);
  const names = Object.entries(JSON.parse(source.dataset.colours));
  // Pictures are drawn in the colours of light paper; the page's own take their place.
  const own = () => {
    const style = getComputedStyle(document.documentElement);
    return Object.fromEntries(names.map(([light, name]) => [light, style.getPropertyValue(`--${name}`).trim()]));
  };
  const coloured = (part, colours) => {
    if (typeof part === "string") return colours[part.toLowerCase()] ?? part;
    if (Array.isArray(part)) return part.map((each) => coloured(each, colours));
    if (part === null || typeof part !== "object") return part;
    return Object.fromEntries(Object.entries(part).map(([name, each]) => [name, coloured(each, colours)]));
  };
  const draw = ([place, figure], colours = own()) => {
    // A finger that scrolls the page must not zoom the picture under it.
    if (touch) figure.layout.dragmode = false;
    const { data, layout } = coloured(figure, colours);
    return Plotly.react(place, data, layout, config);
  };
  const seen = ([place]) =>
    document.getElementById(place).getBoundingClientRect().top < innerHeight;
  const all = Object.entries(figures);
  const [first, later] = [all.filter(seen), all.filter((each) => !seen(each))];
  for (const each of first) await draw(each);
  document.documentElement.dataset.opened = performance.now();
  for (const each of later) {
    // Let the reader scroll between pictures.
    await new Promise((next) => setTimeout(next));
    await draw(each);
  }

  // Paper is narrower than most screens, and pictures do not follow by themselves.
  const panels = [...document.querySelectorAll(".panel")];
  addEventListener("beforeprint", () => {
    // Paper is light: the colours that pictures came with.
    for (const each of all) draw(each, {});
    for (const panel of panels) {
      const several = panel.parentElement.classList.contains("several");
      Plotly.relayout(panel, { width: several ? 330 : 670, autosize: false });
    }
  });
  addEventListener("afterprint", () => {
    for (const each of all) draw(each);
    for (const panel of panels) Plotly.relayout(panel, { width: null, autosize: true });
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    for (const each of all) draw(each);
  });
  document.documentElement.dataset.milliseconds = performance.now();
  document.documentElement.dataset.drawn = "all";
})(document.currentScript.nonce);
