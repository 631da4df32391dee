// The page of a run: everything is shown from the data, and a link opens the block that it names.

const start = () => {
  const page = JSON.parse(part("data").textContent);
  const { messages, reasons } = page.conversation;
  showHead(page);
  showSummary(page);

  const shown = messages.map((message) => showMessage(message, reasons));
  const blocks = new Map(shown.flatMap((each) => each.blocks.map((block) => [block.block.id, block])));
  const articles = new Map(shown.map((each) => [each.message.id, each.element]));
  const search = showSearch(shown, reasons);

  const reveal = (id, lines) => {
    const block = blocks.get(id), article = articles.get(id);
    const element = block ? block.element : article;
    if (!element) return;
    if (element.closest("[hidden]")) search.clear();
    if (block) block.open(lines && lines.size ? lines : undefined);
    const inside = block ? block.body.querySelector(".target") ?? block.body.querySelector("mark") : null;
    (inside ?? element).scrollIntoView({ block: inside ? "center" : "start" });
    element.querySelector(block ? "summary" : "h3").focus({ preventScroll: true });
  };
  let current = "";
  view.goTo = (id, lines) => {
    current = `#${id}`;
    if (location.hash !== current) location.hash = current;
    reveal(id, lines);
  };
  const follow = () => {
    if (location.hash === current) return;
    current = location.hash;
    reveal(current.slice(1));
  };

  showStrip(messages, view.goTo);
  const title = make("h2", { id: "conversation-title" }, "Conversation");
  part("conversation").append(title, search.form, ...shown.map((each) => each.element));
  addEventListener("hashchange", follow);
  follow();
};

start();
