// What the other files make elements with. All text becomes text nodes: nothing of a
// server or an agent is ever read as HTML.

// steers are characters that do something else than show: control characters but for line
// ends and tabs, and what turns the direction of letters round.
const steers = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

// visible writes out what would steer, as the log does.
export function visible(text) {
  return String(text).replace(/\r\n/g, '\n').replace(steers, c => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
}

// el makes an element. Children are elements or text.
export function el(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  for (const child of children) e.append(child instanceof Node ? child : visible(child));
  return e;
}

// say changes the text of an element, if it is another one: what a person has selected, or
// a screen reader has told of, stays.
export function say(e, text) {
  text = visible(text);
  if (e.textContent !== text) e.textContent = text;
}

// keep makes the children of parent those of items, one each, in their order. An item with
// the key of a child keeps that child, with its focus: update changes what is in it. Make
// returns a new child.
export function keep(parent, items, keyOf, make, update) {
  const had = new Map([...parent.children].map(child => [child.dataset.key, child]));
  let place = parent.firstElementChild;
  for (const item of items) {
    const key = keyOf(item);
    let child = had.get(key);
    if (child === undefined) {
      child = make(item);
      child.dataset.key = key;
    }
    had.delete(key);
    update(child, item);
    if (child === place) place = place.nextElementSibling;
    else parent.insertBefore(child, place);
  }
  for (const child of had.values()) child.remove();
}

const whole = new Intl.NumberFormat('en');
const short = new Intl.NumberFormat('en', {notation: 'compact', maximumSignificantDigits: 3});

export const count = n => whole.format(n);
export const compact = n => Math.abs(n) < 10_000 ? whole.format(n) : short.format(n);

export function size(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1e6) return `${(bytes / 1e3).toFixed(bytes < 1e4 ? 1 : 0)} kB`;
  return `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;
}

// duration is a time in seconds, for a glance.
export function duration(s) {
  if (s < 60) return `${Math.round(s)} s`;
  if (s < 3600) return `${Math.round(s / 60)} min`;
  if (s < 2 * 86400) return `${Math.round(s / 3600)} h`;
  return `${Math.round(s / 86400)} days`;
}

export const millis = ms => ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;

const clock = new Intl.DateTimeFormat(undefined, {hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23'});
const day = new Intl.DateTimeFormat(undefined, {day: 'numeric', month: 'short'});

// time is when something was, with the day if that is not today.
export function time(at) {
  at = new Date(at);
  const today = at.toDateString() === new Date().toDateString();
  return today ? clock.format(at) : `${day.format(at)} ${clock.format(at)}`;
}

export const date = at => day.format(new Date(at));

// agentName is the name that the log has of an agent, for a glance: that of its token alone,
// a hash shortened.
export const agentName = name => name.replace(/^subject :token:/, '').replace(/#([0-9a-f]{8})[0-9a-f]{56}$/, '#$1…');
