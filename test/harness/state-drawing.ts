/** Draws a table of states as SVG: two columns of boxes, arrows down or up between neighbours and from left to right. */

/** Whether the customer has got what they ordered. */
type Look = "neutral" | "good" | "bad";
type Column = Readonly<Record<string, Look>>;

export interface Layout {
  /** Begins the ids in the drawing. */
  name: string;
  title: string;
  left: Column;
  right: Column;
}

interface Transition {
  from: string;
  to: string;
}

interface Box {
  state: string;
  look: Look;
  column: "left" | "right";
  place: number;
  top: number;
}

const [width, boxWidth, boxHeight, rowHeight, margin] = [420, 150, 38, 74, 4];
const columnX = { left: margin, right: width - margin - boxWidth };

const colourOf: Record<Look, string> = {
  neutral: "currentColor",
  good: "var(--drawing-good)",
  bad: "var(--drawing-bad)",
};

/** For where the drawing stands alone; in a page of the site, the site's colours apply. */
const ownColours = `<style>
svg:root { color: #3c3c43; --drawing-good: #18794e; --drawing-bad: #b8272c; --drawing-surface: #f6f6f7 }
@media (prefers-color-scheme: dark) {
  svg:root { color: #dfdfd6; --drawing-good: #3dd68c; --drawing-bad: #f66f81; --drawing-surface: #202127 }
}
</style>`;

/** The changes of the status: phases stand in parentheses after it, and are left out. */
function changesOf(transitions: readonly Transition[]): Transition[] {
  const status = (state: string) => state.replace(/ \(.*/, "");
  const changes = transitions.map(({ from, to }) => ({ from: status(from), to: status(to) }));
  const distinct = new Map(changes.map((change) => [`${change.from} ${change.to}`, change]));
  return [...distinct.values()].filter(({ from, to }) => from !== to);
}

/** @throws when a state has no place in the layout, or a change cannot be drawn in it */
export function drawStates(layout: Layout, transitions: readonly Transition[]): string {
  const rows = Math.max(Object.keys(layout.left).length, Object.keys(layout.right).length);
  const height = rows * rowHeight;
  const boxes = [...placeColumn(layout.left, "left", height), ...placeColumn(layout.right, "right", height)];
  const changes = changesOf(transitions);
  const boxOf = (state: string) => {
    const found = boxes.find((box) => box.state === state);
    if (!found) throw new Error(`${state} has no place in the drawing ${layout.name}: add it to its layout`);
    return found;
  };
  const edges = changes.map(({ from, to }) => ({ from: boxOf(from), to: boxOf(to) }));
  const unused = boxes.find((box) => !edges.some(({ from, to }) => from === box || to === box));
  if (unused) throw new Error(`the table has no ${unused.state}: remove it from the layout of ${layout.name}`);
  const { name, title } = layout;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="${name}-title ${name}-text">
<title id="${name}-title">${title}</title>
<desc id="${name}-text">${describe(boxes, changes)}</desc>
${ownColours}
<defs><marker id="${name}-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="currentColor"/></marker></defs>
<g fill="none" stroke="currentColor" stroke-width="1.3">
${edges.map((edge) => `<path d="${pathOf(edge, edges)}" marker-end="url(#${name}-arrow)"/>`).join("\n")}
</g>
<g font-family="system-ui, sans-serif" font-size="14" text-anchor="middle">
${boxes.map((box) => drawBox(box, !edges.some(({ from }) => from === box))).join("\n")}
</g>
</svg>
`;
}

function placeColumn(column: Column, side: Box["column"], height: number): Box[] {
  const states = Object.entries(column);
  const share = height / states.length;
  return states.map(([state, look], place) => {
    const top = Math.round(place * share + (share - boxHeight) / 2);
    return { state, look, column: side, place, top };
  });
}

/** What the arrows say, in words. */
function describe(boxes: readonly Box[], changes: readonly Transition[]): string {
  const sentences = boxes.map(({ state }) => {
    const next = changes.filter(({ from }) => from === state).map(({ to }) => to);
    return next.length > 0 ? `${state} becomes ${next.join(" or ")}.` : `${state} is final.`;
  });
  return sentences.join(" ");
}

interface Edge {
  from: Box;
  to: Box;
}

function pathOf(edge: Edge, edges: readonly Edge[]): string {
  const { from, to } = edge;
  if (from.column === to.column) return verticalPath(edge);
  if (from.column === "right")
    throw new Error(`no arrow leads back from ${from.state} to ${to.state}: change the layout`);
  const across = edges.filter((other) => other.from.column !== other.to.column);
  const leaving = across.filter((other) => other.from === from).toSorted((a, b) => a.to.top - b.to.top);
  const arriving = across.filter((other) => other.to === to).toSorted((a, b) => a.from.top - b.from.top);
  const port = (box: Box, all: readonly Edge[]) =>
    Math.round(box.top + (boxHeight * (all.indexOf(edge) + 1)) / (all.length + 1));
  const [startX, endX] = [columnX.left + boxWidth, columnX.right - 1];
  const [startY, endY] = [port(from, leaving), port(to, arriving)];
  const bend = Math.round((endX - startX) / 2);
  return `M${startX} ${startY}C${startX + bend} ${startY} ${endX - bend} ${endY} ${endX} ${endY}`;
}

/** Between neighbours; the way down is left of the way up. */
function verticalPath({ from, to }: Edge): string {
  if (Math.abs(from.place - to.place) !== 1) {
    throw new Error(`${from.state} and ${to.state} are not neighbours: change the layout`);
  }
  const isDown = from.place < to.place;
  const x = columnX[from.column] + boxWidth / 2 + (isDown ? -14 : 14);
  return isDown ? `M${x} ${from.top + boxHeight}V${to.top - 1}` : `M${x} ${from.top}V${to.top + boxHeight + 1}`;
}

function drawBox({ state, look, column, top }: Box, isFinal: boolean): string {
  const x = columnX[column];
  const size = `x="${x}" y="${top}" width="${boxWidth}" height="${boxHeight}"`;
  const corner = isFinal ? boxHeight / 2 : 6;
  const colours = `style="fill: var(--drawing-surface); stroke: ${colourOf[look]}" stroke-width="1.5"`;
  const text = `x="${x + boxWidth / 2}" y="${top + boxHeight / 2 + 5}"`;
  return `<rect ${size} rx="${corner}" ${colours}/><text ${text} fill="currentColor">${state}</text>`;
}
