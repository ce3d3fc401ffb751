// Everything is drawn, in the order in which it is read. A section that fails says so and leaves the others alone.

window.jouletree = { data, tree };
Object.assign(state, read());
const drawing = HAS_OPERATIONS
  ? [headline, filterBar, facts, stages, layers, kinds, top10, timeline, operations, provenance]
  : [headline, stages, timeline, provenance];
for (const draw of drawing) {
  try {
    draw();
  } catch (error) {
    document.getElementById("main").append(nothing(`A part of this page cannot be drawn: ${error.message}`));
    console.error(error);
  }
}
addEventListener("scroll", tooltip.scrolled, { passive: true });
addEventListener("popstate", followAddress);
addEventListener("hashchange", followAddress);
if (state.see) see(state.see, "instant");
document.body.dataset.ready = "true";
