// Savings over time: bars of what servers sent, with what agents read of it in front.
import {compact, count, el, keep, say} from './dom.js';

const height = 180, top = 8, bottom = 22, left = 44; // pixels of the axes
const hourName = new Intl.DateTimeFormat(undefined, {hour: '2-digit', minute: '2-digit', hourCycle: 'h23'});
const dayName = new Intl.DateTimeFormat(undefined, {day: 'numeric', month: 'short'});

// spans are what can be shown: so many slots of an hour, or of a day.
const spans = {
  day: {slots: 24, name: hourName, title: 'the last 24 hours', begin: at => at.setMinutes(0, 0, 0), back: at => at.setHours(at.getHours() - 1)},
  month: {slots: 30, name: dayName, title: 'the last 30 days', begin: at => at.setHours(0, 0, 0, 0), back: at => at.setDate(at.getDate() - 1)},
};

let shown = ''; // what the chart is of

// update draws hours, those of a report, if they have changed or the chart's width has.
export function update(hours, span) {
  const place = document.getElementById('chart');
  const width = place.clientWidth;
  const list = slots(hours, spans[span]);
  const now = JSON.stringify([width, span, list]);
  if (width === 0 || now === shown) return;
  shown = now;
  place.replaceChildren(draw(list, spans[span], width));
  keep(document.querySelector('#savings tbody'), list.filter(s => s.calls > 0).reverse(), s => String(s.begin),
    s => el('tr', {}, el('th', {scope: 'row'}, label(s, spans[span])), ...Array.from({length: 4}, () => el('td', {class: 'number'}))),
    (row, s) => [s.calls, s.sent, s.read, s.saved].forEach((n, i) => say(row.children[i + 1], count(n))));
}

const label = (slot, span) => span.name.format(new Date(slot.begin));

// slots are the last ones of a span, the oldest first, with what their hours add up to.
function slots(hours, span) {
  const at = new Date();
  span.begin(at);
  const list = [];
  for (let i = 0; i < span.slots; i++, span.back(at)) list.unshift({begin: at.getTime(), calls: 0, sent: 0, read: 0, saved: 0});
  const byBegin = new Map(list.map(s => [s.begin, s]));
  for (const hour of hours) {
    const begin = new Date(hour.begin);
    span.begin(begin);
    const slot = byBegin.get(begin.getTime());
    if (!slot) continue;
    slot.calls += hour.calls;
    slot.sent += hour.tokens_in;
    slot.read += hour.tokens_out + (hour.schemas ?? 0);
    slot.saved += hour.saved;
  }
  return list;
}

// svg makes an element of the chart.
function svg(tag, attributes, text) {
  const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  if (text !== undefined) e.textContent = text;
  return e;
}

function draw(list, span, width) {
  const sum = key => list.reduce((n, s) => n + s[key], 0);
  const chart = svg('svg', {role: 'img', 'aria-labelledby': 'chart-text', width, height, viewBox: `0 0 ${width} ${height}`});
  chart.append(svg('title', {id: 'chart-text'},
    `Tokens in ${span.title}: servers sent ${count(sum('sent'))}, agents read ${count(sum('read'))}, ${count(sum('saved'))} are saved.`));
  const most = nice(Math.max(...list.map(s => Math.max(s.sent, s.read))));
  const y = n => top + (height - top - bottom) * (1 - n / most);
  for (const part of [0, 0.5, 1]) {
    chart.append(svg('line', {class: 'grid', x1: left, x2: width, y1: y(most * part), y2: y(most * part)}));
    chart.append(svg('text', {x: left - 8, y: y(most * part) + 4, 'text-anchor': 'end'}, compact(most * part)));
  }
  const step = (width - left) / list.length;
  const every = Math.ceil(52 / step); // room for a label
  list.forEach((slot, i) => {
    const x = left + i * step + step * 0.15, w = step * 0.7;
    const group = svg('g', {});
    group.append(svg('title', {}, `${label(slot, span)}: sent ${count(slot.sent)}, read ${count(slot.read)}, saved ${count(slot.saved)}`));
    group.append(svg('rect', {class: 'room', x: left + i * step, y: top, width: step, height: height - top - bottom})); // for the pointer
    for (const [name, n] of [['before', slot.sent], ['after', slot.read]]) {
      if (n > 0) group.append(svg('rect', {class: name, x, width: w, y: Math.min(y(n), y(0) - 1), height: Math.max(y(0) - y(n), 1)}));
    }
    chart.append(group);
    if ((list.length - 1 - i) % every === 0) {
      chart.append(svg('text', {x: Math.min(x + w / 2, width - 21), y: height - 6, 'text-anchor': 'middle'}, label(slot, span)));
    }
  });
  if (sum('calls') === 0) chart.append(svg('text', {class: 'none', x: left + (width - left) / 2, y: (y(most) + y(most / 2)) / 2, 'text-anchor': 'middle'}, `no calls in ${span.title}`));
  return chart;
}

// nice is n or a little more, so that half of it is a round number too.
function nice(n) {
  const unit = 10 ** Math.floor(Math.log10(Math.max(n, 100)));
  return [1, 2, 4, 6, 8, 10].map(f => f * unit).find(v => v >= n);
}
