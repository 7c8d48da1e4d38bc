/** What the rooms beside the lens have in common: colours, text and fields, which are the lens's, and their frame. */
import { type CSSResult, css } from 'lit';
import { colours } from './colours.js';
import { fields, text } from './fields.js';
import { preferences } from './panels.js';

const frame = css`
  :host {
    --mh-size: 1;
    display: block;
    container-type: inline-size;
    background: var(--mh-paper);
    color: var(--mh-ink);
    font-variant-numeric: tabular-nums;
  }
  *,
  *::before,
  *::after {
    box-sizing: border-box;
  }
`;

/** A probability as the filled part of a bar. */
const bars = css`
  .bar {
    block-size: 12px;
    border-radius: 2px;
    background: var(--mh-soft);
  }
  .bar i {
    display: block;
    block-size: 100%;
    min-inline-size: 1px;
    border-radius: 2px;
    background: var(--mh-data);
  }
`;

/** All styles of a room whose own are these. */
export const roomStyles = (own: CSSResult): CSSResult[] => [colours, text, fields, frame, bars, own, preferences];
