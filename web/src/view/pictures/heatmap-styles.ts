/** Styles of `<mh-heatmap>`. `--cell` is the side of a cell; `--q` and `--k` place what lies over the cells. */
import { css } from 'lit';
import { LABEL } from './labels.js';

export const heatmapStyles = css`
  .frame {
    position: relative;
  }
  .scroller {
    position: relative;
    max-block-size: var(--mh-map-max-height, 85vh);
    overflow: auto;
    scrollbar-width: thin;
    /* Sticky labels and the grid are ordered inside here. */
    isolation: isolate;
  }
  .plane {
    display: grid;
    width: max-content;
    touch-action: pan-x pan-y;
    user-select: none;
    -webkit-user-select: none;
    -webkit-touch-callout: none;
  }
  .plane.paints {
    touch-action: none;
    cursor: crosshair;
  }
  .plane > * {
    background: var(--paper);
  }
  svg {
    position: absolute;
    inset: 0;
    inline-size: 100%;
    block-size: 100%;
    overflow: visible;
    pointer-events: none;
    font-size: ${LABEL.fontSize}px;
  }
  .columns,
  .rows,
  .values {
    cursor: default;
  }
  .columns .labels {
    position: absolute;
    inset: 0;
  }
  .corner {
    grid-area: 1 / 1;
    position: sticky;
    inset: 0 auto auto 0;
    z-index: 5;
  }
  .columns {
    grid-area: 1 / 2;
    position: sticky;
    top: 0;
    z-index: 4;
  }
  .rows {
    grid-area: 2 / 1;
    position: sticky;
    left: 0;
    z-index: 3;
  }
  .right-top {
    grid-area: 1 / 3;
    position: sticky;
    inset: 0 0 auto auto;
    z-index: 3;
  }
  .values {
    grid-area: 2 / 3;
    position: sticky;
    right: 0;
    z-index: 2;
    justify-self: start;
  }
  .map {
    grid-area: 2 / 2;
    position: relative;
  }
  canvas {
    position: absolute;
    image-rendering: pixelated;
  }
  text.lit {
    fill: var(--ink);
    font-weight: 700;
  }
  text.chosen {
    fill: var(--accent);
    font-weight: 700;
  }

  /* Crosshair: outlines, not fills, so that the colours beneath keep their meaning. */
  .band,
  .spot {
    position: absolute;
    pointer-events: none;
    opacity: 0;
  }
  .band.on,
  .spot.on {
    opacity: 1;
  }
  .band {
    outline: 1px solid var(--focus);
    outline-offset: 0;
  }
  .band.row {
    inset-inline: 0;
    top: calc(var(--q) * var(--cell));
    height: var(--cell);
  }
  .band.column {
    inset-block: 0;
    left: calc(var(--k) * var(--cell));
    width: var(--cell);
  }
  .band.chosen {
    outline: 2px solid var(--accent);
  }
  .spot {
    top: calc(var(--q) * var(--cell));
    left: calc(var(--k) * var(--cell));
    width: var(--cell);
    height: var(--cell);
    outline: 2px solid var(--focus);
    box-shadow: 0 0 0 4px var(--paper);
    clip-path: inset(-4px);
  }

  .grid {
    position: absolute;
    inset: 0;
    z-index: 6;
    pointer-events: none;
  }
  [role="gridcell"],
  [role="rowheader"],
  [role="columnheader"] {
    position: absolute;
    top: calc(var(--q) * var(--cell));
    left: calc(var(--k) * var(--cell));
    width: var(--cell);
    height: var(--cell);
    outline: none;
  }
  [role="rowheader"] {
    left: calc(var(--scroll-left, 0px) - var(--row-label-width));
    width: var(--row-label-width);
  }
  [role="columnheader"] {
    top: calc(var(--scroll-top, 0px) - var(--column-label-height));
    height: var(--column-label-height);
  }
  [role="gridcell"]:focus-visible,
  [role="rowheader"]:focus-visible,
  [role="columnheader"]:focus-visible {
    outline: 2px solid var(--focus);
    outline-offset: 1px;
    box-shadow: 0 0 0 1px var(--paper);
  }

  .tip {
    position: absolute;
    z-index: 10;
    /* As wide as its words, however near the edge it stands. */
    width: max-content;
    max-width: min(260px, 80vw);
    padding: 6px 8px;
    border: 1px solid var(--line);
    border-radius: 4px;
    background: var(--paper);
    color: var(--ink);
    box-shadow: 0 2px 8px rgb(0 0 0 / 0.18);
    pointer-events: none;
    overflow-wrap: anywhere;
  }
  .tip[hidden] {
    display: none;
  }
  .tip b {
    display: block;
    font-size: 13px;
  }
  .tip dl {
    display: grid;
    grid-template-columns: auto auto;
    gap: 0 10px;
    margin: 2px 0 0;
  }
  .tip dt {
    color: var(--muted);
  }
  .tip dd {
    margin: 0;
    text-align: end;
  }

  .foot {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 4px 12px;
    min-height: 28px;
    padding-top: 4px;
    color: var(--muted);
    /* The caption ends where the bars it speaks of end, if there is room for it. */
    width: max(var(--picture-width, 100%), 24rem);
    max-width: 100%;
  }
  .zoom {
    display: flex;
    gap: 4px;
  }
  .zoom button {
    min-width: 28px;
    min-height: 28px;
    padding: 0 8px;
    border: 1px solid var(--line);
    border-radius: 4px;
    background: var(--paper);
    color: var(--ink);
    font: inherit;
  }
  .zoom button:focus-visible,
  .scroller:focus-visible,
  .table:focus-visible {
    outline: 2px solid var(--focus);
    outline-offset: 1px;
  }
  .zoom button:disabled {
    opacity: 0.45;
  }
  .caption {
    margin-inline-start: auto;
  }

  .table {
    max-block-size: var(--mh-map-max-height, 85vh);
    overflow: auto;
  }
  table {
    border-collapse: separate;
    border-spacing: 0;
  }
  caption {
    padding: 4px 0;
    text-align: start;
    color: var(--muted);
  }
  th,
  td {
    padding: 3px 8px;
    border-bottom: 1px solid var(--line);
    text-align: end;
    white-space: nowrap;
    background: var(--paper);
  }
  thead th {
    position: sticky;
    top: 0;
    z-index: 1;
  }
  th[scope="row"] {
    position: sticky;
    left: 0;
    text-align: start;
  }
  .masked {
    color: var(--muted);
    font-style: italic;
  }

  @media (prefers-contrast: more) {
    .band {
      outline-width: 2px;
    }
  }
  @media (forced-colors: active) {
    .band,
    .spot {
      outline-color: Highlight;
    }
    text.lit,
    text.chosen {
      fill: CanvasText;
    }
    canvas {
      forced-color-adjust: none;
    }
  }
`;
