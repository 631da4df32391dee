// The head of the page: what was run, the sums, and how they are known.

const KINDS_OF_TOKENS = [
  ["kept", "kept"],
  ["by-references", "replaced by references (restorable)"],
  ["left-out", "cut"],
];

const showHead = (page) => {
  const about = page.about.map(([label, value]) => make("div", {}, make("dt", {}, label), make("dd", { dir: "auto" }, value)));
  part("head").append(make("h1", { dir: "auto" }, page.title), make("dl", { class: "about" }, about));
};

const showSummary = (page) => {
  const heading = make("p", { class: "figures" }, `${number(page.before)} → ${number(page.after)} tokens `);
  heading.append(make("strong", {}, `${page.saved} saved`));
  const warnings = page.warnings.map((warning) => make("p", { class: "warning" }, warning));
  const notes = make("details", { class: "notes" }, make("summary", {}, "How this was counted"));
  notes.append(make("ul", {}, page.notes.map((note) => make("li", {}, note))));
  const tables = make("div", { class: "tables" }, page.tables.map(showTable));
  part("summary").append(heading, totalBar(page), legend(page), ...warnings, tables, notes);
};

const totalBar = (page) => {
  const restored = Math.max(0, page.by_references);
  const parts = [page.after, restored, Math.max(0, page.before - page.after - restored)];
  const bar = make("div", { class: "total", "aria-hidden": "true" });
  parts.forEach((tokens, index) => {
    const piece = make("span", { class: KINDS_OF_TOKENS[index][0] });
    piece.style.flexGrow = tokens;
    bar.append(piece);
  });
  return bar;
};

const legend = (page) => {
  const shown = KINDS_OF_TOKENS.filter(([name]) => name !== "by-references" || page.by_references > 0);
  return make("p", { class: "legend" }, shown.map(([name, label]) => make("span", { class: name }, label)));
};

const showTable = (table) => {
  const isNumeric = table.columns.map((_, index) => index > 0 && table.rows.every((row) => /^(-?[\d,.]+|–)?$/.test(row[index])));
  const side = (index) => (isNumeric[index] ? "right" : false);
  const row = (cells) =>
    make("tr", {}, cells.map((cell, index) => make(index ? "td" : "th", index ? { class: side(index) } : { scope: "row" }, cell)));
  const columns = table.columns.map((column, index) => make("th", { scope: "col", class: side(index) }, column));
  const head = table.columns.some(Boolean) ? make("thead", {}, make("tr", {}, columns)) : "";
  const whole = make("table", {}, make("caption", {}, table.title), head, make("tbody", {}, table.rows.map(row)));
  return make("div", { class: "table" }, whole);
};
