'use strict';
// What the page is made of: questions to the server, elements, numbers in words, bars, choices, pictures. Nothing here knows the model.

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
const size = (bytes) => bytes < 1024 ? `${bytes} B` : bytes < 2 ** 20 ? `${(bytes / 1024).toFixed(0)} KB` : `${(bytes / 2 ** 20).toFixed(1)} MB`;
const chip = (text, title, remove) => make('li', {title}, make('span', {}, text),
  make('button', {type: 'button', 'aria-label': `Remove ${text}`, onclick: remove}, '×'));
// What orders rows: numbers, or words as people order them; what is not known comes last either way.
const compared = (one, two, falling) => {
  if (one === null || two === null) return (one === null) - (two === null);
  return (falling ? -1 : 1) * (typeof one === 'number' ? one - two : String(one).localeCompare(String(two), 'en', {numeric: true}));
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

// What is wider than its place can be scrolled with keys, and begins with the node that it is about.
const reachable = (host, node) => {
  const before = host.tabIndex >= 0, wide = host.scrollWidth > host.clientWidth;
  if (!wide) host.removeAttribute('tabindex');
  if (!wide || before) return;
  host.tabIndex = 0;
  if (!node) return;
  const [outer, inner] = [host, node].map((part) => part.getBoundingClientRect());
  host.scrollLeft += inner.left + inner.width / 2 - outer.left - outer.width / 2;
};
const SMALLEST = 0.9;  // a picture is drawn with letters of 9 to 12 pixels, which stay readable so far; beyond that it is scrolled
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
  const least = Math.round(SMALLEST * Number(svg.getAttribute('width')) || 0);
  sheet.replaceSync(`svg{max-width:100%;min-width:${least}px;height:auto}${held.join('')}`);
  root.adoptedStyleSheets = [sheet];
  root.append(document.importNode(svg, true));
  for (const part of root.querySelectorAll('[data-style]')) part.style.cssText = part.dataset.style;
  host.style.setProperty('--least', `${least}px`);
  new ResizeObserver(() => reachable(host, root.querySelector('.explained,.own'))).observe(host);
  return host;
};

const reasonTable = (reasons) => {
  const most = Math.max(...reasons.map(({contribution}) => Math.abs(contribution || 0)), 1e-12);
  return make('table', {class: 'reasons'}, make('tbody', {}, ...reasons.map(({words, contribution}) => {
    const kind = contribution < 0 ? 'against' : 'for', bar = make('i', {class: kind});
    bar.style.width = `${50 * Math.abs(contribution || 0) / most}%`;
    return make('tr', {}, make('th', {scope: 'row'}, words), make('td', {}, make('span', {class: 'track', 'aria-hidden': 'true'}, bar)),
      make('td', {class: kind}, contribution === null ? '–' : signed(contribution)));
  })));
};

// Asking the server

// Of all questions about one place only the last counts; earlier ones are given up, here and at the server.
const asking = new Map();
const giveUp = (place) => {
  for (const [other, turn] of asking) if (place.contains(other)) { turn.abort(); asking.delete(other); }
};
const latest = (place) => {
  giveUp(place);
  asking.set(place, new AbortController());
  return asking.get(place).signal;
};
// Browsers do not send a file that is another by now than the one that was chosen; they do not say so either.
const unreadable = async (files) => {
  for (const file of files) {
    try { await file.slice(0, 1).arrayBuffer(); } catch { return file; }
  }
  return null;
};
const ask = async (path, body, signal) => {
  const form = body instanceof FormData;
  let answer;
  try {
    answer = await fetch(path, body === undefined ? {} : {
      signal, method: 'POST', body: form ? body : JSON.stringify(body), headers: form ? {} : {'Content-Type': 'application/json'},
    });
  } catch {
    const changed = form && !signal?.aborted ? await unreadable(body.getAll('files')) : null;
    throw new Error(changed ? `${changed.name} has changed since it was chosen; choose it again.` : 'The server does not answer; is it still running?');
  }
  if (answer.ok) return answer;
  let reason = '';
  try { reason = (await answer.json()).error; } catch { /* no sentence came with it */ }
  throw new Error(reason || `The server answered with ${answer.status}.`);
};
const sentence = (text) => (/^[a-z]+ /.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text) + (/[.!?]$/.test(text) ? '' : '.');
const complain = (error) => {
  $('problem').textContent = error ? sentence(error.message || String(error)) : '';
  $('problem').hidden = !error;
};
// Molecules of a file that cannot be read are left out: of every question about it, so that all count the same ones.
const upload = (asking, fields) => {
  const form = new FormData();
  form.append('bad', 'skip');
  for (const file of asking.files) form.append('files', file, file.name);
  for (const [name, value] of Object.entries(fields || {})) form.append(name, value);
  return form;
};

// Names

const AT_ONCE = 8, LONGEST_SEARCH = 1000;
const namesLike = async (text) => (await ask(`/names?limit=40&search=${encodeURIComponent(text.slice(0, LONGEST_SEARCH))}`)).json();
// What a list of names stands for: those of lines, and where a line is no name, those between its commas.
const SEVERAL = /[,;\t]/;
const inTurns = async (entries, work) => {
  const all = [];
  for (let at = 0; at < entries.length; at += AT_ONCE) all.push(...await Promise.all(entries.slice(at, at + AT_ONCE).map(work)));
  return all;
};
const trimmed = (texts) => [...new Set(texts.map((text) => text.trim()).filter(Boolean))];
const named = async (text) => {
  const wanted = text.toLowerCase(), {names: found, texts} = text.length > LONGEST_SEARCH ? {names: [], texts: []} : await namesLike(text);
  const own = found.indexOf(text), places = own >= 0 ? [own] : [...found.keys()].filter((place) =>
    [found[place], short(found[place]), texts[place]].some((name) => name.toLowerCase() === wanted));
  return {given: text, count: places.length, name: found[places[0]], text: texts[places[0]]};
};
const namedIn = async (line) => {
  const whole = await named(line);
  return whole.count || !SEVERAL.test(line) ? [whole] : inTurns(trimmed(line.split(SEVERAL)), named);
};
const namedAll = async (lines) => (await inTurns(lines, namedIn)).flat();

// Files that are dropped anywhere on the page

const onDrop = (take) => {
  let over = 0;
  const brings = (event) => event.dataTransfer?.types.includes('Files');  // text may be dropped into the fields as ever
  addEventListener('dragenter', (event) => { if (brings(event)) { over += 1; $('cover').hidden = false; } });
  addEventListener('dragleave', () => { over = Math.max(0, over - 1); $('cover').hidden = over === 0; });
  addEventListener('dragover', (event) => { if (brings(event)) event.preventDefault(); });
  addEventListener('drop', (event) => {
    if (!brings(event)) return;
    event.preventDefault();
    over = 0;
    $('cover').hidden = true;
    if (event.dataTransfer.files.length) take(event.dataTransfer.files);
  });
};
