'use strict';
// What the page does: asking the server, and showing what it answers.
(() => {
const MOST_ROWS = 200;
let model, current = null, files = [], names = [], typed = 0, looking = null;

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
const ask = async (path, body, signal) => {
  const form = body instanceof FormData;
  let answer;
  try {
    answer = await fetch(path, body === undefined ? {} : {
      signal, method: 'POST', body: form ? body : JSON.stringify(body), headers: form ? {} : {'Content-Type': 'application/json'},
    });
  } catch {
    throw new Error('The server does not answer; is it still running?');
  }
  if (answer.ok) return answer;
  let told = '';
  try { told = (await answer.json()).error; } catch { /* no sentence came with it */ }
  throw new Error(told || `The server answered with ${answer.status}.`);
};
const sentence = (text) => (/^[a-z]+ /.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text) + (/[.!?]$/.test(text) ? '' : '.');
const complain = (error) => {
  $('problem').textContent = error ? sentence(error.message || String(error)) : '';
  $('problem').hidden = !error;
};
const upload = (asking, fields) => {
  const form = new FormData();
  for (const file of asking.files) form.append('files', file, file.name);
  for (const [name, value] of Object.entries(fields || {})) form.append(name, value);
  return form;
};
const about = async (path, place, id, more, signal) => (await (current.way === 'file'
  ? ask(`${path}/file`, upload(current, {item: place, ...more}), signal)
  : ask(path, {[{smiles: 'smiles', names: model.level === 'node' ? 'node' : 'example'}[current.way]]: id, ...more}, signal))).json();

// What to ask for

const way = () => document.querySelector('#ways input:checked').value;
const showWay = () => {
  for (const part of document.querySelectorAll('.way')) part.hidden = part.id !== `way-${way()}`;
  complain(null);
};
const setWay = (value) => {
  const found = document.querySelector(`#ways input[value="${value}"]`);
  if (found) { found.checked = true; showWay(); }
};
const chip = (text, title, remove) => make('li', {title}, make('span', {}, text),
  make('button', {type: 'button', 'aria-label': `Remove ${text}`, onclick: remove}, '×'));
const showFiles = () => $('files').replaceChildren(...files.map((file, place) =>
  chip(`${file.name} (${size(file.size)})`, file.name, () => { files.splice(place, 1); showFiles(); $('file').focus(); })));
const size = (bytes) => bytes < 1024 ? `${bytes} B` : bytes < 2 ** 20 ? `${(bytes / 1024).toFixed(0)} KB` : `${(bytes / 2 ** 20).toFixed(1)} MB`;
const take = (given) => {
  files = [...given];
  setWay('file');
  showFiles();
  if (files.length) submit();
};
const showNames = () => $('chosen').replaceChildren(...names.map((name, place) =>
  chip(called.get(name) || short(name), name, () => { names.splice(place, 1); showNames(); $('search').focus(); })));
const called = new Map();
const choose = (name, text) => {
  called.set(name, text);
  if (!names.includes(name)) names.push(name);
  showNames();
  $('search').value = '';
  closeOptions();
};
const closeOptions = () => {
  typed += 1;  // a search under way has nothing to show any more
  looking = null;
  $('options').hidden = true;
  $('search').setAttribute('aria-expanded', 'false');
  $('search').removeAttribute('aria-activedescendant');
};
const active = () => $('options').querySelector('[aria-selected=true]');
const move = (step) => {
  const all = [...$('options').children], place = all.indexOf(active());
  const next = all[(place + step + all.length) % all.length];
  if (!next) return;
  if (active()) active().setAttribute('aria-selected', 'false');
  next.setAttribute('aria-selected', 'true');
  next.scrollIntoView({block: 'nearest'});
  $('search').setAttribute('aria-activedescendant', next.id);
};
const search = () => {
  const turn = ++typed;
  active()?.setAttribute('aria-selected', 'false');
  $('search').removeAttribute('aria-activedescendant');
  looking = look(turn).finally(() => { if (turn === typed) looking = null; });
};
const look = async (turn) => {
  let found;
  try {
    found = await (await ask(`/names?limit=40&search=${encodeURIComponent($('search').value)}`)).json();
  } catch (error) { if (turn === typed) complain(error); return; }
  if (turn !== typed || document.activeElement !== $('search')) return;
  $('options').replaceChildren(...found.names.map((name, place) => make('li',
    {role: 'option', id: `option-${place}`, 'aria-selected': 'false', onclick: () => choose(name, found.texts[place])},
    make('span', {}, found.texts[place]), found.texts[place] === name ? null : make('small', {}, name))));
  $('options').hidden = !found.names.length;
  $('search').setAttribute('aria-expanded', String(found.names.length > 0));
};
// Keys are about what the text finds: while that is looked for, the list is of an earlier text, and they wait.
const settled = async () => {
  const turn = typed;
  await looking;
  return turn === typed;
};
const keys = async (event) => {
  const open = looking || !$('options').hidden;
  if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
    event.preventDefault();
    if (!open) search(); else if (await settled()) move(event.key === 'ArrowDown' ? 1 : -1);
  } else if (event.key === 'Enter' && open && (active() || $('search').value)) {
    event.preventDefault();
    if (!await settled()) return;
    if ($('options').hidden) { submit(); return; }
    const chosen = active() || $('options').children[0];
    const text = chosen.querySelector('span').textContent;
    choose(chosen.querySelector('small')?.textContent || text, text);
  } else if (event.key === 'Escape' && open) {
    event.preventDefault();  // only the next one empties the field
    closeOptions();
  } else if (event.key === 'Backspace' && !$('search').value && names.length) { names.pop(); showNames(); }
};

// Predicting

const gather = () => {
  if (way() === 'smiles') {
    const lines = $('smiles').value.split('\n').map((line) => line.trim()).filter(Boolean);
    if (!lines.length) throw new Error('Write at least one SMILES, such as CCO.');
    return {way: 'smiles', path: '/predict', body: {smiles: lines, bad: 'skip'}};
  }
  if (way() === 'names') {
    if (!names.length) throw new Error(`Choose at least one ${model.level}.`);
    return {way: 'names', path: '/predict', body: {[model.level === 'node' ? 'nodes' : 'examples']: [...names]}};
  }
  if (!files.length) throw new Error('Choose a file first.');
  const total = files.reduce((sum, file) => sum + file.size, 0);
  if (total > model.limits.bytes) throw new Error(`The files have ${size(total)}; the server takes up to ${size(model.limits.bytes)} at once.`);
  return {way: 'file', path: '/predict/file', files: [...files]};
};
const submit = async () => {
  const signal = latest($('ask'));
  complain(null);
  try {
    const next = gather();
    $('busy').textContent = 'Predicting…';
    const found = await (await ask(next.path, next.body || upload(next), signal)).json();
    current = next;  // not before: what is shown until now can still be asked about
    showResults(found);
  } catch (error) {
    if (signal.aborted) return;
    giveUp($('rows'));
    $('results').hidden = true;
    complain(error);
  }
  $('busy').textContent = '';
};
const downloadCsv = async () => {
  try {
    const blob = await (await ask(`${current.path}?format=csv`, current.body || upload(current))).blob();
    const link = make('a', {href: URL.createObjectURL(blob), download: 'predictions.csv'});
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  } catch (error) { complain(error); }
};
const what = (count) => plural(count, current.way === 'smiles' ? 'molecule' : model.level);
const summary = (found) => {
  const counts = new Map();
  if (found.task === 'classes') for (const {prediction} of found.predictions) counts.set(prediction, (counts.get(prediction) || 0) + 1);
  const parts = [...counts].sort((one, two) => two[1] - one[1]).slice(0, 4).map(([name, count]) => `${count.toLocaleString('en')} ${name}`);
  const several = found.predictions.length > 1 && parts.length;
  return what(found.predictions.length) + (several ? `: ${parts.join(', ')}${counts.size > 4 ? ', …' : ''}` : '');
};
const showResults = (found) => {
  $('summary').textContent = summary(found);
  const skipped = found.skipped.slice(0, 20).map(({index, input, error}) => make('li', {}, `line ${index + 1}, `, make('code', {}, input), `: ${error}`));
  const more = found.skipped.length - skipped.length;
  $('skipped').replaceChildren(...(skipped.length ? [make('div', {class: 'alert', role: 'alert'},
    `${plural(found.skipped.length, 'line')} could not be read and ${found.skipped.length === 1 ? 'was' : 'were'} left out:`,
    make('ul', {}, ...skipped), more > 0 ? `and ${more} more` : null)] : []));
  const heads = ['', 'Prediction', found.task === 'values' ? null : 'Probability', model.familiarity ? 'Like the training data?' : null];
  $('columns').replaceChildren(...heads.filter((head) => head !== null).map((head, place) => make('th', {scope: 'col'}, place ? head :
    current.way === 'smiles' ? 'Molecule' : model.level === 'node' ? 'Node' : 'Graph')));
  $('filter').value = '';
  $('filter-label').hidden = found.predictions.length <= 20;
  current.found = found;
  showRows();
  $('results').hidden = false;
  $('results').focus({preventScroll: true});
  const first = $('rows').querySelector('.item');
  if (first && found.predictions.length <= 20) first.click();
  $('results').scrollIntoView({block: 'nearest'});
};
const showRows = () => {
  giveUp($('rows'));
  const {found} = current, wanted = $('filter').value.trim().toLowerCase();
  const chosen = found.predictions.map((row, place) => [row, place]).filter(([row]) => !wanted || `${row.id} ${row.text || ''}`.toLowerCase().includes(wanted));
  $('rows').replaceChildren(...chosen.slice(0, MOST_ROWS).map(([row, place]) => rowOf(found, row, place)));
  const left = chosen.length - MOST_ROWS;
  $('more').hidden = left <= 0;
  $('more').textContent = left > 0 ? `and ${left.toLocaleString('en')} more, which are in the CSV` : '';
};
const topOf = (found, row) => {
  const place = found.classes.indexOf(String(row.prediction));
  return found.task === 'classes' && place >= 0 ? place : row.probabilities.indexOf(Math.max(...row.probabilities));
};
const labelsOf = (found, row) => {
  if (found.task === 'classes') return String(row.prediction);
  const values = Array.isArray(row.prediction) ? row.prediction : [row.prediction];
  if (found.task === 'labels') return found.classes.filter((_, place) => values[place] > 0.5).join(', ') || 'none';
  return values.map((value, place) => (values.length > 1 ? `${found.classes[place]}: ` : '') + number(value) + spreadOf(row, place)).join(', ');
};
const spreadOf = (row, place) => {
  const std = row.uncertainty.std, value = Array.isArray(std) ? std[place] : std;
  return model.members > 1 && value !== undefined && value !== null ? ` ± ${number(Number(value.toPrecision(2)))}` : '';
};
const familiar = (row) => {
  if (!row.familiarity) return ['unknown', 'not known'];
  const {first_new_round: first, seen_share: shares} = row.familiarity;
  if (first === null) return ['known', 'all seen before'];
  const share = 1 - shares[shares.length - 1];
  const kind = first === 0 || share > 0.5 ? 'strange' : 'new';
  if (model.level === 'node') return [first === 0 ? 'strange' : 'new', first === 0 ? 'its label is new' : `new from round ${first} on`];
  return [kind, `${percent(share)} new`];
};
const rowOf = (found, row, place) => {
  const shown = String(row.id), opened = make('button', {type: 'button', class: 'item', 'aria-expanded': 'false', title: shown},
    make(current.way === 'smiles' ? 'code' : 'span', {}, (row.graph !== undefined && row.graph !== null ? `${row.graph}: ` : '') + (row.text || short(shown))));
  const cells = [make('th', {scope: 'row'}, opened), make('td', {class: 'top'}, labelsOf(found, row))];
  if (found.task !== 'values') {
    const top = topOf(found, row), std = row.uncertainty.std;
    cells.push(make('td', {}, make('span', {class: 'share'}, track(row.probabilities[top], model.members > 1 ? std[top] : 0),
      make('span', {}, percent(row.probabilities[top]), model.members > 1 ? ` ± ${percent(std[top])}` : null))));
  }
  if (model.familiarity) {
    const [kind, words] = familiar(row);
    cells.push(make('td', {}, make('span', {class: `dot ${kind}`}), words));
  }
  const line = make('tr', {}, ...cells);
  let detail = null;
  opened.addEventListener('click', () => {
    const open = opened.getAttribute('aria-expanded') !== 'true';
    opened.setAttribute('aria-expanded', String(open));
    line.classList.toggle('open', open);
    if (open && !detail) {
      detail = make('tr', {class: 'detail'}, make('td', {colspan: cells.length}, detailOf(found, row, place)));
      line.after(detail);
    } else if (detail) detail.hidden = !open;
  });
  return line;
};

// One item

const detailOf = (found, row, place) => {
  const panel = make('div', {class: 'panel'}), body = make('div', {tabindex: '-1'});
  const show = (kind) => (kind === 'why' ? why : colors)(body, row, place);
  panel.append(choices(`panel-${place}`, [['why', 'Why?'], ['colors', 'Colors, round by round']], 'why', show), body);
  const left = make('div', {}, ...said(found, row), ...unlike(row));
  show('why');
  return make('div', {class: 'inside'}, left, panel);
};
const said = (found, row) => {
  const parts = [make('h3', {}, found.task === 'values' ? 'Prediction' : 'Probabilities')];
  if (found.task === 'values') return [...parts, make('p', {class: 'top'}, labelsOf(found, row))];
  const order = row.probabilities.map((share, place) => [share, place]);
  if (order.length > 2) order.sort((one, two) => two[0] - one[0]);
  const bars = order.slice(0, 12).flatMap(([share, place]) => {
    const spread = model.members > 1 ? row.uncertainty.std[place] : 0;
    return [make('dt', {}, found.classes[place]), make('dd', {}, track(share, spread)),
      make('dd', {}, percent(share) + (model.members > 1 ? ` ± ${percent(spread)}` : ''))];
  });
  parts.push(make('dl', {class: 'bars'}, ...bars));
  if (order.length > 12) parts.push(make('p', {class: 'note'}, `and ${order.length - 12} classes with less`));
  return [...parts, make('p', {class: 'note'}, ...sureness(found, row))];
};
const sureness = (found, row) => {
  if (found.task !== 'classes') return [];
  const most = Math.log(Math.max(found.classes.length, 2)), total = row.uncertainty.total_entropy / most;
  const words = total < 0.25 ? 'The model is sure' : total < 0.7 ? 'The model leans one way' : 'The model is undecided';
  if (model.members === 1) return [`${words} (entropy ${percent(total)} of the largest). A single model has no spread: train with --members 5 to see one.`];
  const split = row.uncertainty.mutual_information / most;
  const agree = split < 0.02 ? 'its members agree' : split < 0.1 ? 'its members differ a little' : 'its members disagree';
  return [`${words}, and ${agree}: ± is the spread of ${model.members} models. Entropy ${percent(total)} of the largest, ${percent(split)} from disagreement.`];
};
const unlike = (row) => {
  if (!model.familiarity || !row.familiarity) return [];
  const {first_new_round: first, seen_share: shares} = row.familiarity, [kind] = familiar(row);
  const node = model.level === 'node';
  const words = first === null ? `Nothing here is new: the training data has every ${node ? 'color of this node' : 'surrounding that the model can see'}.`
    : first === 0 ? `The ${node ? 'label of this node is' : 'labels of some nodes are'} new: the model has never seen ${node ? 'it' : 'them'}. Trust this prediction little.`
    : `From round ${first} on, ${node ? 'the surroundings of this node are' : 'some surroundings are'} new to the model: it has to generalize.`;
  const parts = [make('h3', {}, 'Is this unlike the training data?'), make('p', {}, make('span', {class: `dot ${kind}`}), words)];
  const bars = shares.flatMap((share, round) => [make('dt', {}, round ? `${plural(round, 'hop')} around` : 'labels'), make('dd', {}, track(share, 0)),
    make('dd', {}, node ? (share ? 'seen' : 'new') : `${percent(share)} seen`)]);
  parts.push(make('dl', {class: 'bars'}, ...bars));
  if (row.unseen_labels && !node) parts.push(make('p', {class: 'note'},
    `${plural(row.unseen_labels, 'label')} of nodes or edges that the model has not learned: such labels count for nothing.`));
  return parts;
};
// What the server says about an item, while a place says that it is awaited; nothing where that failed, or is asked for no more.
const answered = async (body, words, path, row, place, more) => {
  const signal = latest(body), held = body.contains(document.activeElement);
  body.replaceChildren(make('p', {class: 'waiting', role: 'status'}, words));
  if (held) body.focus();  // with what held the focus replaced, keys would start at the top of the page again
  try {
    return await about(path, place, row.id, more, signal);
  } catch (error) {
    if (!signal.aborted) body.replaceChildren(make('p', {class: 'alert', role: 'alert'}, sentence(error.message)));
    return null;
  }
};

const why = async (body, row, place, target) => {
  const found = await answered(body, 'Taking out every node, edge and label in turn…', '/explain', row, place, target ? {target} : {});
  if (!found) return;
  const parts = [];
  if (model.classes.length > 1) {
    const list = make('select', {'aria-label': 'Explain', onchange: () => why(body, row, place, list.value)},
      ...model.classes.map((name) => make('option', {value: name, selected: name === found.target}, name)));
    parts.push(make('p', {class: 'why'}, 'What speaks for', list));
  }
  parts.push(picture(found.picture, `What speaks for ${found.target}`));
  parts.push(make('p', {class: 'note'}, make('b', {class: 'for'}, 'Red'), ` speaks for ${found.target}, blue (dashed) against: `,
    model.task === 'values' ? 'by how much the value drops without it.' : 'by how much its log-odds drop without it.'));
  parts.push(reasonTable(found.reasons));
  const change = make('div', {class: 'change', tabindex: '-1'});
  if (model.task !== 'values') {
    change.append(make('button', {type: 'button', onclick: () => changed(change, row, place)}, 'What would change the prediction?'));
    parts.push(change);
  }
  const held = document.activeElement === body;
  body.replaceChildren(...parts);
  if (held) body.querySelector('select')?.focus();
};
const reasonTable = (reasons) => {
  const most = Math.max(...reasons.map(({contribution}) => Math.abs(contribution || 0)), 1e-12);
  const shown = reasons.filter(({contribution}) => contribution === null || Math.abs(contribution) > 1e-5 * most);  // the rest is rounding
  return make('table', {class: 'reasons'}, make('tbody', {}, ...shown.map(({words, contribution}) => {
    const kind = contribution < 0 ? 'against' : 'for', bar = make('i', {class: kind});
    bar.style.width = `${50 * Math.abs(contribution || 0) / most}%`;
    return make('tr', {}, make('th', {scope: 'row'}, words), make('td', {}, make('span', {class: 'track', 'aria-hidden': 'true'}, bar)),
      make('td', {class: kind}, contribution === null ? '–' : signed(contribution)));
  })));
};
const changed = async (box, row, place) => {
  const answer = await answered(box, 'Looking for the smallest change…', '/explain', row, place, {counter_example: true});
  if (!answer) return;
  const found = answer.counter_example;
  if (!found) {
    box.replaceChildren(make('p', {}, 'No change of up to three labels or edges that was tried turns the prediction over.'));
    return;
  }
  const top = model.task === 'classes' && found.probabilities ? ` (${percent(Math.max(...found.probabilities))})` : '';
  const verb = found.smallest ? 'This is enough' : 'This would do';
  box.replaceChildren(make('h3', {}, `${verb} for `, make('em', {}, labelsOf(model, found)), top), make('ul', {}, ...found.words.map((words) => make('li', {}, words))),
    make('div', {class: 'pair'}, picture(found.pictures[0], 'Before'), picture(found.pictures[1], 'After')), make('p', {class: 'note'},
      found.smallest ? 'The smallest change of labels and edges there is: all smaller ones were tried.' : 'A smaller change may exist: not all were tried.'));
};

const colors = async (body, row, place) => {
  const found = await answered(body, 'Refining…', '/colors', row, place, {});
  if (!found) return;
  const view = make('div', {'aria-live': 'polite'});
  const show = (round) => view.replaceChildren(...roundOf(found.rounds[Number(round)]));
  const last = found.rounds.length - 1;
  const steps = choices(`round-${place}`, found.rounds.map(({round}) => [String(round), String(round)]), String(last), show, 'Round');
  body.replaceChildren(steps, view);
  show(last);
};
const roundOf = (found) => {
  const {round} = found, parts = [];
  const node = model.level === 'node';
  const kind = {label: 'label', degree: 'degree, which this model takes for its label', name: 'name'}[model.node_label_kind];
  const reach = round ? `what ${plural(round, 'layer')} can see of a node` : `a ${kind}`;
  parts.push(make('p', {}, node ? `After round ${round}, a color stands for ${reach}. Drawn: this node and its neighbors.` : `${plural(found.colors, 'color')}, each standing for ${reach}.`,
    found.new_nodes ? ` ${plural(found.new_nodes, 'node')} with a dashed ring: a color never seen in training.` : null));
  if (found.picture) parts.push(picture(found.picture, `Colors of round ${round}`));
  if (found.meaning) parts.push(make('h3', {}, 'This node, in words', found.seen === false ? make('span', {class: 'tag'}, 'never seen') : null), make('p', {}, make('code', {}, found.meaning)),
    model.node_label_kind === 'degree' ? make('p', {class: 'note'}, 'Numbers are degrees, which this model takes for labels.') : '');
  if (found.legend.length) parts.push(make('ul', {class: 'colors', tabindex: '0', 'aria-label': `Colors of round ${round} in words`}, ...found.legend.map(({fill, count, meaning, seen}) => {
    const swatch = make('span', {class: 'swatch'});
    swatch.style.background = fill;
    return make('li', {}, swatch, make('span', {class: 'tally'}, `${count} ×`), make('span', {}, meaning), seen === false ? make('span', {class: 'tag'}, 'never seen') : null);
  })));
  return parts;
};

// The start

const metricWords = {accuracy: 'accuracy', balanced_accuracy: 'balanced accuracy', roc_auc: 'ROC AUC', rmse: 'RMSE', mae: 'MAE', r2: 'R²'};
const describe = () => {
  const items = `${model.level}s`, kind = model.task === 'values' ? 'values' : model.task === 'labels' ? 'labels' : 'classes';
  document.title = `${model.trained_on || model.run} · edgnn`;
  $('title').textContent = model.trained_on ? `Try the model of ${model.trained_on}` : `Try the model ${model.run}`;
  const many = model.members > 1 ? `An ensemble of ${model.members} models` : 'A single model';
  const of = model.task === 'classes' && model.classes.length <= 4 ? `: ${model.classes.join(' or ')}` : '';
  $('lead').textContent = `It predicts ${kind} of ${items}${of}. ${many} with ${plural(model.layers, 'layer')} of ${model.conv === 'edgnn' ? 'edGNN' : model.conv}.`;
  const figures = [];
  if (model.trained_items) figures.push(['trained on', `${model.trained_items.toLocaleString('en')} ${items}`]);
  if (model.judged) for (const [name, value] of Object.entries(model.judged.metrics).filter(([name]) => metricWords[name]).slice(0, 3)) {
    const shares = ['accuracy', 'balanced_accuracy'].includes(name);
    figures.push([`${metricWords[name]}, ${model.judged.part} part`, shares ? percent(value) : number(value)]);
  }
  $('figures').replaceChildren(...figures.map(([name, value]) => make('div', {}, make('dt', {}, name), make('dd', {}, value))));
};
const SAMPLES = [['nitrobenzene', 'c1ccccc1[N+](=O)[O-]'], ['caffeine', 'Cn1cnc2c1c(=O)n(C)c(=O)n2C'], ['ethanol', 'CCO'],
  ['1-nitropyrene', 'O=[N+]([O-])c1ccc2ccc3cccc4ccc1c2c34']];
const ways = () => {
  const found = [];
  if (model.smiles) found.push(['smiles', 'SMILES']);
  if (model.source) found.push(['names', `${model.level === 'node' ? 'Nodes' : 'Graphs'} of ${model.source}`]);
  found.push(['file', 'File']);
  $('ways').append(...choices('way', found, found[0][0], showWay).children);
  $('samples').append(...SAMPLES.flatMap(([name, smiles], place) => [place ? ', ' : '', make('button', {type: 'button', class: 'link',
    onclick: () => { $('smiles').value = `${$('smiles').value.trim() ? `${$('smiles').value.trim()}\n` : ''}${smiles}\n`; $('smiles').focus(); }}, name)]));
  $('search-label').textContent = `Search the ${model.source_items.toLocaleString('en')} ${model.level}s of ${model.source}`;
  $('formats').textContent = (model.smiles ? 'CSV with a SMILES column, SDF, ' : '') + 'tables of nodes and edges (several files), GraphML, node-link JSON, RDF, a TU set as zip; '
    + `up to ${size(model.limits.bytes)}`;
  showWay();
};
const program = () => {
  const body = model.smiles ? {smiles: ['CCO']} : model.level === 'node' ? {nodes: ['NAME']}
    : {graphs: [{node_labels: model.node_labels.slice(0, 2), edges: [[0, 1, model.edge_labels[0] ?? null]]}]};
  $('shell').textContent = `curl -s ${location.origin}/predict -H 'Content-Type: application/json' \\\n  -d '${JSON.stringify(body).replaceAll("'", "'\\''")}'\n\n`
    + `curl -s '${location.origin}/predict/file?format=csv' -F files=@${model.smiles ? 'molecules.csv' : 'graph.graphml'}`;
};
const start = async () => {
  try {
    model = await (await ask('/model')).json();
    const version = await (await ask('/version')).json();
    $('about').textContent = `edgnn ${version.edgnn}, run ${model.run}. Nothing leaves this server, and nothing that you send is kept.`;
  } catch (error) { $('lead').textContent = sentence(error.message); return; }
  describe();
  ways();
  program();
  $('ask').hidden = false;
  $('ask').addEventListener('submit', (event) => { event.preventDefault(); submit(); });
  $('smiles').addEventListener('keydown', (event) => { if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit(); });
  $('search').addEventListener('input', search);
  $('search').addEventListener('focus', search);
  $('search').addEventListener('blur', closeOptions);
  $('search').addEventListener('keydown', keys);
  $('options').addEventListener('mousedown', (event) => event.preventDefault());  // the field keeps the focus, the list stays
  $('file').addEventListener('change', () => { take($('file').files); $('file').value = ''; });
  $('csv').addEventListener('click', downloadCsv);
  $('filter').addEventListener('input', showRows);
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
start();
})();
