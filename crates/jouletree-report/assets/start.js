// Everything is drawn, in the order in which it is read. A section that fails says so and leaves the others alone.

window.jouletree = { data, tree };
for (const draw of [headline, diagram, icicle, top10, power, stages, operations, provenance]) {
  try {
    draw();
  } catch (error) {
    document.getElementById("main").append(nothing(`A part of this page cannot be drawn: ${error.message}`));
    console.error(error);
  }
}
addEventListener("scroll", tooltip.hide, { passive: true });
document.body.dataset.ready = "true";
