// Making nodes. Text is always a text node: nothing that a document or a model wrote is ever parsed as HTML.

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * An element with attributes (`onclick` and the like are listeners) and children.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} name
 * @param {Record<string, string | number | boolean | null | undefined | ((event: any) => void)>} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  element.append(...nodesOf(children));
  return element;
}

/** @param {Child[]} children */
function nodesOf(children) {
  return children
    .filter((child) => child !== null && child !== undefined && child !== false && child !== "")
    .map((child) => (child instanceof Node ? child : String(child)));
}

/**
 * Replace what an element holds, unless that would change nothing.
 * @param {Element} element
 * @param {...Child} children
 */
export function fill(element, ...children) {
  const nodes = nodesOf(children);
  if (nodes.every((node) => typeof node === "string") && element.childElementCount === 0) {
    const text = nodes.join("");
    if (element.textContent !== text) element.textContent = text;
    return;
  }
  // What is the same stays as it is, with its focus and its selection.
  const next = /** @type {Element} */ (element.cloneNode(false));
  next.append(...nodes);
  if (!element.isEqualNode(next)) element.replaceChildren(...next.childNodes);
}

/**
 * The element with this id, which the page is known to have.
 * @template {HTMLElement} [T=HTMLElement]
 * @param {string} id
 * @returns {T}
 */
export function byId(id) {
  return /** @type {T} */ (document.getElementById(id));
}
