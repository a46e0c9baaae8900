'use strict';
// What the page does: asking the server, and showing what it answers.
(() => {
const MOST_ROWS = 200, MOST_CHIPS = 40;
let model, current = null, files = [], names = [], typed = 0, looking = null, picking = Promise.resolve(), sorted = null;

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
const showFiles = () => $('files').replaceChildren(...files.map((file, place) =>
  chip(`${file.name} (${size(file.size)})`, file.name, () => { files.splice(place, 1); showFiles(); $('file').focus(); })));
const take = (given) => {
  files = [...given];
  setWay('file');
  showFiles();
  if (files.length) submit();
};
const showNames = () => {
  const more = names.length - MOST_CHIPS, focus = () => { showNames(); $('search').focus(); };
  $('chosen').replaceChildren(...names.slice(0, MOST_CHIPS).map((name, place) =>
    chip(called.get(name) || short(name), name, () => { names.splice(place, 1); focus(); })));
  if (more > 0) $('chosen').append(make('li', {}, make('span', {}, `and ${more.toLocaleString('en')} more`),
    make('button', {type: 'button', class: 'link', onclick: () => { names = []; focus(); }}, 'Remove all')));
};
const called = new Map();
const add = (name, text) => {
  called.set(name, text);
  if (!names.includes(name)) names.push(name);
};
const choose = (name, text) => {
  add(name, text);
  showNames();
  $('search').value = '';
  note('');
  closeOptions();
};
const note = (words) => { $('match').textContent = words; };
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
    found = await namesLike($('search').value);
  } catch (error) { if (turn === typed) complain(error); return; }
  if (turn !== typed || document.activeElement !== $('search')) return;
  $('options').replaceChildren(...found.names.map((name, place) => make('li',
    {role: 'option', id: `option-${place}`, 'aria-selected': 'false', onclick: () => choose(name, found.texts[place])},
    make('span', {}, found.texts[place]), found.texts[place] === name ? null : make('small', {}, name))));
  $('options').hidden = !found.names.length;
  $('search').setAttribute('aria-expanded', String(found.names.length > 0));
  note(found.names.length ? '' : SEVERAL.test($('search').value) ? 'No match as a whole; press Enter to take the names one by one' : 'No match');
};
const listed = (texts) => texts.slice(0, 20).join(', ') + (texts.length > 20 ? ` and ${(texts.length - 20).toLocaleString('en')} more` : '');
const pick = async (text) => {
  closeOptions();
  complain(null);
  const lines = trimmed(text.split(/[\r\n]+/));
  if (lines.length > model.limits.items) {
    complain(new Error(`${plural(lines.length, 'name')} are more than the ${model.limits.items.toLocaleString('en')} of one request`));
    return lines;
  }
  note(lines.length > 1 ? `Looking up ${plural(lines.length, 'name')}…` : 'Looking it up…');
  try {
    const found = await namedAll(lines);
    for (const {count, name, text: title} of found) if (count === 1) add(name, title);
    showNames();
    const [unknown, several] = [found.filter(({count}) => !count), found.filter(({count}) => count > 1)].map((part) => part.map(({given}) => given));
    const said = [];
    if (unknown.length === 1) said.push(`No ${model.level} of ${model.source} is called ${unknown[0]}`);
    else if (unknown.length) said.push(`${plural(unknown.length, 'name')} are not in ${model.source}: ${listed(unknown)}`);
    if (several.length) said.push(`Several ${model.level}s are called so, choose from the list: ${listed(several)}`);
    complain(said.length ? said.join('. ') : null);
    return [...unknown, ...several];
  } catch (error) {
    complain(error);
    return lines;
  } finally { note(''); }
};
// What stands in the field stays there as far as it is no name.
const pickTyped = async () => {
  const given = $('search').value, left = await pick(given);
  if ($('search').value === given) $('search').value = left.join(', ');
  return !left.length;
};
const pasted = (event) => {
  const text = event.clipboardData?.getData('text') || '';
  if (!/[\r\n]/.test(text.trim())) return;  // a field of one line would run the lines together
  event.preventDefault();
  picking = picking.then(() => pick(text));
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
  } else if (event.key === 'Enter' && ((open && active()) || $('search').value.trim())) {
    event.preventDefault();
    if (!await settled()) return;
    if ($('options').hidden) { await pickTyped(); return; }
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
    const lines = $('smiles').value.split('\n').map((line, place) => [line.trim(), place + 1]).filter(([line]) => line);
    if (!lines.length) throw new Error('Write at least one SMILES, such as CCO.');
    return {way: 'smiles', path: '/predict', body: {smiles: lines.map(([line]) => line), bad: 'skip'}, lines: lines.map(([, number]) => number)};
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
const bodyOf = (asked) => asked.body || upload(asked);
const submit = async () => {
  const signal = latest($('ask'));
  complain(null);
  $('busy').textContent = '';
  if (way() === 'names') {
    await picking;
    if ($('search').value.trim() && !await pickTyped()) return;
    if (signal.aborted || !(names.length || $('problem').hidden)) return;
  }
  try {
    const next = gather();
    $('busy').textContent = 'Predicting…';
    const found = await (await ask(next.path, bodyOf(next), signal)).json();
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
  const button = $('csv'), words = button.textContent, held = document.activeElement === button;
  button.disabled = true;
  button.textContent = 'Preparing…';
  $('status').textContent = 'Preparing the table';
  try {
    const blob = await (await ask(`${current.path}?format=csv`, bodyOf(current))).blob();
    const link = make('a', {href: URL.createObjectURL(blob), download: 'predictions.csv'});
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  } catch (error) { complain(error); }
  button.textContent = words;
  button.disabled = false;
  $('status').textContent = '';
  if (held && document.activeElement === document.body) button.focus();  // what is disabled loses it
};
const what = (count) => plural(count, current.way === 'smiles' ? 'molecule' : model.level);
const summary = (found) => {
  const counts = new Map();
  if (found.task === 'classes') for (const {prediction, error} of found.predictions) if (!error) counts.set(prediction, (counts.get(prediction) || 0) + 1);
  const parts = [...counts].sort((one, two) => two[1] - one[1]).slice(0, 4).map(([name, count]) => `${count.toLocaleString('en')} ${name}`);
  const several = found.predictions.length > 1 && parts.length;
  return what(found.predictions.length) + (several ? `: ${parts.join(', ')}${counts.size > 4 ? ', …' : ''}` : '');
};
const showSkipped = (skipped) => {
  const kind = current.lines ? 'line' : /\.(sdf?|mol)(\.gz)?$/i.test(current.files?.[0].name) ? 'record' : 'row';
  const shown = skipped.slice(0, 20).map(({index, input, error}) =>
    make('li', {}, `${kind} ${current.lines ? current.lines[index] : index + 1}, `, make('code', {}, input), `: ${error}`));
  const more = skipped.length - shown.length;
  $('skipped').replaceChildren(...(shown.length ? [make('div', {class: 'alert', role: 'alert'},
    `${plural(skipped.length, kind)} could not be read and ${skipped.length === 1 ? 'was' : 'were'} left out${kind === 'row' ? ' (counted without a header)' : ''}:`,
    make('ul', {}, ...shown), more > 0 ? `and ${more.toLocaleString('en')} more` : null)] : []));
};
const showResults = (found) => {
  $('summary').textContent = summary(found);
  showSkipped(found.skipped);
  current.columns = columnsOf(found);
  sorted = null;
  $('columns').replaceChildren(...current.columns.map((column) => make('th', {scope: 'col'}, column.key && found.predictions.length > 1
    ? make('button', {type: 'button', onclick: () => sortBy(column)}, column.head) : column.head)));
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
  if (sorted) chosen.sort(([one], [two]) => compared(sorted.column.key(one), sorted.column.key(two), sorted.falling));
  $('rows').replaceChildren(...chosen.slice(0, MOST_ROWS).map(([row, place]) => rowOf(found, row, place)));
  const left = chosen.length - MOST_ROWS;
  $('more').hidden = left <= 0;
  $('more').textContent = left > 0 ? `and ${left.toLocaleString('en')} more, which are in the CSV` : '';
};
// First the most, then the least, then the order in which they were given.
const sortBy = (column) => {
  sorted = sorted?.column !== column ? {column, falling: true} : sorted.falling ? {column, falling: false} : null;
  const order = sorted && (sorted.falling ? 'descending' : 'ascending');
  [...$('columns').children].forEach((head, place) => {
    if (sorted && current.columns[place] === column) head.setAttribute('aria-sort', order); else head.removeAttribute('aria-sort');
  });
  $('status').textContent = sorted ? `Sorted by ${column.head}, ${order}` : 'In the order given';
  showRows();
};
const columnsOf = (found) => {
  const columns = [{head: current.way === 'smiles' ? 'Molecule' : model.level === 'node' ? 'Node' : 'Graph'}];
  const several = found.task === 'values' && found.classes.length > 1, one = (value) => Array.isArray(value) ? value[0] : value;
  const shares = found.task !== 'values', top = (row) => shares ? topOf(found, row) : 0;
  const spread = (row) => { const {std} = row.uncertainty; return (Array.isArray(std) ? std[top(row)] : std) ?? null; };
  columns.push({head: 'Prediction', class: 'top', key: several ? null : (row) => shares ? labelsOf(found, row) : one(row.prediction),
    cell: (row) => [shares || several ? labelsOf(found, row) : number(one(row.prediction))]});
  const likely = shares && found.predictions.some((row) => row.probabilities);
  if (likely) columns.push({head: found.task === 'labels' ? 'Highest probability' : 'Probability', key: (row) => row.probabilities[top(row)],
    cell: (row) => [make('span', {class: 'share'}, track(row.probabilities[top(row)], model.members > 1 ? spread(row) : 0),
      make('span', {}, percent(row.probabilities[top(row)]), found.task === 'labels' ? ` for ${found.classes[top(row)]}` : null))]});
  if (found.predictions.some((row) => row.interval || row.set)) columns.push({head: found.task === 'values' ? '90 % interval' : '90 % set',
    key: several || !shares ? null : (row) => row.set.length, cell: (row) => [coveredBy(found, row)]});
  if (model.members > 1 && !several) columns.push({head: 'Uncertainty', key: spread,
    cell: (row) => [spread(row) === null ? '–' : `± ${shares ? percent(spread(row)) : number(Number(spread(row).toPrecision(2)))}`]});
  if (model.familiarity) columns.push({head: 'Like the training data?', key: newness, cell: (row) => {
    const [kind, words] = familiar(row);
    return [make('span', {class: `dot ${kind}`}), words];
  }});
  return columns.map((column) => !column.cell ? column : {...column, key: column.key && ((row) => row.error ? null : column.key(row)),
    cell: (row) => row.error ? ['–'] : column.cell(row)});
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
const coveredBy = (found, row) => {
  if (row.set) return row.set.join(' or ') || 'none is plausible';
  if (!row.interval) return '–';
  const end = (value) => value === null ? '∞' : number(Number(value.toPrecision(4)));
  const [lower, upper] = row.interval;
  if (!Array.isArray(lower)) return `${end(lower)} to ${end(upper)}`;
  return lower.map((value, place) => `${found.classes[place]}: ${end(value)} to ${end(upper[place])}`).join(', ');
};
const spreadOf = (row, place) => {
  const std = row.uncertainty.std, value = Array.isArray(std) ? std[place] : std;
  return model.members > 1 && value !== undefined && value !== null ? ` ± ${number(Number(value.toPrecision(2)))}` : '';
};
const newness = (row) => {
  if (!row.familiarity) return null;
  const {first_new_round: first, seen_share: shares} = row.familiarity;
  if (model.level === 'node') return first === null ? 0 : 1 / (1 + first);
  return first === null ? 0 : 1 - shares[shares.length - 1];
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
  const cells = [make('th', {scope: 'row'}, opened), ...current.columns.slice(1).map((column) =>
    make('td', {class: column.class, 'data-label': column.head}, make('div', {}, ...column.cell(row))))];
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
  const parts = [make('h3', {}, row.probabilities ? 'Probabilities' : 'Prediction')];
  if (row.error) return [...parts, make('p', {class: 'alert'}, sentence(row.error))];
  if (!row.probabilities) return [...parts, make('p', {class: 'top'}, labelsOf(found, row))];
  const order = row.probabilities.map((share, place) => [share, place]);
  if (order.length > 2) order.sort((one, two) => two[0] - one[0]);
  const bars = order.slice(0, 12).flatMap(([share, place]) => {
    const several = model.members > 1 && row.uncertainty.std, spread = several ? row.uncertainty.std[place] : 0;
    return [make('dt', {}, found.classes[place]), make('dd', {}, track(share, spread)),
      make('dd', {}, percent(share) + (several ? ` ± ${percent(spread)}` : ''))];
  });
  parts.push(make('dl', {class: 'bars'}, ...bars));
  if (order.length > 12) parts.push(make('p', {class: 'note'}, `and ${order.length - 12} classes with less`));
  return [...parts, make('p', {class: 'note'}, ...sureness(found, row))];
};
const sureness = (found, row) => {
  if (found.task !== 'classes' || row.uncertainty.total_entropy === undefined) return [];
  const most = Math.log(Math.max(found.classes.length, 2)), total = row.uncertainty.total_entropy / most;
  const words = total < 0.25 ? 'The model is sure' : total < 0.7 ? 'The model leans one way' : 'The model is undecided';
  if (model.members === 1) return [`${words} (entropy ${percent(total)} of the largest). A single model has no spread: train with --members 5 to see one.`];
  const split = row.uncertainty.mutual_information / most;
  const agree = split < 0.02 ? 'its members agree' : split < 0.1 ? 'its members differ a little' : 'its members disagree';
  return [`${words}, and ${agree}: ± is the spread of ${model.members} models. Entropy ${percent(total)} of the largest, ${percent(split)} from disagreement.`];
};
const novelOf = (row) => row.uncertainty.novelty === undefined ? [] :
  [make('p', {class: 'note'}, `Novelty ${percent(row.uncertainty.novelty)}: one less the mean similarity to the five most similar training items.`)];
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
  parts.push(make('dl', {class: 'bars'}, ...bars), ...novelOf(row));
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

const DROPS = {'log-odds': 'its log-odds drop', output: 'the value drops', decision: 'its decision value drops',
  class: 'its being predicted, 1 or 0, drops'};

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
    `by how much ${DROPS[found.measure]} without it.`, found.left_out ? ` ${found.left_out}` : null));
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
  parts.push(make('p', {}, node ? `After round ${round}, a color stands for ${reach}.${found.drawn ? ` Drawn: ${found.drawn}.` : ''}` : `${plural(found.colors, 'color')}, each standing for ${reach}.`,
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

const metricWords = {accuracy: 'accuracy', balanced_accuracy: 'balanced accuracy', roc_auc: 'ROC-AUC', rmse: 'RMSE', mae: 'MAE', r2: 'R²'};
const metricNumber = (value) => Math.abs(value) >= 0.01 && Math.abs(value) < 1000 ? value.toFixed(3) : number(value);
const describe = () => {
  const items = model.smiles ? 'molecules' : `${model.level}s`;
  const what = model.targets.length && model.targets.length <= 4 ? model.targets.join(', ') : model.task;
  document.title = `${model.trained_on || model.run} · edgnn`;
  $('title').textContent = model.trained_on ? `Try the model of ${model.trained_on}` : `Try the model ${model.run}`;
  const many = model.members > 1 ? `An ensemble of ${model.members} models` : 'A single model';
  const network = model.conv ? ` with ${plural(model.layers, 'layer')} of ${model.conv === 'edgnn' ? 'edGNN' : model.conv}` : `: ${model.estimator}`;
  const of = model.task === 'classes' && model.classes.length <= 4 ? ` (${model.classes.join(' or ')})` : '';
  $('lead').textContent = `It predicts ${what}${of} of ${items}. ${many}${network}.`;
  const figures = [];
  if (model.trained_items) figures.push(['trained on', `${model.trained_items.toLocaleString('en')} ${items}`]);
  if (model.judged) for (const [name, value] of Object.entries(model.judged.metrics).filter(([name]) => metricWords[name]).slice(0, 3)) {
    const shares = ['accuracy', 'balanced_accuracy'].includes(name);
    figures.push([`${metricWords[name]}, ${model.judged.part} set`, shares ? `${(100 * value).toFixed(1)} %` : metricNumber(value)]);
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
  $('search-label').textContent = `Search the ${model.source_items.toLocaleString('en')} ${model.level}s of ${model.source}, or paste a list of names`;
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
  $('search').addEventListener('input', () => { complain(null); search(); });
  $('search').addEventListener('paste', pasted);
  $('search').addEventListener('focus', search);
  $('search').addEventListener('blur', closeOptions);
  $('search').addEventListener('keydown', keys);
  $('options').addEventListener('mousedown', (event) => event.preventDefault());  // the field keeps the focus, the list stays
  $('file').addEventListener('change', () => { take($('file').files); $('file').value = ''; });
  $('csv').addEventListener('click', downloadCsv);
  $('filter').addEventListener('input', showRows);
  onDrop(take);
};
start();
})();
