/** The lens's own look: colours for light and dark, the layout in three widths, fields and panels. */
import { css } from 'lit';

const light = css`
  --mh-paper: #fff;
  --mh-ink: #1c2127;
  --mh-muted: #59636e;
  --mh-line: #d5dae0;
  --mh-accent: #b8392b;
  --mh-on-accent: #fff;
  --mh-focus: #b8392b;
  --mh-soft: #f4f5f7;
  --mh-data: #3c4f76;
  color-scheme: light;
`;

const dark = css`
  --mh-paper: #14171b;
  --mh-ink: #e8eaed;
  --mh-muted: #a1abb6;
  --mh-line: #363d46;
  --mh-accent: #ff8470;
  --mh-on-accent: #1a0c09;
  --mh-focus: #ff9d8c;
  --mh-soft: #1d2126;
  --mh-data: #8ea7d8;
  color-scheme: dark;
`;

const colours = css`
  :host {
    ${light}
  }
  @media (prefers-color-scheme: dark) {
    :host(:not([theme="light"])) {
      ${dark}
    }
  }
  :host([theme="dark"]) {
    ${dark}
  }
`;

const layout = css`
  :host {
    display: block;
    container-type: inline-size;
    --mh-font: system-ui, "PingFang SC", "Noto Sans SC", "Noto Sans CJK SC", "Microsoft YaHei", sans-serif;
    font: 14px/1.45 var(--mh-font);
    font-variant-numeric: tabular-nums;
    color: var(--mh-ink);
    background: var(--mh-paper);
    text-align: start;
    -webkit-text-size-adjust: 100%;
  }
  :host([hidden]) {
    display: none;
  }
  *,
  *::before,
  *::after {
    box-sizing: border-box;
  }
  .lens {
    display: grid;
    grid-template: "sentence" auto "heads" auto "stage" auto "tabs" auto "panels" auto "entropy" auto "proof" auto / minmax(
        0,
        1fr
      );
    gap: 12px;
    padding: 12px;
  }
  .sentence {
    grid-area: sentence;
  }
  .heads {
    grid-area: heads;
    min-inline-size: 0;
  }
  .stage {
    grid-area: stage;
    display: flex;
    flex-direction: column;
    gap: 6px;
    min-inline-size: 0;
  }
  .tabs {
    grid-area: tabs;
  }
  .panels {
    grid-area: panels;
    min-inline-size: 0;
  }
  .panel {
    display: none;
    min-inline-size: 0;
  }
  .panel select {
    padding-inline: 4px;
  }
  .entropy {
    grid-area: entropy;
  }
  .proof {
    grid-area: proof;
  }
  .lens[data-tab="mask"] .panel[part="mask"],
  .lens[data-tab="arithmetic"] .panel[part="arithmetic"],
  .lens[data-tab="reading"] .panel[part="reading"],
  .lens[data-tab="output"] .panel[part="output"],
  .lens[data-tab="entropy"] .panel[part="entropy"] {
    display: block;
  }
  /* A picture never changes the size of its place: what does not fit scrolls or scales within. */
  .picture {
    container-type: size;
    block-size: calc(100cqi + 10px);
    overflow: auto;
    scrollbar-width: thin;
  }

  @container (min-width: 620px) {
    .lens .tabs {
      display: none;
    }
    .picture {
      block-size: min(88cqi, 640px);
    }
    .panels {
      display: grid;
      grid-template-columns: repeat(2, minmax(0, 1fr));
      gap: 4px 24px;
    }
    .lens .panel {
      display: block;
      padding-block: 6px;
      border-block-start: 1px solid var(--mh-line);
    }
  }

  @container (min-width: 1100px) {
    .lens {
      grid-template:
        "sentence sentence sentence" auto
        "heads stage panels" auto
        "entropy stage panels" minmax(280px, 1fr)
        "proof proof proof" auto / 420px minmax(0, 1fr) 336px;
      gap: 8px 24px;
      block-size: 100%;
      padding: 12px 20px 8px;
    }
    .heads,
    .stage,
    .panels,
    .lens .entropy {
      min-block-size: 0;
    }
    .panels,
    .lens .entropy {
      overflow: auto;
      scrollbar-width: thin;
    }
    .picture {
      flex: 1;
      block-size: auto;
      min-block-size: 0;
    }
    .panels {
      display: block;
    }
    .panels .panel:first-of-type {
      border-block-start: 0;
    }
  }
`;

