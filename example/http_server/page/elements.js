// Elements of HTML and SVG. Text is always set as text, so markup in a key is shown, not obeyed.

const svgNamespace = 'http://www.w3.org/2000/svg';

/// element('p', {class: 'lead'}, 'a text or an element', ...)
export function element(name, attributes = {}, ...children) {
    return fill(document.createElement(name), attributes, children);
}

export function svg(name, attributes = {}, ...children) {
    return fill(document.createElementNS(svgNamespace, name), attributes, children);
}

function fill(made, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
}

/// Writes nothing where nothing changes, so that what is selected stays selected.
export function setText(target, text) {
    if (target.textContent !== text) target.textContent = text;
}

export const reducedMotion = matchMedia('(prefers-reduced-motion: reduce)');
