// How far the numbers can be trusted: each fact with a sign, a word and a colour, and the verdict with its reasons.

const SIGNS = { fit: "✓", with_caveats: "!", unfit: "✕" };
const SIGN_WORDS = { fit: "good", with_caveats: "with care", unfit: "poor" };

function trustStrip() {
  const trust = data.trust;
  const worst = (about) => {
    const found = trust.caveats.filter((caveat) => about.includes(caveat.about)).map((caveat) => caveat.verdict);
    return found.includes("unfit") ? "unfit" : found.length ? "with_caveats" : "fit";
  };
  // As many digits as the verdict has.
  const whole = (share) => ((share > 0 && share < 0.0095) || (share > 0.99 && share < 0.9995) ? percent(share) : `${Math.round(100 * share)}\u00a0%`);
  // What is estimated is as far off as its interval says: both are one thing.
  const interval = trust.low_j === null ? "with_caveats" : worst(trust.kind === "estimated" ? ["kind", "interval"] : ["interval"]);
  const isUnknown = trust.coverage === null && trust.kind !== "predicted";
  const facts = [
    ["energy", trust.kind ?? "unknown", worst(["kind"])],
    ["95\u00a0% interval", trust.low_j === null ? "unknown" : `${joules(trust.low_j)} … ${joules(trust.high_j)}`, interval],
    ["other programs", trust.neighbours_share === null ? "unknown" : `used ${whole(trust.neighbours_share)} of the devices`,
      trust.neighbours_share === null ? "with_caveats" : worst(["neighbours"])],
    ["power known", isUnknown || trust.coverage === null ? "coverage unknown" : `${whole(trust.coverage)} of the time, ${trust.gaps ? `${count(trust.gaps)} gap${trust.gaps > 1 ? "s" : ""}` : "no gaps"}`,
      trust.coverage === null ? "with_caveats" : worst(["coverage", "recording"])],
    ["repetitions", trust.runs > 1 ? `${count(trust.runs)} runs` : "one run", worst(["runs"])],
    ["overhead of jouletree", trust.monitor_j === null ? "unknown" : `${joules(trust.monitor_j)}, not included`,
      trust.monitor_j === null ? "with_caveats" : worst(["monitor"])],
  ];
  // Nothing of this is known of a prediction.
  const shown = trust.kind === "predicted" ? facts.slice(0, 1) : facts;
  const item = ([name, text, verdict]) => element("li", { class: `sign ${verdict}`, "data-verdict": verdict },
    element("span", { class: "mark", "aria-hidden": "true" }, SIGNS[verdict]), element("span", { class: "label" }, name),
    element("span", { class: "text" }, text, element("span", { class: "unseen" }, ` (${SIGN_WORDS[verdict]})`)));
  const [verdict, ...why] = unbroken(data.judgement).split(": ");
  return element("div", { id: "trust" },
    element("ul", { "aria-label": "How far this can be trusted" }, ...shown.map(item)),
    element("p", { class: `verdict ${trust.verdict}`, "data-verdict": trust.verdict }, element("strong", {}, `${SIGNS[trust.verdict]} ${capital(verdict)}`), why.length ? `: ${why.join(": ")}` : "", "."));
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
