// What the proxy is asked. Its answers need the key of the page, which comes in the
// fragment of the address: browsers send that to nobody.

const place = 'rlmproxy key';
let key = sessionStorage.getItem(place) ?? '';

// takeKey takes the key out of the address, if it is there.
export function takeKey() {
  if (!location.hash.startsWith('#key=')) return;
  let given = location.hash.slice('#key='.length);
  history.replaceState(null, '', location.pathname + location.search); // and out of the history
  try {
    given = decodeURIComponent(given);
  } catch {} // it is as it stands
  setKey(given);
}

export function setKey(given) {
  key = given.trim();
  sessionStorage.setItem(place, key);
}

export const hasKey = () => key !== '';

// A WrongKey says that the proxy does not take the key.
export class WrongKey extends Error {}

// A NoAnswer says that the proxy cannot be reached.
export class NoAnswer extends Error {}

// ask returns what the proxy answers at a path of /ui/api, within a time in seconds.
async function ask(path, seconds, options = {}) {
  if (!/^[\w.~+\/-]+=*$/.test(key)) throw new WrongKey('That is no key of this page.'); // and cannot stand in a header
  let response, answer;
  try {
    response = await fetch(`ui/api/${path}`, {
      ...options,
      headers: {...options.headers, Authorization: `Bearer ${key}`},
      cache: 'no-store', credentials: 'omit', redirect: 'error', signal: AbortSignal.timeout(1000 * seconds),
    });
    answer = await response.json();
  } catch (error) {
    throw new NoAnswer('The proxy does not answer.', {cause: error});
  }
  if (response.status === 401) throw new WrongKey('The proxy does not take this key.');
  if (!response.ok) throw new Error(answer.error_description ?? `The proxy answered ${response.status}.`);
  return answer;
}

export const report = () => ask('report', 10);
export const results = () => ask('results', 10);

// look answers a call of a proxy_* tool about a result.
export const look = (agent, id, tool, args) => ask('query', 40, {
  method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({agent, id, tool, arguments: args}),
});
