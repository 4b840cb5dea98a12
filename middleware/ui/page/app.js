// The page: it asks for the key, looks at the proxy each two seconds while somebody can see
// it, and shows the overview or one result.
import * as api from './api.js';
import {say} from './dom.js';
import * as overview from './overview.js';
import * as explore from './explore.js';

const pause = 2000; // milliseconds
const $ = id => document.getElementById(id);

let timer;
let asking = false;
let known = {results: null}; // the last answer

function show(name) {
  for (const id of ['ask', 'overview', 'result']) $(id).hidden = id !== name;
}

// route shows what the address names: #/result/AGENT/ID, else the overview.
function route() {
  const [, agent, id] = /^#\/result\/([0-9a-f]{64})\/([a-z2-7]{16})$/.exec(location.hash) ?? [];
  if (!api.hasKey()) {
    show('ask');
    $('key').focus();
  } else if (agent) {
    show('result');
    explore.open(agent, id, known.results);
  } else {
    show('overview');
    document.title = 'rlmproxy';
  }
}

// poll looks at the proxy, and again after a pause.
async function poll() {
  clearTimeout(timer);
  if (asking || document.hidden || !api.hasKey()) return;
  asking = true;
  try {
    const [report, results] = await Promise.all([api.report(), api.results()]);
    known = results;
    overview.update(report, results);
    explore.update(results.results);
    state('live', 'live');
    if (!$('ask').hidden) route();
  } catch (error) {
    if (error instanceof api.WrongKey) return wrongKey(error.message);
    state('lost', error instanceof api.NoAnswer ? 'The proxy does not answer. It may have ended; this page tries again.' : error.message);
  } finally {
    asking = false;
  }
  timer = setTimeout(poll, pause);
}

function state(kind, text) {
  $('state').className = kind;
  say($('state'), text);
}

function wrongKey(why) {
  api.setKey('');
  state('', '');
  show('ask');
  say($('key-wrong'), `${why} Run rlmproxy ui again: it prints the one that counts.`);
  $('key').focus();
}

$('key-form').addEventListener('submit', event => {
  event.preventDefault();
  api.setKey($('key').value.replace(/^.*#key=/, '')); // the whole address will do
  $('key').value = '';
  say($('key-wrong'), '');
  poll();
});
document.addEventListener('visibilitychange', poll);
addEventListener('hashchange', () => {
  const before = api.hasKey();
  api.takeKey();
  if (!before) return poll();
  route();
});

api.takeKey();
route();
poll();
