// Messages and their blocks. A block is filled when it is opened; long stretches in it are folded.

const NEAR = 3; // Lines around a change.
const FOLDED = 12; // Unchanged lines beside a change, from which on they are folded.
const MOST_LINES = 200;
const MOST_CHARACTERS = 20000;
const BEGINNING = 160;
const SHORT = 600; // Characters of a text that is open from the start.

const view = { query: null, goTo: () => {} };

const showMessage = (message, reasons) => {
  const blocks = message.blocks.map((block) => showBlock(block, message, reasons));
  const name = message.is_new ? "New" : `#${message.number}`;
  const heading = make("h3", { tabindex: -1 }, make("a", { href: `#${message.id}` }, name), ` ${message.role}`);
  const head = make("div", { class: "head" }, heading, make("span", { class: "tokens" }, tokensOf(message.tokens)));
  const whys = (message.reasons ?? []).length ? [showReasons(message.reasons, reasons)] : [];
  const element = make("article", { id: message.id, class: message.is_new ? "new" : "" }, head, whys, blocks.map((each) => each.element));
  return { message, element, blocks };
};

const showBlock = (block, message, reasons) => {
  const outcome = block.outcome ?? "unchanged";
  const isSaid = block.kind === "text" && outcome === "unchanged" && (block.text ?? "").length <= SHORT;
  const beginning = (block.text ?? "").slice(0, 2 * BEGINNING).replace(/\s+/g, " ").trim().slice(0, BEGINNING);
  const label = block.label || beginning || "(no text)";
  const told = isSaid ? sentencesOf(block.reasons ?? [], reasons).join("; ") : label;
  const summary = make("summary", {},
    make("span", { class: "kind" }, kindName(block.kind)), make("span", { class: isSaid ? "label reasons" : "label", dir: "auto" }, told),
    outcome === "unchanged" ? "" : make("span", { class: "outcome" }, outcome),
    make("span", { class: "tokens" }, tokensOf(block.tokens)));
  const element = make("details", { id: block.id, class: `block ${outcome}` }, summary);
  const shown = { block, message, outcome, element, body: null, lines: undefined };
  shown.fill = (lines) => {
    shown.lines = lines ?? shown.lines;
    const body = make("div", { class: "body" }, isSaid ? "" : showReasons(block.reasons ?? [], reasons), showText(block, shown.lines));
    if (shown.body) shown.body.replaceWith(body);
    else element.append(body);
    shown.body = body;
  };
  shown.open = (lines) => { shown.fill(lines); element.open = true; };
  element.addEventListener("toggle", () => { if (element.open && !shown.body) shown.fill(); });
  if (isSaid) shown.open();
  return shown;
};

const sentencesOf = (numbers, reasons) =>
  numbers.map((each) => reasons[each]).map((reason) => `${reason.is_change ? reason.operation : "kept"}: ${reason.why}`);

const showReasons = (numbers, reasons) => {
  const items = numbers.map((each) => reasons[each]).map((reason) =>
    make("li", {}, make("strong", {}, reason.is_change ? reason.operation : "kept"), `: ${reason.why} `, make("span", { class: "by" }, `(${reason.by})`)));
  return items.length ? make("ul", { class: "why" }, items) : "";
};

/** The text of a block: what stays, what went and what is new, in order. `lines` are marked, and never folded. */
const showText = (block, lines) => {
  const whole = make("div", { class: "text", dir: "auto" });
  const pieces = piecesOf(block, lines);
  pieces.forEach((piece, index) => whole.append(...piece.why ? [make("small", { class: "by" }, piece.why)] : showPiece(block, piece, index > 0, index < pieces.length - 1)));
  return whole;
};

const piecesOf = (block, lines) => {
  const old = (block.text ?? "").split("\n");
  if (block.outcome === "added") return [{ sign: "+", lines: old }];
  const pieces = [];
  let at = 0;
  for (const [number, edit] of (block.edits ?? [old.length]).entries()) {
    if (typeof edit !== "number") { pieces.push({ sign: "+", lines: edit }); continue; }
    const sign = edit < 0 ? "-" : " ", end = at + Math.abs(edit);
    const start = lines ? lines.start : end, stop = lines ? lines.start + lines.size : end;
    for (const [from, to, isTarget] of [[at, start, false], [start, stop, true], [stop, end, false]]) {
      const first = Math.max(at, from), last = Math.min(end, to);
      if (first < last) pieces.push({ sign, lines: old.slice(first, last), isTarget });
    }
    const why = block.whys?.[number];
    if (why) pieces.push({ why: `${edit < 0 ? "gone" : "stays"}: ${why}` });
    at = end;
  }
  return pieces;
};

