/* Tables that are wider than a phone scroll in a box of their own: by the keyboard too. */
addEventListener("load", () => {
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap")) box.tabIndex = 0;
});
