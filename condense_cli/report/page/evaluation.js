// The page of an evaluation: what was measured, the curves, which stand in the document, and the tables.

const start = () => {
  const page = JSON.parse(part("data").textContent);
  showHead(page);
  part("head").append(make("p", { class: "figures" }, page.headline));
  const warnings = page.warnings.map((warning) => make("p", { class: "warning" }, warning));
  const notes = make("ul", { class: "notes" }, page.notes.map((note) => make("li", {}, note)));
  part("summary").append(...warnings, make("div", { class: "tables" }, page.tables.map(showTable)), notes);
};

start();
