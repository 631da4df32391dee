// Search and filters: which blocks are shown, and the way from match to match.

const PAUSE = 150; // Milliseconds after a key.

const showSearch = (shown, reasons) => {
  const blocks = shown.flatMap((each) => each.blocks);
  const query = make("input", { type: "search", id: "query", autocomplete: "off", spellcheck: "false" });
  const outcome = choice("outcome", outcomesOf(blocks));
  const tool = choice("tool", toolsOf(blocks).map((name) => [name, name]));
  const reason = choice("reason", reasonsOf(reasons));
  const said = make("output", { class: "said", for: "query outcome tool reason" });
  let matches = [], at = -1, marked = "";

  const apply = () => {
    view.query = query.value ? new RegExp(query.value.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "giu") : null;
    const isFiltered = Boolean(view.query || outcome.value || tool.value || reason.value);
    const fits = (each) =>
      (!outcome.value || (outcome.value === "changed" ? each.outcome !== "unchanged" : each.outcome === outcome.value)) &&
      (!tool.value || each.block.tool === tool.value) &&
      (!reason.value || (each.block.reasons ?? []).some((one) => keyOf(reasons[one]) === reason.value)) &&
      (!view.query || isFound(each.block));
    matches = [];
    for (const message of shown) {
      let some = !isFiltered;
      for (const block of message.blocks) {
        const isShown = !isFiltered || fits(block);
        block.element.hidden = !isShown;
        if (isShown && isFiltered) matches.push(block);
        some ||= isShown;
        if (block.body && query.value !== marked) block.fill();
      }
      message.element.hidden = !some;
    }
    at = -1;
    marked = query.value;
    said.value = isFiltered ? `${counted(matches.length, "block")} of ${number(blocks.length)}` : counted(shown.length, "message");
  };
  const clear = () => { form.reset(); apply(); };
  const next = () => {
    if (!matches.length) return;
    at = (at + 1) % matches.length;
    view.goTo(matches[at].block.id);
    said.value = `${number(at + 1)} of ${counted(matches.length, "block")}`;
  };
  const openAll = () => blocks.filter((each) => each.outcome !== "unchanged" && !each.element.hidden).forEach((each) => each.open());
  const closeAll = () => blocks.forEach((each) => { each.element.open = false; });

  const form = make("form", { role: "search", class: "search" },
    field("Search", query), field("Show", outcome), field("Tool", tool), field("Reason", reason),
    make("div", { class: "buttons" },
      make("button", { type: "submit" }, "Next match"), make("button", { type: "button", click: clear }, "Clear"),
      make("button", { type: "button", click: openAll }, "Open all changes"), make("button", { type: "button", click: closeAll }, "Close all")),
    said);
  let timer = 0;
  query.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(apply, PAUSE); });
  for (const each of [outcome, tool, reason]) each.addEventListener("change", apply);
  form.addEventListener("submit", (event) => { event.preventDefault(); clearTimeout(timer); if (!matches.length) apply(); next(); });
  apply();
  return { form, clear };
};

const isFound = (block) => {
  const has = (text) => text.search(view.query) >= 0;
  return has(block.text ?? "") || has(block.label ?? "") ||
    (block.edits ?? []).some((edit) => typeof edit !== "number" && has(edit.join("\n")));
};

const field = (label, control) => make("label", {}, make("span", {}, label), control);

const choice = (id, options) =>
  make("select", { id }, make("option", { value: "" }, "all"), options.map(([value, label]) => make("option", { value }, label)));

const outcomesOf = (blocks) => {
  const found = [...new Set(blocks.map((each) => each.outcome))].sort();
  const count = (name) => blocks.filter((each) => each.outcome === name).length;
  const changed = blocks.length - count("unchanged");
  return [["changed", `all changes (${number(changed)})`], ...found.map((name) => [name, `${name} (${number(count(name))})`])];
};

const toolsOf = (blocks) => [...new Set(blocks.map((each) => each.block.tool).filter(Boolean))].sort();

/** Reasons that differ in a number or a name alone are one choice. */
const keyOf = (reason) => `${reason.is_change ? reason.operation : "kept"}: ${reason.kind.replace(/`[^`]*`|\d[\d,.]*/g, "…")}`;

const reasonsOf = (reasons) => [...new Set(reasons.map(keyOf))].sort().map((key) => [key, key]);
