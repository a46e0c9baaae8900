'use strict';
(() => {
const all = (selector, root) => [...(root || document).querySelectorAll(selector)];
const status = document.getElementById('status');

const valueOf = (row, place) => {
  const cell = row.cells[place];
  if (cell.dataset.value === undefined) return cell.textContent.trim();
  return cell.dataset.value === '' ? null : Number(cell.dataset.value);
};
const compare = (one, two) => typeof one === 'number' && typeof two === 'number'
  ? one - two : String(one).localeCompare(String(two), 'en', {numeric: true});
const sort = (table, head) => {
  const place = head.cellIndex, body = table.tBodies[0];
  const first = head.dataset.first || 'ascending', second = first === 'ascending' ? 'descending' : 'ascending';
  const order = head.getAttribute('aria-sort') === first ? second : first, sign = order === 'ascending' ? 1 : -1;
  const rows = [...body.rows].map((row) => [valueOf(row, place), row]);
  rows.sort(([one], [two]) => one === null ? (two === null ? 0 : 1) : two === null ? -1 : sign * compare(one, two));
  body.append(...rows.map(([, row]) => row));
  all('th[aria-sort]', table).forEach((other) => other.removeAttribute('aria-sort'));
  head.setAttribute('aria-sort', order);
  status.textContent = `Sorted by ${head.textContent.trim()}, ${order}`;
};
const button = (content, pressed) => {
  const made = document.createElement('button');
  made.type = 'button';
  made.append(...content);
  if (pressed !== undefined) made.setAttribute('aria-pressed', pressed);
  return made;
};
for (const table of all('table.sortable')) {
  for (const head of all('thead th', table)) {
    const made = button([...head.childNodes]);
    made.addEventListener('click', () => sort(table, head));
    head.append(made);
  }
}

for (const legend of all('ul.legend')) {
  const whole = document.createElement('li'), every = button(['hide all'], undefined);
  const someShown = () => all('button[aria-pressed="true"]', legend).length > 0;
  const curves = (place) => all(`[data-series="${place}"]`, legend.parentElement).filter((one) => one.matches('g'));
  for (const item of all('li', legend)) {
    const made = button([...item.childNodes], 'true');
    made.addEventListener('click', () => {
      const shown = made.getAttribute('aria-pressed') !== 'true';
      made.setAttribute('aria-pressed', shown);
      curves(item.dataset.place).forEach((one) => one.classList.toggle('off', !shown));
      every.textContent = someShown() ? 'hide all' : 'show all';
    });
    item.append(made);
  }
  every.className = 'every';
  every.addEventListener('click', () => all(`button[aria-pressed="${someShown()}"]`, legend).forEach((one) => one.click()));
  whole.append(every);
  legend.append(whole);
}

for (const group of all('.choice')) {
  const parts = [...group.children], label = document.createElement('label'), list = document.createElement('select');
  const show = () => parts.forEach((part, place) => { part.hidden = place !== list.selectedIndex; });
  list.append(...parts.map((part) => new Option(part.dataset.name)));
  list.selectedIndex = Math.max(0, parts.findIndex((part) => 'chosen' in part.dataset));
  list.addEventListener('change', show);
  label.append(group.dataset.label, ' ', list);
  group.prepend(label);
  show();
}

let opened = [];
addEventListener('beforeprint', () => {
  opened = all('details:not([open])');
  opened.forEach((part) => { part.open = true; });
});
addEventListener('afterprint', () => opened.forEach((part) => { part.open = false; }));
})();