const text = css`
  h2 {
    margin: 0;
    font-size: 14px;
    font-weight: 600;
    overflow-wrap: anywhere;
  }
  h3 {
    margin: 0;
    font-size: 16px;
  }
  p {
    margin: 0;
  }
  .note,
  .hint,
  .caveat,
  .count {
    font-size: 12px;
    color: var(--mh-muted);
  }
  .note em {
    font-style: normal;
    color: var(--mh-accent);
  }
  .hint {
    min-block-size: 18px;
  }
  .warning {
    color: var(--mh-accent);
  }
  .unseen {
    position: absolute;
    inline-size: 1px;
    block-size: 1px;
    margin: -1px;
    padding: 0;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }
  details {
    font-size: 13px;
  }
  summary {
    min-block-size: 24px;
    color: var(--mh-muted);
    cursor: pointer;
  }
  details p {
    max-inline-size: 62ch;
    margin-block: 6px;
  }
  dl {
    margin: 0;
  }
  dd {
    margin: 0;
  }
`;

const fields = css`
  button,
  select,
  input,
  textarea {
    font: inherit;
    color: inherit;
  }
  button,
  select,
  input[type="number"] {
    min-block-size: 28px;
    padding: 2px 8px;
    border: 1px solid var(--mh-line);
    border-radius: 4px;
    background: var(--mh-paper);
    font-size: 13px;
  }
  button {
    cursor: pointer;
  }
  button:hover:not(:disabled),
  select:hover {
    border-color: var(--mh-muted);
  }
  button:disabled {
    color: var(--mh-muted);
    opacity: 0.6;
    cursor: default;
  }
  button.small {
    min-block-size: 24px;
    padding: 0 8px;
    font-size: 12px;
  }
  :is(button, select, input, textarea, summary, [tabindex]):focus-visible,
  .segments label:has(input:focus-visible) {
    outline: 2px solid var(--mh-focus);
    outline-offset: 1px;
  }
  input[type="range"],
  input[type="checkbox"],
  progress {
    accent-color: var(--mh-accent);
  }
  .row {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 4px 10px;
    margin-block: 4px;
  }
  .spread {
    justify-content: space-between;
  }
  .stage > .row {
    margin: 0;
  }
  .foot {
    display: grid;
    align-content: end;
    gap: 4px;
    min-block-size: 72px;
  }
  .title {
    align-items: baseline;
  }
  fieldset {
    min-inline-size: 0;
    margin: 0;
    padding: 0;
    border: 0;
  }
  .segments {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 2px 8px;
  }
  .segments legend {
    float: inline-start;
    padding: 0;
    font-size: 13px;
    color: var(--mh-muted);
  }
  .segments > div {
    display: flex;
    border: 1px solid var(--mh-line);
    border-radius: 4px;
  }
  .segments label {
    display: grid;
    place-items: center;
    min-block-size: 26px;
    padding: 1px 9px;
    border-radius: 3px;
    font-size: 13px;
    white-space: nowrap;
    cursor: pointer;
  }
  .segments label + label {
    border-inline-start: 1px solid var(--mh-line);
    border-start-start-radius: 0;
    border-end-start-radius: 0;
  }
  .segments label:has(+ label) {
    border-start-end-radius: 0;
    border-end-end-radius: 0;
  }
  .segments label:hover {
    background: var(--mh-soft);
  }
  .segments input {
    position: absolute;
    opacity: 0;
    pointer-events: none;
  }
  .segments label:has(:checked) {
    background: var(--mh-ink);
    color: var(--mh-paper);
  }
  .segments label:has(:disabled) {
    color: var(--mh-muted);
    opacity: 0.55;
    cursor: not-allowed;
  }
  .slider {
    display: flex;
    flex: 1;
    align-items: center;
    gap: 8px;
    font-size: 13px;
  }
  .slider span {
    color: var(--mh-muted);
    white-space: nowrap;
  }
  .slider input {
    flex: 1;
    min-inline-size: 60px;
    min-block-size: 24px;
    margin: 0;
  }
  .slider output {
    min-inline-size: 4ch;
    text-align: end;
  }
  .check {
    display: flex;
    align-items: center;
    gap: 6px;
    font-size: 13px;
  }
  input[type="number"] {
    inline-size: 9ch;
  }
  .check input {
    inline-size: 16px;
    block-size: 16px;
    margin: 0;
  }
  .check {
    min-block-size: 24px;
  }
`;

