// While the user types, the page is asked for again and its live parts are put in place of the old ones. The address keeps
// up, so that it can be shared at any moment.
"use strict";

const form = document.querySelector("form");
const trouble = document.getElementById("trouble");
const PAUSE_MS = 150;
let timer = 0;
let running = null;

function asked() {
  const query = new URLSearchParams(new FormData(form));
  // Empty fields say nothing; hours stay, as an address without any field is that of the first page.
  for (const [name, value] of [...query]) if (!value.trim() && name !== "hours") query.delete(name);
  return query;
}

function put(fresh) {
  for (const part of document.querySelectorAll("[data-live]")) {
    const other = fresh.getElementById(part.id);
    if (other && other.innerHTML !== part.innerHTML) part.innerHTML = other.innerHTML;
  }
  for (const field of form.elements) {
    const other = field.name && fresh.getElementById(field.id);
    if (other) field.setAttribute("aria-invalid", other.getAttribute("aria-invalid"));
  }
}

async function update() {
  clearTimeout(timer);
  const query = asked();
  history.replaceState(null, "", `/?${query}`);
  running?.abort();
  running = new AbortController();
  const { signal } = running;
  try {
    const answer = await fetch(`/?${query}`, { signal });
    const text = await answer.text();
    if (signal.aborted) return;
    put(new DOMParser().parseFromString(text, "text/html"));
    trouble.hidden = true;
    document.body.dataset.settled = query.toString();
  } catch (error) {
    if (signal.aborted) return;
    trouble.textContent = "jouletree serve does not answer any more; start it again.";
    trouble.hidden = false;
  }
}

form.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(update, PAUSE_MS);
});
form.addEventListener("submit", event => {
  event.preventDefault();
  update();
});
document.body.dataset.ready = "true";
