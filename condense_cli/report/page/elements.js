"use strict";
// Elements. Texts become text nodes and attributes that nothing follows, never markup, and links lead into the page.

const make = (name, attributes = {}, ...children) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key, value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.flat().filter((child) => child !== ""));
  return element;
};

const drawn = (name, attributes) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
};

const part = (id) => document.getElementById(id);

const digits = new Intl.NumberFormat("en-US");
const number = (value) => digits.format(value);
const counted = (value, noun) => `${number(value)} ${noun}${value === 1 ? "" : "s"}`;

/** Tokens before and after; one figure where nothing changed. */
const tokensOf = ([before, after]) =>
  before === after ? counted(before, "token") : `${number(before)} → ${number(after)} tokens`;

const kindName = (kind) => kind.replaceAll("_", " ");
