// The strip: a bar for each message, as high as its tokens; a slider for the keyboard, a map for the mouse.

const HEIGHT = 100;
const LEAST = 0.8; // A message of a few tokens is seen, too.
const NARROWEST = 3; // Pixels of a bar; where there are more messages than fit, the strip scrolls.
const WIDEST = 28;

const showStrip = (messages, goTo) => {
  if (!messages.length) return;
  const most = messages.reduce((so, message) => Math.max(so, ...message.tokens), 1);
  const picture = drawn("svg", { viewBox: `0 0 ${messages.length} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  const cursor = drawn("rect", { class: "cursor", y: 0, width: 1, height: HEIGHT, x: 0 });
  picture.append(cursor, ...barPaths(messages, most));
  picture.style.minWidth = `${messages.length * NARROWEST}px`;
  picture.style.maxWidth = `${messages.length * WIDEST}px`;

  const said = make("output", { class: "said", "aria-hidden": "true" });
  const slider = make("div", {
    class: "bars", role: "slider", tabindex: 0, "aria-label": "Messages; Enter goes to one",
    "aria-valuemin": 0, "aria-valuemax": messages.length - 1, "aria-orientation": "horizontal",
  }, picture);

  let at = 0;
  const look = (index) => {
    at = Math.min(messages.length - 1, Math.max(0, index));
    cursor.setAttribute("x", at);
    said.textContent = sentenceOf(messages[at]);
    slider.setAttribute("aria-valuenow", at);
    slider.setAttribute("aria-valuetext", said.textContent);
  };
  const under = (event) => {
    const box = picture.getBoundingClientRect();
    return Math.floor(((event.clientX - box.left) / box.width) * messages.length);
  };
  const keep = () => {
    const bar = cursor.getBoundingClientRect(), box = slider.getBoundingClientRect();
    if (bar.left < box.left || bar.right > box.right) slider.scrollLeft += bar.left - box.left - box.width / 2;
  };
  const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10, Home: -Infinity, End: Infinity };
  slider.addEventListener("pointermove", (event) => look(under(event)));
  slider.addEventListener("click", (event) => { look(under(event)); goTo(messages[at].id); });
  slider.addEventListener("keydown", (event) => {
    if (event.key === "Enter") goTo(messages[at].id);
    else if (event.key in steps) { look(at + steps[event.key]); keep(); } else return;
    event.preventDefault();
  });
  look(0);
  const scale = make("p", { class: "scale" }, `Each bar is a message; the highest has ${tokensOf([most, most])}.`);
  part("strip").append(make("h2", { id: "strip-title" }, "Messages"), scale, slider, said);
};

const barPaths = (messages, most) => {
  const paths = { kept: [], "by-references": [], "left-out": [] };
  messages.forEach((message, index) => {
    const [before, after] = message.tokens, restored = message.by_references ?? 0;
    let top = HEIGHT;
    const parts = [["kept", after], ["by-references", restored], ["left-out", Math.max(0, before - after - restored)]];
    for (const [name, tokens] of parts) {
      if (!tokens) continue;
      const height = Math.max(LEAST, (tokens / most) * HEIGHT);
      top = Math.max(0, top - height);
      paths[name].push(`M${index + 0.1} ${top.toFixed(2)}h.8v${height.toFixed(2)}h-.8z`);
    }
  });
  return Object.entries(paths).map(([name, path]) => drawn("path", { class: name, d: path.join("") }));
};

const sentenceOf = (message) => {
  const tools = [...new Set((message.blocks ?? []).map((block) => block.tool).filter(Boolean))];
  const named = message.is_new ? "new" : `#${message.number}`;
  return [named, message.role, tools.join(", "), tokensOf(message.tokens)].filter(Boolean).join(" · ");
};
