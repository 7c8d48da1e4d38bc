/** The look of the Translate room; colours, text and fields are those of the lens. */
import { css } from 'lit';
import { roomStyles } from '../styles/room.js';

const room = css`
  .room {
    display: grid;
    grid-template: "writing writing writing" auto "stage stage candidates" auto "heads map map" auto "foot foot foot" auto / minmax(280px, 400px) minmax(0, 1fr) 280px;
    gap: 16px 24px;
    max-inline-size: 1440px;
    margin-inline: auto;
    padding: 12px;
    font-size: calc(14px * var(--mh-size));
  }
  .writing {
    grid-area: writing;
  }
  .stage {
    grid-area: stage;
    min-inline-size: 0;
  }
  .candidates {
    grid-area: candidates;
  }
  .heads {
    grid-area: heads;
    min-inline-size: 0;
  }
  .map {
    grid-area: map;
    min-inline-size: 0;
    --mh-map-max-height: 480px;
  }
  .foot-line {
    grid-area: foot;
    border-block-start: 1px solid var(--mh-line);
    padding-block-start: 6px;
  }
  .texts {
    display: grid;
    grid-template-columns: minmax(0, 1fr) auto minmax(0, 1fr);
    gap: 0 12px;
    align-items: end;
    margin-block-start: 4px;
  }
  .text {
    display: grid;
    grid-template-rows: auto 1fr;
    align-self: stretch;
  }
  .text > .row {
    margin: 0 0 2px;
  }
  .swap {
    min-block-size: 42px;
    min-inline-size: 42px;
    font-size: 18px;
  }
  .buttons {
    margin-block: 8px 4px;
  }
  .buttons .examples {
    max-inline-size: 12rem;
  }
  .play {
    min-inline-size: 7.5em;
    border-color: var(--mh-accent);
    background: var(--mh-accent);
    color: var(--mh-on-accent);
    font-weight: 600;
  }
  .play:disabled {
    border-color: var(--mh-line);
    background: none;
    color: var(--mh-muted);
  }
  .facts {
    min-block-size: 1.5em;
  }
  ol {
    display: grid;
    gap: 2px;
    margin: 6px 0;
    padding: 0;
    list-style: none;
  }
  .candidate {
    display: grid;
    grid-template-columns: minmax(5em, 8em) 1fr 3.2ch;
    gap: 8px;
    align-items: center;
    inline-size: 100%;
    text-align: start;
  }
  .candidate .name {
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: pre;
  }
  .candidate span:last-child {
    text-align: end;
  }
  .candidate[aria-pressed="true"] {
    border-color: var(--mh-accent);
    font-weight: 600;
  }
  .loading {
    display: grid;
    gap: 8px;
    max-inline-size: 46ch;
  }
  .loading progress {
    inline-size: 100%;
  }
  @container (max-width: 1020px) {
    .room {
      grid-template: "writing writing" auto "stage stage" auto "candidates heads" auto "map map" auto "foot foot" auto / 280px minmax(0, 1fr);
    }
  }
  @container (max-width: 620px) {
    .room {
      grid-template: "writing" auto "stage" auto "candidates" auto "heads" auto "map" auto "foot" auto / minmax(0, 1fr);
    }
    .texts {
      grid-template-columns: minmax(0, 1fr);
      gap: 6px;
    }
    .swap {
      min-block-size: 32px;
      justify-self: center;
      rotate: 90deg;
    }
  }
  @media (forced-colors: active) {
    .bar i {
      forced-color-adjust: none;
      background: CanvasText;
    }
    .candidate[aria-pressed="true"] {
      border-color: Highlight;
    }
  }
`;

export const translateStyles = roomStyles(room);
