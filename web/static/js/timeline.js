// The timeline of a run: the whole first, then increments of the same form.

import { lastOf } from "./keys.js";

/** Holds the newest timeline; `add` merges an increment, whose first points may replace our last ones. */
export class Timeline {
  constructor(first) {
    this.data = first;
  }

  /** False when the increment does not fit (the server changed its step): fetch the whole again. */
  add(next) {
    const old = this.data;
    if (next.t.length && (!old.t.length || next.t[0] <= old.t[0])) {
      this.data = next;
      return true;
    }
    if (next.t.length && next.step_s !== old.step_s) return false;
    const kept = next.t.length ? countBelow(old.t, next.t[0]) : old.t.length;
    const panels = joinPanels(old.panels, next.panels, kept, next.t.length);
    this.data = { ...old, ...next, t: [...old.t.slice(0, kept), ...next.t], panels };
    return true;
  }

  panel(id) {
    return this.data.panels.find((panel) => panel.id === id);
  }

  /** The last known value of a series; null where there is none. */
  last(panelId, seriesId) {
    return lastOf(this.panel(panelId)?.series.find((series) => series.id === seriesId)?.values ?? []);
  }
}

function countBelow(sorted, limit) {
  let count = sorted.length;
  while (count > 0 && sorted[count - 1] >= limit) count--;
  return count;
}

function joinPanels(old, next, kept, added) {
  const byId = new Map(next.map((panel) => [panel.id, panel]));
  const before = new Map(old.map((panel) => [panel.id, panel]));
  const order = [...old.map((panel) => panel.id)];
  for (const panel of next) if (!before.has(panel.id)) order.push(panel.id);
  return order.map((id) => {
    const [was, is] = [before.get(id), byId.get(id)];
    return { ...(was ?? is), series: joinSeries(was?.series ?? [], is?.series ?? [], kept, added) };
  });
}

function joinSeries(old, next, kept, added) {
  const before = new Map(old.map((series) => [series.id, series]));
  const after = new Map(next.map((series) => [series.id, series]));
  const ids = [...before.keys(), ...[...after.keys()].filter((id) => !before.has(id))];
  return ids.map((id) => ({
    ...(before.get(id) ?? after.get(id)),
    values: [
      ...(before.get(id)?.values.slice(0, kept) ?? nulls(kept)),
      ...(after.get(id)?.values ?? nulls(added)),
    ],
  }));
}

function nulls(count) {
  return new Array(count).fill(null);
}
