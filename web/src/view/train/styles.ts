/** The look of the Train room; colours, text and fields are those of the lens. */
import { css } from 'lit';
import { roomStyles } from '../styles/room.js';

const room = css`
  .room {
    display: grid;
    grid-template: "board" auto "middle" auto "setup" auto "charts" auto "foot" auto / minmax(0, 1fr);
    gap: 12px;
    padding: 12px;
    font-size: calc(14px * var(--mh-size));
  }
  .board {
    grid-area: board;
  }
  .setup {
    grid-area: setup;
  }
  .middle {
    grid-area: middle;
    display: grid;
    grid-template-columns: minmax(0, 1fr);
    gap: 12px;
    align-content: start;
    min-inline-size: 0;
  }
  .charts {
    grid-area: charts;
    display: grid;
    gap: 10px;
    align-content: start;
    grid-template-columns: repeat(auto-fill, minmax(min(100%, 280px), 1fr));
    min-inline-size: 0;
  }
  .charts > p,
  .charts > details {
    grid-column: 1 / -1;
  }
  .foot-line {
    grid-area: foot;
    border-block-start: 1px solid var(--mh-line);
    padding-block-start: 6px;
  }
  .field {
    display: flex;
    align-items: center;
    justify-content: space-between;
    gap: 8px;
    font-size: calc(13px * var(--mh-size));
  }
  .field > span {
    color: var(--mh-muted);
  }
  .fields {
    display: grid;
    grid-template-columns: repeat(auto-fill, minmax(min(100%, 220px), 1fr));
    gap: 4px 20px;
  }
  .board .field select {
    max-inline-size: 34ch;
  }
  .buttons {
    display: flex;
    gap: 6px;
  }
  .play {
    min-inline-size: 104px;
    min-block-size: 36px;
    border-color: var(--mh-accent);
    background: var(--mh-accent);
    color: var(--mh-on-accent);
    font-weight: 600;
  }
  .play:hover:not(:disabled) {
    border-color: var(--mh-ink);
  }
  .facts {
    display: flex;
    flex-wrap: wrap;
    gap: 0 18px;
    margin: 0;
  }
  .facts dt {
    font-size: calc(12px * var(--mh-size));
    color: var(--mh-muted);
  }
  .facts dd {
    min-inline-size: 6ch;
    font-weight: 600;
  }
  .run-A {
    color: var(--mh-data);
  }
  .run-B {
    color: var(--mh-accent);
  }
  .sentence {
    flex: 1 1 240px;
    min-inline-size: 0;
    overflow-wrap: anywhere;
  }
  .status {
    min-block-size: 20px;
    font-size: calc(13px * var(--mh-size));
    color: var(--mh-muted);
  }
  .trouble {
    display: grid;
    gap: 6px;
    justify-items: start;
    padding: 8px 12px;
    border-inline-start: 3px solid var(--mh-accent);
    background: var(--mh-soft);
  }
  .trouble pre {
    margin: 0;
    white-space: pre-wrap;
    overflow-wrap: anywhere;
    font-size: calc(12px * var(--mh-size));
  }
  .wide {
    margin-block-start: 8px;
  }
  .runs {
    display: grid;
    grid-template-columns: repeat(auto-fit, minmax(min(100%, 260px), 1fr));
    gap: 12px;
  }
  .runs > div {
    min-inline-size: 0;
  }
  .heads mh-heads {
    --mh-thumbnail-max: 112px;
  }
  .blank {
    min-block-size: 160px;
  }
  .doings {
    display: flex;
    flex-wrap: wrap;
    gap: 4px;
    margin: 6px 0 0;
    padding: 0;
    list-style: none;
  }
  .doing {
    min-block-size: 26px;
    padding: 1px 8px;
    font-size: calc(12px * var(--mh-size));
    color: var(--mh-muted);
  }
  .doing.named {
    color: var(--mh-ink);
    background: var(--mh-soft);
  }
  .doing.induction {
    border-color: var(--mh-accent);
    color: var(--mh-accent);
    font-weight: 600;
  }
  .doing[aria-pressed="true"] {
    outline: 2px solid var(--mh-accent);
    outline-offset: -1px;
  }
  .doing:focus-visible {
    outline: 2px solid var(--mh-focus);
    outline-offset: 1px;
  }
  .stage {
    display: grid;
    grid-template-columns: minmax(0, 1fr);
    align-content: start;
    gap: 6px;
    min-inline-size: 0;
  }
  .timeline .slider {
    flex: 1 1 220px;
  }
  .timeline output {
    min-inline-size: 10ch;
  }
  .picture {
    --mh-map-max-height: 640px;
    min-block-size: 200px;
  }
  .numbers {
    border-collapse: collapse;
    font-size: calc(12px * var(--mh-size));
  }
  .numbers caption {
    text-align: start;
    color: var(--mh-muted);
    padding-block: 4px;
  }
  .numbers th,
  .numbers td {
    padding: 2px 10px 2px 0;
    text-align: end;
    white-space: nowrap;
  }
  .numbers tbody th {
    font-weight: 400;
    text-align: start;
  }
  .numbers .formula {
    color: var(--mh-muted);
  }
  .numbers .chosen :is(th, td) {
    font-weight: 600;
    color: var(--mh-accent);
  }
  .scroll {
    overflow-x: auto;
  }
  .optimiser {
    border-block-start: 1px solid var(--mh-line);
    padding-block-start: 6px;
  }
  .optimiser select {
    max-inline-size: 100%;
  }
  .log ol {
    margin: 4px 0;
    padding-inline-start: 0;
    list-style: none;
    font-size: calc(12px * var(--mh-size));
  }

  @container (min-width: 900px) {
    .room {
      grid-template: "board board" auto "middle charts" auto "setup charts" 1fr "foot foot" auto / minmax(0, 1fr) 340px;
      column-gap: 24px;
    }
    .charts {
      grid-template-columns: minmax(0, 1fr);
    }
  }
  @container (min-width: 1200px) {
    .room {
      grid-template: "board board board" auto "setup middle charts" 1fr "foot foot foot" auto / 250px minmax(0, 1fr) 380px;
      padding: 12px 20px 8px;
    }
    .fields {
      grid-template-columns: minmax(0, 1fr);
    }
    .middle {
      grid-template-columns: 300px minmax(0, 1fr);
      column-gap: 24px;
    }
    .middle .runs {
      grid-template-columns: minmax(0, 1fr);
    }
    .optimiser {
      grid-column: 1 / -1;
    }
  }
  @container (min-width: 1600px) {
    .room {
      --mh-size: 1.15;
      grid-template-columns: 290px minmax(0, 1fr) 460px;
    }
    .middle {
      grid-template-columns: 380px minmax(0, 1fr);
    }
  }
`;

export const trainStyles = roomStyles(room);
