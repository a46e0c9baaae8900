'use strict';
// What the page is made of: elements, numbers in words, bars, choices, pictures.

const $ = (id) => document.getElementById(id);
const ALLOWED = new Set(['svg', 'g', 'path', 'circle', 'ellipse', 'rect', 'line', 'polyline', 'polygon', 'text', 'tspan', 'title', 'desc',
  'defs', 'marker', 'lineargradient', 'stop', 'clippath']);
const make = (name, options, ...content) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(options || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key === 'class') made.className = value;
    else if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? '' : value);
  }
  made.append(...content.filter((part) => part !== null && part !== undefined));
  return made;
};
const percent = (share) => share === null ? '–' : share === 0 || share === 1 ? `${100 * share} %` : share > 0.999 ? '> 99.9 %' : share < 0.001 ? '< 0.1 %'
  : `${(100 * share).toFixed(share > 0.0995 && share < 0.9905 ? 0 : 1)} %`;
const number = (value) => value === null ? '–' : Math.abs(value) >= 1000 || (value !== 0 && Math.abs(value) < 0.01)
  ? value.toExponential(1) : String(Number(value.toPrecision(3)));
const signed = (value) => `${value < 0 ? '−' : '+'}${number(Math.abs(value))}`;
const plural = (count, word) => `${count.toLocaleString('en')} ${word}${count === 1 ? '' : 's'}`;
const short = (name) => {
  const found = /^[a-z][a-z0-9+.-]*:\/\/.*?([^/#]+)[/#]?$/i.exec(name);
  return found ? found[1] : name;
};
const track = (share, spread) => {
  const bar = make('i'), whole = make('span', {class: 'track', 'aria-hidden': 'true'}, bar);
  bar.style.width = `${100 * share}%`;
  if (spread > 0.002) {
    const mark = make('b'), low = Math.max(0, share - spread), high = Math.min(1, share + spread);
    mark.style.left = `${100 * low}%`;
    mark.style.width = `${100 * (high - low)}%`;
    whole.append(mark);
  }
  return whole;
};
const choices = (group, entries, chosen, change, legend) => make('fieldset', {class: legend ? 'steps' : 'ways'},
  legend ? make('legend', {}, legend) : null,
  ...entries.map(([value, text]) => make('label', {class: 'pick'},
    make('input', {type: 'radio', name: group, value, checked: value === chosen, onchange: () => change(value)}),
    make('span', {}, text))));

// A picture stands in a tree of its own: its styles reach nothing else, and of its elements only those that draw are kept.
const picture = (text, label) => {
  const held = [], host = make('div', {class: 'picture', role: 'group', 'aria-label': label});
  const plain = text.replace(/<style>([\s\S]*?)<\/style>/g, (_, rules) => { held.push(rules); return ''; })
    .replace(/\sstyle=(?=["'])/g, ' data-style=');
  const svg = new DOMParser().parseFromString(plain, 'text/html').querySelector('svg');
  if (!svg) return host;
  for (const part of [svg, ...svg.querySelectorAll('*')]) {
    if (!ALLOWED.has(part.localName.toLowerCase())) { part.remove(); continue; }
    for (const {name} of [...part.attributes]) if (/^on|href$/i.test(name)) part.removeAttribute(name);
  }
  const root = host.attachShadow({mode: 'open'}), sheet = new CSSStyleSheet();
  sheet.replaceSync(`svg{max-width:100%;height:auto}${held.join('')}`);
  root.adoptedStyleSheets = [sheet];
  root.append(document.importNode(svg, true));
  for (const part of root.querySelectorAll('[data-style]')) part.style.cssText = part.dataset.style;
  return host;
};
