/** The look of the Digits room; colours, text and fields are those of the lens. */
import { css } from 'lit';
import { roomStyles } from '../styles/room.js';

const room = css`
  .room {
    display: grid;
    grid-template: "drawing stage heads" auto "drawing stage classes" 1fr "caveat caveat caveat" auto / 280px minmax(0, 1fr) minmax(240px, 360px);
    gap: 16px 24px;
    max-inline-size: 1280px;
    margin-inline: auto;
    padding: 16px 12px;
    font-size: calc(14px * var(--mh-size));
  }
  .drawing {
    grid-area: drawing;
    display: grid;
    gap: 8px;
    align-content: start;
  }
  .stage {
    grid-area: stage;
    min-inline-size: 0;
  }
  .heads {
    grid-area: heads;
    min-inline-size: 0;
  }
  .classes {
    grid-area: classes;
  }
  .room > .caveat {
    grid-area: caveat;
  }
  .samples {
    gap: 4px;
  }
  .samples button {
    min-inline-size: 28px;
    padding-inline: 0;
  }
  fieldset {
    display: grid;
    gap: 4px;
    margin: 8px 0 0;
    padding: 0;
    border: 0;
  }
  legend {
    padding: 0;
    margin-block-end: 4px;
    font-weight: 600;
  }
  .picture {
    position: relative;
    max-inline-size: min(560px, 100cqb);
    aspect-ratio: 1;
    margin-block: 8px;
    touch-action: manipulation;
  }
  .patches {
    display: grid;
    position: absolute;
    inset: 0;
    grid-template: repeat(8, 1fr) / repeat(8, 1fr);
  }
  .patches button {
    min-block-size: 0;
    padding: 0;
    border: 0.5px solid color-mix(in srgb, var(--mh-line) 40%, transparent);
    border-radius: 0;
    background: var(--weight);
  }
  .patches .hidden-patch {
    background: repeating-linear-gradient(135deg, var(--mh-paper) 0 5px, var(--mh-line) 5px 6px);
  }
  .patches .edge-left {
    border-inline-start: 3px solid var(--mh-accent);
  }
  .patches .edge-top {
    border-block-start: 3px solid var(--mh-accent);
  }
  .patches [aria-pressed="true"] {
    outline: 3px solid var(--mh-accent);
    outline-offset: -3px;
    z-index: 1;
  }
  /* 28 of the 32 pixels of the patches: there are two empty ones at each side. */
  .ink {
    position: absolute;
    inset: 6.25%;
    inline-size: 87.5%;
    block-size: 87.5%;
    opacity: 0.45;
    mix-blend-mode: normal;
    pointer-events: none;
    z-index: 2;
  }
  ol {
    display: grid;
    gap: 3px;
    margin: 8px 0;
    padding: 0;
    list-style: none;
  }
  li {
    display: grid;
    grid-template-columns: 2ch 1fr 4ch;
    gap: 8px;
    align-items: center;
  }
  li span:last-child {
    text-align: end;
  }
  .best {
    font-weight: 700;
  }
  .best .bar i {
    background: var(--mh-accent);
  }
  @container (max-width: 1020px) {
    .room {
      grid-template: "drawing classes" auto "stage heads" auto "caveat caveat" auto / minmax(0, 1fr) minmax(220px, 300px);
    }
    mh-drawing-pad {
      max-inline-size: 280px;
    }
  }
  @container (max-width: 620px) {
    .room {
      grid-template: "drawing" auto "classes" auto "stage" auto "heads" auto "caveat" auto / minmax(0, 1fr);
    }
  }
`;

export const digitsStyles = roomStyles(room);