const sentence = css`
  .write {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 8px 12px;
    margin-block-end: 6px;
  }
  textarea {
    flex: 1 1 100%;
    min-inline-size: 0;
    min-block-size: 42px;
    padding: 8px 12px;
    border: 1px solid var(--mh-muted);
    border-radius: 6px;
    background: var(--mh-paper);
    font-size: 18px;
    line-height: 24px;
    resize: none;
    field-sizing: content;
  }
  .examples {
    max-inline-size: 8.5rem;
  }
  .count {
    min-inline-size: 7rem;
    margin-inline-start: auto;
    text-align: end;
  }
  .write .segments {
    order: 1;
  }
  .chips {
    display: flex;
    flex-wrap: wrap;
    align-items: end;
    gap: 2px 4px;
    min-block-size: 122px;
    align-content: start;
  }
  .chip {
    display: flex;
    flex-direction: column;
    align-items: stretch;
    min-inline-size: 30px;
    min-block-size: 60px;
    padding: 0;
    border: 0;
    border-radius: 4px;
    background: none;
    font-size: 14px;
  }
  .chip .bar {
    position: relative;
    block-size: 36px;
    margin-inline: 3px;
    border-block-end: 1px solid var(--mh-line);
  }
  .chip .bar i {
    position: absolute;
    inset-inline: 0;
    inset-block-end: 0;
    block-size: calc(var(--share) * 24px);
    background: var(--mh-data);
  }
  .chip .bar i.before {
    inset-inline: -3px;
    block-size: calc(var(--before) * 24px);
    border-block-start: 2px solid var(--mh-accent);
    background: none;
  }
  .chip .bar b {
    position: absolute;
    inset-inline: -6px;
    inset-block-end: calc(max(var(--share), var(--before)) * 24px);
    font-size: 11px;
    font-weight: 600;
    line-height: 14px;
    text-align: center;
  }
  .chip .word {
    padding: 2px 6px;
    border-radius: 4px;
    background: color-mix(in srgb, var(--mh-data) calc(var(--share, 0) * 40%), var(--mh-soft));
    text-align: center;
    white-space: pre;
  }
  .chip.special .word {
    color: var(--mh-muted);
  }
  .chip.joined {
    margin-inline-start: -3px;
  }
  .chip.joined .word {
    border-start-start-radius: 0;
    border-end-start-radius: 0;
  }
  .chip.query .word {
    background: var(--mh-accent);
    color: var(--mh-on-accent);
  }
  .chip.key .word {
    outline: 2px solid var(--mh-accent);
    outline-offset: -2px;
  }
  .chip.off .word {
    text-decoration: line-through;
    background: repeating-linear-gradient(135deg, var(--mh-line) 0 1px, transparent 1px 5px);
  }
  .chip.over {
    justify-content: end;
  }
  .chip.over .word {
    border: 1px dashed var(--mh-accent);
    background: none;
    color: var(--mh-muted);
    text-decoration: line-through;
  }
  .chip:hover .word {
    box-shadow: 0 0 0 1px var(--mh-muted);
  }
  @container (min-width: 620px) {
    textarea {
      flex: 1 1 20rem;
    }
    .examples {
      min-block-size: 42px;
    }
    .count {
      order: 2;
    }
    .chips {
      min-block-size: 60px;
    }
  }
  @container (min-width: 1100px) {
    .chips {
      max-block-size: 124px;
      overflow: auto;
      scrollbar-width: thin;
    }
  }
`;

const panels = css`
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
  @container (min-width: 1100px) {
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
    --mh-map-max-height: max(200px, calc(100cqh / var(--rows) - 62px));
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
    font-size: 13px;
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
    font-size: 14px;
  }
  .predictions th {
    font-weight: 400;
    text-align: start;
    padding: 1px 8px 1px 0;
    white-space: pre;
  }
  .predictions thead th {
    font-size: 12px;
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
    font-size: 12px;
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
    font-size: 12px;
  }
  .proof dl {
    display: flex;
    flex-wrap: wrap;
    gap: 2px 20px;
  }
  .proof h2 {
    float: inline-start;
    margin-inline-end: 20px;
    font-size: 12px;
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
    font-size: 12px;
  }
  .loading progress {
    inline-size: 100%;
  }
`;

const preferences = css`
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

export const lensStyles = [colours, layout, text, fields, sentence, panels, preferences];
