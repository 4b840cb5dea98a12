// One result: its structure, and queries on it as an agent makes them.
import {look} from './api.js';
import {agentName, count, duration, el, say, size} from './dom.js';

const $ = id => document.getElementById(id);
let agent, id; // of the result that is open
let asked = {}; // by place: the last query, so that an older answer does not come in its place

// open shows a result, which may be one of those that are listed: null until that is known.
export function open(itsAgent, itsID, results) {
  if (agent !== itsAgent || id !== itsID) {
    [agent, id, asked] = [itsAgent, itsID, {}];
    for (const form of ['query', 'structure']) $(form).reset();
    $('how').querySelector('input').checked = true;
    choose();
    say($('result-title'), `Result ${id}`);
    say($('result-arguments'), '');
    say($('result-facts'), '');
    structure();
    query();
  }
  update(results);
  document.title = `${$('result-title').textContent} · rlmproxy`;
  scrollTo(0, 0);
  $('result-title').focus();
}

// update shows what is known of the result that is open.
export function update(results) {
  if (!id || !results) return;
  const result = results.find(r => r.agent === agent && r.id === id);
  if (!result) return say($('result-facts'), `${id} · not among the newest results any more`);
  say($('result-title'), result.tool);
  say($('result-arguments'), result.arguments === '{}' ? '' : result.arguments);
  say($('result-facts'), [result.server || 'the proxy', agentName(result.name), size(result.bytes),
    `expires in ${duration(result.expires_s)} unless its agent reads it`, result.id].filter(Boolean).join(' · '));
}

// choose shows the fields of the way to ask that is chosen.
function choose() {
  const how = $('how').querySelector('input:checked').value;
  for (const part of document.querySelectorAll('[data-how]')) part.hidden = part.dataset.how !== how;
  return how;
}

const list = text => text.split(',').map(s => s.trim()).filter(Boolean);

// query asks what the form says.
function query() {
  const args = {};
  let tool = 'proxy_filter';
  switch (choose()) {
    case 'jq':
      if ($('jq').value.trim()) args.jq = $('jq').value.trim();
      break;
    case 'fields':
      if (list($('fields').value).length) args.fields = list($('fields').value);
      if (list($('exclude').value).length) args.exclude = list($('exclude').value);
      break;
    case 'search':
      tool = 'proxy_search';
      args.pattern = $('pattern').value;
      args.mode = $('mode').value;
      if ($('insensitive').checked) args.case_insensitive = true;
  }
  if (Number($('offset').value) > 0) args.offset = Number($('offset').value);
  return run($('query-reply'), tool, args);
}

function structure() {
  const args = {};
  if ($('path').value.trim()) args.path = $('path').value.trim();
  if (Number($('depth').value) !== 3) args.max_depth = Number($('depth').value);
  return run($('structure-reply'), 'proxy_explore', args);
}

// run makes a call, and shows its reply.
async function run(place, tool, args) {
  const mine = asked[place.id] = {};
  place.setAttribute('aria-busy', 'true');
  let reply;
  try {
    reply = await look(agent, id, tool, args);
  } catch (error) {
    reply = {text: error.message, is_error: true};
  }
  if (asked[place.id] !== mine) return;
  place.removeAttribute('aria-busy');
  const call = JSON.stringify({name: tool, arguments: {cache_id: id, ...args}});
  const copy = el('button', {type: 'button', class: 'plain'}, 'Copy');
  copy.addEventListener('click', () => copied(copy, call));
  const cost = reply.tokens === undefined ? '' : `An agent reads ${count(reply.tokens)} tokens.`;
  const said = el('p', {role: 'status', class: reply.is_error ? 'wrong' : 'quiet'}, reply.is_error ? `An error. ${cost}` : cost);
  const next = /^\[[^\n]* next offset (\d+)/.exec(reply.text);
  place.replaceChildren(
    said,
    el('pre', {tabindex: '0', role: 'region', 'aria-label': 'Reply'}, reply.text),
    ...(next ? [nextPage(next[1])] : []),
    el('details', {}, el('summary', {}, 'The call that an agent would make'), el('pre', {class: 'call'}, call), copy));
}

function nextPage(offset) {
  const button = el('button', {type: 'button', class: 'plain'}, `Next page, from ${offset}`);
  button.addEventListener('click', () => {
    $('offset').value = offset;
    query();
  });
  return button;
}

// copied puts text on the clipboard, or where the page may not, marks it.
async function copied(button, text) {
  try {
    await navigator.clipboard.writeText(text);
    say(button, 'Copied');
  } catch {
    getSelection().selectAllChildren(button.previousElementSibling);
    say(button, 'Marked: copy it');
  }
}

$('query').addEventListener('submit', event => {
  event.preventDefault();
  query();
});
$('structure').addEventListener('submit', event => {
  event.preventDefault();
  structure();
});
$('how').addEventListener('change', () => {
  choose();
  $('offset').value = 0;
});
$('query').addEventListener('input', event => {
  if (event.target.id !== 'offset') $('offset').value = 0; // another query begins at its first item
});
$('query').addEventListener('keydown', event => {
  if (event.key !== 'Enter' || !event.ctrlKey && !event.metaKey) return;
  event.preventDefault();
  $('query').requestSubmit();
});
