// The overview: figures, savings, servers, calls and results.
import {agentName, compact, count, date, duration, el, keep, millis, say, size, time} from './dom.js';
import * as chart from './chart.js';

const $ = id => document.getElementById(id);
const few = 12; // calls that are shown at first
let allCalls = false;
let last; // what update was given

$('more-calls').addEventListener('click', () => {
  allCalls = !allCalls;
  update(...last);
});
$('span').addEventListener('change', () => chart.update(last[0].hours, span()));
new ResizeObserver(() => last && chart.update(last[0].hours, span())).observe($('chart'));

const span = () => document.querySelector('#span input:checked').value;

// update shows a report and the results that are kept.
export function update(report, results) {
  last = [report, results];
  figures(report, results);
  chart.update(report.hours, span());
  servers(report.proxies);
  calls(report.recent, results.results);
  kept(results);
}

function figures({total, since}, results) {
  const part = total.tokens_in > 0 ? `${Math.round(100 * total.saved / total.tokens_in)} %, ` : '';
  const list = [
    ['Tokens saved', compact(total.saved), total.calls > 0 ? `${part}since ${date(since)}` : 'no calls yet'],
    ['Servers sent', compact(total.tokens_in), 'tokens'],
    ['Agents read', compact(total.tokens_out), total.schemas ? `and ${compact(total.schemas)} of tool schemas` : 'tokens'],
    ['Calls', compact(total.calls), `${compact(total.cut)} cut, ${compact(total.errors)} failed`],
    ['Cached results', count(results.all), results.all > 0 ? 'to open below' : ''],
  ];
  keep($('figures'), list, ([name]) => name,
    ([name]) => el('div', {}, el('dt', {}, name), el('dd'), el('dd', {class: 'quiet'})),
    (e, [name, value, more]) => {
      say(e.children[1], value);
      e.children[1].className = name === 'Tokens saved' && total.saved > 0 ? 'good' : '';
      say(e.children[2], more);
    });
}

function servers(proxies) {
  keep($('servers'), proxies, p => String(p.pid),
    () => el('div', {class: 'proxy'}, el('p', {class: 'quiet'}), el('ul', {class: 'servers'})),
    (e, p) => {
      const clients = `${count(p.clients)} ${p.clients === 1 ? 'client' : 'clients'}`;
      say(e.children[0], [p.config || 'from the command line', p.url, clients, `since ${time(p.begun)}`, p.version].filter(Boolean).join(' · '));
      keep(e.children[1], p.servers, s => s.name,
        s => el('li', {}, el('span', {class: 'dot', 'aria-hidden': 'true'}), el('span', {class: 'name'}, s.name), el('span', {class: 'quiet'})),
        (li, s) => {
          li.className = `is-${/^[a-z]+$/.test(s.state) ? s.state : 'unknown'}`;
          say(li.children[2], s.state === 'failed' ? 'failed: rlmproxy doctor says why' : s.state);
        });
    });
}

// open is a link to a result.
const open = (result, ...children) => el('a', {href: `#/result/${result.agent}/${result.id}`}, ...children);

function calls(recent, results) {
  $('no-calls').hidden = recent.length > 0;
  $('calls').hidden = recent.length === 0;
  $('more-calls').hidden = recent.length <= few;
  say($('more-calls'), allCalls ? 'Show fewer' : `Show all ${recent.length}`);
  const byID = new Map(results.map(r => [r.id, r]));
  keep($('calls').tBodies[0], allCalls ? recent : recent.slice(0, few), c => [c.time, c.tool, c.agent, c.ms].join(' '),
    c => el('tr', {},
      el('td', {class: 'time'}, time(c.time)),
      el('td', {class: 'tool'}, c.tool, el('span', {class: 'quiet'}, c.server || 'the proxy')),
      el('td', {class: 'wide agent'}, agentName(c.agent), el('span', {class: 'quiet'}, c.client)),
      el('td', {class: 'number wide'}, millis(c.ms)),
      el('td', {class: 'number'}, c.tokens_in > 0 ? `${count(c.tokens_in)} → ${count(c.tokens_out)}` : `→ ${count(c.tokens_out)}`, el('span', {class: 'how'}))),
    (row, c) => {
      const result = byID.get(c.cache_id || c.read_id);
      const failed = c.outcome === 'error';
      const text = failed ? c.error || 'error' : c.cut ? 'cut' : c.outcome === 'ok' ? 'whole' : c.outcome;
      const how = row.querySelector('.how');
      const said = `${text} ${result?.id ?? ''}`;
      if (how.dataset.said === said) return; // and a link that is there keeps the focus
      how.dataset.said = said;
      how.replaceChildren(el('span', {class: failed ? 'wrong' : c.cut ? 'cut' : 'quiet'}, text));
      if (result) how.append(' ', open(result, 'open', el('span', {class: 'unseen'}, ` the result of ${result.tool}`)));
    });
}

function kept({results, all}) {
  $('no-results').hidden = results.length > 0;
  $('results').hidden = results.length === 0;
  say($('more-results'), all > results.length ? `and ${count(all - results.length)} older ones` : '');
  keep($('results').tBodies[0], results, r => r.agent + r.id,
    r => el('tr', {},
      el('td', {class: 'tool'}, open(r, r.tool), el('span', {class: 'quiet arguments'}, r.arguments)),
      el('td', {class: 'wide agent'}, r.name ? agentName(r.name) : 'from before the start', el('span', {class: 'quiet'}, r.server || 'the proxy')),
      el('td', {class: 'number'}, size(r.bytes)), el('td', {class: 'number wide'}), el('td', {class: 'number'})),
    (row, r) => {
      say(row.children[3], duration(r.age_s));
      say(row.children[4], duration(r.expires_s));
    });
}
