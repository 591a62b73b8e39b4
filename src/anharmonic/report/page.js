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
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const draw = ([place, figure]) => {
    // A finger that scrolls the page must not zoom the picture under it.
    if (touch) figure.layout.dragmode = false;
    return Plotly.newPlot(place, figure.data, figure.layout, config);
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
    for (const panel of panels) {
      const several = panel.parentElement.classList.contains("several");
      Plotly.relayout(panel, { width: several ? 330 : 670, autosize: false });
    }
  });
  addEventListener("afterprint", () => {
    for (const panel of panels) Plotly.relayout(panel, { width: null, autosize: true });
  });
  document.documentElement.dataset.milliseconds = performance.now();
  document.documentElement.dataset.drawn = "all";
})(document.currentScript.nonce);
