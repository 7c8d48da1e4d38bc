/** Every other section, and what readers ask of their system. */
import { css } from 'lit';

export const panels = css`
  .tabs {
    display: flex;
    border-block-end: 1px solid var(--mh-line);
  }
  .tabs button {
    flex: 1;
    min-block-size: 40px;
    border: 0;
    border-block-end: 3px solid transparent;
    border-radius: 0;
    background: none;
  }
  .tabs button[aria-pressed="true"] {
    border-color: var(--mh-accent);
    font-weight: 600;
  }
  .blank-chart {
    min-block-size: 220px;
  }
  .blank-heads {
    min-block-size: 77px;
  }
  @container (min-width: 1320px) {
    .blank-chart {
    min-block-size: 220px;
  }
  .blank-heads {
      min-block-size: 250px;
    }
  }
  .maps {
    display: grid;
    grid-template-columns: repeat(auto-fit, minmax(min(100%, 280px), 1fr));
    gap: 12px;
    --mh-map-max-height: max(200px, calc(100cqh - 30px));
  }
  .maps.several {
    /* Small maps whole rather than parts of them: the stage scrolls. */
    --mh-map-max-height: max(360px, calc(100cqh / var(--rows) - 62px));
  }
  .map {
    margin: 0;
    min-inline-size: 0;
  }
  .map figcaption {
    font-weight: 600;
  }
  .reading {
    min-block-size: 164px;
  }
  .reading dl {
    display: grid;
    grid-template-columns: 1fr auto;
    gap: 1px 12px;
    margin-block: 4px;
    font-size: calc(13px * var(--mh-size));
  }
  .reading dt {
    color: var(--mh-muted);
  }
  .reading dd {
    text-align: end;
  }
  .output {
    min-block-size: 180px;
  }
  .panel .spread {
    flex-wrap: nowrap;
  }
  .predictions {
    inline-size: 100%;
    border-collapse: collapse;
    margin-block: 4px 8px;
    font-size: calc(14px * var(--mh-size));
  }
  .predictions th {
    font-weight: 400;
    text-align: start;
    padding: 1px 8px 1px 0;
    white-space: pre;
  }
  .predictions thead th {
    font-size: calc(12px * var(--mh-size));
    color: var(--mh-muted);
  }
  .predictions td {
    padding: 1px 0;
    inline-size: 4.5ch;
    text-align: end;
  }
  .predictions td:last-child,
  .predictions thead th:last-child {
    inline-size: 60%;
    text-align: start;
    padding-inline-start: 12px;
  }
  .share {
    position: relative;
    display: inline-block;
    vertical-align: middle;
    inline-size: calc((100% - 5ch) * var(--share));
    min-inline-size: 1px;
    block-size: 12px;
    margin-inline-end: 6px;
    background: var(--mh-data);
  }
  .scroll {
    overflow: auto;
  }
  .steps {
    border-collapse: collapse;
    font-size: calc(12px * var(--mh-size));
  }
  .steps th,
  .steps td {
    padding: 6px 6px;
    border-block-end: 1px solid var(--mh-line);
    text-align: end;
    white-space: nowrap;
  }
  .steps th[scope="row"] {
    position: sticky;
    inset-inline-start: 0;
    background: var(--mh-paper);
    text-align: start;
  }
  .steps small {
    display: block;
    max-inline-size: 9rem;
    white-space: normal;
    font-weight: 400;
    color: var(--mh-muted);
  }
  .steps tbody tr:last-child td {
    background: color-mix(in srgb, var(--mh-data) calc(var(--weight) * 60%), var(--mh-paper));
    font-weight: 600;
  }
  .steps .masked {
    color: var(--mh-muted);
    background: repeating-linear-gradient(135deg, var(--mh-line) 0 1px, transparent 1px 5px);
  }
  .proof {
    border-block-start: 1px solid var(--mh-line);
    padding-block-start: 8px;
    min-block-size: 48px;
    font-size: calc(12px * var(--mh-size));
  }
  .proof dl {
    display: flex;
    flex-wrap: wrap;
    gap: 2px 20px;
  }
  .proof h2 {
    float: inline-start;
    margin-inline-end: 20px;
    font-size: calc(12px * var(--mh-size));
  }
  .proof dl div {
    display: flex;
    gap: 6px;
  }
  .proof dt {
    color: var(--mh-muted);
  }
  .failure,
  .loading {
    display: grid;
    gap: 8px;
    justify-items: start;
    max-inline-size: 46ch;
    margin: 48px auto;
    padding-inline: 12px;
  }
  .failure {
    border-inline-start: 3px solid var(--mh-accent);
  }
  .failure pre {
    white-space: pre-wrap;
    overflow-wrap: anywhere;
    font-size: calc(12px * var(--mh-size));
  }
  .loading progress {
    inline-size: 100%;
  }
`;

export const preferences = css`
  @media (forced-colors: active) {
    .segments label:has(:checked),
    .chip.query .word {
      forced-color-adjust: none;
      background: Highlight;
      color: HighlightText;
    }
    .chip .bar i,
    .share {
      forced-color-adjust: none;
      background: CanvasText;
    }
    .tabs button[aria-pressed="true"] {
      border-color: Highlight;
    }
  }
  @media (prefers-contrast: more) {
    :host {
      --mh-muted: var(--mh-ink);
      --mh-line: var(--mh-ink);
    }
  }
  @media (pointer: coarse) {
    button,
    select,
    input[type="number"],
    .segments label {
      min-block-size: 36px;
    }
    .slider input {
      min-block-size: 36px;
    }
  }
`;
