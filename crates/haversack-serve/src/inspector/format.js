// Formats numbers, times and reasons for people.

const WHOLE = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });
const SHORT = new Intl.NumberFormat("en-GB", { maximumSignificantDigits: 3 });

/** A count with thousands separators. */
export function count(number) {
  return WHOLE.format(number);
}

/** A count with its noun. */
export function counted(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

/** A number of bytes. */
export function size(bytes) {
  const units = ["bytes", "kB", "MB", "GB"];
  const step = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1);
  return `${SHORT.format(bytes / 1000 ** step)} ${units[step]}`;
}

/** A score: three digits. */
export function score(number) {
  return Number.isFinite(number) ? number.toFixed(3) : "–";
}

/** A share of one, in percent. */
export function percent(share) {
  return `${SHORT.format(share * 100)} %`;
}

/** Milliseconds. */
export function milliseconds(number) {
  return number < 0.995 ? `${number.toFixed(2)} ms` : `${SHORT.format(number)} ms`;
}

/** A moment in Unix milliseconds or as RFC 3339, to the minute. */
export function moment(value) {
  const date = new Date(value);
  if (Number.isNaN(date.getTime())) return String(value);
  return date.toISOString().slice(0, 16).replace("T", " ") + " UTC";
}

/** A text up to so many characters, never through the middle of one. */
export function shortened(text, most) {
  const characters = Array.from(text);
  return characters.length <= most ? text : `${characters.slice(0, most).join("")}…`;
}

/** A candidate's name: the item, and the chunk if it is not all of it. */
export function candidate(line) {
  return line.chunk === undefined || line.chunk === null ? line.item : `${line.item}#${line.chunk}`;
}

/** `in`, `cut` or `out`: an essential form is a cut one. */
export function fate(line) {
  return line.outcome === "essential" ? "cut" : line.outcome;
}

/** The budget from which a candidate is in whole, if the line tells. */
export function wholeFrom(line) {
  return line.wholeFrom ?? null;
}

/** The strongest score components of a candidate. */
function strengths(line) {
  const [first, second] = parts(line).filter((part) => part.gives > 0);
  if (!first) return "";
  const both = second && second.gives >= first.gives / 2;
  return both ? `${words(first.name)} and ${words(second.name)}` : words(first.name);
}

/** The reason for a candidate's outcome. */
export function reason(line) {
  const whole = wholeFrom(line);
  const last = line.displacedBy ? ` The last candidate that fitted was ${line.displacedBy}.` : "";
  if (line.outcome === "in")
    return strengths(line) ? `Included in full, mostly for ${strengths(line)}.` : "Included in full.";
  if (line.outcome === "cut" || line.outcome === "essential") {
    const form = line.outcome === "cut" ? "Truncated" : "Reduced to its essential form";
    const sizes = `${form} to ${count(line.tokens)} of ${count(line.tokensWhole)} tokens`;
    return whole ? `${sizes}; complete from a budget of ${count(whole)}.` : `${sizes}.`;
  }
  const why = line.why ?? "";
  if (line.code === "over_budget" && whole) {
    return `Over budget: complete from a budget of ${count(whole)}.${last}`;
  }
  if (line.code === "full_enough" && whole) {
    return `Enough of its text is included already: complete from a budget of ${count(whole)}.`;
  }
  if (line.code === "elsewhere") return `Considered in the layer ${line.instead} instead.`;
  if (line.code === "repeats") return `Duplicate of ${line.instead}.`;
  return why ? `${why[0].toUpperCase()}${why.slice(1)}.${last}` : `Left out.${last}`;
}

/** The parts of a score, largest first: component, value, weight, and what they come to. */
export function parts(line) {
  const all = Object.entries(line.parts ?? {}).map(([name, [value, weight]]) => ({
    name,
    value,
    weight,
    gives: value * weight,
  }));
  return all.sort((a, b) => b.gives - a.gives || a.name.localeCompare(b.name));
}

/** A component's name in words: `textSimilarity` is "text similarity". */
export function words(name) {
  return name
    .replace(/_/g, " ")
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .toLowerCase();
}
