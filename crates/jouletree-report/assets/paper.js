// Widths: pictures are drawn as wide as there is space, on a screen or on paper.

/** The width of an A4 page between its margins, in pixels of a style sheet; Letter is wider. */
const PAPER = 680;

/** The width of the paper while the page is printed. */
let paperWidth = null;
const drawers = [];

/** Draws again when the space changes, and on paper. */
function onWidth(frame, draw) {
  let width = frame.clientWidth;
  new ResizeObserver(() => {
    if (frame.clientWidth === width) return;
    width = frame.clientWidth;
    // Not within the observer's own turn, which would be a loop.
    requestAnimationFrame(draw);
  }).observe(frame);
  drawers.push(draw);
}

/** What is folded is open on paper. */
function onPaper(isPaper) {
  paperWidth = isPaper ? PAPER : null;
  for (const fold of document.querySelectorAll("details")) {
    if (isPaper) {
      fold.dataset.open = String(fold.open);
      fold.open = true;
    } else if (fold.dataset.open === "false") fold.open = false;
  }
  drawers.forEach((draw) => draw());
}

addEventListener("beforeprint", () => onPaper(true));
addEventListener("afterprint", () => onPaper(false));