const ELEMENTS = { " ": "span", "-": "del", "+": "ins" };
const SAID = { " ": "", "-": "Gone: ", "+": "New: " };

const showPiece = (block, piece, hasBefore, hasAfter) => {
  const { sign, lines, isTarget } = piece;
  const shown = (some, isFirst = true) => {
    const element = make(ELEMENTS[sign], { class: isTarget ? "piece target" : "piece" });
    if (isFirst && SAID[sign]) element.append(make("span", { class: "hidden" }, SAID[sign]));
    appendText(element, some.join("\n"), sign === "-" ? {} : block.links ?? {});
    return element;
  };
  if (isTarget) return [shown(lines)];
  if (sign === " " && (hasBefore || hasAfter) && lines.length > FOLDED && !view.query) {
    const head = hasBefore ? NEAR : 0, tail = lines.length - (hasAfter ? NEAR : 0);
    const middle = lines.slice(head, tail);
    const fold = foldOf(`… ${counted(middle.length, "unchanged line")}`, () => [shown(middle)]);
    return [head ? shown(lines.slice(0, head)) : "", fold, tail < lines.length ? shown(lines.slice(tail)) : ""].filter(Boolean);
  }
  let end = 0;
  for (let characters = 0; end < lines.length && end < MOST_LINES && characters < MOST_CHARACTERS; end++) characters += lines[end].length;
  if (end === lines.length) return longLine(lines, shown);
  if (view.query && lines.slice(end).join("\n").search(view.query) >= 0) return [shown(lines)];
  return [shown(lines.slice(0, end)), foldOf(`… ${counted(lines.length - end, "more line")}`, () => [shown(lines.slice(end), false)])];
};

/** Lines of which one alone is too long to show at once. */
const longLine = (lines, shown) => {
  const text = lines.join("\n"), rest = text.length - 2 * MOST_CHARACTERS;
  if (rest <= 0) return [shown(lines)];
  return [shown([text.slice(0, MOST_CHARACTERS)]),
    foldOf(`… ${counted(text.length - MOST_CHARACTERS, "more character")}`, () => [shown([text.slice(MOST_CHARACTERS)], false)])];
};

const foldOf = (label, unfolded) => {
  const fold = make("button", { type: "button", class: "fold" }, label);
  fold.addEventListener("click", () => {
    const elements = unfolded();
    fold.replaceWith(...elements);
    elements[0].tabIndex = -1;
    elements[0].focus({ preventScroll: true });
  });
  return fold;
};

const REFERENCE = /^(\S+: )?(\[see .*\])$/;

/** Text with its references as links, and what is searched for marked. */
const appendText = (parent, text, links) => {
  if (!Object.keys(links).length) return appendMarked(parent, text);
  const plain = [];
  const flush = (ending) => { if (plain.length) appendMarked(parent, plain.splice(0).join("\n") + ending); };
  text.split("\n").forEach((line, index, all) => {
    const match = REFERENCE.exec(line), link = match && Object.hasOwn(links, match[2]) ? links[match[2]] : null;
    if (!link) { plain.push(line); return; }
    flush("\n");
    const leave = (event) => { event.preventDefault(); view.goTo(link.to, link); };
    parent.append(match[1] ?? "", make("a", { href: `#${link.to}`, click: leave }, match[2]), index < all.length - 1 ? "\n" : "");
  });
  flush("");
  return undefined;
};

const appendMarked = (parent, text) => {
  let at = 0;
  for (const match of view.query ? text.matchAll(view.query) : []) {
    parent.append(text.slice(at, match.index), make("mark", {}, match[0]));
    at = match.index + match[0].length;
  }
  parent.append(text.slice(at));
};
